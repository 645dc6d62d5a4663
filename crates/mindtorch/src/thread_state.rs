//! What a thread is in the middle of, in one place: in a shared library each look for something of the thread's own is a call,
//! and every operation looks for all of this.

use mindtorch_profiler::MemoryRole;
use std::cell::Cell;

thread_local! {
    static STATE: ThreadState = const {
        ThreadState {
            mode: Cell::new(crate::autograd::mode::INITIAL),
            next_sequence: Cell::new(0),
            has_target: Cell::new(false),
            role: Cell::new(MemoryRole::Unknown),
        }
    };
}

pub(crate) struct ThreadState {
    /// What it does about gradients; see `autograd/mode.rs`.
    pub(crate) mode: Cell<u8>,
    /// The number of the next node. Per thread, as in torch: together with the thread it names a node.
    pub(crate) next_sequence: Cell<u64>,
    /// Whether the next operation is told where to put its result.
    pub(crate) has_target: Cell<bool>,
    /// What it allocates is for this.
    pub(crate) role: Cell<MemoryRole>,
}

/// Gives what `ask` finds out about this thread.
#[inline(always)]
pub(crate) fn here<T>(ask: impl FnOnce(&ThreadState) -> T) -> T {
    STATE.with(ask)
}
