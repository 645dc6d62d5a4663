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

/// Makes the freeing of a struct as quiet as its making was: it is the struct's last field, and the struct's `drop` calls
/// [`QuietDrop::begin`]. The fields before it are then dropped in silence, which ends with this one.
#[derive(Debug, Default)]
pub(crate) struct QuietDrop(Option<Quiet>);

impl QuietDrop {
    pub(crate) fn begin(&mut self) {
        self.0 = Some(Quiet::new());
    }
}
