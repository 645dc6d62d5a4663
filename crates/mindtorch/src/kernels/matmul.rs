//! Products of matrices.

#![expect(unsafe_code, reason = "the kernels of products take pointers")]

mod blocks;
pub(crate) mod dots;
mod int;
pub(crate) mod outlined;
mod panel;
mod product;
pub(crate) mod strip;
mod transpose;
pub(crate) mod vectors;

pub(crate) use int::matmul_i64;

use super::parallel;
use super::real::Real;
use product::Product;

/// Up to so many multiplications plain loops are faster than anything that has to be prepared.
const FEW: usize = 64;
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
pub(crate) fn matmul<T: Real>(mut c: MatMut<'_, T>, alpha: T, a: Mat<'_, T>, b: Mat<'_, T>, beta: T) {
    if a.rows * a.cols * b.cols <= FEW {
        return small(&mut c, alpha, a, b, beta);
    }
    let product = checked(&mut c, alpha, a, b, beta);
    // SAFETY: `checked` made it of matrices that are borrowed until the end of this function.
    unsafe { product.compute() };
}

/// [`matmul`] by this thread alone.
pub(crate) fn matmul_alone<T: Real>(mut c: MatMut<'_, T>, alpha: T, a: Mat<'_, T>, b: Mat<'_, T>, beta: T) {
    if a.rows * a.cols * b.cols <= FEW {
        return small(&mut c, alpha, a, b, beta);
    }
    let product = checked(&mut c, alpha, a, b, beta);
    // SAFETY: `checked` made it of matrices that are borrowed until the end of this function.
    unsafe { product.compute_alone() };
}

/// [`matmul`] for `batch` matrices. Those of `c` lie one after another, the next as far from the last as `c.data` divided
/// by `batch` is long; `offsets` says where in `a.data` and in `b.data` those of a given number begin.
pub(crate) fn matmul_batched<T: Real>(
    batch: usize,
    c: MatMut<'_, T>,
    alpha: T,
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    beta: T,
    offsets: impl Fn(usize) -> (usize, usize) + Sync,
) {
    let MatMut { data, rows, cols, row_stride, col_stride } = c;
    if batch == 0 || rows == 0 || cols == 0 {
        return;
    }
    let step = data.len() / batch;
    let factors = |number: usize| {
        let (a_offset, b_offset) = offsets(number);
        (Mat { data: &a.data[a_offset..], ..a }, Mat { data: &b.data[b_offset..], ..b })
    };
    let work = (a.rows * a.cols * b.cols).max(1);
    if batch < parallel::num_threads() && work >= 2 * GRAIN {
        for (number, data) in data.chunks_exact_mut(step).enumerate() {
            let (a, b) = factors(number);
            matmul(MatMut { data, rows, cols, row_stride, col_stride }, alpha, a, b, beta);
        }
        return;
    }
    parallel::for_rows(data, step, GRAIN.div_ceil(work), |first, results| {
        for (index, data) in results.chunks_exact_mut(step).enumerate() {
            let (a, b) = factors(first + index);
            matmul_alone(MatMut { data, rows, cols, row_stride, col_stride }, alpha, a, b, beta);
        }
    });
}

/// The product with its sizes and strides checked. One whose rows are not contiguous, but whose columns are, is computed as
/// the product of the transposed matrices; so is one with a single column, because a row is faster.
fn checked<T: Real>(c: &mut MatMut<'_, T>, alpha: T, a: Mat<'_, T>, b: Mat<'_, T>, beta: T) -> Product<T> {
    assert!(a.rows == c.rows && b.cols == c.cols && a.cols == b.rows, "shapes were checked");
    assert!(c.data.len() >= c.extent() && a.data.len() >= a.extent() && b.data.len() >= b.extent(), "so were strides");
    let turns = c.row_stride == 1 && (c.col_stride != 1 || c.cols == 1);
    let (a, b) = if turns { (b.t(), a.t()) } else { (a, b) };
    Product {
        rows: a.rows,
        cols: b.cols,
        depth: a.cols,
        a: a.data.as_ptr(),
        a_row: a.row_stride,
        a_col: a.col_stride,
        b: b.data.as_ptr(),
        b_row: b.row_stride,
        b_col: b.col_stride,
        c: c.data.as_mut_ptr(),
        c_row: if turns { c.col_stride } else { c.row_stride },
        c_col: if turns { c.row_stride } else { c.col_stride },
        alpha,
        beta,
    }
}

fn small<T: Real>(c: &mut MatMut<'_, T>, alpha: T, a: Mat<'_, T>, b: Mat<'_, T>, beta: T) {
    for row in 0..c.rows {
        for col in 0..c.cols {
            let mut sum = T::ZERO;
            for k in 0..a.cols {
                let (left, right) = (row * a.row_stride + k * a.col_stride, k * b.row_stride + col * b.col_stride);
                sum += a.data[left] * b.data[right];
            }
            let number = &mut c.data[row * c.row_stride + col * c.col_stride];
            *number = if beta == T::ZERO { alpha * sum } else { alpha * sum + beta * *number };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, small enough that sums of their products are exact however they are added.
    fn numbers<T: Real>(len: usize) -> Vec<T> {
        (0..len).map(|i| T::from_f64(((i * 7919) % 23) as f64 - 11.0)).collect()
    }

    /// The matrix of those numbers, its rows or its columns contiguous and some room between them.
    fn mat<T>(data: &[T], rows: usize, cols: usize, columns_first: bool) -> Mat<'_, T> {
        if columns_first {
            Mat { data, rows, cols, row_stride: 1, col_stride: rows + 3 }
        } else {
            Mat { data, rows, cols, row_stride: cols + 2, col_stride: 1 }
        }
    }

    fn check<T: Real>(rows: usize, depth: usize, cols: usize) {
        let (a_data, b_data) = (numbers::<T>((rows + 3) * (depth + 3)), numbers::<T>((depth + 3) * (cols + 3)));
        let start = numbers::<T>(rows * cols);
        let (alpha, beta) = (T::from_f64(2.0), T::from_f64(3.0));
        for (a_turned, b_turned, c_turned) in
            [(false, false, false), (true, false, false), (false, true, false), (true, true, true)]
        {
            let (a, b) = (mat(&a_data, rows, depth, a_turned), mat(&b_data, depth, cols, b_turned));
            let (row_stride, col_stride) = if c_turned { (1, rows) } else { (cols, 1) };
            let mut product = vec![T::NAN; rows * cols];
            matmul(MatMut { data: &mut product, rows, cols, row_stride, col_stride }, T::ONE, a, b, T::ZERO);
            let mut update = start.clone();
            matmul(MatMut { data: &mut update, rows, cols, row_stride, col_stride }, alpha, a, b, beta);
            for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
                let products = (0..depth).map(|k| {
                    a.data[row * a.row_stride + k * a.col_stride] * b.data[k * b.row_stride + col * b.col_stride]
                });
                let sum: T = products.sum();
                let at = row * row_stride + col * col_stride;
                assert_eq!(product[at], sum, "{row} {col} of {rows} by {depth} by {cols}, {a_turned} {b_turned}");
                assert_eq!(update[at], alpha * sum + beta * start[at], "{row} {col} of {rows} by {depth} by {cols}");
            }
        }
    }

    #[test]
    fn every_shape_of_tile_agrees_with_a_plain_loop() {
        for rows in (1..=14).chain([23]) {
            for cols in [1, 2, 5, 15, 16, 17, 31, 32, 33, 48, 49, 63, 64, 65, 80] {
                for depth in [1, 3, 37] {
                    check::<f32>(rows, depth, cols);
                    check::<f64>(rows, depth, cols);
                }
            }
        }
    }

    #[test]
    fn blocks_of_rows_and_depth_agree_with_a_plain_loop() {
        for (rows, depth, cols) in
            [(300, 300, 70), (7, 600, 33), (1, 1000, 9), (2, 333, 9), (130, 260, 1), (600, 10, 5)]
        {
            check::<f32>(rows, depth, cols);
            check::<f64>(rows, depth, cols);
        }
    }

    #[test]
    fn large_products_agree_with_a_plain_loop() {
        check::<f32>(700, 300, 300);
        check::<f64>(300, 300, 300);
    }

    #[test]
    fn nothing_times_nothing_is_zero() {
        let mut c = [f32::NAN; 6];
        matmul(MatMut::row_major(&mut c, 2, 3), 1.0, Mat::row_major(&[], 2, 0), Mat::row_major(&[], 0, 3), 0.0);
        assert_eq!(c, [0.0; 6]);
        let mut c = vec![1.0f32; 40 * 50];
        matmul(MatMut::row_major(&mut c, 40, 50), 1.0, Mat::row_major(&[], 40, 0), Mat::row_major(&[], 0, 50), 2.0);
        assert!(c.iter().all(|&number| number == 2.0));
        matmul(
            MatMut::row_major(&mut [], 0, 5),
            1.0f32,
            Mat::row_major(&[], 0, 2),
            Mat::row_major(&[0.0; 10], 2, 5),
            0.0,
        );
        matmul_batched(
            0,
            MatMut::row_major(&mut [], 1, 1),
            1.0f32,
            Mat::row_major(&[], 1, 1),
            Mat::row_major(&[], 1, 1),
            0.0,
            |_| (0, 0),
        );
    }

    #[test]
    fn results_with_room_everywhere_are_computed_too() {
        let (a, b) = (numbers::<f32>(20 * 30), numbers::<f32>(30 * 10));
        let mut c = vec![7.0; 20 * 100];
        let room = MatMut { data: &mut c, rows: 20, cols: 10, row_stride: 100, col_stride: 3 };
        matmul(room, 1.0, Mat::row_major(&a, 20, 30), Mat::row_major(&b, 30, 10), 0.0);
        let mut plain = vec![0.0; 20 * 10];
        matmul(MatMut::row_major(&mut plain, 20, 10), 1.0, Mat::row_major(&a, 20, 30), Mat::row_major(&b, 30, 10), 0.0);
        for (index, number) in c.into_iter().enumerate() {
            let (row, col) = (index / 100, index % 100);
            let is_result = col % 3 == 0 && col < 30;
            assert_eq!(number, if is_result { plain[row * 10 + col / 3] } else { 7.0 });
        }
    }

    #[test]
    fn infinities_and_nan_go_where_they_belong() {
        let mut a = vec![1.0f32; 20 * 20];
        a[3 * 20 + 5] = f32::NAN;
        let b = vec![f32::INFINITY; 20 * 17];
        let mut c = vec![0.0; 20 * 17];
        matmul(MatMut::row_major(&mut c, 20, 17), 1.0, Mat::row_major(&a, 20, 20), Mat::row_major(&b, 20, 17), 0.0);
        assert!(c.iter().enumerate().all(|(i, number)| if i / 17 == 3 {
            number.is_nan()
        } else {
            *number == f32::INFINITY
        }));
    }

    #[test]
    fn batches_are_products_of_their_matrices() {
        for (batch, rows, depth, cols) in
            [(1, 3, 4, 5), (5, 20, 33, 17), (3, 2, 2, 2), (40, 60, 50, 40), (2, 200, 100, 150)]
        {
            let (a, b) = (numbers::<f32>(batch * rows * depth), numbers::<f32>(depth * cols));
            let mut c = vec![f32::NAN; batch * rows * cols];
            let (left, right) = (Mat::row_major(&a, rows, depth), Mat::row_major(&b, depth, cols));
            matmul_batched(batch, MatMut::row_major(&mut c, rows, cols), 1.0, left, right, 0.0, |number| {
                (number * rows * depth, 0)
            });
            let mut one = vec![f32::NAN; rows * cols];
            for number in 0..batch {
                let left = Mat::row_major(&a[number * rows * depth..], rows, depth);
                matmul(MatMut::row_major(&mut one, rows, cols), 1.0, left, right, 0.0);
                assert_eq!(c[number * rows * cols..][..rows * cols], one, "matrix {number} of {batch}");
            }
        }
    }
}
