//! Recording elsewhere: by the paths that a thread always takes, to a recorder that no session of the process looks at.

use super::Recorder;
use super::global::{HERE, LocalWriter, WRITER, os_thread_id};
use crate::quiet::Quiet;
use std::cell::RefCell;

/// While it lives, what this thread records goes to another recorder.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    own: Option<LocalWriter>,
    here: usize,
}

impl Elsewhere {
    /// `None` where the thread has no writer to be had: it is being torn down, or in the middle of writing.
    pub(crate) fn new(recorder: &Recorder) -> Option<Self> {
        let _quiet = Quiet::new();
        let other = recorder.thread(os_thread_id(), None);
        let address = other.address();
        let replace = |writer: &RefCell<Option<LocalWriter>>| {
            writer.try_borrow_mut().ok().map(|mut writer| writer.replace(LocalWriter::new(other)))
        };
        let own = WRITER.try_with(replace).ok().flatten()?;
        Some(Self { own, here: HERE.replace(address) })
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _quiet = Quiet::new();
        // Nobody writes while this is dropped, so that the cell can be had; the other writer is dropped here.
        let _ = WRITER.try_with(|writer| writer.try_borrow_mut().map(|mut writer| *writer = self.own.take()));
        HERE.set(self.here);
    }
}
