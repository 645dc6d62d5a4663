//! Sorting along a dimension, stably, with the positions that the numbers had.
//!
//! A number and its position become an entry: an integer that compares as the number does, NaN last, and below it the
//! position. So a stable sort of numbers is any sort of entries.

use super::line::{Axis, GRAIN};
use super::parallel::{num_threads, within_pool};
use std::slice::ChunksExactMut;

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

impl Entry for u64 {
    const PLACES: u32 = u32::BITS / DIGIT;

    #[inline(always)]
    fn digit(self, place: u32) -> usize {
        (self >> (u32::BITS + place * DIGIT)) as usize % DIGITS
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as u32 as usize
    }
}

impl Entry for [u64; 2] {
    const PLACES: u32 = u64::BITS / DIGIT;

    #[inline(always)]
    fn digit(self, place: u32) -> usize {
        (self[0] >> (place * DIGIT)) as usize % DIGITS
    }

    #[inline(always)]
    fn index(self) -> usize {
        self[1] as usize
    }
}

/// A number that can be sorted.
pub(crate) trait Sortable: Copy + PartialOrd + Send + Sync {
    /// What it is sorted as.
    type Entry: Entry;
    /// The number at `index` as an entry. In descending order, entries are in the opposite order of the numbers, but not of the
    /// positions.
    fn entry(self, index: usize, descending: bool) -> Self::Entry;
    /// Whether this is no number.
    fn is_nan(self) -> bool;
}

macro_rules! sortable_float {
    ($number:ty, $bits:ty, $signed:ty, $entry:ty, |$key:ident, $index:ident| $pack:expr) => {
        impl Sortable for $number {
            type Entry = $entry;

            #[inline(always)]
            fn entry(self, $index: usize, descending: bool) -> $entry {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                // Adding 0 makes the two zeros equal.
                let bits = (self + 0.0).to_bits();
                let negative = ((bits as $signed) >> (<$bits>::BITS - 1)) as $bits;
                let ordered = if self.is_nan() { <$bits>::MAX } else { bits ^ (negative | SIGN) };
                let $key = if descending { !ordered } else { ordered };
                $pack
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        }
    };
}

sortable_float!(f32, u32, i32, u64, |key, index| u64::from(key) << u32::BITS | index as u64);
sortable_float!(f64, u64, i64, [u64; 2], |key, index| [key, index as u64]);

impl Sortable for i64 {
    type Entry = [u64; 2];

    #[inline(always)]
    fn entry(self, index: usize, descending: bool) -> [u64; 2] {
        let ordered = self as u64 ^ 1 << 63;
        [if descending { !ordered } else { ordered }, index as u64]
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
}

/// The entries that [`sort`] works with.
pub(crate) fn scratch_len(axis: Axis) -> usize {
    2 * axis.len * pieces(axis)
}

/// How many threads are worth having, each with its own scratch memory.
pub(super) fn pieces(axis: Axis) -> usize {
    if axis.numbers() < 2 * GRAIN { 1 } else { num_threads().min(axis.outer) }
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
    for_columns(
        input,
        axis,
        (axis.len, values, indices),
        scratch.chunks_exact_mut(2 * axis.len.max(1)),
        |column, scratch| {
            let (entries, spare) = scratch.split_at_mut(axis.len);
            for (index, entry) in entries.iter_mut().enumerate() {
                *entry = column.number(index).entry(index, descending);
            }
            sort_entries(entries, spare)
        },
    );
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
/// of them stand for. Blocks are divided among threads, as many as there are pieces of scratch memory.
pub(super) fn for_columns<T: Sortable>(
    input: &[T],
    axis: Axis,
    (kept, values, indices): (usize, &mut [T], &mut [i64]),
    mut scratch: ChunksExactMut<'_, T::Entry>,
    work: impl for<'s> Fn(Column<'_, T>, &'s mut [T::Entry]) -> &'s [T::Entry] + Sync,
) {
    debug_assert_eq!(input.len(), axis.numbers());
    let (block, width) = (axis.block(), kept * axis.inner);
    debug_assert_eq!(values.len(), axis.outer * width);
    debug_assert_eq!(indices.len(), axis.outer * width);
    if input.is_empty() || width == 0 {
        return;
    }
    let blocks = |input: &[T], values: &mut [T], indices: &mut [i64], scratch: &mut [T::Entry]| {
        let outputs = values.chunks_exact_mut(width).zip(indices.chunks_exact_mut(width));
        for (block, (values, indices)) in input.chunks_exact(block).zip(outputs) {
            for first in 0..axis.inner {
                let column = Column { numbers: &block[first..], inner: axis.inner };
                let entries = work(column, scratch);
                for (place, entry) in entries[..kept].iter().enumerate() {
                    values[place * axis.inner + first] = column.number(entry.index());
                    indices[place * axis.inner + first] = entry.index() as i64;
                }
            }
        }
    };
    let pieces = scratch.len();
    if pieces == 1 {
        return blocks(input, values, indices, scratch.next().expect("there is one"));
    }
    within_pool(input.len(), GRAIN, |_| {
        let per_piece = axis.outer.div_ceil(pieces);
        let outputs = values.chunks_mut(per_piece * width).zip(indices.chunks_mut(per_piece * width));
        let pieces = input.chunks(per_piece * block).zip(outputs).zip(scratch);
        rayon::scope(|scope| {
            for ((input, (values, indices)), scratch) in pieces {
                let blocks = &blocks;
                scope.spawn(move |_| blocks(input, values, indices, scratch));
            }
        });
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
    let mut counts = [[0u32; DIGITS]; u64::BITS as usize / DIGIT as usize];
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
