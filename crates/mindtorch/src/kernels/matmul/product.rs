//! A product of matrices: who computes it, and in how many parts.

#![expect(unsafe_code, reason = "matrices are read and written through pointers")]

use super::blocks::Blocks;
use super::panel::Panel;
use super::vectors::{ARCH, Vectors};
use crate::kernels::parallel;
use crate::kernels::real::Real;
use std::any::TypeId;
use std::ops::Range;

/// Work that is worth a thread of its own, in multiplications.
const GRAIN: usize = 1 << 20;
/// What it takes to fetch a number, in multiplications.
const FETCH: usize = 8;
/// From so many bytes on that would be fetched again and again, a product is one for crate gemm, which copies all of them.
const LARGE: usize = 3 << 19;
/// Products of no more depth are computed in one go, so that nothing is fetched again.
const SHALLOW: usize = 256;

/// `c = alpha * a @ b + beta * c`, through pointers and strides. Where `beta` is zero, `c` is not read.
#[derive(Clone, Copy)]
pub(crate) struct Product<T> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) depth: usize,
    pub(crate) a: *const T,
    pub(crate) a_row: usize,
    pub(crate) a_col: usize,
    pub(crate) b: *const T,
    pub(crate) b_row: usize,
    pub(crate) b_col: usize,
    pub(crate) c: *mut T,
    pub(crate) c_row: usize,
    pub(crate) c_col: usize,
    pub(crate) alpha: T,
    pub(crate) beta: T,
}

// SAFETY: threads that share a product write different parts of `c`, as whoever computes it promises.
unsafe impl<T: Sync> Sync for Product<T> {}

impl<T: Real> Product<T> {
    /// Computes the product with as many threads as are worth it.
    ///
    /// # Safety
    /// The pointers and strides mean two matrices that can be read, and one that can be written and that nobody else uses.
    pub(crate) unsafe fn compute(&self) {
        let work = self.rows * self.cols * self.depth + FETCH * self.depth * (self.rows + self.cols);
        // Tiles have six rows, and strips of most instruction sets 64 columns at most.
        let (by_rows, unit) = if self.rows >= self.cols { (true, 6) } else { (false, 64) };
        let units = if by_rows { self.rows } else { self.cols }.div_ceil(unit);
        parallel::for_ranges(units, GRAIN.div_ceil((work / units.max(1)).max(1)), |range| {
            let range = range.start * unit..range.end * unit;
            let part = if by_rows { self.part(range, 0..self.cols) } else { self.part(0..self.rows, range) };
            // SAFETY: the caller's promise; parts do not overlap.
            unsafe { part.compute_alone() };
        });
    }

    /// Those rows and columns of the product, of what there is of them.
    fn part(&self, rows: Range<usize>, cols: Range<usize>) -> Self {
        Self {
            rows: rows.end.min(self.rows) - rows.start,
            cols: cols.end.min(self.cols) - cols.start,
            a: self.a.wrapping_add(rows.start * self.a_row),
            b: self.b.wrapping_add(cols.start * self.b_col),
            c: self.c.wrapping_add(rows.start * self.c_row + cols.start * self.c_col),
            ..*self
        }
    }

    /// [`Self::compute`], by this thread alone.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    pub(crate) unsafe fn compute_alone(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.c_col != 1 || self.is_large() {
                self.by_gemm();
            } else if TypeId::of::<T>() == TypeId::of::<f32>() {
                self.by_blocks::<f32>();
            } else {
                self.by_blocks::<f64>();
            }
        }
    }

    fn is_large(&self) -> bool {
        // Strips of a transposed `b` are copied, which costs the same at any size.
        if self.b_col != 1 || self.depth <= SHALLOW {
            return false;
        }
        let read_again = if self.a_row == 1 { self.rows * self.cols } else { self.rows * (self.depth + self.cols) };
        read_again * size_of::<T>() >= LARGE
    }

    /// # Safety
    /// As for [`Self::compute`]; `T` is `U`, and rows of `c` are contiguous.
    unsafe fn by_blocks<U: Vectors>(&self) {
        let Self { rows, cols, depth, a_row, a_col, b_row, b_col, c_row, c_col, .. } = *self;
        let (a, b, c) = (self.a.cast::<U>(), self.b.cast::<U>(), self.c.cast::<U>());
        let (alpha, beta) = (U::from_f64(self.alpha.to_f64()), U::from_f64(self.beta.to_f64()));
        let product = Product { rows, cols, depth, a, a_row, a_col, b, b_row, b_col, c, c_row, c_col, alpha, beta };
        // SAFETY: the caller's promise.
        Panel::with(|panel| ARCH.dispatch(unsafe { Blocks::new(product, panel) }));
    }

    /// # Safety
    /// As for [`Self::compute`]; `T` is `f32` or `f64`.
    unsafe fn by_gemm(&self) {
        // The kernels of crate gemm write columns: a result of contiguous rows is transposed.
        let this = if self.c_col < self.c_row { self.transposed() } else { *self };
        let Self { rows, cols, depth, a_row, a_col, b_row, b_col, c_row, c_col, .. } = this;
        let [a_row, a_col, b_row, b_col, c_row, c_col] =
            [a_row, a_col, b_row, b_col, c_row, c_col].map(usize::cast_signed);
        let read = this.beta != T::ZERO;
        macro_rules! call {
            ($kernel:expr, $real:ty) => {
                $kernel(
                    rows,
                    cols,
                    depth,
                    this.c.cast::<$real>(),
                    c_col,
                    c_row,
                    read,
                    this.a.cast::<$real>(),
                    a_col,
                    a_row,
                    this.b.cast::<$real>(),
                    b_col,
                    b_row,
                    <$real>::from_f64(this.beta.to_f64()),
                    <$real>::from_f64(this.alpha.to_f64()),
                    false,
                    false,
                    false,
                    gemm_common::Parallelism::None,
                )
            };
        }
        // SAFETY: the caller's promise.
        unsafe {
            if TypeId::of::<T>() == TypeId::of::<f32>() {
                call!(gemm_f32::gemm::f32::get_gemm_fn(), f32);
            } else {
                call!(gemm_f64::gemm::f64::get_gemm_fn(), f64);
            }
        }
    }

    /// `transpose(c) = transpose(b) @ transpose(a)`.
    fn transposed(&self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            a: self.b,
            a_row: self.b_col,
            a_col: self.b_row,
            b: self.a,
            b_row: self.a_col,
            b_col: self.a_row,
            c_row: self.c_col,
            c_col: self.c_row,
            ..*self
        }
    }
}
