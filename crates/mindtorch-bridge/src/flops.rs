//! How many floating-point operations an operator does.

use crate::inputs::{INTS, TENSOR, UNSTRIDED, walk};

/// The count for an operator with these inputs, in the shim's words; 0 where torch has none.
pub(crate) fn count(name: &str, words: &[u64]) -> u64 {
    let input = |at: usize| walk(words).nth(at);
    // Of a tensor without a shape, such as a nested one, nothing is known: it is not one number.
    if !matches!(input(0), Some((TENSOR | UNSTRIDED, _))) {
        return 0;
    }
    let shape = |at: usize| match input(at) {
        Some((TENSOR | UNSTRIDED, sizes)) => sizes,
        _ => &[],
    };
    let pair = |at: usize| match input(at) {
        Some((INTS, &[height, width])) => Some([height.cast_signed(), width.cast_signed()]),
        _ => None,
    };
    mindtorch_profiler::flops(name, shape, pair)
}
