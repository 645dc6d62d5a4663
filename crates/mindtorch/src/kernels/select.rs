//! The greatest, the least and the middle numbers along a dimension, without sorting all of it.

use super::line::Axis;
use super::simd::vectorized;
use super::sort::{Column, Entry, Sortable, for_columns, pieces};

/// The numbers that are passed over at once when none of them is among the best.
const TOGETHER: usize = 16;

/// Which numbers [`topk`] finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopK {
    /// How many: not more than there are.
    pub(crate) k: usize,
    /// The greatest, or the least.
    pub(crate) largest: bool,
    /// In order, the best first, or in any.
    pub(crate) sorted: bool,
}

impl TopK {
    /// The entries that one column takes: the best so far, and room for more.
    fn room(self, len: usize) -> usize {
        (4 * self.k).min(len) + 2 * TOGETHER
    }
}

/// The entries that [`topk`] works with.
pub(crate) fn topk_scratch_len(axis: Axis, wanted: TopK) -> usize {
    wanted.room(axis.len) * pieces(axis)
}

/// The greatest or least numbers and their positions, the earlier ones where numbers are equal. NaN is greater than all numbers.
pub(crate) fn topk<T: Sortable>(
    input: &[T],
    axis: Axis,
    wanted: TopK,
    values: &mut [T],
    indices: &mut [i64],
    scratch: &mut [T::Entry],
) {
    debug_assert!(wanted.k <= axis.len);
    let room = wanted.room(axis.len);
    for_columns(input, axis, (wanted.k, values, indices), scratch.chunks_exact_mut(room), |column, candidates| {
        let count = vectorized(
            #[inline(always)]
            || keep_best(column, axis.len, wanted, candidates),
        );
        if count > wanted.k {
            candidates[..count].select_nth_unstable(wanted.k - 1);
        }
        if wanted.sorted {
            candidates[..wanted.k].sort_unstable();
        }
        candidates
    });
}

/// Collects entries, the best ones among them, and says how many. When there is no more room, only the best are kept, and from then
/// on entries that are not better than the last of them are passed over.
#[inline(always)]
fn keep_best<T: Sortable>(column: Column<'_, T>, len: usize, wanted: TopK, candidates: &mut [T::Entry]) -> usize {
    let mut count = 0;
    let mut limit: Option<(T::Entry, T)> = None;
    for start in (0..len).step_by(TOGETHER) {
        let block = start..(start + TOGETHER).min(len);
        if let Some((_, last)) = limit {
            // NaN is neither: it is looked at more closely.
            let worse = |number: T| if wanted.largest { number <= last } else { number >= last };
            if block.clone().fold(true, |all, index| all & worse(column.number(index))) {
                continue;
            }
        }
        if count + TOGETHER > candidates.len() {
            let last = *candidates[..count].select_nth_unstable(wanted.k - 1).1;
            limit = Some((last, column.number(last.index())));
            count = wanted.k;
        }
        for index in block {
            // Written always, and overwritten by the next where it is not among the best: no branch to mispredict.
            let entry = column.number(index).entry(index, wanted.largest);
            candidates[count] = entry;
            count += usize::from(limit.is_none_or(|(last, _)| entry < last));
        }
    }
    count
}

/// The entries that [`kth`] and [`median`] work with.
pub(crate) fn kth_scratch_len(axis: Axis) -> usize {
    axis.len * pieces(axis)
}

/// The numbers that would be at position `k`, counted from 0, if all were sorted, NaN last; and their positions.
pub(crate) fn kth<T: Sortable>(
    input: &[T],
    axis: Axis,
    k: usize,
    values: &mut [T],
    indices: &mut [i64],
    scratch: &mut [T::Entry],
) {
    debug_assert!(k < axis.len);
    place(input, axis, |_| k, values, indices, scratch);
}

/// What a median does with NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MedianOf {
    /// A single NaN is the median.
    All,
    /// The median is that of the numbers, if there are any.
    Numbers,
}

/// The middle numbers, the lesser of two, and their positions.
pub(crate) fn median<T: Sortable>(
    input: &[T],
    axis: Axis,
    of: MedianOf,
    values: &mut [T],
    indices: &mut [i64],
    scratch: &mut [T::Entry],
) {
    let middle = |column: Column<'_, T>| {
        let nans = (0..axis.len).filter(|&index| column.number(index).is_nan()).count();
        match of {
            // NaNs come last: the first of them.
            MedianOf::All if nans > 0 => axis.len - nans,
            _ => (axis.len - nans).saturating_sub(1) / 2,
        }
    };
    place(input, axis, middle, values, indices, scratch);
}

fn place<T: Sortable>(
    input: &[T],
    axis: Axis,
    k: impl Fn(Column<'_, T>) -> usize + Sync,
    values: &mut [T],
    indices: &mut [i64],
    scratch: &mut [T::Entry],
) {
    for_columns(input, axis, (1, values, indices), scratch.chunks_exact_mut(axis.len.max(1)), |column, entries| {
        for (index, entry) in entries.iter_mut().enumerate() {
            *entry = column.number(index).entry(index, false);
        }
        let k = k(column);
        entries.select_nth_unstable(k);
        &entries[k..]
    });
}
