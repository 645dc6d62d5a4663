//! Vector code as functions of their own.

use pulp::{Simd, WithSimd};

/// Runs `op` as a function that is never inlined, so that its registers are its own.
#[inline(never)]
pub(crate) fn outlined<S: Simd, Op: WithSimd>(simd: S, op: Op) -> Op::Output {
    simd.vectorize(op)
}
