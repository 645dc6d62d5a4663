//! Numbers that are indexed one by one along a dimension: read, replaced or added to.

#![expect(unsafe_code, reason = "numbers are addressed by indices here")]

use super::bounds::Bounds;
use super::grid::Grid;
use super::memory::{Memory, numbers, numbers_mut};
use super::parallel::{for_ranges, for_rows, num_threads};
use super::update::{Update, Writer};
use crate::Tensor;
use crate::shape::Dims;
use crate::tensor::access::read;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// So many numbers are worth another thread.
const GRAIN: usize = 32_768;

/// So many indices are looked at, and then used, while they are in the nearest cache.
const AT_ONCE: usize = 1024;

/// For every index, the number of `from` at its position, but with this index in the dimension that `bounds` are of.
/// `out` and `index` have one shape, and are contiguous.
///
/// # Errors
/// With the first index that the dimension does not have.
pub(crate) fn gather(out: &Tensor, from: &Tensor, index: &Tensor, bounds: Bounds) -> Result<(), i64> {
    match out.dtype().size() {
        1 => gather_as::<u8>(out, from, index, bounds),
        2 => gather_as::<u16>(out, from, index, bounds),
        4 => gather_as::<u32>(out, from, index, bounds),
        _ => gather_as::<u64>(out, from, index, bounds),
    }
}

fn gather_as<T: Copy + Send + Sync>(out: &Tensor, from: &Tensor, index: &Tensor, bounds: Bounds) -> Result<(), i64> {
    let mut strides: Dims = from.strides().into();
    let stride = std::mem::take(&mut strides[bounds.dim]);
    let grid = Grid::new(index.shape(), &strides);
    let apart = grid.stride();
    let indices: &[i64] = read(index);
    let from = Memory::<T>::of(from);
    let wrong = AtomicBool::new(false);
    for_rows(numbers_mut(out), 1, GRAIN, |first, out| {
        grid.for_runs(first..first + out.len(), |run| {
            let indices = &indices[run.position..run.position + run.len];
            let out = &mut out[run.position - first..][..run.len];
            for (piece, (out, indices)) in out.chunks_mut(AT_ONCE).zip(indices.chunks(AT_ONCE)).enumerate() {
                if bounds.any_outside(indices) {
                    return wrong.store(true, Ordering::Relaxed);
                }
                let start = run.place + piece * AT_ONCE * apart;
                // Not vectorized: the processors' own instructions for it are slower than one load after another.
                for (step, (out, &index)) in out.iter_mut().zip(indices).enumerate() {
                    let place = start + step * apart + bounds.within(index) * stride;
                    // SAFETY: the dimension has the index, and the others are at most as large as the tensor's.
                    *out = unsafe { from.at(place).read() };
                }
            }
        });
    });
    if wrong.into_inner() { bounds.first_outside(indices).map_or(Ok(()), Err) } else { Ok(()) }
}

/// Writes a value to where [`gather`] would read for each index. There is a value for each, in one order with them, or
/// one for all; where a number is written to several times, the last comes last.
pub(crate) fn scatter(target: &Tensor, values: &Tensor, index: &Tensor, bounds: Bounds, how: Update) {
    how.write(target.dtype(), Scatter { target, values, index, bounds });
}

struct Scatter<'a> {
    target: &'a Tensor,
    values: &'a Tensor,
    index: &'a Tensor,
    bounds: Bounds,
}

impl Writer for Scatter<'_> {
    fn write<T: Copy + Send + Sync>(self, update: impl Fn(T, T) -> T + Copy + Sync) {
        let Self { target, values, index, bounds } = self;
        let (dim, shape, strides) = (bounds.dim, index.shape(), target.strides());
        let outer = Grid::new(&shape[..dim], &strides[..dim]);
        let inner = Grid::new(&shape[dim + 1..], &strides[dim + 1..]);
        let (len, stride, apart) = (shape[dim], strides[dim], inner.stride());
        let (blocks, width) = (outer.len(), inner.len());
        let indices: &[i64] = read(index);
        let (target, values) = (Memory::<T>::of(target), numbers(values));
        let each = usize::from(values.len() > 1);
        let write_one = |at: usize, place: usize| {
            // SAFETY: the index is one that the dimension has, and the others are at most as large as the tensor's.
            unsafe { target.update(place + bounds.position(indices[at]) * stride, values[at * each], update) };
        };
        // A number is always written by the same thread, which takes the indices in their order.
        let write = |blocks: Range<usize>, columns: Range<usize>| {
            for block in blocks {
                let base = outer.place(block);
                for line in block * len..(block + 1) * len {
                    if width == 1 {
                        write_one(line, base);
                        continue;
                    }
                    inner.for_runs(columns.clone(), |run| {
                        for step in 0..run.len {
                            let place = base + run.place + step * apart;
                            write_one(line * width + run.position + step, place);
                        }
                    });
                }
            }
        };
        if blocks >= num_threads() || width == 1 {
            for_ranges(blocks, GRAIN.div_ceil((len * width).max(1)), |blocks| write(blocks, 0..width));
        } else {
            for_ranges(width, GRAIN.div_ceil((blocks * len).max(1)), |columns| write(0..blocks, columns));
        }
    }
}
