//! The greatest, the least and the middle numbers along a dimension, without sorting all of it.

use super::line::Axis;
use super::simd::vectorized;
use super::sort::{Column, Entry, Sortable, for_columns, scratch_for};

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
    scratch_for(axis, wanted.room(axis.len))
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
    for_columns(input, axis, (wanted.k, values, indices), (room, scratch), |column, candidates| {
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
    scratch_for(axis, axis.len)
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
    for_columns(input, axis, (1, values, indices), (axis.len, scratch), |column, entries| {
        for (index, entry) in entries[..axis.len].iter_mut().enumerate() {
            *entry = column.number(index).entry(index, false);
        }
        let k = k(column);
        entries[..axis.len].select_nth_unstable(k);
        &entries[k..]
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::line::samples::{column, samples, whole_numbers};
    use crate::kernels::sort::{scratch_len, sort};

    fn floats(len: usize) -> Vec<f32> {
        let special = |number| if number == 1 { f32::NAN } else { number as f32 };
        whole_numbers(len, 500).into_iter().map(special).collect()
    }

    /// The positions of the sorted numbers.
    fn sorted<T: Sortable + Default>(input: &[T], axis: Axis, descending: bool) -> Vec<i64> {
        let (mut values, mut indices) = (vec![T::default(); input.len()], vec![0; input.len()]);
        sort(input, axis, descending, &mut values, &mut indices, &mut vec![T::Entry::default(); scratch_len(axis)]);
        indices
    }

    fn check_topk<T: Sortable + Default>(input: &[T], axis: Axis, largest: bool) {
        let all = sorted(input, axis, largest);
        for k in [1, 3, axis.len / 3, axis.len].into_iter().filter(|&k| k <= axis.len) {
            for sorted in [true, false] {
                let (kept, wanted) = (Axis { len: k, ..axis }, TopK { k, largest, sorted });
                let (mut values, mut indices) = (vec![T::default(); kept.numbers()], vec![-1; kept.numbers()]);
                let mut scratch = vec![T::Entry::default(); topk_scratch_len(axis, wanted)];
                topk(input, axis, wanted, &mut values, &mut indices, &mut scratch);
                for (outer, inner) in axis.columns() {
                    let mut expected = column(&all, axis, outer, inner);
                    expected.truncate(k);
                    let mut found = column(&indices, kept, outer, inner);
                    let numbers = column(input, axis, outer, inner);
                    for (&index, value) in found.iter().zip(column(&values, kept, outer, inner)) {
                        assert!(value == numbers[index as usize] || value.is_nan());
                    }
                    if !sorted {
                        expected.sort_unstable();
                        found.sort_unstable();
                    }
                    assert_eq!(found, expected, "{axis:?} {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn the_best_are_the_first_of_the_sorted() {
        for axis in samples() {
            for largest in [true, false] {
                check_topk(&floats(axis.numbers()), axis, largest);
                check_topk(&whole_numbers(axis.numbers(), 1 << 40), axis, largest);
            }
        }
    }

    #[test]
    fn the_kth_is_at_its_place_among_the_sorted() {
        for axis in samples().into_iter().filter(|axis| axis.len > 0) {
            let input = floats(axis.numbers());
            let all = sorted(&input, axis, false);
            let (mut values, mut indices) = (vec![0.0; axis.reduced()], vec![-1; axis.reduced()]);
            let mut scratch = vec![0; kth_scratch_len(axis)];
            for k in [0, axis.len / 2, axis.len - 1] {
                kth(&input, axis, k, &mut values, &mut indices, &mut scratch);
                for ((outer, inner), &index) in axis.columns().zip(&indices) {
                    assert_eq!(index, column(&all, axis, outer, inner)[k], "{axis:?} {k}");
                }
            }
        }
    }

    #[test]
    fn a_median_is_nan_only_if_it_is_told_to_be() {
        let median_of = |numbers: &[f64], of| {
            let (mut value, mut index) = ([0.0], [-1]);
            median(numbers, Axis::whole(numbers.len()), of, &mut value, &mut index, &mut vec![[0; 2]; numbers.len()]);
            (value[0], index[0])
        };
        assert_eq!(median_of(&[3.0, 1.0, 2.0], MedianOf::All), (2.0, 2));
        assert_eq!(median_of(&[4.0, 3.0, 1.0, 2.0], MedianOf::All), (2.0, 3));
        let (value, index) = median_of(&[3.0, f64::NAN, 2.0, f64::NAN], MedianOf::All);
        assert!(value.is_nan() && index == 1);
        assert_eq!(median_of(&[3.0, f64::NAN, 2.0, f64::NAN, 5.0], MedianOf::Numbers), (3.0, 0));
        let (value, index) = median_of(&[f64::NAN, f64::NAN], MedianOf::Numbers);
        assert!(value.is_nan() && index == 0);
    }
}
