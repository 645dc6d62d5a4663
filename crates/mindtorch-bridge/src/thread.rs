//! What a thread of PyTorch's is to the recorder: its number, its open operators, and those that it knows.

#![expect(unsafe_code, reason = "what a table has of a thread is at an address")]

use crate::known::KnownOps;
use crate::thread_table::ThreadTable;
use mindtorch_profiler::{Here, Span};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

/// By PyTorch's number of a thread: the recorder's.
type Numbers = RwLock<FxHashMap<u64, u32>>;

/// None yet, or those of this process: a child has its own, since a thread that it does not have may have the lock of its parent's.
static NUMBERS: AtomicPtr<Numbers> = AtomicPtr::new(ptr::null_mut());

/// How many forks it took to make this process.
static FORKS: AtomicU32 = AtomicU32::new(0);

thread_local! { static THREAD: ThreadCell = const { ThreadCell(RefCell::new(Thread::new())) } }

/// Where [`THREAD`] is, which is sooner found.
static THREADS: ThreadTable<ThreadCell> = ThreadTable::new();

/// What each operator needs is in its first line of the processor's cache.
#[repr(align(64))]
struct ThreadCell(RefCell<Thread>);

/// The cell's own word, and what comes before the last thread that was asked for.
const _: () = assert!(size_of::<RefCell<()>>() + offset_of!(Thread, latest) <= 64);

/// In this order, for the sake of that line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Thread {
    /// The operators that have not ended, with what the shim knows them by. They end here, the last first.
    pub(crate) open_spans: Vec<(usize, Span)>,
    /// PyTorch's number of this thread, once it was noted.
    noted: u64,
    /// What it is to the recorder, from then on.
    pub(crate) here: Option<Here>,
    pub(crate) known: KnownOps,
    /// The last thread that was asked for, and what it is here.
    latest: (u64, u32),
    /// The process that all this is of.
    forks: u32,
}

impl Thread {
    const fn new() -> Self {
        Self { open_spans: Vec::new(), noted: 0, here: None, known: KnownOps::new(), latest: (0, 0), forks: 0 }
    }

    /// None if the thread is being torn down, or in the middle of this: an allocator that is observed may be called here.
    pub(crate) fn with<T>(work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        THREAD
            .try_with(|cell| {
                if watches_forks() {
                    THREADS.enter(NonNull::from(cell));
                }
                let mut thread = cell.0.try_borrow_mut().ok()?;
                thread.forget_parent();
                Some(work(&mut thread))
            })
            .ok()
            .flatten()
    }

    /// The same, if the thread is in the table: one that was here before, mostly.
    #[inline(always)]
    pub(crate) fn with_found<T>(work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let cell = THREADS.get()?;
        // SAFETY: this thread's, which is there until it is dropped, and then no longer found.
        let mut thread = unsafe { cell.as_ref() }.0.try_borrow_mut().ok()?;
        Some(work(&mut thread))
    }

    /// In a child process, forgets the numbers that threads had in its parent.
    fn forget_parent(&mut self) {
        let forks = FORKS.load(Ordering::Relaxed);
        if self.forks != forks {
            (self.noted, self.here, self.latest, self.forks) = (0, None, (0, 0), forks);
        }
    }

    /// Keeps a span, if it is recorded, until what the shim knows it by ends.
    #[inline(always)]
    pub(crate) fn open(&mut self, key: *const c_void, span: Span) {
        if span.is_recorded() {
            self.open_spans.push((key.addr(), span));
        }
    }

    /// Notes that this thread is PyTorch's `thread`.
    #[inline]
    pub(crate) fn is_torchs(&mut self, thread: u64) {
        if self.noted != thread && thread != 0 {
            self.note(thread);
        }
    }

    #[cold]
    fn note(&mut self, thread: u64) {
        let number = mindtorch_profiler::thread_number();
        numbers().write().unwrap_or_else(PoisonError::into_inner).insert(thread, number);
        (self.noted, self.here) = (thread, Some(Here::find()));
    }

    /// The recorder's number of PyTorch's `thread`; 0 if that has recorded nothing.
    #[inline]
    pub(crate) fn number_of(&mut self, thread: u64) -> u32 {
        let (latest, number) = self.latest;
        if latest == thread && number != 0 { number } else { self.look_up(thread) }
    }

    #[cold]
    fn look_up(&mut self, thread: u64) -> u32 {
        let numbers = numbers().read().unwrap_or_else(PoisonError::into_inner);
        let number = numbers.get(&thread).copied().unwrap_or(0);
        self.latest = (thread, number);
        number
    }
}

fn numbers() -> &'static Numbers {
    let mut numbers = NUMBERS.load(Ordering::Acquire);
    if numbers.is_null() {
        let new = Box::into_raw(Box::default());
        match NUMBERS.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => numbers = new,
            Err(first) => {
                // SAFETY: it is a box's, and nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                numbers = first;
            }
        }
    }
    // SAFETY: it is a box's that is never freed.
    unsafe { &*numbers }
}

/// Has a child process begin without what is known of its parent's threads. False if the system refuses, for want of memory.
pub(crate) fn watches_forks() -> bool {
    static WATCHES: OnceLock<bool> = OnceLock::new();
    extern "C" fn forked() {
        FORKS.fetch_add(1, Ordering::Relaxed);
        NUMBERS.store(ptr::null_mut(), Ordering::Relaxed);
        // Its own thread too, which so comes to see that it is another's.
        THREADS.leave_all();
    }
    // SAFETY: the function is there for ever, and does not unwind.
    *WATCHES.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(forked)) } == 0)
}

impl Drop for Thread {
    fn drop(&mut self) {
        THREADS.leave();
    }
}

#[cfg(all(test, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// Threads that the child starts may be where those of its parent were.
    #[test]
    fn a_forked_child_forgets_its_parents_threads() {
        // Several: some may find their places taken.
        const OTHERS: usize = 5;
        let together = Barrier::new(OTHERS + 1);
        std::thread::scope(|scope| {
            for _ in 0..OTHERS {
                scope.spawn(|| {
                    Thread::with(|_| ());
                    together.wait();
                    together.wait();
                });
            }
            Thread::with(|thread| thread.is_torchs(7));
            together.wait();
            assert!(THREADS.count() > 1);
            assert!(!NUMBERS.load(Ordering::Relaxed).is_null());
            // SAFETY: the child looks at a table and ends, without anything that needs a lock.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let is_forgotten = THREADS.count() == 0 && NUMBERS.load(Ordering::Relaxed).is_null();
                // SAFETY: it ends the process.
                unsafe { libc::_exit(i32::from(!is_forgotten)) };
            }
            together.wait();
            let mut status = -1;
            // SAFETY: the child is this thread's, and the status a number.
            let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!((ended, status), (child, 0));
        });
    }
}
