//! Means and variances along a dimension.
//!
//! A leaf is shifted by its mean before it is squared, while it is in the cache; leaves are merged in `f64`. So the memory is
//! read once, and nothing cancels, however far the numbers are from 0.

use super::fold::{Fold, LEAF, NARROW, halves, threads_for};
use super::line::Axis;
use super::real::Real;
use super::simd::vectorized;

/// The rows of a leaf across rows.
const LEAF_ROWS: usize = 32;
/// The rows that one thread takes one leaf after the other.
const PIECE_ROWS: usize = 8 * LEAF_ROWS;
/// The columns of a leaf across rows.
const TILE: usize = 512;
/// Columns of so few rows are copied together in less memory.
const FEW: usize = 64;

/// Variances, the sum of squares divided by the count less `correction` (not less than 0), and means.
pub(crate) fn var_mean<T: Real>(input: &[T], axis: Axis, correction: f64, var: &mut [T], mean: &mut [T]) {
    let divisor = (axis.len as f64 - correction).max(0.0);
    run(input, axis, Outputs { spread: var, mean, divisor, root: false });
}

/// Standard deviations, the roots of the variances, and means.
pub(crate) fn std_mean<T: Real>(input: &[T], axis: Axis, correction: f64, std: &mut [T], mean: &mut [T]) {
    let divisor = (axis.len as f64 - correction).max(0.0);
    run(input, axis, Outputs { spread: std, mean, divisor, root: true });
}

/// Where results go, and how they are finished.
struct Outputs<'a, T> {
    spread: &'a mut [T],
    mean: &'a mut [T],
    divisor: f64,
    root: bool,
}

impl<T: Real> Outputs<'_, T> {
    fn put(&mut self, index: usize, moments: Moments) {
        let variance = moments.squares / self.divisor;
        self.spread[index] = T::from_f64(if self.root { variance.sqrt() } else { variance });
        self.mean[index] = T::from_f64(moments.mean);
    }

    fn split_at(&mut self, middle: usize) -> (Outputs<'_, T>, Outputs<'_, T>) {
        let (divisor, root) = (self.divisor, self.root);
        let (left, right) = self.spread.split_at_mut(middle);
        let (left_mean, right_mean) = self.mean.split_at_mut(middle);
        (
            Outputs { spread: left, mean: left_mean, divisor, root },
            Outputs { spread: right, mean: right_mean, divisor, root },
        )
    }
}

/// What is known of some numbers.
#[derive(Clone, Copy)]
struct Moments {
    mean: f64,
    /// The sum of the squares of their distances from the mean.
    squares: f64,
}

impl Moments {
    /// The moments of `count` numbers, given the sums of their distances from `shift` and of the squares of these.
    #[inline(always)]
    fn shifted<T: Real>(count: f64, shift: T, sum: T, squares: T) -> Self {
        let distance = sum.to_f64() / count;
        Self { mean: shift.to_f64() + distance, squares: squares.to_f64() - sum.to_f64() * distance }
    }

    #[inline(always)]
    fn merge(self, other: Self, counts: Counts) -> Self {
        let distance = other.mean - self.mean;
        let squares = self.squares + other.squares + distance * distance * counts.weight;
        Self { mean: self.mean + distance * counts.share, squares }
    }
}

/// How much two sets of numbers weigh when they are merged.
#[derive(Clone, Copy)]
struct Counts {
    share: f64,
    weight: f64,
}

impl Counts {
    fn new(left: usize, right: usize) -> Self {
        let share = right as f64 / (left + right) as f64;
        Self { share, weight: left as f64 * share }
    }
}

fn run<T: Real>(input: &[T], axis: Axis, out: Outputs<'_, T>) {
    debug_assert_eq!(input.len(), axis.numbers());
    debug_assert_eq!(out.spread.len(), axis.reduced());
    debug_assert_eq!(out.mean.len(), axis.reduced());
    if input.is_empty() {
        out.spread.fill(T::NAN);
        out.mean.fill(T::NAN);
        return;
    }
    blocks(threads_for(input.len()), input, axis, out);
}

fn blocks<T: Real>(threads: usize, input: &[T], axis: Axis, mut out: Outputs<'_, T>) {
    if let Some((half, rest)) = axis.halved(threads) {
        let (left, right) = input.split_at(half.numbers());
        let (left_out, right_out) = out.split_at(half.reduced());
        halves(
            threads,
            |threads| blocks(threads, left, half, left_out),
            |threads| blocks(threads, right, rest, right_out),
        );
    } else if axis.inner == 1 {
        for (index, numbers) in input.chunks_exact(axis.len).enumerate() {
            out.put(index, row(threads, numbers));
        }
    } else {
        for (index, block) in input.chunks_exact(axis.block()).enumerate() {
            let (_, mut out) = out.split_at(index * axis.inner);
            if axis.inner <= NARROW {
                for first in 0..axis.inner {
                    out.put(first, column(threads, &block[first..], axis.inner));
                }
            } else {
                let (out, _) = out.split_at(axis.inner);
                Columns { inner: axis.inner, first: 0, width: axis.inner }.run(threads, block, out);
            }
        }
    }
}

fn row<T: Real>(threads: usize, numbers: &[T]) -> Moments {
    if numbers.len() > LEAF {
        let (left, right) = numbers.split_at((numbers.len() / 2).next_multiple_of(LEAF));
        let counts = Counts::new(left.len(), right.len());
        let (left, right) = halves(threads, |threads| row(threads, left), |threads| row(threads, right));
        return left.merge(right, counts);
    }
    vectorized(
        #[inline(always)]
        || leaf(numbers),
    )
}

#[inline(always)]
fn leaf<T: Real>(numbers: &[T]) -> Moments {
    let plus = |left: T, right: T| left + right;
    let count = numbers.len() as f64;
    // Divided before they are added: the sum of large numbers may be infinite.
    let part = T::from_f64(1.0 / count);
    let shift = Fold::new(T::ZERO, |number: T| number * part, plus).leaf(numbers);
    let sum = Fold::new(T::ZERO, |number: T| number - shift, plus).leaf(numbers);
    let squares = Fold::new(T::ZERO, |number: T| (number - shift) * (number - shift), plus).leaf(numbers);
    Moments::shifted(count, shift, sum, squares)
}

/// The moments of numbers that are `inner` apart: where columns are few, each is copied together.
fn column<T: Real>(threads: usize, numbers: &[T], inner: usize) -> Moments {
    let count = numbers.len().div_ceil(inner);
    if count > LEAF {
        let before = (count / 2).next_multiple_of(LEAF);
        let (left, right) = numbers.split_at(before * inner);
        let (left, right) =
            halves(threads, |threads| column(threads, left, inner), |threads| column(threads, right, inner));
        return left.merge(right, Counts::new(before, count - before));
    }
    if count <= FEW { copied::<T, FEW>(numbers, inner) } else { copied::<T, LEAF>(numbers, inner) }
}

fn copied<T: Real, const N: usize>(numbers: &[T], inner: usize) -> Moments {
    let mut copy = [T::ZERO; N];
    let mut count = 0;
    for (copy, &number) in copy.iter_mut().zip(numbers.iter().step_by(inner)) {
        *copy = number;
        count += 1;
    }
    row(1, &copy[..count])
}

/// Some columns of rows of `inner` numbers.
#[derive(Clone, Copy)]
struct Columns {
    inner: usize,
    first: usize,
    width: usize,
}

/// The moments of columns.
struct Tile {
    mean: [f64; TILE],
    squares: [f64; TILE],
}

impl Tile {
    const EMPTY: Self = Self { mean: [0.0; TILE], squares: [0.0; TILE] };

    #[inline(always)]
    fn get(&self, column: usize) -> Moments {
        Moments { mean: self.mean[column], squares: self.squares[column] }
    }

    #[inline(always)]
    fn set(&mut self, column: usize, moments: Moments) {
        (self.mean[column], self.squares[column]) = (moments.mean, moments.squares);
    }

    #[inline(always)]
    fn merge(&mut self, other: &Self, counts: Counts, width: usize) {
        for column in 0..width.min(TILE) {
            self.set(column, self.get(column).merge(other.get(column), counts));
        }
    }
}

impl Columns {
    fn run<T: Real>(self, threads: usize, block: &[T], mut out: Outputs<'_, T>) {
        if self.width > TILE {
            let middle = (self.width / 2).next_multiple_of(TILE);
            let left = Self { width: middle, ..self };
            let right = Self { first: self.first + middle, width: self.width - middle, ..self };
            let (left_out, right_out) = out.split_at(middle);
            halves(
                threads,
                |threads| left.run(threads, block, left_out),
                |threads| right.run(threads, block, right_out),
            );
        } else {
            let moments = self.rows(threads, block);
            for column in 0..self.width {
                out.put(column, moments.get(column));
            }
        }
    }

    fn rows<T: Real>(self, threads: usize, rows: &[T]) -> Tile {
        let count = rows.len() / self.inner;
        if count > PIECE_ROWS {
            let before = (count / 2).next_multiple_of(PIECE_ROWS);
            let (left, right) = rows.split_at(before * self.inner);
            let (mut left, right) =
                halves(threads, |threads| self.rows(threads, left), |threads| self.rows(threads, right));
            vectorized(
                #[inline(always)]
                || left.merge(&right, Counts::new(before, count - before), self.width),
            );
            return left;
        }
        let mut moments = Tile::EMPTY;
        for (index, leaf) in rows.chunks(LEAF_ROWS * self.inner).enumerate() {
            let counts = Counts::new(index * LEAF_ROWS, leaf.len() / self.inner);
            vectorized(
                #[inline(always)]
                || moments.merge(&self.leaf(leaf), counts, self.width),
            );
        }
        moments
    }

    #[inline(always)]
    fn leaf<T: Real>(self, rows: &[T]) -> Tile {
        let Self { inner, first, width } = self;
        let count = (rows.len() / inner) as f64;
        let part = T::from_f64(1.0 / count);
        let (mut shift, mut sum, mut squares) = ([T::ZERO; TILE], [T::ZERO; TILE], [T::ZERO; TILE]);
        for row in rows.chunks_exact(inner) {
            for (shift, &number) in shift.iter_mut().zip(&row[first..first + width]) {
                *shift += number * part;
            }
        }
        for row in rows.chunks_exact(inner) {
            let sums = shift.iter().zip(&mut sum).zip(&mut squares);
            for (&number, ((&shift, sum), squares)) in row[first..first + width].iter().zip(sums) {
                let distance = number - shift;
                *sum += distance;
                *squares += distance * distance;
            }
        }
        let mut tile = Tile::EMPTY;
        for column in 0..width.min(TILE) {
            tile.set(column, Moments::shifted(count, shift[column], sum[column], squares[column]));
        }
        tile
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::line::samples::{column, normal_numbers, samples};

    #[test]
    fn they_are_those_of_two_passes_far_from_0_too() {
        for axis in samples() {
            for offset in [0.0, 1e3, 1e6] {
                let input: Vec<f32> = normal_numbers(axis.numbers()).iter().map(|number| number + offset).collect();
                let (mut var, mut mean) = (vec![-1.0; axis.reduced()], vec![-1.0; axis.reduced()]);
                var_mean(&input, axis, 1.0, &mut var, &mut mean);
                for (place, (outer, inner)) in axis.columns().enumerate() {
                    let numbers: Vec<f64> = column(&input, axis, outer, inner).into_iter().map(f64::from).collect();
                    let expected = numbers.iter().sum::<f64>() / axis.len as f64;
                    let squares: f64 = numbers.iter().map(|number| (number - expected).powi(2)).sum();
                    let close = |found: f32, expected: f64, bound: f64| {
                        (f64::from(found) - expected).abs() <= bound || (found.is_nan() && expected.is_nan())
                    };
                    assert!(close(mean[place], expected, 1e-6 + f64::from(offset) * 1e-7), "{axis:?} {offset}");
                    let expected = squares / (axis.len as f64 - 1.0).max(0.0);
                    assert!(close(var[place], expected, 2e-6 * (1.0 + expected)), "{axis:?} {offset}: {}", var[place]);
                }
            }
        }
    }

    #[test]
    fn the_correction_is_subtracted_from_the_count() {
        let (mut spread, mut mean) = ([0.0], [0.0]);
        var_mean(&[1.0, 2.0, 4.0, 5.0], Axis::whole(4), 0.0, &mut spread, &mut mean);
        assert_eq!((spread, mean), ([2.5], [3.0]));
        std_mean(&[1.0, 2.0, 4.0, 5.0], Axis::whole(4), 1.5, &mut spread, &mut mean);
        assert_eq!((spread, mean), ([2.0], [3.0]));
        var_mean(&[3.0], Axis::whole(1), 0.0, &mut spread, &mut mean);
        assert_eq!((spread, mean), ([0.0], [3.0]));
        var_mean(&[3.0], Axis::whole(1), 1.0, &mut spread, &mut mean);
        assert!(spread[0].is_nan() && mean == [3.0]);
        var_mean(&[3.0, 5.0], Axis::whole(2), 7.0, &mut spread, &mut mean);
        assert_eq!((spread, mean), ([f64::INFINITY], [4.0]));
    }

    #[test]
    fn nothing_has_no_moments() {
        let (mut spread, mut mean) = ([0.0f32; 2], [0.0; 2]);
        var_mean(&[], Axis { outer: 2, len: 0, inner: 1 }, 0.0, &mut spread, &mut mean);
        assert!(spread.iter().chain(&mean).all(|number| number.is_nan()));
    }

    #[test]
    fn large_numbers_have_a_mean() {
        let (mut var, mut mean) = ([0.0f32], [0.0]);
        var_mean(&[3e38, 3e38], Axis::whole(2), 0.0, &mut var, &mut mean);
        assert_eq!((var, mean), ([0.0], [3e38]));
        var_mean(&[1.0, f32::NAN], Axis::whole(2), 0.0, &mut var, &mut mean);
        assert!(var[0].is_nan() && mean[0].is_nan());
    }
}
