//! Products of matrices.

#![expect(unsafe_code, reason = "the product of crate gemm takes pointers")]

use super::parallel;
use super::real::Real;
use gemm::Parallelism;

/// Multiplications that are worth a thread of their own.
const GRAIN: usize = 1 << 20;

/// A matrix to read: the number of row `r` and column `c` is `data[r * row_stride + c * col_stride]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mat<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
}

/// A matrix to write. No two of its numbers share a place.
#[derive(Debug)]
pub(crate) struct MatMut<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
}

impl<'a, T> Mat<'a, T> {
    /// The matrix whose rows lie one after another in `data`.
    pub(crate) fn row_major(data: &'a [T], rows: usize, cols: usize) -> Self {
        Self { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// The same numbers with rows and columns exchanged.
    pub(crate) fn t(self) -> Self {
        let Self { data, rows, cols, row_stride, col_stride } = self;
        Self { data, rows: cols, cols: rows, row_stride: col_stride, col_stride: row_stride }
    }

    /// How far into `data` the matrix reaches.
    fn extent(&self) -> usize {
        extent(self.rows, self.cols, self.row_stride, self.col_stride)
    }
}

impl<'a, T> MatMut<'a, T> {
    /// The matrix whose rows lie one after another in `data`.
    pub(crate) fn row_major(data: &'a mut [T], rows: usize, cols: usize) -> Self {
        Self { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    fn extent(&self) -> usize {
        extent(self.rows, self.cols, self.row_stride, self.col_stride)
    }
}

fn extent(rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> usize {
    if rows == 0 || cols == 0 { 0 } else { (rows - 1) * row_stride + (cols - 1) * col_stride + 1 }
}

/// `c = alpha * a @ b + beta * c`. Where `beta` is zero, `c` is not read, so that what it held does not matter.
pub(crate) fn matmul<T: Real>(c: MatMut<'_, T>, alpha: T, a: Mat<'_, T>, b: Mat<'_, T>, beta: T) {
    let work = a.rows * a.cols * b.cols;
    parallel::within_pool(work, GRAIN, |threads| {
        product(c, alpha, a, b, beta, if threads > 1 { Parallelism::Rayon(threads) } else { Parallelism::None });
    });
}

/// [`matmul`] for `batch` matrices. Those of `c` lie one after another, the next as far from the last as `c.data` divided
/// by `batch` is long; `offsets` says where in `a.data` and in `b.data` those of the given number begin.
pub(crate) fn matmul_batched<T: Real>(
    batch: usize,
    c: MatMut<'_, T>,
    alpha: T,
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    beta: T,
    offsets: impl Fn(usize) -> (usize, usize) + Sync,
) {
    if batch == 0 || c.rows == 0 || c.cols == 0 {
        return;
    }
    let MatMut { data, rows, cols, row_stride, col_stride } = c;
    let step = data.len() / batch;
    let work = (a.rows * a.cols * b.cols).max(1);
    parallel::for_rows(data, step, GRAIN.div_ceil(work), |first, matrices| {
        for (index, data) in matrices.chunks_exact_mut(step).enumerate() {
            let (a_offset, b_offset) = offsets(first + index);
            let c = MatMut { data, rows, cols, row_stride, col_stride };
            let a = Mat { data: &a.data[a_offset..], ..a };
            let b = Mat { data: &b.data[b_offset..], ..b };
            product(c, alpha, a, b, beta, Parallelism::None);
        }
    });
}

fn product<T: Real>(c: MatMut<'_, T>, alpha: T, a: Mat<'_, T>, b: Mat<'_, T>, beta: T, parallelism: Parallelism) {
    assert!(a.rows == c.rows && b.cols == c.cols && a.cols == b.rows, "shapes were checked");
    assert!(
        c.data.len() >= c.extent() && a.data.len() >= a.extent() && b.data.len() >= b.extent(),
        "strides were checked"
    );
    // SAFETY: the three matrices lie within their slices, as was just asserted.
    unsafe {
        gemm::gemm(
            c.rows,
            c.cols,
            a.cols,
            c.data.as_mut_ptr(),
            c.col_stride as isize,
            c.row_stride as isize,
            beta != T::ZERO,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            beta,
            alpha,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// `c = a @ b` for integers, wrapping on overflow.
pub(crate) fn matmul_i64(c: MatMut<'_, i64>, a: Mat<'_, i64>, b: Mat<'_, i64>) {
    for row in 0..c.rows {
        for col in 0..c.cols {
            let mut sum = 0i64;
            for k in 0..a.cols {
                let (x, y) =
                    (a.data[row * a.row_stride + k * a.col_stride], b.data[k * b.row_stride + col * b.col_stride]);
                sum = sum.wrapping_add(x.wrapping_mul(y));
            }
            c.data[row * c.row_stride + col * c.col_stride] = sum;
        }
    }
}
