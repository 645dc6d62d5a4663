//! The mean of each of a given number of windows.

use crate::kernels::parallel;
use crate::kernels::pool::PoolShape;
use crate::kernels::real::Real;
use std::ops::Range;

/// The mean of each of `shape.output` windows that divide an image as evenly as they can. Kernel, stride, padding and
/// dilation are not looked at.
pub(crate) fn adaptive_avg_pool2d<T: Real>(out: &mut [T], input: &[T], shape: &PoolShape) {
    let (area, input_area) = (shape.output_area(), shape.input_area());
    debug_assert!(out.len() == shape.planes * area && input.len() == shape.planes * input_area);
    if out.is_empty() {
        return;
    }
    parallel::for_rows(out, area, shape.adaptive_grain(), |first, planes| {
        for (out, input) in planes.chunks_exact_mut(area).zip(input.chunks_exact(input_area).skip(first)) {
            average_plane(out, input, shape);
        }
    });
}

fn average_plane<T: Real>(out: &mut [T], input: &[T], shape: &PoolShape) {
    let width = shape.input[1];
    for (y, out) in out.chunks_exact_mut(shape.output[1]).enumerate() {
        let ys = share(y, shape, 0);
        let rows = &input[ys.start * width..ys.end * width];
        for (x, mean) in out.iter_mut().enumerate() {
            let xs = share(x, shape, 1);
            // Rows that are seen from end to end are as good as one long row.
            let row = if xs.len() == width { rows.len() } else { width };
            let sum = total(rows.chunks_exact(row).map(|row| &row[xs.start..row.len() - (width - xs.end)]));
            *mean = sum / T::from_usize(ys.len()) / T::from_usize(xs.len());
        }
    }
}

/// The sum of all numbers of all rows, in several parts, because each addition has to wait for the last one of its part.
fn total<'a, T: Real>(rows: impl Iterator<Item = &'a [T]>) -> T {
    let mut sums = [T::ZERO; 8];
    for row in rows {
        let (chunks, rest) = row.as_chunks::<8>();
        for chunk in chunks {
            for (sum, &number) in sums.iter_mut().zip(chunk) {
                *sum += number;
            }
        }
        for (sum, &number) in sums.iter_mut().zip(rest) {
            *sum += number;
        }
    }
    sums.into_iter().sum()
}

/// The gradient of [`adaptive_avg_pool2d`] with respect to its input.
pub(crate) fn adaptive_avg_pool2d_grad<T: Real>(grad_input: &mut [T], grad_out: &[T], shape: &PoolShape) {
    let (area, input_area, width) = (shape.output_area(), shape.input_area(), shape.input[1]);
    debug_assert!(grad_out.len() == shape.planes * area && grad_input.len() == shape.planes * input_area);
    if grad_out.is_empty() {
        return grad_input.fill(T::ZERO);
    }
    parallel::for_rows(grad_input, input_area, shape.adaptive_grain(), |first, planes| {
        planes.fill(T::ZERO);
        for (plane, grads) in planes.chunks_exact_mut(input_area).zip(grad_out.chunks_exact(area).skip(first)) {
            for (y, grads) in grads.chunks_exact(shape.output[1]).enumerate() {
                let ys = share(y, shape, 0);
                for (x, &grad) in grads.iter().enumerate() {
                    let xs = share(x, shape, 1);
                    let grad = grad / T::from_usize(ys.len()) / T::from_usize(xs.len());
                    for row in plane[ys.start * width..ys.end * width].chunks_exact_mut(width) {
                        row[xs.clone()].iter_mut().for_each(|target| *target += grad);
                    }
                }
            }
        }
    });
}

/// The part of an axis that an output sees.
fn share(output: usize, shape: &PoolShape, axis: usize) -> Range<usize> {
    let (input, outputs) = (shape.input[axis], shape.output[axis]);
    output * input / outputs..((output + 1) * input).div_ceil(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::avg_pool::tests::check;

    fn adaptive_windows(shape: &PoolShape) -> Vec<(Vec<usize>, f64)> {
        let outputs = (0..shape.output[0]).flat_map(|y| (0..shape.output[1]).map(move |x| (y, x)));
        let window = |(y, x)| {
            let (rows, cols, width) = (share(y, shape, 0), share(x, shape, 1), shape.input[1]);
            let places: Vec<_> = rows.flat_map(|y| cols.clone().map(move |x| y * width + x)).collect();
            let len = places.len() as f64;
            (places, len)
        };
        outputs.map(window).collect()
    }

    #[test]
    fn adaptive_means_agree_with_a_plain_loop() {
        for (input, output) in
            [([7, 9], [1, 1]), ([8, 8], [4, 2]), ([7, 5], [3, 4]), ([3, 2], [5, 5]), ([40, 30], [7, 7])]
        {
            let ones = [1, 1];
            let shape =
                PoolShape { planes: 2, input, output, kernel: ones, stride: ones, padding: [0, 0], dilation: ones };
            let pool = |out: &mut [f64], input: &[f64]| adaptive_avg_pool2d(out, input, &shape);
            let grad = |out: &mut [f64], input: &[f64]| adaptive_avg_pool2d_grad(out, input, &shape);
            check(&shape, &adaptive_windows(&shape), pool, grad);
        }
    }
}
