//! What this thread does about gradients.

use std::cell::Cell;

const GRAD: u8 = 1;
const INFERENCE: u8 = 2;
/// Inside an operation that has a backward rule of its own.
const BELOW: u8 = 4;

thread_local! {
    static MODE: Cell<u8> = const { Cell::new(GRAD) };
    /// The number of the next node. Per thread, as in torch: together with the thread it names a node.
    static SEQUENCE: Cell<u64> = const { Cell::new(0) };
}

/// Whether operations become part of a graph, as far as the program decides.
pub fn is_grad_enabled() -> bool {
    MODE.get() & GRAD != 0
}

/// Whether tensors are made that can never be part of a graph.
#[inline]
pub fn is_inference() -> bool {
    MODE.get() & INFERENCE != 0
}

/// Whether an operation called here and now becomes part of a graph.
#[inline]
pub(crate) fn is_recording() -> bool {
    MODE.get() & (GRAD | BELOW) == GRAD
}

/// Changes what this thread does about gradients, and gives what it did before.
pub fn set_grad_enabled(on: bool) -> bool {
    let mode = MODE.get();
    MODE.set(if on { mode | GRAD } else { mode & !GRAD });
    mode & GRAD != 0
}

/// Changes whether this thread is in inference mode, and gives whether it was.
pub fn set_inference(on: bool) -> bool {
    let mode = MODE.get();
    MODE.set(if on { mode | INFERENCE } else { mode & !INFERENCE });
    mode & INFERENCE != 0
}

/// The number that the next node of this thread gets.
pub(crate) fn next_sequence() -> u64 {
    SEQUENCE.replace(SEQUENCE.get() + 1)
}

/// The number by which the profiler links an operation to its node: that of the node which it may be about to make.
#[inline]
pub(crate) fn sequence_to_record() -> Option<u64> {
    is_recording().then(|| SEQUENCE.get())
}

/// While it lives, operations of this thread are part of another one.
pub(crate) struct BelowAutograd(u8);

impl BelowAutograd {
    #[inline]
    pub(crate) fn enter() -> Self {
        Self(MODE.replace(MODE.get() | BELOW))
    }
}

impl Drop for BelowAutograd {
    #[inline]
    fn drop(&mut self) {
        MODE.set(self.0);
    }
}

/// While it lives, this thread's mode is another.
pub(crate) struct Restore(u8);

impl Restore {
    /// As at the top of a program, with or without gradients.
    pub(crate) fn grad(on: bool) -> Self {
        Self(MODE.replace(if on { GRAD } else { 0 }))
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        MODE.set(self.0);
    }
}

/// Whether this thread is inside an operation that has a backward rule of its own.
#[inline]
pub(crate) fn is_below() -> bool {
    MODE.get() & BELOW != 0
}
