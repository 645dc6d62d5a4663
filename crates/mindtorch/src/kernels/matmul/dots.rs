//! Products of matrices whose numbers lie side by side along the depth: each result is the sum of the lanes of a vector.

#![expect(unsafe_code, reason = "registers are filled through pointers")]
#![expect(clippy::needless_range_loop, reason = "indices stand for registers")]

use super::outlined::outlined;
use super::strip::Rows;
use super::vectors::Vectors;
use pulp::{Simd, WithSimd};
use std::hint::black_box;

/// `c = alpha * sum of a * b + beta * c` for every line of `a` with every line of `b`. A line is `count` segments of `len`
/// contiguous numbers. Where `beta` is zero, `c` is not read.
#[derive(Clone, Copy)]
pub(crate) struct Dots<T, B> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) len: usize,
    pub(crate) count: usize,
    pub(crate) a: *const T,
    /// From a line of `a` to the next.
    pub(crate) a_row: usize,
    /// From a segment of a line of `a` to the next.
    pub(crate) a_step: usize,
    pub(crate) b: B,
    /// From a segment of a line of `b` to the next.
    pub(crate) b_step: usize,
    pub(crate) c: *mut T,
    pub(crate) c_row: usize,
    pub(crate) alpha: T,
    pub(crate) beta: T,
}

impl<T: Vectors, B: Rows<T>> Dots<T, B> {
    /// Computes all of `c`.
    ///
    /// # Safety
    /// The pointers and strides mean lines of `a` and `b` that can be read, and `rows` by `cols` numbers of `c` that nobody
    /// else uses.
    #[inline(always)]
    pub(crate) unsafe fn compute<S: Simd>(mut self, simd: S) {
        while self.rows > 0 {
            let rows = match self.rows {
                1 => outlined(simd, Columns::<T, B, 1, 8>(self)),
                2 => outlined(simd, Columns::<T, B, 2, 4>(self)),
                3 => outlined(simd, Columns::<T, B, 3, 4>(self)),
                _ => outlined(simd, Columns::<T, B, 4, 6>(self)),
            };
            self.rows -= rows;
            self.a = self.a.wrapping_add(rows * self.a_row);
            self.c = self.c.wrapping_add(rows * self.c_row);
        }
    }
}

/// The first `M` rows of the result, `N` columns at a time.
struct Columns<T, B, const M: usize, const N: usize>(Dots<T, B>);

impl<T: Vectors, B: Rows<T>, const M: usize, const N: usize> WithSimd for Columns<T, B, M, N> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let (cols, mut col) = (self.0.cols, 0);
        // SAFETY: as promised to `Dots::compute`.
        unsafe {
            while col + N <= cols {
                block::<S, T, B, M, N>(simd, &self.0, col);
                col += N;
            }
            while col + 3 <= cols {
                block::<S, T, B, M, 3>(simd, &self.0, col);
                col += 3;
            }
            while col < cols {
                block::<S, T, B, M, 1>(simd, &self.0, col);
                col += 1;
            }
        }
        M
    }
}

/// The first `M` rows and the `N` columns from `col` on.
///
/// # Safety
/// As for [`Dots::compute`]; there are so many rows and columns.
#[inline(always)]
unsafe fn block<S: Simd, T: Vectors, B: Rows<T>, const M: usize, const N: usize>(
    simd: S,
    dots: &Dots<T, B>,
    col: usize,
) {
    let lanes = T::lanes::<S>();
    let (whole, rest) = (dots.len / lanes, dots.len % lanes);
    let mask = T::first(simd, rest);
    let mut sums = [[T::splat(simd, T::ZERO); N]; M];
    // SAFETY: the caller's promise.
    unsafe {
        let (mut a, mut b) = ([dots.a; M], [dots.a; N]);
        for m in 0..M {
            a[m] = dots.a.add(m * dots.a_row);
        }
        for n in 0..N {
            b[n] = dots.b.row(col + n);
        }
        // Otherwise the compiler computes each of these from the last one, again and again, and waits for them.
        let (a, b) = black_box((a, b));
        for segment in 0..dots.count {
            let (mut a_at, mut b_at) = (segment * dots.a_step, segment * dots.b_step);
            for _ in 0..whole {
                let mut left = [T::splat(simd, T::ZERO); M];
                for m in 0..M {
                    left[m] = T::load(simd, a[m].add(a_at));
                }
                for n in 0..N {
                    let right = T::load(simd, b[n].add(b_at));
                    for m in 0..M {
                        sums[m][n] = T::multiply_add(simd, left[m], right, sums[m][n]);
                    }
                }
                (a_at, b_at) = (a_at + lanes, b_at + lanes);
            }
            if rest > 0 {
                let mut left = [T::splat(simd, T::ZERO); M];
                for m in 0..M {
                    left[m] = T::load_masked(simd, a[m].add(a_at), mask);
                }
                for n in 0..N {
                    let right = T::load_masked(simd, b[n].add(b_at), mask);
                    for m in 0..M {
                        sums[m][n] = T::multiply_add(simd, left[m], right, sums[m][n]);
                    }
                }
            }
        }
        // Behind this the sums are in memory, which keeps them in registers before it, however the rest is compiled.
        let sums = black_box(sums);
        for m in 0..M {
            for n in 0..N {
                let c = dots.c.add(m * dots.c_row + col + n);
                let sum = dots.alpha * T::sum_lanes(simd, sums[m][n]);
                *c = if dots.beta == T::ZERO { sum } else { sum + dots.beta * *c };
            }
        }
    }
}
