//! `fork`: a child has its parent's devices in memory, but not the threads that run them.
//!
//! So a child of a process that used an accelerator may not: every entry asks first, and takes no lock, since a thread
//! that the child does not have may hold it.

use super::error::NpuError;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process was forked from one that used an accelerator.
#[inline]
pub(super) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// Refuses in a child of a process that used an accelerator.
#[inline]
pub(super) fn refuse_in_child() -> Result<(), NpuError> {
    if is_child() { Err(NpuError::Forked) } else { Ok(()) }
}

/// Makes children that are forked from now on know it. To be called before the first device starts.
#[expect(unsafe_code, reason = "the standard library has no fork handlers")]
pub(super) fn watch_forks() {
    static WATCHING: Once = Once::new();
    // SAFETY: the handler lives as long as the process, does not unwind and stores to a static, which is all that may be
    // done between a fork and what follows. It fails for want of memory only, and then forks are as they were.
    WATCHING.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    });
}

extern "C" fn in_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
}
