//! Folding a dimension into one number: the loops under every reduction.
//!
//! Numbers are folded as a balanced tree over leaves of fixed size, so that rounding errors grow with the depth of the tree,
//! and the result does not depend on how many threads worked on it.

use super::line::{Axis, GRAIN};
use super::parallel::{join, num_threads};
use super::simd::vectorized;
use std::marker::PhantomData;

/// Accumulators of a leaf: enough to hide the latency of an addition in the widest vectors.
const LANES: usize = 64;
/// The numbers that a leaf along contiguous memory folds.
pub(super) const LEAF: usize = 4096;
/// The rows that a leaf across rows folds.
const LEAF_ROWS: usize = 64;
/// The columns that are folded together across rows: their accumulators fit in the first cache.
const TILE: usize = 1024;
/// Rows shorter than this are folded several at once.
const SHORT: usize = 32;
const TOGETHER: usize = 16;
/// Rows of no more numbers than this are narrow.
pub(super) const NARROW: usize = 32;

/// How many threads so many numbers are worth.
pub(super) fn threads_for(numbers: usize) -> usize {
    if numbers < 2 * GRAIN { 1 } else { num_threads().min(numbers / GRAIN) }
}

/// Calls both, in parallel if there is more than one of `threads`, and tells each how many of them it has.
pub(super) fn halves<R: Send>(
    threads: usize,
    left: impl FnOnce(usize) -> R + Send,
    right: impl FnOnce(usize) -> R + Send,
) -> (R, R) {
    let others = threads / 2;
    if others == 0 {
        return (left(1), right(1));
    }
    let (mut left, mut right) = (Some(left), Some(right));
    let (mut left_result, mut right_result) = (None, None);
    let mut call_left = || left_result = left.take().map(|left| left(threads - others));
    let mut call_right = || right_result = right.take().map(|right| right(others));
    join(&mut call_left, &mut call_right);
    (left_result.expect("it was called"), right_result.expect("it was called"))
}

/// A way to fold: every number is mapped, and what comes of it is combined, beginning with `identity`.
#[derive(Clone, Copy)]
pub(super) struct Fold<T, A, M, C> {
    identity: A,
    map: M,
    combine: C,
    numbers: PhantomData<fn(T)>,
}

impl<T, A, M, C> Fold<T, A, M, C>
where
    T: Copy + Sync,
    A: Copy + Send + Sync,
    M: Fn(T) -> A + Copy + Send + Sync,
    C: Fn(A, A) -> A + Copy + Send + Sync,
{
    /// A way to fold. `map` and `combine` are to be inlined.
    pub(super) fn new(identity: A, map: M, combine: C) -> Self {
        Self { identity, map, combine, numbers: PhantomData }
    }

    /// Folds the dimension of `input` into `out`.
    pub(super) fn run(self, input: &[T], axis: Axis, out: &mut [A]) {
        debug_assert_eq!(input.len(), axis.numbers());
        debug_assert_eq!(out.len(), axis.reduced());
        if input.is_empty() {
            return out.fill(self.identity);
        }
        self.blocks(threads_for(input.len()), input, axis, out);
    }

    fn blocks(self, threads: usize, input: &[T], axis: Axis, out: &mut [A]) {
        if let Some((half, rest)) = axis.halved(threads) {
            let (left, right) = input.split_at(half.numbers());
            let (left_out, right_out) = out.split_at_mut(half.reduced());
            halves(
                threads,
                |threads| self.blocks(threads, left, half, left_out),
                |threads| self.blocks(threads, right, rest, right_out),
            );
        } else if axis.inner == 1 && axis.len < SHORT {
            vectorized(
                #[inline(always)]
                || self.short_rows(input, axis.len, out),
            );
        } else if axis.inner == 1 && axis.len <= LEAF {
            self.leaves(input, axis.len, out);
        } else if axis.inner == 1 {
            for (row, out) in input.chunks_exact(axis.len).zip(out) {
                *out = self.row(threads, row);
            }
        } else {
            for (block, out) in input.chunks_exact(axis.block()).zip(out.chunks_exact_mut(axis.inner)) {
                if axis.inner <= NARROW {
                    self.narrow(threads, block, axis.inner, out);
                } else {
                    self.columns(threads, block, axis.inner, 0, out);
                }
            }
        }
    }

    fn row(self, threads: usize, row: &[T]) -> A {
        if row.len() > LEAF {
            let (left, right) = row.split_at((row.len() / 2).next_multiple_of(LEAF));
            let (left, right) = halves(threads, |threads| self.row(threads, left), |threads| self.row(threads, right));
            return (self.combine)(left, right);
        }
        let mut out = [self.identity];
        self.leaves(row, row.len(), &mut out);
        out[0]
    }

    fn leaves(self, input: &[T], len: usize, out: &mut [A]) {
        vectorized(
            #[inline(always)]
            || {
                for (row, out) in input.chunks_exact(len).zip(out) {
                    *out = self.leaf(row);
                }
            },
        );
    }

    /// Folds a few numbers, within [`vectorized`].
    #[inline(always)]
    pub(super) fn leaf(self, numbers: &[T]) -> A {
        let (chunks, rest) = numbers.as_chunks::<LANES>();
        let mut lanes = self.lanes(chunks);
        for (lane, &number) in lanes.iter_mut().zip(rest) {
            *lane = (self.combine)(*lane, (self.map)(number));
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] = (self.combine)(lanes[lane], lanes[lane + width]);
            }
            width /= 2;
        }
        lanes[0]
    }

    // Apart from the rest of the leaf: here the accumulators are only ever indexed by constants, and stay in registers.
    #[inline(always)]
    fn lanes(self, chunks: &[[T; LANES]]) -> [A; LANES] {
        let mut lanes = [self.identity; LANES];
        for chunk in chunks {
            for lane in 0..LANES {
                lanes[lane] = (self.combine)(lanes[lane], (self.map)(chunk[lane]));
            }
        }
        lanes
    }

    #[inline(always)]
    fn short_rows(self, input: &[T], len: usize, out: &mut [A]) {
        let (groups, last) = out.as_chunks_mut::<TOGETHER>();
        let (grouped, rest) = input.split_at(groups.len() * TOGETHER * len);
        for (rows, out) in grouped.chunks_exact(TOGETHER * len).zip(groups) {
            let mut lanes = [self.identity; TOGETHER];
            for column in 0..len {
                for lane in 0..TOGETHER {
                    lanes[lane] = (self.combine)(lanes[lane], (self.map)(rows[lane * len + column]));
                }
            }
            *out = lanes;
        }
        for (row, out) in rest.chunks_exact(len).zip(last) {
            *out = row.iter().fold(self.identity, |folded, &number| (self.combine)(folded, (self.map)(number)));
        }
    }

    /// Folds narrow rows into one: several at a time, as wide ones, whose parts are folded in the end.
    fn narrow(self, threads: usize, block: &[T], inner: usize, out: &mut [A]) {
        let wide = LANES / inner * inner;
        let (rows, rest) = block.split_at(block.len() / wide * wide);
        if rows.is_empty() {
            return self.rows(1, rest, inner, 0, out);
        }
        let mut parts = [self.identity; LANES];
        self.rows(threads, rows, wide, 0, &mut parts[..wide]);
        out.copy_from_slice(&parts[..inner]);
        for part in parts[inner..wide].chunks_exact(inner) {
            for (out, &part) in out.iter_mut().zip(part) {
                *out = (self.combine)(*out, part);
            }
        }
        for row in rest.chunks_exact(inner) {
            for (out, &number) in out.iter_mut().zip(row) {
                *out = (self.combine)(*out, (self.map)(number));
            }
        }
    }

    /// Folds the columns from `first` on, as many as `out` has, of rows of `inner` numbers.
    fn columns(self, threads: usize, block: &[T], inner: usize, first: usize, out: &mut [A]) {
        if out.len() <= TILE {
            return self.rows(threads, block, inner, first, out);
        }
        let middle = (out.len() / 2).next_multiple_of(TILE);
        let (left, right) = out.split_at_mut(middle);
        halves(
            threads,
            |threads| self.columns(threads, block, inner, first, left),
            |threads| self.columns(threads, block, inner, first + middle, right),
        );
    }

    /// As [`columns`](Self::columns), for a tile of them.
    fn rows(self, threads: usize, rows: &[T], inner: usize, first: usize, out: &mut [A]) {
        let count = rows.len() / inner;
        if count <= LEAF_ROWS {
            return vectorized(
                #[inline(always)]
                || self.leaf_rows(rows, inner, first, out),
            );
        }
        let (left, right) = rows.split_at((count / 2).next_multiple_of(LEAF_ROWS) * inner);
        let mut folded = [self.identity; TILE];
        let folded = &mut folded[..out.len()];
        halves(
            threads,
            |threads| self.rows(threads, left, inner, first, out),
            |threads| self.rows(threads, right, inner, first, folded),
        );
        for (out, &folded) in out.iter_mut().zip(&*folded) {
            *out = (self.combine)(*out, folded);
        }
    }

    #[inline(always)]
    fn leaf_rows(self, rows: &[T], inner: usize, first: usize, out: &mut [A]) {
        let width = out.len();
        let Self { identity, map, combine, .. } = self;
        out.fill(identity);
        let fours = rows.chunks_exact(4 * inner);
        let rest = fours.remainder();
        for four in fours {
            let row = |index: usize| &four[index * inner + first..][..width];
            let (a, b, c, d) = (row(0), row(1), row(2), row(3));
            for column in 0..width {
                let left = combine(map(a[column]), map(b[column]));
                let right = combine(map(c[column]), map(d[column]));
                out[column] = combine(out[column], combine(left, right));
            }
        }
        for row in rest.chunks_exact(inner) {
            for (out, &number) in out.iter_mut().zip(&row[first..]) {
                *out = combine(*out, map(number));
            }
        }
    }
}
