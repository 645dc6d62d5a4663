//! Products of matrices of integers.

use super::{Mat, MatMut};
use crate::kernels::parallel;

/// Multiplications that are worth a thread of their own.
const GRAIN: usize = 1 << 18;
/// Columns whose sums stay in the first-level cache.
const WIDTH: usize = 512;

/// `c = a @ b`, wrapping on overflow. The rows of `c` lie one after another.
pub(crate) fn matmul_i64(c: MatMut<'_, i64>, a: Mat<'_, i64>, b: Mat<'_, i64>) {
    debug_assert!(a.rows == c.rows && b.cols == c.cols && a.cols == b.rows);
    debug_assert!(c.col_stride == 1 && c.row_stride == c.cols);
    let (data, cols) = (c.data, c.cols);
    parallel::for_rows(data, cols.max(1), GRAIN.div_ceil((a.cols * cols).max(1)), |first, rows| {
        for (row, sums) in rows.chunks_exact_mut(cols).enumerate() {
            let factors = (0..a.cols).map(|k| a.data[(first + row) * a.row_stride + k * a.col_stride]);
            if b.col_stride == 1 {
                add_rows(sums, &factors, b);
            } else {
                add_products(sums, &factors, b);
            }
        }
    });
}

/// A row of the product, where rows of `b` are contiguous.
fn add_rows(sums: &mut [i64], factors: &(impl Iterator<Item = i64> + Clone), b: Mat<'_, i64>) {
    for (index, sums) in sums.chunks_mut(WIDTH).enumerate() {
        sums.fill(0);
        for (k, factor) in factors.clone().enumerate() {
            let numbers = &b.data[k * b.row_stride + index * WIDTH..][..sums.len()];
            for (sum, &number) in sums.iter_mut().zip(numbers) {
                *sum = sum.wrapping_add(factor.wrapping_mul(number));
            }
        }
    }
}

/// A row of the product, wherever the numbers of `b` are.
fn add_products(sums: &mut [i64], factors: &(impl Iterator<Item = i64> + Clone), b: Mat<'_, i64>) {
    for (col, sum) in sums.iter_mut().enumerate() {
        let products = factors
            .clone()
            .enumerate()
            .map(|(k, factor)| factor.wrapping_mul(b.data[k * b.row_stride + col * b.col_stride]));
        *sum = products.fold(0, i64::wrapping_add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_multiplied_exactly() {
        let sizes = [(1, 1, 1), (2, 3, 4), (7, 0, 5), (0, 3, 2), (3, 40, 600), (70, 65, 66)];
        for (rows, depth, cols) in sizes {
            let a: Vec<i64> = (0..rows * depth).map(|i| (i as i64 * 7919) % 1013 - 500).collect();
            let b: Vec<i64> = (0..depth * cols).map(|i| (i as i64 * 104_729) % 2003 - 1000).collect();
            let turned: Vec<i64> = (0..cols * depth).map(|i| b[i % depth * cols + i / depth]).collect();
            let (a, b) = (Mat::row_major(&a, rows, depth), Mat::row_major(&b, depth, cols));
            let naive: Vec<i64> = (0..rows * cols)
                .map(|i| (0..depth).map(|k| a.data[i / cols * depth + k] * b.data[k * cols + i % cols]).sum())
                .collect();
            for b in [b, Mat::row_major(&turned, cols, depth).t()] {
                let mut c = vec![-1; rows * cols];
                matmul_i64(MatMut::row_major(&mut c, rows, cols), a, b);
                assert_eq!(c, naive, "{rows} by {depth} by {cols}");
            }
        }
    }

    #[test]
    fn overflow_wraps() {
        let mut c = [0];
        matmul_i64(
            MatMut::row_major(&mut c, 1, 1),
            Mat::row_major(&[i64::MAX, 1], 1, 2),
            Mat::row_major(&[2, 3], 2, 1),
        );
        assert_eq!(c, [1]);
    }
}
