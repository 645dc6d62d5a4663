//! Numbers moved within a tensor.

#![expect(unsafe_code, reason = "operands are addresses and strides here")]

use crate::Tensor;
use crate::shape::Dims;
use crate::tensor::access;

/// Copies `from` into `to`, backwards along `dims`.
pub(crate) fn flip(to: &Tensor, from: &Tensor, dims: &[usize]) {
    if to.numel() == 0 {
        return;
    }
    let size = to.dtype().size();
    let (target, source) = (access::start(to), access::start(from));
    let mut index = Dims::from_elem(0, to.ndim());
    for place in 0..to.numel() {
        let mut offset = 0;
        for (dim, &at) in index.iter().enumerate() {
            let at = if dims.contains(&dim) { from.shape()[dim] - 1 - at } else { at };
            offset += at * from.strides()[dim];
        }
        // SAFETY: `to` is contiguous with as many numbers as `from`, and the index is one of `from`'s.
        unsafe { std::ptr::copy_nonoverlapping(source.add(offset * size), target.add(place * size), size) };
        for dim in (0..index.len()).rev() {
            index[dim] += 1;
            if index[dim] < to.shape()[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
}

/// Copies matrices, with zeros above (`lower`) or below the diagonal that is `diagonal` to the right of the main one.
pub(crate) fn triangle(to: &Tensor, from: &Tensor, diagonal: i64, lower: bool) {
    super::copy::copy(to, from);
    let (rows, cols) = (to.shape()[to.ndim() - 2], to.shape()[to.ndim() - 1]);
    if rows * cols == 0 {
        return;
    }
    let size = to.dtype().size();
    let start = access::start(to);
    for row in 0..to.numel() / cols {
        let edge = (row % rows) as i64 + diagonal;
        // Of this row, these columns are cut.
        let (first, last) =
            if lower { ((edge + 1).clamp(0, cols as i64), cols as i64) } else { (0, edge.clamp(0, cols as i64)) };
        // SAFETY: `to` is contiguous, and these are places in its row. Zero is zero in every type.
        unsafe { start.add((row * cols + first as usize) * size).write_bytes(0, (last - first) as usize * size) };
    }
}
