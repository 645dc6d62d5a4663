//! A thread's own writer: where it is, and whose turn it is to use it.

use super::Recorder;
use super::flags::{FLAGS, Flags};
use super::global::{os_thread_id, thread_name};
use super::writer::ThreadWriter;
use crate::quiet::Quiet;
use std::cell::{Cell, RefCell, RefMut};
use std::mem::ManuallyDrop;

thread_local! {
    pub(super) static LOCAL: Local = const { Local::new() };
    static END: EndOfThread = const { EndOfThread };
}

/// What a thread of this process records with: one line of the processor's cache.
///
/// It has no destructor, so that it is there for as long as the thread runs and need not be asked whether it still is;
/// [`EndOfThread`] frees what is in it.
#[repr(align(64))]
pub(super) struct Local {
    /// None before the thread records, and after its end.
    writer: RefCell<Option<ManuallyDrop<ThreadWriter>>>,
    /// The address of its log, or 0. Apart, because ending a span needs no more than this and the clock.
    log: Cell<usize>,
    /// Found from here, they take no look at the table of addresses that a shared library has.
    pub(super) flags: &'static Flags,
}

const _: () = assert!(cfg!(loom) || size_of::<Local>() == 64);

/// Ends the thread's log when the thread is torn down.
struct EndOfThread;

impl Drop for EndOfThread {
    fn drop(&mut self) {
        LOCAL.with(Local::forget);
    }
}

impl Local {
    const fn new() -> Self {
        Self { writer: RefCell::new(None), log: Cell::new(0), flags: &FLAGS }
    }

    /// Runs `write` with the writer. Where there is none to be had (the thread is being torn down, or is in the middle of
    /// writing), the event is counted as lost.
    #[inline(always)]
    pub(super) fn with<T>(&self, write: impl FnOnce(&mut ThreadWriter) -> T) -> Option<T> {
        let Ok(mut place) = self.writer.try_borrow_mut() else { return lost() };
        if place.is_none() {
            self.make(&mut place);
        }
        match &mut *place {
            Some(writer) => Some(write(writer)),
            None => lost(),
        }
    }

    /// The writer, if there is one that nobody uses.
    #[inline(always)]
    pub(super) fn ready(&self) -> Option<RefMut<'_, ManuallyDrop<ThreadWriter>>> {
        RefMut::filter_map(self.writer.try_borrow_mut().ok()?, Option::as_mut).ok()
    }

    #[cold]
    #[inline(never)]
    fn make(&self, place: &mut Option<ManuallyDrop<ThreadWriter>>) {
        // None is made that would not be freed.
        if END.try_with(|_| ()).is_ok() {
            let _quiet = Quiet::new();
            let writer = Recorder::global().thread(os_thread_id(), thread_name().as_deref());
            self.log.set(writer.address());
            *place = Some(ManuallyDrop::new(writer));
        }
    }

    /// The address of the thread's log, or 0.
    #[inline(always)]
    pub(super) fn log(&self) -> usize {
        self.log.get()
    }

    /// Puts another writer there, or none; gives what was there. `None` if someone is writing.
    pub(super) fn replace(&self, new: Option<ThreadWriter>) -> Option<Option<ThreadWriter>> {
        let mut place = self.writer.try_borrow_mut().ok()?;
        self.log.set(new.as_ref().map_or(0, ThreadWriter::address));
        let old = std::mem::replace(&mut *place, new.map(ManuallyDrop::new));
        Some(old.map(ManuallyDrop::into_inner))
    }

    /// Ends the thread's log: it is being torn down, or goes on in a child process, where it has another number.
    pub(super) fn forget(&self) {
        let _quiet = Quiet::new();
        // The log may be freed now, and another thread's take its address.
        drop(self.replace(None));
    }
}

#[cold]
#[inline(never)]
fn lost<T>() -> Option<T> {
    Recorder::global().count_lost();
    None
}
