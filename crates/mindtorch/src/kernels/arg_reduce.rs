//! Positions of extremes along a dimension.

use super::line::Axis;
use super::fold::{Fold, GRAIN, LEAF, both};
use super::number::Number;
use super::parallel::within_pool;
use super::simd::vectorized;

/// The columns whose best rows are sought together.
const TILE: usize = 512;
/// The rows whose positions are counted in 32 bits, which go with the numbers through the vectors.
const PART: usize = 1 << 16;
/// Rows shorter than this are not worth vectors.
const SHORT: usize = 32;

/// Positions of the greatest numbers along the dimension: of the first where several are equal, of the first NaN where there is one.
pub(crate) fn argmax<T: Number>(input: &[T], axis: Axis, indices: &mut [i64]) {
    Best { lowest: T::LOWEST, beats: |new: T, old: T| new > old }.run(input, axis, indices);
}

/// Positions of the least numbers along the dimension: of the first where several are equal, of the first NaN where there is one.
pub(crate) fn argmin<T: Number>(input: &[T], axis: Axis, indices: &mut [i64]) {
    Best { lowest: T::HIGHEST, beats: |new: T, old: T| new < old }.run(input, axis, indices);
}

/// The numbers at positions along the dimension.
pub(crate) fn pick<T: Copy>(input: &[T], axis: Axis, indices: &[i64], out: &mut [T]) {
    debug_assert_eq!(indices.len(), axis.reduced());
    debug_assert_eq!(out.len(), axis.reduced());
    for (outer, (indices, out)) in indices.chunks(axis.inner.max(1)).zip(out.chunks_mut(axis.inner.max(1))).enumerate()
    {
        for (column, (&index, out)) in indices.iter().zip(out).enumerate() {
            *out = input[(outer * axis.len + index as usize) * axis.inner + column];
        }
    }
}

/// What is sought: `beats(a, b)` if a number `a` is to be preferred to a number `b` before it. NaN is preferred to all numbers.
#[derive(Clone, Copy)]
struct Best<T, B> {
    lowest: T,
    beats: B,
}

impl<T: Number, B: Fn(T, T) -> bool + Copy + Send + Sync> Best<T, B> {
    fn run(self, input: &[T], axis: Axis, indices: &mut [i64]) {
        debug_assert_eq!(input.len(), axis.numbers());
        debug_assert_eq!(indices.len(), axis.reduced());
        debug_assert!(axis.len > 0 || indices.is_empty(), "nothing has no greatest number");
        if !indices.is_empty() {
            within_pool(input.len(), GRAIN, |_| self.blocks(input, axis, indices));
        }
    }

    fn blocks(self, input: &[T], axis: Axis, indices: &mut [i64]) {
        if axis.outer > 1 && input.len() >= 2 * GRAIN {
            let half = Axis { outer: axis.outer / 2, ..axis };
            let rest = Axis { outer: axis.outer - half.outer, ..axis };
            let (left, right) = input.split_at(half.numbers());
            let (left_out, right_out) = indices.split_at_mut(half.reduced());
            both(input.len(), || self.blocks(left, half, left_out), || self.blocks(right, rest, right_out));
        } else if axis.inner == 1 {
            for (row, index) in input.chunks_exact(axis.len).zip(indices) {
                *index = self.row(row) as i64;
            }
        } else {
            for (block, indices) in input.chunks_exact(axis.block()).zip(indices.chunks_exact_mut(axis.inner)) {
                self.columns(block, axis.inner, 0, indices);
            }
        }
    }

    #[inline(always)]
    fn wins(self, new: T, old: T) -> bool {
        (self.beats)(new, old) || (new.is_nan() && !old.is_nan())
    }

    /// The position of the best number of a row: the best leaf is found first, without positions, and then looked through.
    fn row(self, row: &[T]) -> usize {
        if row.len() < SHORT {
            let numbers = row.iter().enumerate().skip(1);
            return numbers
                .fold((0, row[0]), |best, (index, &new)| if self.wins(new, best.1) { (index, new) } else { best })
                .0;
        }
        let (start, best) = self.best_leaf(row);
        let leaf = &row[start..(start + LEAF).min(row.len())];
        start
            + vectorized(
                #[inline(always)]
                || position(leaf, best),
            )
    }

    fn best_leaf(self, row: &[T]) -> (usize, T) {
        if row.len() > LEAF {
            let middle = (row.len() / 2).next_multiple_of(LEAF);
            let (left, right) = row.split_at(middle);
            let (left, right) = both(row.len(), || self.best_leaf(left), || self.best_leaf(right));
            return if self.wins(right.1, left.1) { (middle + right.0, right.1) } else { left };
        }
        let better = |old: T, new: T| if (self.beats)(new, old) || new.is_nan() { new } else { old };
        (
            0,
            vectorized(
                #[inline(always)]
                || Fold::new(self.lowest, |number| number, better).leaf(row),
            ),
        )
    }

    /// The positions of the best numbers of the columns from `first` on, as many as `indices` has.
    fn columns(self, block: &[T], inner: usize, first: usize, indices: &mut [i64]) {
        if indices.len() > TILE {
            let middle = (indices.len() / 2).next_multiple_of(TILE);
            let numbers = block.len() / inner * indices.len();
            let (left, right) = indices.split_at_mut(middle);
            both(
                numbers,
                || self.columns(block, inner, first, left),
                || self.columns(block, inner, first + middle, right),
            );
        } else {
            vectorized(
                #[inline(always)]
                || self.tile(block, inner, first, indices),
            );
        }
    }

    #[inline(always)]
    fn tile(self, block: &[T], inner: usize, first: usize, indices: &mut [i64]) {
        let width = indices.len();
        let (mut best, mut at) = ([T::ZERO; TILE], [0u32; TILE]);
        let (best, at) = (&mut best[..width], &mut at[..width]);
        for (part, rows) in block.chunks(inner * PART).enumerate() {
            best.copy_from_slice(&rows[first..first + width]);
            at.fill(0);
            for (row, numbers) in (0u32..).zip(rows.chunks_exact(inner)).skip(1) {
                for ((best, at), &number) in best.iter_mut().zip(at.iter_mut()).zip(&numbers[first..]) {
                    let wins = self.wins(number, *best);
                    *best = if wins { number } else { *best };
                    *at = if wins { row } else { *at };
                }
            }
            for (column, (index, (&best, &at))) in indices.iter_mut().zip(best.iter().zip(&*at)).enumerate() {
                if part == 0 || self.wins(best, block[*index as usize * inner + first + column]) {
                    *index = (part * PART) as i64 + i64::from(at);
                }
            }
        }
    }
}

/// The first position of a number that is there, or of the first NaN.
#[inline(always)]
fn position<T: Number>(numbers: &[T], wanted: T) -> usize {
    const TOGETHER: usize = 64;
    let is_wanted = |number: T| (number == wanted) | (number.is_nan() & wanted.is_nan());
    let chunks = numbers.as_chunks::<TOGETHER>().0;
    let chunk = chunks.iter().position(|chunk| chunk.iter().fold(false, |found, &number| found | is_wanted(number)));
    let start = chunk.unwrap_or(chunks.len()) * TOGETHER;
    start + numbers[start..].iter().position(|&number| is_wanted(number)).expect("the best number is one of the row")
}
