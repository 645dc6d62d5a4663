//! `fork`: the parent keeps its trace, the child has none.
//!
//! The log is locked while the process forks, so that the child's copy is whole and free; there it is thrown away, unwritten.

use super::Log;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::{MutexGuard, Once};

thread_local! {
    /// Without a destructor, so that it is there even in a thread that forks while it is torn down.
    static HELD: RefCell<Option<ManuallyDrop<MutexGuard<'static, Option<Log>>>>> = const { RefCell::new(None) };
}

/// To be called before the first trace.
#[expect(unsafe_code, reason = "the standard library has no fork handlers")]
pub(super) fn watch() {
    static WATCHING: Once = Once::new();
    // SAFETY: the handlers are functions that live as long as the process and do not unwind. A failure (no memory) leaves
    // forks as they were, which is all that can be done about it.
    WATCHING.call_once(|| unsafe {
        libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
    });
}

extern "C" fn prepare() {
    HELD.set(Some(ManuallyDrop::new(super::lock())));
}

extern "C" fn parent() {
    drop(HELD.take().map(ManuallyDrop::into_inner));
}

extern "C" fn child() {
    if let Some(mut log) = HELD.take().map(ManuallyDrop::into_inner) {
        *log = None;
    }
}
