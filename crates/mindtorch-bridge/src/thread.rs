//! What a thread of PyTorch's is to the recorder: its number, its open operators, and the names it uses.

use crate::input_cache::InputCache;
use crate::names::NameCache;
use mindtorch_profiler::Span;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::{PoisonError, RwLock};

/// By PyTorch's number of a thread: the recorder's.
static NUMBERS: RwLock<Option<FxHashMap<u64, u32>>> = RwLock::new(None);

// All of it in one place: what each look at a thread's own costs is a good part of what an operator does.
thread_local! { static THREAD: RefCell<Thread> = const { RefCell::new(Thread::new()) } }

#[derive(Debug)]
pub(crate) struct Thread {
    /// The operators that have not ended, with what the shim knows them by. They end here, the last first.
    pub(crate) open: Vec<(usize, Span)>,
    pub(crate) names: NameCache,
    pub(crate) inputs: InputCache,
    /// PyTorch's number of this thread, once it was noted.
    noted: u64,
    /// The last thread that was asked for, and what it is here.
    latest: (u64, u32),
}

impl Thread {
    const fn new() -> Self {
        Self { open: Vec::new(), names: NameCache::new(), inputs: InputCache::new(), noted: 0, latest: (0, 0) }
    }

    /// None if the thread is being torn down, or in the middle of this: an allocator that is observed may be called here.
    #[inline]
    pub(crate) fn with<T>(work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        THREAD.try_with(|thread| thread.try_borrow_mut().ok().map(|mut thread| work(&mut thread))).ok().flatten()
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
        let mut numbers = NUMBERS.write().unwrap_or_else(PoisonError::into_inner);
        numbers.get_or_insert_default().insert(thread, number);
        self.noted = thread;
    }

    /// The recorder's number of PyTorch's `thread`; 0 if that has recorded nothing.
    #[inline]
    pub(crate) fn number_of(&mut self, thread: u64) -> u32 {
        let (latest, number) = self.latest;
        if latest == thread && number != 0 { number } else { self.look_up(thread) }
    }

    #[cold]
    fn look_up(&mut self, thread: u64) -> u32 {
        let numbers = NUMBERS.read().unwrap_or_else(PoisonError::into_inner);
        let number = numbers.as_ref().and_then(|numbers| numbers.get(&thread)).copied().unwrap_or(0);
        self.latest = (thread, number);
        number
    }
}
