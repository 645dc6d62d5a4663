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
                        let expected = numbers[index as usize];
                        assert!(value.partial_cmp(&expected) == expected.partial_cmp(&expected));
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
}
