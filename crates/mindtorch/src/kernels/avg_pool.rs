//! The mean of each window of an image.

use super::im2col::inside;
use super::parallel;
use super::pool::PoolShape;
use super::real::Real;
use super::simd::vectorized;
use std::ops::Range;

/// By what an average divides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Divisor {
    /// The size of the window with the padding that it covers.
    Padded,
    /// How many numbers of the input the window holds.
    Inside,
    /// A given number.
    Given(f64),
}

impl Divisor {
    #[inline(always)]
    fn of<T: Real>(self, y: usize, x: usize, shape: &PoolShape) -> T {
        let len = |output: usize, axis: usize| {
            let (input, padding) = (shape.input[axis], shape.padding[axis]);
            let start = output * shape.stride[axis];
            let end = (start + shape.kernel[axis]).min(input + 2 * padding);
            match self {
                Self::Inside => end.min(input + padding) - start.max(padding),
                _ => end - start,
            }
        };
        match self {
            Self::Given(divisor) => T::from_f64(divisor),
            _ => T::from_f64((len(y, 0) * len(x, 1)) as f64),
        }
    }
}

/// The mean of each window. `shape.dilation` is one.
pub(crate) fn avg_pool2d<T: Real>(out: &mut [T], input: &[T], shape: &PoolShape, divisor: Divisor) {
    let (area, input_area) = (shape.output_area(), shape.input_area());
    debug_assert!(out.len() == shape.planes * area && input.len() == shape.planes * input_area);
    debug_assert_eq!(shape.dilation, [1, 1]);
    if out.is_empty() {
        return;
    }
    parallel::for_rows(out, area, shape.grain(), |first, planes| {
        for (out, input) in planes.chunks_exact_mut(area).zip(input.chunks_exact(input_area).skip(first)) {
            vectorized(|| average_plane(out, input, shape, divisor));
        }
    });
}

#[inline(always)]
fn average_plane<T: Real>(out: &mut [T], input: &[T], shape: &PoolShape, divisor: Divisor) {
    let (width, out_width) = (shape.input[1], shape.output[1]);
    for (y, out) in out.chunks_exact_mut(out_width).enumerate() {
        out.fill(T::ZERO);
        for row in (0..shape.kernel[0]).filter_map(|ky| shape.row(y, ky)) {
            let input = &input[row * width..][..width];
            for (xs, start) in columns(shape) {
                let out = &mut out[xs];
                // Strides that the compiler knows let it use vectors.
                match shape.stride[1] {
                    1 => add_line(out, &input[start..], 1),
                    2 => add_line(out, &input[start..], 2),
                    stride => add_line(out, &input[start..], stride),
                }
            }
        }
        for (x, sum) in out.iter_mut().enumerate() {
            *sum /= divisor.of(y, x, shape);
        }
    }
}

/// For each column of the window: the outputs for which it lies inside the input, and where it lies for the first of them.
#[inline(always)]
fn columns(shape: &PoolShape) -> impl Iterator<Item = (Range<usize>, usize)> {
    let (stride, padding) = (shape.stride[1], shape.padding[1]);
    let (input, output) = (shape.input[1], shape.output[1]);
    (0..shape.kernel[1]).filter_map(move |kx| {
        let xs = inside(output, input, stride, padding, kx);
        (!xs.is_empty()).then(|| (xs.clone(), xs.start * stride + kx - padding))
    })
}

#[inline(always)]
fn add_line<T: Real>(out: &mut [T], input: &[T], stride: usize) {
    let input = &input[..(out.len() - 1) * stride + 1];
    for (x, sum) in out.iter_mut().enumerate() {
        *sum += input[x * stride];
    }
}

/// The gradient of [`avg_pool2d`] with respect to its input.
pub(crate) fn avg_pool2d_grad<T: Real>(grad_input: &mut [T], grad_out: &[T], shape: &PoolShape, divisor: Divisor) {
    let (area, input_area) = (shape.output_area(), shape.input_area());
    debug_assert!(grad_out.len() == shape.planes * area && grad_input.len() == shape.planes * input_area);
    if grad_out.is_empty() {
        return grad_input.fill(T::ZERO);
    }
    parallel::for_rows(grad_input, input_area, shape.grain(), |first, planes| {
        planes.fill(T::ZERO);
        for (plane, grads) in planes.chunks_exact_mut(input_area).zip(grad_out.chunks_exact(area).skip(first)) {
            vectorized(|| spread_plane(plane, grads, shape, divisor));
        }
    });
}

#[inline(always)]
fn spread_plane<T: Real>(grad_input: &mut [T], grad_out: &[T], shape: &PoolShape, divisor: Divisor) {
    let (width, out_width) = (shape.input[1], shape.output[1]);
    for (y, grads) in grad_out.chunks_exact(out_width).enumerate() {
        for row in (0..shape.kernel[0]).filter_map(|ky| shape.row(y, ky)) {
            let line = &mut grad_input[row * width..][..width];
            for (xs, start) in columns(shape) {
                let targets = line[start..].iter_mut().step_by(shape.stride[1]);
                for ((x, target), &grad) in xs.clone().zip(targets).zip(&grads[xs]) {
                    *target += grad / divisor.of(y, x, shape);
                }
            }
        }
    }
}

/// The mean of each of `output` windows that divide an image as evenly as they can. `shape` has sizes alone: kernel,
/// stride, padding and dilation are not looked at.
pub(crate) fn adaptive_avg_pool2d<T: Real>(out: &mut [T], input: &[T], shape: &PoolShape) {
    let (area, input_area, width) = (shape.output_area(), shape.input_area(), shape.input[1]);
    debug_assert!(out.len() == shape.planes * area && input.len() == shape.planes * input_area);
    if out.is_empty() {
        return;
    }
    parallel::for_rows(out, area, shape.adaptive_grain(), |first, planes| {
        for (out, input) in planes.chunks_exact_mut(area).zip(input.chunks_exact(input_area).skip(first)) {
            for (y, out) in out.chunks_exact_mut(shape.output[1]).enumerate() {
                let ys = share(y, shape, 0);
                let rows = &input[ys.start * width..ys.end * width];
                for (x, mean) in out.iter_mut().enumerate() {
                    let xs = share(x, shape, 1);
                    let sum = rows
                        .chunks_exact(width)
                        .flat_map(|row| &row[xs.clone()])
                        .fold(T::ZERO, |sum, &number| sum + number);
                    *mean = sum / T::from_f64(ys.len() as f64) / T::from_f64(xs.len() as f64);
                }
            }
        }
    });
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
                    let grad = grad / T::from_f64(ys.len() as f64) / T::from_f64(xs.len() as f64);
                    for row in plane[ys.start * width..ys.end * width].chunks_exact_mut(width) {
                        row[xs.clone()].iter_mut().for_each(|target| *target += grad);
                    }
                }
            }
        }
    });
}

/// The part of an axis that an output of an adaptive pooling sees.
fn share(output: usize, shape: &PoolShape, axis: usize) -> Range<usize> {
    let (input, outputs) = (shape.input[axis], shape.output[axis]);
    output * input / outputs..((output + 1) * input).div_ceil(outputs)
}
