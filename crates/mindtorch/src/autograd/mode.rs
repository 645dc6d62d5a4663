//! What this thread does about gradients.

use crate::thread_state::here;

const GRAD: u8 = 1;
const INFERENCE: u8 = 2;
/// Inside an operation that has a backward rule of its own.
const BELOW: u8 = 4;
/// Of a thread that has begun.
pub(crate) const INITIAL: u8 = GRAD;

#[inline]
fn mode() -> u8 {
    here(|thread| thread.mode.get())
}

/// Whether operations become part of a graph, as far as the program decides.
pub fn is_grad_enabled() -> bool {
    mode() & GRAD != 0
}

/// Whether tensors are made that can never be part of a graph.
#[inline]
pub fn is_inference() -> bool {
    mode() & INFERENCE != 0
}

/// Whether an operation called here and now becomes part of a graph.
#[inline]
pub(crate) fn is_recording() -> bool {
    mode() & (GRAD | BELOW) == GRAD
}

/// Changes what this thread does about gradients, and gives what it did before.
pub fn set_grad_enabled(on: bool) -> bool {
    change(GRAD, on)
}

/// Changes whether this thread is in inference mode, and gives whether it was.
pub fn set_inference(on: bool) -> bool {
    change(INFERENCE, on)
}

fn change(flag: u8, on: bool) -> bool {
    here(|thread| {
        let mode = thread.mode.get();
        thread.mode.set(if on { mode | flag } else { mode & !flag });
        mode & flag != 0
    })
}

/// The number that the next node of this thread gets.
pub(crate) fn next_sequence() -> u64 {
    here(|thread| thread.next_sequence.replace(thread.next_sequence.get() + 1))
}

/// The number by which the profiler links an operation to its node: that of the node which it may be about to make.
#[inline]
pub(crate) fn sequence_to_record() -> Option<u64> {
    is_recording().then(|| here(|thread| thread.next_sequence.get()))
}

/// While it lives, operations of this thread are part of another one.
pub(crate) struct BelowAutograd(u8);

impl BelowAutograd {
    #[inline]
    pub(crate) fn enter() -> Self {
        Self(here(|thread| thread.mode.replace(thread.mode.get() | BELOW)))
    }
}

impl Drop for BelowAutograd {
    #[inline]
    fn drop(&mut self) {
        here(|thread| thread.mode.set(self.0));
    }
}

/// While it lives, this thread's mode is another.
pub(crate) struct Restore(u8);

impl Restore {
    /// As at the top of a program, with or without gradients.
    pub(crate) fn grad(on: bool) -> Self {
        Self(here(|thread| thread.mode.replace(if on { GRAD } else { 0 })))
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        here(|thread| thread.mode.set(self.0));
    }
}

/// Whether this thread is inside an operation that has a backward rule of its own.
#[inline]
pub(crate) fn is_below() -> bool {
    mode() & BELOW != 0
}
