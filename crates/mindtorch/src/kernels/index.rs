//! Rows of a tensor that indices select: read, replaced or added to.

#![expect(unsafe_code, reason = "rows are addresses and strides here")]

use super::bounds::Bounds;
use super::grid::Grid;
use super::memory::{Memory, numbers, numbers_mut};
use super::parallel::{for_ranges, for_rows, num_threads};
use super::simd::vectorized;
use super::update::{Update, Writer};
use crate::Tensor;
use crate::tensor::access::read;
use smallvec::SmallVec;
use std::ops::Range;

/// So many numbers are worth another thread.
const GRAIN: usize = 32_768;
/// Indices that are looked at together.
const TOGETHER: usize = 256;

/// The bounds of dimensions that are indexed together.
pub(crate) type BoundsList = SmallVec<[Bounds; 3]>;

/// How rows lie in a tensor of which some adjacent dimensions are indexed: a row is what the dimensions behind these
/// have.
struct Selection<'a> {
    before: Grid,
    row: Grid,
    bounds: &'a [Bounds],
    /// Of the indexed dimensions.
    strides: &'a [usize],
    /// For each indexed dimension, as many as there are rows to select.
    indices: SmallVec<[&'a [i64]; 3]>,
}

impl<'a> Selection<'a> {
    /// Dimensions from `first` on are indexed.
    fn new(tensor: &'a Tensor, first: usize, bounds: &'a [Bounds], indices: &[&'a Tensor]) -> Self {
        let (shape, strides) = (tensor.shape(), tensor.strides());
        let behind = first + bounds.len();
        Self {
            before: Grid::new(&shape[..first], &strides[..first]),
            row: Grid::new(&shape[behind..], &strides[behind..]),
            bounds,
            strides: &strides[first..behind],
            indices: indices.iter().map(|index| read(index)).collect(),
        }
    }

    /// How many rows are selected in each block.
    fn count(&self) -> usize {
        self.indices[0].len()
    }

    /// The places in a block of the rows that the indices from `first` on select.
    #[inline(always)]
    fn places(&self, first: usize, places: &mut [usize]) {
        places.fill(0);
        for ((indices, bounds), stride) in self.indices.iter().zip(self.bounds).zip(self.strides) {
            for (place, &index) in places.iter_mut().zip(&indices[first..]) {
                *place += bounds.position(index) * stride;
            }
        }
    }

    /// All places in a block are before this one.
    fn end(&self) -> usize {
        self.bounds
            .iter()
            .zip(self.strides)
            .map(|(bounds, stride)| bounds.size.saturating_sub(1) * stride)
            .sum::<usize>()
            + 1
    }
}

/// Copies the selected rows of `from`, whose dimensions from `first` on are indexed, to the contiguous `out`.
pub(crate) fn pick(out: &Tensor, from: &Tensor, first: usize, bounds: &[Bounds], indices: &[&Tensor]) {
    if out.numel() == 0 {
        return;
    }
    let selection = Selection::new(from, first, bounds, indices);
    match out.dtype().size() {
        1 => pick_as::<u8>(out, from, &selection),
        2 => pick_as::<u16>(out, from, &selection),
        4 => pick_as::<u32>(out, from, &selection),
        _ => pick_as::<u64>(out, from, &selection),
    }
}

fn pick_as<T: Copy + Send + Sync>(out: &Tensor, from: &Tensor, selection: &Selection<'_>) {
    let (count, width) = (selection.count(), selection.row.len());
    let from = Memory::<T>::of(from);
    for_rows(numbers_mut(out), width, GRAIN.div_ceil(width), |first, mut rows| {
        let mut places = [0; TOGETHER];
        let mut row = first;
        while !rows.is_empty() {
            let (block, index) = (row / count, row % count);
            let together = (count - index).min(TOGETHER).min(rows.len() / width);
            let places = &mut places[..together];
            selection.places(index, places);
            let base = selection.before.place(block);
            let (these, rest) = rows.split_at_mut(together * width);
            // SAFETY: the places are of rows in the tensor, as their indices were checked.
            unsafe { read_rows(&from, base, places, &selection.row, these) };
            (rows, row) = (rest, row + together);
        }
    });
}

/// Copies the rows at `base` and each of the places.
///
/// # Safety
/// There must be such rows.
unsafe fn read_rows<T: Copy>(from: &Memory<T>, base: usize, places: &[usize], row: &Grid, out: &mut [T]) {
    let (width, apart) = (row.len(), row.stride());
    // SAFETY: as the caller says.
    unsafe {
        let from = from.at(base);
        if width == 1 {
            for (out, &place) in out.iter_mut().zip(places) {
                *out = from.add(place).read();
            }
        } else if row.is_contiguous() {
            for (out, &place) in out.chunks_exact_mut(width).zip(places) {
                std::ptr::copy_nonoverlapping(from.add(place), out.as_mut_ptr(), width);
            }
        } else {
            for (out, &place) in out.chunks_exact_mut(width).zip(places) {
                row.for_runs(0..width, |run| {
                    for (step, out) in out[run.position..run.position + run.len].iter_mut().enumerate() {
                        *out = from.add(place + run.place + step * apart).read();
                    }
                });
            }
        }
    }
}

/// Writes values to the selected rows of `target`, whose dimensions from `first` on are indexed. There is a value for
/// each number, one after another, or one for all; where a row is selected several times, the last comes last.
pub(crate) fn write(
    target: &Tensor,
    values: &Tensor,
    first: usize,
    bounds: &[Bounds],
    indices: &[&Tensor],
    how: Update,
) {
    let selection = Selection::new(target, first, bounds, indices);
    if selection.before.len() * selection.count() * selection.row.len() > 0 {
        how.write(target.dtype(), WriteRows { target, values, selection });
    }
}

struct WriteRows<'a> {
    target: &'a Tensor,
    values: &'a Tensor,
    selection: Selection<'a>,
}

impl Writer for WriteRows<'_> {
    fn write<T: Copy + Send + Sync>(self, update: impl Fn(T, T) -> T + Copy + Sync) {
        let Self { target, values, selection } = self;
        let (target, values) = (Memory::<T>::of(target), numbers(values));
        let (blocks, count, width) = (selection.before.len(), selection.count(), selection.row.len());
        let numbers = blocks * count * width;
        // A row is always written by the same thread, which takes the indices in their order.
        if blocks >= num_threads() || numbers < 2 * GRAIN {
            for_ranges(blocks, GRAIN.div_ceil(count * width), |blocks| {
                write_part(&target, values, &selection, blocks, 0..usize::MAX, update);
            });
        } else {
            let end = selection.end();
            for_ranges(end, end.div_ceil(numbers / GRAIN), |places| {
                write_part(&target, values, &selection, 0..blocks, places, update);
            });
        }
    }
}

/// Writes to those rows that begin at some places of some blocks.
fn write_part<T: Copy>(
    target: &Memory<T>,
    values: &[T],
    selection: &Selection<'_>,
    blocks: Range<usize>,
    within: Range<usize>,
    update: impl Fn(T, T) -> T + Copy,
) {
    let (count, width) = (selection.count(), selection.row.len());
    vectorized(
        #[inline(always)]
        || {
            let mut places = [0; TOGETHER];
            for first in (0..count).step_by(TOGETHER) {
                let places = &mut places[..TOGETHER.min(count - first)];
                selection.places(first, places);
                for block in blocks.clone() {
                    let base = selection.before.place(block);
                    for (index, &place) in places.iter().enumerate().filter(|(_, place)| within.contains(place)) {
                        let row = block * count + first + index;
                        let values = if values.len() == 1 { values } else { &values[row * width..(row + 1) * width] };
                        // SAFETY: the place is of a row in the tensor, as its indices were checked.
                        unsafe { update_row(target, base + place, &selection.row, values, update) };
                    }
                }
            }
        },
    );
}

/// Updates the row at `place` with `values`, one for each of its numbers, or one for all.
///
/// # Safety
/// There must be such a row, and no other thread may use it.
#[inline(always)]
unsafe fn update_row<T: Copy>(
    to: &Memory<T>,
    place: usize,
    row: &Grid,
    values: &[T],
    update: impl Fn(T, T) -> T + Copy,
) {
    let (each, apart) = (usize::from(values.len() > 1), row.stride());
    // SAFETY: as the caller says.
    unsafe {
        if row.is_contiguous() && values.len() == row.len() {
            for (step, &value) in values.iter().enumerate() {
                to.update(place + step, value, update);
            }
            return;
        }
        row.for_runs(0..row.len(), |run| {
            for step in 0..run.len {
                to.update(place + run.place + step * apart, values[(run.position + step) * each], update);
            }
        });
    }
}
