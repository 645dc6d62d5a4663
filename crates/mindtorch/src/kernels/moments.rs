//! Means and variances along a dimension.
//!
//! A leaf is shifted by its mean before it is squared, while it is in the cache; leaves are merged in `f64`. So the memory is
//! read once, and nothing cancels, however far the numbers are from 0.

use super::line::Axis;
use super::fold::{Fold, GRAIN, LEAF, both};
use super::parallel::within_pool;
use super::real::Real;
use super::simd::vectorized;

/// The rows of a leaf across rows.
const LEAF_ROWS: usize = 32;
/// The columns of a leaf across rows.
const TILE: usize = 512;

/// Variances, the sum of squares divided by the count less `correction` (not less than 0), and means.
pub(crate) fn var_mean<T: Real>(input: &[T], axis: Axis, correction: f64, var: &mut [T], mean: &mut [T]) {
    let divisor = (axis.len as f64 - correction).max(0.0);
    run(input, axis, |squares| T::from_f64(squares / divisor), var, mean);
}

/// Standard deviations, the roots of the variances, and means.
pub(crate) fn std_mean<T: Real>(input: &[T], axis: Axis, correction: f64, std: &mut [T], mean: &mut [T]) {
    let divisor = (axis.len as f64 - correction).max(0.0);
    run(input, axis, |squares| T::from_f64((squares / divisor).sqrt()), std, mean);
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

fn run<T: Real>(
    input: &[T],
    axis: Axis,
    finish: impl Fn(f64) -> T + Copy + Send + Sync,
    spread: &mut [T],
    mean: &mut [T],
) {
    debug_assert_eq!(input.len(), axis.numbers());
    debug_assert_eq!(spread.len(), axis.reduced());
    debug_assert_eq!(mean.len(), axis.reduced());
    if input.is_empty() {
        spread.fill(T::NAN);
        mean.fill(T::NAN);
        return;
    }
    within_pool(input.len(), GRAIN, |_| blocks(input, axis, finish, spread, mean));
}

fn blocks<T: Real>(
    input: &[T],
    axis: Axis,
    finish: impl Fn(f64) -> T + Copy + Send + Sync,
    spread: &mut [T],
    mean: &mut [T],
) {
    if axis.outer > 1 && input.len() >= 2 * GRAIN {
        let half = Axis { outer: axis.outer / 2, ..axis };
        let rest = Axis { outer: axis.outer - half.outer, ..axis };
        let (left, right) = input.split_at(half.numbers());
        let (left_spread, right_spread) = spread.split_at_mut(half.reduced());
        let (left_mean, right_mean) = mean.split_at_mut(half.reduced());
        both(
            input.len(),
            || blocks(left, half, finish, left_spread, left_mean),
            || blocks(right, rest, finish, right_spread, right_mean),
        );
    } else if axis.inner == 1 {
        for ((row, spread), mean) in input.chunks_exact(axis.len).zip(spread).zip(mean) {
            let moments = self::row(row);
            *spread = finish(moments.squares);
            *mean = T::from_f64(moments.mean);
        }
    } else {
        let outputs = spread.chunks_exact_mut(axis.inner).zip(mean.chunks_exact_mut(axis.inner));
        for (block, (spread, mean)) in input.chunks_exact(axis.block()).zip(outputs) {
            for (tile, (spread, mean)) in spread.chunks_mut(TILE).zip(mean.chunks_mut(TILE)).enumerate() {
                let columns = Columns { inner: axis.inner, first: tile * TILE, width: spread.len() };
                let moments = columns.rows(block);
                for (column, (spread, mean)) in spread.iter_mut().zip(mean).enumerate() {
                    *spread = finish(moments.squares[column]);
                    *mean = T::from_f64(moments.mean[column]);
                }
            }
        }
    }
}

fn row<T: Real>(numbers: &[T]) -> Moments {
    if numbers.len() > LEAF {
        let (left, right) = numbers.split_at((numbers.len() / 2).next_multiple_of(LEAF));
        let counts = Counts::new(left.len(), right.len());
        let (left, right) = both(numbers.len(), || row(left), || row(right));
        return left.merge(right, counts);
    }
    vectorized(
        #[inline(always)]
        || {
            let plus = |left: T, right: T| left + right;
            let count = numbers.len() as f64;
            let part = T::from_f64(1.0 / count);
            let shift = Fold::new(
                T::ZERO,
                #[inline(always)]
                |number: T| number * part,
                plus,
            )
            .leaf(numbers);
            let sum = Fold::new(
                T::ZERO,
                #[inline(always)]
                |number: T| number - shift,
                plus,
            )
            .leaf(numbers);
            let squares = Fold::new(
                T::ZERO,
                #[inline(always)]
                |number: T| (number - shift) * (number - shift),
                plus,
            )
            .leaf(numbers);
            Moments::shifted(count, shift, sum, squares)
        },
    )
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
    #[inline(always)]
    fn merge(&mut self, other: &Self, counts: Counts, width: usize) {
        for column in 0..width.min(TILE) {
            let left = Moments { mean: self.mean[column], squares: self.squares[column] };
            let right = Moments { mean: other.mean[column], squares: other.squares[column] };
            let merged = left.merge(right, counts);
            (self.mean[column], self.squares[column]) = (merged.mean, merged.squares);
        }
    }
}

impl Columns {
    fn rows<T: Real>(self, rows: &[T]) -> Tile {
        let count = rows.len() / self.inner;
        let mut moments = Tile { mean: [0.0; TILE], squares: [0.0; TILE] };
        if count * self.width < 2 * GRAIN {
            for (index, leaf) in rows.chunks(LEAF_ROWS * self.inner).enumerate() {
                let counts = Counts::new(index * LEAF_ROWS, leaf.len() / self.inner);
                vectorized(
                    #[inline(always)]
                    || moments.merge(&self.leaf(leaf), counts, self.width),
                );
            }
            return moments;
        }
        let before = (count / 2).next_multiple_of(LEAF_ROWS);
        let (left, right) = rows.split_at(before * self.inner);
        let (mut left, right) = both(count * self.width, || self.rows(left), || self.rows(right));
        vectorized(
            #[inline(always)]
            || left.merge(&right, Counts::new(before, count - before), self.width),
        );
        left
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
        let mut tile = Tile { mean: [0.0; TILE], squares: [0.0; TILE] };
        for column in 0..width.min(TILE) {
            let moments = Moments::shifted(count, shift[column], sum[column], squares[column]);
            (tile.mean[column], tile.squares[column]) = (moments.mean, moments.squares);
        }
        tile
    }
}
