//! Sorting along a dimension, stably, with the positions that the numbers had.
//!
//! A number and its position become an entry: an integer that compares as the number does, NaN last, and below it the
//! position. So a stable sort of numbers is any sort of entries.

use super::line::{Axis, GRAIN};
use super::parallel::{divide, num_threads};
use std::sync::{Mutex, PoisonError};

/// So few entries are put where as many others as are less come before them: no branch to mispredict.
const RANKED: usize = 12;
/// Below this many entries, comparing them is faster than counting their digits.
const COMPARED: usize = 512;
const DIGIT: u32 = 8;
const DIGITS: usize = 1 << DIGIT;

/// A number and its position, as an integer or two: in the order of the numbers, and of the positions where these are equal.
pub(crate) trait Entry: Copy + Default + Ord + Send + Sync {
    /// How many digits the number has.
    const PLACES: u32;
    /// One of the number's digits, counted from the least significant.
    fn digit(self, place: u32) -> usize;
    /// The position.
    fn index(self) -> usize;
}

impl Entry for i64 {
    const PLACES: u32 = u32::BITS / DIGIT;

    #[inline(always)]
    fn digit(self, place: u32) -> usize {
        (unsigned(self) >> (u32::BITS + place * DIGIT)) as usize % DIGITS
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as u32 as usize
    }
}

impl Entry for [i64; 2] {
    const PLACES: u32 = u64::BITS / DIGIT;

    #[inline(always)]
    fn digit(self, place: u32) -> usize {
        (unsigned(self[0]) >> (place * DIGIT)) as usize % DIGITS
    }

    #[inline(always)]
    fn index(self) -> usize {
        self[1] as usize
    }
}

/// An integer whose digits are in the order of the number, negative or not.
#[inline(always)]
fn unsigned(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// A number that can be sorted.
pub(crate) trait Sortable: Copy + PartialOrd + Send + Sync {
    /// What it is sorted as.
    type Entry: Entry;
    /// The number at `index` as an entry. In descending order, entries are in the opposite order of the numbers, but not of the
    /// positions.
    fn entry(self, index: usize, descending: bool) -> Self::Entry;
}

macro_rules! sortable_float {
    ($number:ty, $bits:ty, $entry:ty, |$key:ident, $index:ident| $pack:expr) => {
        impl Sortable for $number {
            type Entry = $entry;

            #[inline(always)]
            fn entry(self, $index: usize, descending: bool) -> $entry {
                // Adding 0 makes the two zeros equal. Negative numbers have the bits of their magnitudes, in opposite order.
                let bits = (self + 0.0).to_bits().cast_signed();
                let ordered = if bits < 0 { bits ^ <$bits>::MAX } else { bits };
                let ordered = if self.is_nan() { <$bits>::MAX } else { ordered };
                let $key = if descending { !ordered } else { ordered };
                $pack
            }
        }
    };
}

sortable_float!(f32, i32, i64, |key, index| i64::from(key) << u32::BITS | index as i64);
sortable_float!(f64, i64, [i64; 2], |key, index| [key, index as i64]);

impl Sortable for i64 {
    type Entry = [i64; 2];

    #[inline(always)]
    fn entry(self, index: usize, descending: bool) -> [i64; 2] {
        [if descending { !self } else { self }, index as i64]
    }
}

/// The entries that [`sort`] works with.
pub(crate) fn scratch_len(axis: Axis) -> usize {
    scratch_for(axis, 2 * axis.len)
}

/// The entries that are needed if the work on one column needs so many.
pub(super) fn scratch_for(axis: Axis, entries: usize) -> usize {
    let pieces = if axis.numbers() < 2 * GRAIN { 1 } else { num_threads().min(axis.outer) };
    pieces * entries
}

/// Numbers in order, NaN last, or first if `descending`; and the positions that they had, ascending where numbers are equal.
pub(crate) fn sort<T: Sortable>(
    input: &[T],
    axis: Axis,
    descending: bool,
    values: &mut [T],
    indices: &mut [i64],
    scratch: &mut [T::Entry],
) {
    for_columns(input, axis, (axis.len, values, indices), (2 * axis.len, scratch), |column, scratch| {
        let (entries, spare) = scratch.split_at_mut(axis.len);
        for (index, entry) in entries.iter_mut().enumerate() {
            *entry = column.number(index).entry(index, descending);
        }
        sort_entries(entries, spare)
    });
}

/// Some numbers that are `inner` apart.
#[derive(Clone, Copy)]
pub(super) struct Column<'a, T> {
    numbers: &'a [T],
    inner: usize,
}

impl<T: Copy> Column<'_, T> {
    #[inline(always)]
    pub(super) fn number(self, index: usize) -> T {
        self.numbers[index * self.inner]
    }
}

/// Calls `work` for every column along the dimension, which gives entries, and writes the numbers and positions that the first `kept`
/// of them stand for. Blocks are divided among threads, as many as there is scratch memory for, of `entries` each.
pub(super) fn for_columns<T: Sortable>(
    input: &[T],
    axis: Axis,
    (kept, values, indices): (usize, &mut [T], &mut [i64]),
    (entries, scratch): (usize, &mut [T::Entry]),
    work: impl for<'s> Fn(Column<'_, T>, &'s mut [T::Entry]) -> &'s [T::Entry] + Sync,
) {
    let (block, width) = (axis.block(), kept * axis.inner);
    debug_assert_eq!(input.len(), axis.numbers());
    debug_assert_eq!(values.len(), axis.outer * width);
    debug_assert_eq!(indices.len(), axis.outer * width);
    assert!(axis.len <= u32::MAX as usize, "positions are counted in 32 bits");
    if input.is_empty() || width == 0 {
        return;
    }
    let blocks = |input: &[T], values: &mut [T], indices: &mut [i64], scratch: &mut [T::Entry]| {
        let scratch = &mut scratch[..entries];
        let outputs = values.chunks_exact_mut(width).zip(indices.chunks_exact_mut(width));
        for (block, (values, indices)) in input.chunks_exact(block).zip(outputs) {
            for first in 0..axis.inner {
                let column = Column { numbers: &block[first..], inner: axis.inner };
                let found = work(column, scratch);
                for (place, entry) in found[..kept].iter().enumerate() {
                    values[place * axis.inner + first] = column.number(entry.index());
                    indices[place * axis.inner + first] = entry.index() as i64;
                }
            }
        }
    };
    let pieces = scratch.len() / entries;
    if pieces == 1 {
        return blocks(input, values, indices, scratch);
    }
    let per_piece = axis.outer.div_ceil(pieces);
    let outputs = values.chunks_mut(per_piece * width).zip(indices.chunks_mut(per_piece * width));
    let pieces = input.chunks(per_piece * block).zip(outputs).zip(scratch.chunks_exact_mut(entries));
    // Nobody else has a piece's lock: it is there to hand the piece to its thread.
    let pieces: Vec<_> = pieces.map(Mutex::new).collect();
    divide(pieces.len(), &|piece| {
        let mut piece = pieces[piece].lock().unwrap_or_else(PoisonError::into_inner);
        let ((input, (values, indices)), scratch) = &mut *piece;
        blocks(input, values, indices, scratch);
    });
}

/// Sorts entries whose positions are ascending.
pub(super) fn sort_entries<'a, E: Entry>(entries: &'a mut [E], spare: &'a mut [E]) -> &'a [E] {
    if entries.len() <= RANKED {
        for &entry in &*entries {
            let rank = entries.iter().filter(|&&other| other < entry).count();
            spare[rank] = entry;
        }
        return spare;
    }
    if entries.len() < COMPARED {
        entries.sort_unstable();
        return entries;
    }
    let mut counts = [[0u32; DIGITS]; (u64::BITS / DIGIT) as usize];
    for entry in &*entries {
        for place in 0..E::PLACES {
            counts[place as usize][entry.digit(place)] += 1;
        }
    }
    let (mut from, mut to) = (entries, spare);
    for (place, counts) in (0..E::PLACES).zip(&mut counts) {
        // A digit that all have in common moves none.
        if counts[from[0].digit(place)] as usize == from.len() {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &entry in &*from {
            let next = &mut counts[entry.digit(place)];
            to[*next as usize] = entry;
            *next += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::line::samples::{column, samples, whole_numbers};
    use std::cmp::Ordering;

    fn check<T: Sortable + Default + std::fmt::Debug>(input: &[T], axis: Axis, order: impl Fn(&T, &T) -> Ordering) {
        for descending in [false, true] {
            let (mut values, mut indices) = (vec![T::default(); input.len()], vec![-1; input.len()]);
            let mut scratch = vec![T::Entry::default(); scratch_len(axis)];
            sort(input, axis, descending, &mut values, &mut indices, &mut scratch);
            for (outer, inner) in axis.columns() {
                let numbers = column(input, axis, outer, inner);
                let mut expected: Vec<i64> = (0..axis.len as i64).collect();
                expected.sort_by(|&a, &b| {
                    let order = order(&numbers[a as usize], &numbers[b as usize]);
                    if descending { order.reverse() } else { order }
                });
                assert_eq!(column(&indices, axis, outer, inner), expected, "{axis:?}, {descending}");
                let expected: Vec<T> = expected.iter().map(|&index| numbers[index as usize]).collect();
                assert_eq!(format!("{:?}", column(&values, axis, outer, inner)), format!("{expected:?}"));
            }
        }
    }

    fn float_order(a: &f64, b: &f64) -> Ordering {
        a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }

    #[test]
    fn numbers_are_sorted_stably() {
        for axis in samples() {
            let numbers = whole_numbers(axis.numbers(), 50);
            check(&numbers, axis, i64::cmp);
            let special = |&number: &i64| match number {
                0 => -0.0,
                1 => f64::NAN,
                2 => f64::INFINITY,
                3 => f64::NEG_INFINITY,
                4 => 0.0,
                _ => number as f64 / 7.0,
            };
            let floats: Vec<f64> = numbers.iter().map(special).collect();
            check(&floats, axis, float_order);
            let floats: Vec<f32> = floats.iter().map(|&number| number as f32).collect();
            check(&floats, axis, |&a, &b| float_order(&f64::from(a), &f64::from(b)));
        }
    }

    #[test]
    fn the_extremes_of_integers_are_in_order() {
        let numbers = [0, i64::MAX, -1, i64::MIN, 1, i64::MIN + 1];
        check(&numbers, Axis::whole(6), i64::cmp);
        let many: Vec<i64> = numbers.iter().copied().cycle().take(5000).collect();
        check(&many, Axis::whole(5000), i64::cmp);
    }
}
