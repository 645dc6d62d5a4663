//! PyTorch's numbers of threads, and the recorder's.

use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::{PoisonError, RwLock};

/// By PyTorch's number: the recorder's.
static NUMBERS: RwLock<Option<FxHashMap<u64, u32>>> = RwLock::new(None);

thread_local! {
    /// PyTorch's number of this thread, once it was noted.
    static NOTED: Cell<u64> = const { Cell::new(0) };
    /// The last that was asked for, and what it is here.
    static LATEST: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
}

/// Notes that this thread is PyTorch's `thread`.
#[inline]
pub(crate) fn note(thread: u64) {
    if NOTED.get() != thread {
        note_new(thread);
    }
}

#[cold]
fn note_new(thread: u64) {
    let number = mindtorch_profiler::thread_number();
    let mut numbers = NUMBERS.write().unwrap_or_else(PoisonError::into_inner);
    numbers.get_or_insert_default().insert(thread, number);
    NOTED.set(thread);
}

/// The recorder's number of PyTorch's `thread`; 0 if that has recorded nothing.
pub(crate) fn number_of(thread: u64) -> u32 {
    let (latest, number) = LATEST.get();
    if latest == thread && number != 0 {
        return number;
    }
    let numbers = NUMBERS.read().unwrap_or_else(PoisonError::into_inner);
    let number = numbers.as_ref().and_then(|numbers| numbers.get(&thread)).copied().unwrap_or(0);
    LATEST.set((thread, number));
    number
}
