//! The innermost part of a product of matrices: a strip of its columns, computed a few rows at a time in registers.
//!
//! For each step of the depth, the columns of `b` are loaded as vectors, once, and multiplied with one number of `a` for
//! each row. Six rows of four vectors fill 24 of 32 registers: enough independent sums to keep the multipliers busy, and
//! few loads for each of them.

#![expect(unsafe_code, reason = "registers are filled through pointers")]
#![expect(clippy::needless_range_loop, reason = "indices stand for registers")]

use super::outlined::outlined;
use super::vectors::Vectors;
use pulp::{Simd, WithSimd};
use std::hint::black_box;

/// The most columns that a strip has, in vectors.
pub(crate) const fn widest<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 4 } else { 2 }
}

/// Where the rows of `b` are, and what of them is read.
pub(crate) trait Rows<T>: Copy {
    /// Row `k`.
    fn row(&self, k: usize) -> *const T;

    /// How far vector `v` is from the beginning of a row of `b`, if vectors have so many `lanes`.
    #[inline(always)]
    fn vector(&self, v: usize, lanes: usize) -> usize {
        v * lanes
    }

    /// How far the results of vector `v` are from those of the first one.
    #[inline(always)]
    fn result(&self, v: usize, lanes: usize) -> usize {
        v * lanes
    }

    /// Whether vector `v` of so many ends a row, so that not all of its numbers may be meant.
    #[inline(always)]
    fn is_last(v: usize, vectors: usize) -> bool {
        v + 1 == vectors
    }
}

/// Rows that lie `step` numbers apart.
#[derive(Clone, Copy)]
pub(crate) struct Even<T> {
    pub(crate) first: *const T,
    pub(crate) step: usize,
}

impl<T: Copy> Rows<T> for Even<T> {
    #[inline(always)]
    fn row(&self, k: usize) -> *const T {
        self.first.wrapping_add(k * self.step)
    }
}

/// Rows at given distances from `origin`.
#[derive(Clone, Copy)]
pub(crate) struct Scattered<'a, T> {
    pub(crate) origin: *const T,
    pub(crate) distances: &'a [usize],
}

impl<T: Copy> Rows<T> for Scattered<'_, T> {
    #[inline(always)]
    fn row(&self, k: usize) -> *const T {
        self.origin.wrapping_add(self.distances[k])
    }
}

/// Rows at given distances from several origins, `N` vectors of each.
#[derive(Clone, Copy)]
pub(crate) struct Stacked<'a, T, const N: usize> {
    pub(crate) rows: Scattered<'a, T>,
    /// From one origin to the next.
    pub(crate) step: usize,
    /// From the results of one to those of the next.
    pub(crate) result_step: usize,
}

impl<T: Copy, const N: usize> Rows<T> for Stacked<'_, T, N> {
    #[inline(always)]
    fn row(&self, k: usize) -> *const T {
        self.rows.row(k)
    }

    #[inline(always)]
    fn vector(&self, v: usize, lanes: usize) -> usize {
        v / N * self.step + v % N * lanes
    }

    #[inline(always)]
    fn result(&self, v: usize, lanes: usize) -> usize {
        v / N * self.result_step + v % N * lanes
    }

    #[inline(always)]
    fn is_last(v: usize, _vectors: usize) -> bool {
        v % N + 1 == N
    }
}

/// What each sum of a strip begins with.
#[derive(Clone, Copy)]
pub(crate) enum Start<T> {
    /// Nothing.
    Zero,
    /// What `c` holds, times a factor.
    Scaled(T),
    /// One number for each row.
    Rows(*const T),
}

/// `c = start + alpha * a @ b` for all rows and as many vectors of columns as registers hold.
#[derive(Clone, Copy)]
pub(crate) struct Strip<T, B> {
    pub(crate) rows: usize,
    pub(crate) vectors: usize,
    /// How many numbers of a row's last vector are meant.
    pub(crate) last: usize,
    pub(crate) depth: usize,
    pub(crate) a: *const T,
    pub(crate) a_row: usize,
    pub(crate) a_col: usize,
    pub(crate) b: B,
    pub(crate) c: *mut T,
    pub(crate) c_row: usize,
    pub(crate) alpha: T,
    pub(crate) start: Start<T>,
}

impl<T: Vectors, B: Rows<T>> Strip<T, B> {
    /// Computes the strip.
    ///
    /// # Safety
    /// There are from one to [`widest`] vectors. The pointers and strides mean `rows` by `depth` numbers of `a`, `depth`
    /// rows of `b`, each of which can be read up to whole vectors, and `rows` of `c` that nobody else uses.
    #[inline(always)]
    pub(crate) unsafe fn compute<S: Simd>(self, simd: S) {
        // SAFETY: the caller's promise.
        unsafe {
            // Shapes that are not for this instruction set are not compiled.
            if const { widest::<S>() < 4 } {
                return match self.vectors {
                    1 => self.in_tiles::<S, 1>(simd),
                    _ => self.in_tiles::<S, 2>(simd),
                };
            }
            match self.vectors {
                1 => self.in_tiles::<S, 1>(simd),
                2 => self.in_tiles::<S, 2>(simd),
                3 => self.in_tiles::<S, 3>(simd),
                _ => self.in_tiles::<S, 4>(simd),
            }
        }
    }

    /// Computes a strip of `V` vectors.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    #[inline(always)]
    unsafe fn in_tiles<S: Simd, const V: usize>(mut self, simd: S) {
        debug_assert_eq!(self.vectors, V);
        // One vector for each of six rows would be too few sums: each has to wait for its last addition.
        if const { V == 1 } && self.rows >= 12 {
            outlined(simd, Tiles::<T, B, 12, V>(self));
            self.advance(self.rows / 12 * 12);
        }
        if self.rows >= 6 {
            outlined(simd, Tiles::<T, B, 6, V>(self));
            self.advance(self.rows / 6 * 6);
        }
        match self.rows {
            1 => outlined(simd, Tiles::<T, B, 1, V>(self)),
            2 => outlined(simd, Tiles::<T, B, 2, V>(self)),
            3 => outlined(simd, Tiles::<T, B, 3, V>(self)),
            4 => outlined(simd, Tiles::<T, B, 4, V>(self)),
            5 => outlined(simd, Tiles::<T, B, 5, V>(self)),
            _ => {}
        }
    }

    /// Goes on below the next `rows`.
    #[inline(always)]
    fn advance(&mut self, rows: usize) {
        self.rows -= rows;
        self.a = self.a.wrapping_add(rows * self.a_row);
        self.c = self.c.wrapping_add(rows * self.c_row);
        if let Start::Rows(numbers) = &mut self.start {
            *numbers = numbers.wrapping_add(rows);
        }
    }
}

/// As much of a strip as consists of tiles of `M` rows and `V` vectors.
struct Tiles<T, B, const M: usize, const V: usize>(Strip<T, B>);

impl<T: Vectors, B: Rows<T>, const M: usize, const V: usize> WithSimd for Tiles<T, B, M, V> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(mut strip) = self;
        while strip.rows >= M {
            // SAFETY: as promised to `Strip::compute`.
            unsafe { tile::<S, T, B, M, V>(simd, &strip) };
            strip.advance(M);
        }
    }
}

/// The first `M` rows of `strip`.
///
/// # Safety
/// As for [`Strip::compute`]; the strip has `M` rows and `V` vectors.
#[inline(always)]
unsafe fn tile<S: Simd, T: Vectors, B: Rows<T>, const M: usize, const V: usize>(simd: S, strip: &Strip<T, B>) {
    let lanes = T::lanes::<S>();
    let mut sums = [[T::splat(simd, T::ZERO); V]; M];
    // SAFETY: the caller's promise.
    unsafe {
        let mut rows = [strip.a; M];
        for m in 0..M {
            rows[m] = strip.a.wrapping_add(m * strip.a_row);
        }
        // Otherwise the compiler computes each of these from the last one, in every step, and waits for them.
        let rows = black_box(rows);
        let mut at = 0;
        for k in 0..strip.depth {
            let b = strip.b.row(k);
            let mut columns = [T::splat(simd, T::ZERO); V];
            for v in 0..V {
                columns[v] = T::load(simd, b.add(strip.b.vector(v, lanes)));
            }
            for m in 0..M {
                let factor = T::splat(simd, *rows[m].add(at));
                for v in 0..V {
                    sums[m][v] = T::multiply_add(simd, factor, columns[v], sums[m][v]);
                }
            }
            at += strip.a_col;
        }
        let mask = T::first(simd, strip.last);
        let alpha = T::splat(simd, strip.alpha);
        // Loops of little, so that they are unrolled: only then are the sums registers.
        match strip.start {
            Start::Zero => {
                let zero = T::splat(simd, T::ZERO);
                for m in 0..M {
                    for v in 0..V {
                        sums[m][v] = T::multiply_add(simd, alpha, sums[m][v], zero);
                    }
                }
            }
            Start::Rows(numbers) => {
                for m in 0..M {
                    let number = T::splat(simd, *numbers.add(m));
                    for v in 0..V {
                        sums[m][v] = T::multiply_add(simd, alpha, sums[m][v], number);
                    }
                }
            }
            Start::Scaled(beta) => {
                let (beta, zero) = (T::splat(simd, beta), T::splat(simd, T::ZERO));
                for m in 0..M {
                    for v in 0..V {
                        let c = strip.c.add(m * strip.c_row + strip.b.result(v, lanes));
                        let old = if B::is_last(v, V) { T::load_masked(simd, c, mask) } else { T::load(simd, c) };
                        sums[m][v] = T::multiply_add(simd, beta, old, T::multiply_add(simd, alpha, sums[m][v], zero));
                    }
                }
            }
        }
        for m in 0..M {
            for v in 0..V {
                let c = strip.c.add(m * strip.c_row + strip.b.result(v, lanes));
                if strip.last == lanes || !B::is_last(v, V) {
                    T::store(simd, c, sums[m][v]);
                } else {
                    T::store_masked(simd, c, sums[m][v], mask);
                }
            }
        }
    }
}
