//! Silence: the profiler's own allocations are not the program's.

use std::cell::Cell;

thread_local! { static DEPTH: Cell<u32> = const { Cell::new(0) } }

/// While one lives, this thread's allocations are not recorded. Whatever allocates on the recording path, or while it
/// holds a lock that recording may need, has one.
#[derive(Debug)]
pub(crate) struct Quiet(());

impl Quiet {
    pub(crate) fn new() -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self(())
    }

    pub(crate) fn is_on() -> bool {
        DEPTH.with(|depth| depth.get() > 0)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}
