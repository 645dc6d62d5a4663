//! Positions of extremes along a dimension.

use super::fold::{Fold, LEAF, NARROW, halves, threads_for};
use super::line::Axis;
use super::number::Number;
use super::simd::vectorized;

/// A dimension shorter than this is looked through in several places at once, if rows are narrow.
const SHORT: usize = 32;
const TOGETHER: usize = 16;
/// The columns whose best rows are sought together.
const TILE: usize = 512;
/// The rows whose positions are counted in 32 bits, which go with the numbers through the vectors.
const PART: usize = 1 << 16;

/// Positions of the greatest numbers: of the first where several are equal, of the first NaN where there is one.
pub(crate) fn argmax<T: Number>(input: &[T], axis: Axis, indices: &mut [i64]) {
    Best { lowest: T::LOWEST, beats: |new: T, old: T| new > old }.run(input, axis, indices);
}

/// Positions of the least numbers: of the first where several are equal, of the first NaN where there is one.
pub(crate) fn argmin<T: Number>(input: &[T], axis: Axis, indices: &mut [i64]) {
    Best { lowest: T::HIGHEST, beats: |new: T, old: T| new < old }.run(input, axis, indices);
}

/// The numbers at positions along the dimension, one of each column.
pub(crate) fn pick<T: Copy>(input: &[T], axis: Axis, indices: &[i64], out: &mut [T]) {
    debug_assert_eq!(input.len(), axis.numbers());
    debug_assert_eq!(indices.len(), axis.reduced());
    debug_assert_eq!(out.len(), axis.reduced());
    if axis.inner == 1 {
        for ((row, &index), out) in input.chunks_exact(axis.len).zip(indices).zip(out) {
            *out = row[index as usize];
        }
    } else if !indices.is_empty() {
        let outputs = indices.chunks_exact(axis.inner).zip(out.chunks_exact_mut(axis.inner));
        for (block, (indices, out)) in input.chunks_exact(axis.block()).zip(outputs) {
            for (column, (&index, out)) in indices.iter().zip(out).enumerate() {
                *out = block[index as usize * axis.inner + column];
            }
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
        debug_assert!(axis.len > 0 || indices.is_empty(), "among nothing there is no best");
        if !indices.is_empty() {
            self.blocks(threads_for(input.len()), input, axis, indices);
        }
    }

    fn blocks(self, threads: usize, input: &[T], axis: Axis, indices: &mut [i64]) {
        if let Some((half, rest)) = axis.halved(threads) {
            let (left, right) = input.split_at(half.numbers());
            let (left_out, right_out) = indices.split_at_mut(half.reduced());
            halves(
                threads,
                |threads| self.blocks(threads, left, half, left_out),
                |threads| self.blocks(threads, right, rest, right_out),
            );
        } else if axis.inner <= NARROW && axis.len < SHORT {
            vectorized(
                #[inline(always)]
                || self.short(input, axis, indices),
            );
        } else if axis.inner == 1 {
            for (row, index) in input.chunks_exact(axis.len).zip(indices) {
                *index = self.row(threads, row) as i64;
            }
        } else {
            for (block, indices) in input.chunks_exact(axis.block()).zip(indices.chunks_exact_mut(axis.inner)) {
                if axis.inner <= NARROW {
                    self.narrow(threads, block, axis.inner, indices);
                } else {
                    self.columns(threads, block, axis.inner, 0, indices);
                }
            }
        }
    }

    #[inline(always)]
    fn wins(self, new: T, old: T) -> bool {
        (self.beats)(new, old) | (new.is_nan() & !old.is_nan())
    }

    #[inline(always)]
    fn short(self, input: &[T], axis: Axis, indices: &mut [i64]) {
        for (group, indices) in indices.chunks_mut(TOGETHER).enumerate() {
            let firsts = axis.firsts::<TOGETHER>(group * TOGETHER);
            let row = |row: usize| firsts.map(|first| input[first + row * axis.inner]);
            let (mut best, mut at) = (row(0), [0u32; TOGETHER]);
            for index in 1..axis.len {
                let numbers = row(index);
                for lane in 0..TOGETHER {
                    let wins = self.wins(numbers[lane], best[lane]);
                    best[lane] = if wins { numbers[lane] } else { best[lane] };
                    at[lane] = if wins { index as u32 } else { at[lane] };
                }
            }
            for (index, at) in indices.iter_mut().zip(at) {
                *index = i64::from(at);
            }
        }
    }

    /// The position of the best number of a row: the best leaf is found first, without positions, and then looked through.
    fn row(self, threads: usize, row: &[T]) -> usize {
        let (start, best) = self.best_leaf(threads, row);
        let leaf = &row[start..(start + LEAF).min(row.len())];
        start + position(leaf, best)
    }

    fn best_leaf(self, threads: usize, row: &[T]) -> (usize, T) {
        if row.len() > LEAF {
            let middle = (row.len() / 2).next_multiple_of(LEAF);
            let (left, right) = row.split_at(middle);
            let (left, right) =
                halves(threads, |threads| self.best_leaf(threads, left), |threads| self.best_leaf(threads, right));
            return if self.wins(right.1, left.1) { (middle + right.0, right.1) } else { left };
        }
        let better = |old: T, new: T| if (self.beats)(new, old) | new.is_nan() { new } else { old };
        let best = vectorized(
            #[inline(always)]
            || Fold::new(self.lowest, |number| number, better).leaf(row),
        );
        (0, best)
    }

    /// The best rows of narrow columns: several rows are taken at a time, as wide ones, and then the best of each column's parts.
    fn narrow(self, threads: usize, block: &[T], inner: usize, indices: &mut [i64]) {
        let len = block.len() / inner;
        if threads > 1 {
            let (left, right) = block.split_at(len / 2 * inner);
            let mut others = [0; NARROW];
            halves(
                threads,
                |threads| self.narrow(threads, left, inner, indices),
                |threads| self.narrow(threads, right, inner, &mut others[..inner]),
            );
            for (column, (index, &other)) in indices.iter_mut().zip(&others).enumerate() {
                let (old, new) = (left[*index as usize * inner + column], right[other as usize * inner + column]);
                *index = if self.wins(new, old) { (len / 2) as i64 + other } else { *index };
            }
            return;
        }
        let joined = 2 * NARROW / inner;
        let (whole, wide) = (len / joined, joined * inner);
        let mut parts = [0; 2 * NARROW];
        let parts = &mut parts[..if whole > 0 { wide } else { 0 }];
        self.columns(1, &block[..whole * wide], wide, 0, parts);
        for (column, index) in indices.iter_mut().enumerate() {
            let part = |(part, &row): (usize, &i64)| row as usize * joined + part;
            let rows = parts.iter().skip(column).step_by(inner).enumerate().map(part).chain(whole * joined..len);
            let best = rows.reduce(|best, row| {
                let (old, new) = (block[best * inner + column], block[row * inner + column]);
                // The parts are interleaved: of equal numbers, a later part may have the earlier one.
                let earlier = row < best && !self.wins(old, new);
                if earlier || self.wins(new, old) { row } else { best }
            });
            *index = best.map_or(0, |best| best as i64);
        }
    }

    /// The best rows of the columns from `first` on, as many as `indices` has.
    fn columns(self, threads: usize, block: &[T], inner: usize, first: usize, indices: &mut [i64]) {
        if indices.len() > TILE {
            let middle = (indices.len() / 2).next_multiple_of(TILE);
            let (left, right) = indices.split_at_mut(middle);
            halves(
                threads,
                |threads| self.columns(threads, block, inner, first, left),
                |threads| self.columns(threads, block, inner, first + middle, right),
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
fn position<T: Number>(numbers: &[T], wanted: T) -> usize {
    let is_wanted = |number: T| (number == wanted) | (number.is_nan() & wanted.is_nan());
    let chunks = numbers.as_chunks::<64>().0;
    let chunk = vectorized(
        #[inline(always)]
        || chunks.iter().position(|chunk| chunk.iter().fold(false, |found, &number| found | is_wanted(number))),
    );
    let start = chunk.unwrap_or(chunks.len()) * 64;
    start + numbers[start..].iter().position(|&number| is_wanted(number)).expect("the best number is one of the row")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::line::samples::{column, samples, whole_numbers};

    fn check<T: Number + std::fmt::Debug>(input: &[T], axis: Axis) {
        let naive = |numbers: &[T], beats: fn(&T, &T) -> bool| {
            let nan = numbers.iter().position(|number| number.is_nan());
            nan.unwrap_or_else(|| {
                (0..numbers.len()).fold(0, |best, n| if beats(&numbers[n], &numbers[best]) { n } else { best })
            })
        };
        let (mut greatest, mut least) = (vec![-1; axis.reduced()], vec![-1; axis.reduced()]);
        argmax(input, axis, &mut greatest);
        argmin(input, axis, &mut least);
        let mut values = vec![T::ZERO; axis.reduced()];
        pick(input, axis, &greatest, &mut values);
        for (place, (outer, inner)) in axis.columns().enumerate() {
            let numbers = column(input, axis, outer, inner);
            let expected = naive(&numbers, T::gt);
            assert_eq!(greatest[place], expected as i64, "{axis:?} {place}");
            assert_eq!(least[place], naive(&numbers, T::lt) as i64, "{axis:?} {place}");
            assert!(values[place] == numbers[expected] || numbers[expected].is_nan());
        }
    }

    #[test]
    fn the_first_of_equal_numbers_is_found() {
        for axis in samples().into_iter().filter(|axis| axis.len > 0) {
            for range in [3, 1 << 40] {
                let numbers = whole_numbers(axis.numbers(), range);
                check(&numbers, axis);
                check(&numbers.iter().map(|&number| number as f32).collect::<Vec<_>>(), axis);
            }
        }
    }

    #[test]
    fn the_first_nan_is_found() {
        for axis in samples().into_iter().filter(|axis| axis.len > 0) {
            let special = |number: i64| if number == 0 { f64::NAN } else { number as f64 };
            check(&whole_numbers(axis.numbers(), 1000).into_iter().map(special).collect::<Vec<_>>(), axis);
        }
    }

    #[test]
    fn what_is_no_better_than_the_start_is_found() {
        for len in [1, 40, 5000] {
            check(&vec![f32::NEG_INFINITY; len], Axis::whole(len));
            check(&vec![f32::INFINITY; len], Axis::whole(len));
            check(&vec![i64::MIN; len], Axis::whole(len));
        }
    }

    #[test]
    fn columns_may_have_more_rows_than_a_part() {
        let axis = Axis { outer: 1, len: 2 * PART + 10, inner: 33 };
        let mut input: Vec<f32> = whole_numbers(axis.numbers(), 10).into_iter().map(|number| number as f32).collect();
        let last = |column: usize| (axis.len - 1) * axis.inner + column;
        (input[last(0)], input[last(1)], input[(PART + 5) * axis.inner + 2]) = (20.0, f32::NAN, 20.0);
        input[last(2)] = 20.0;
        check(&input, axis);
    }

    #[test]
    fn an_axis_without_columns_writes_nothing() {
        for axis in [Axis { outer: 0, len: 3, inner: 2 }, Axis { outer: 2, len: 3, inner: 0 }] {
            assert_eq!((axis.numbers(), axis.reduced()), (0, 0));
            let (mut found, mut picked) = ([-1; 4], [-1; 4]);
            argmax::<f32>(&[], axis, &mut found[2..2]);
            argmin::<i64>(&[], axis, &mut found[2..2]);
            pick::<i64>(&[], axis, &[], &mut picked[2..2]);
            assert_eq!((found, picked), ([-1; 4], [-1; 4]));
        }
    }
}
