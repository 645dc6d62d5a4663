//! The mean of each window of an image.

mod adaptive;

pub(crate) use adaptive::{adaptive_avg_pool2d, adaptive_avg_pool2d_grad};

use super::im2col::inside;
use super::parallel;
use super::pool::PoolShape;
use super::real::Real;
use super::simd::vectorized;

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
    /// By what the window of an output is divided.
    #[inline(always)]
    fn of<T: Real>(self, y: usize, x: usize, shape: &PoolShape) -> T {
        match self {
            Self::Given(divisor) => T::from_f64(divisor),
            _ => T::from_usize(self.len(y, 0, shape) * self.len(x, 1, shape)),
        }
    }

    /// How much of a window counts along an axis.
    #[inline(always)]
    fn len(self, output: usize, axis: usize, shape: &PoolShape) -> usize {
        let (input, padding, start) = (shape.input[axis], shape.padding[axis], output * shape.stride[axis]);
        let end = (start + shape.kernel[axis]).min(input + 2 * padding);
        if self == Self::Inside { end.min(input + padding) - start.max(padding) } else { end - start }
    }

    /// Divides `numbers`, those of the outputs of row `y` from `first` on.
    #[inline(always)]
    fn divide<T: Real>(self, numbers: &mut [T], y: usize, first: usize, shape: &PoolShape) {
        // All windows between those that touch padding are divided by the same.
        let (kernel, stride, padding) = (shape.kernel[1], shape.stride[1], shape.padding[1]);
        let from = padding.div_ceil(stride).saturating_sub(first).min(numbers.len());
        let to = (shape.input[1] + padding).checked_sub(kernel).map_or(0, |room| room / stride + 1);
        let to = to.saturating_sub(first).clamp(from, numbers.len());
        if from < to {
            let divisor = self.of::<T>(y, first + from, shape);
            numbers[from..to].iter_mut().for_each(|number| *number /= divisor);
        }
        for x in (0..from).chain(to..numbers.len()) {
            numbers[x] /= self.of(y, first + x, shape);
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
            vectorized(
                #[inline(always)]
                || average_plane(out, input, shape, divisor),
            );
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
            for kx in 0..shape.kernel[1] {
                let xs = inside(out_width, width, shape.stride[1], shape.padding[1], kx);
                if xs.is_empty() {
                    continue;
                }
                let start = xs.start * shape.stride[1] + kx - shape.padding[1];
                let (out, input) = (&mut out[xs], &input[start..]);
                // Strides that the compiler knows let it use vectors.
                match shape.stride[1] {
                    1 => add_every(out, input, 1),
                    2 => add_every(out, input, 2),
                    3 => add_every(out, input, 3),
                    stride => add_every(out, input, stride),
                }
            }
        }
        divisor.divide(out, y, 0, shape);
    }
}

/// Adds every `stride`th number of `input` to `out`.
#[inline(always)]
fn add_every<T: Real>(out: &mut [T], input: &[T], stride: usize) {
    // All but the last, after which there may be no whole stride.
    let last = out.len() - 1;
    for (sum, numbers) in out[..last].iter_mut().zip(input.chunks_exact(stride)) {
        *sum += numbers[0];
    }
    out[last] += input[last * stride];
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
            vectorized(
                #[inline(always)]
                || spread_plane(plane, grads, shape, divisor),
            );
        }
    });
}

#[inline(always)]
fn spread_plane<T: Real>(grad_input: &mut [T], grad_out: &[T], shape: &PoolShape, divisor: Divisor) {
    let (width, out_width) = (shape.input[1], shape.output[1]);
    let mut shares = [T::ZERO; 64];
    for (y, grads) in grad_out.chunks_exact(out_width).enumerate() {
        for (index, grads) in grads.chunks(shares.len()).enumerate() {
            let first = index * shares.len();
            let shares = &mut shares[..grads.len()];
            shares.copy_from_slice(grads);
            divisor.divide(shares, y, first, shape);
            for row in (0..shape.kernel[0]).filter_map(|ky| shape.row(y, ky)) {
                let line = &mut grad_input[row * width..][..width];
                for kx in 0..shape.kernel[1] {
                    let xs = inside(out_width, width, shape.stride[1], shape.padding[1], kx);
                    let xs = xs.start.max(first)..xs.end.min(first + shares.len());
                    if xs.is_empty() {
                        continue;
                    }
                    let line = &mut line[xs.start * shape.stride[1] + kx - shape.padding[1]..];
                    let shares = &shares[xs.start - first..xs.end - first];
                    match shape.stride[1] {
                        1 => add_to_every(line, shares, 1),
                        2 => add_to_every(line, shares, 2),
                        stride => add_to_every(line, shares, stride),
                    }
                }
            }
        }
    }
}

/// Adds `numbers` to every `stride`th number of `line`.
#[inline(always)]
fn add_to_every<T: Real>(line: &mut [T], numbers: &[T], stride: usize) {
    let (&last, others) = numbers.split_last().expect("there are numbers");
    for (target, &number) in line.chunks_exact_mut(stride).zip(others) {
        target[0] += number;
    }
    line[others.len() * stride] += last;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::pool::pooled_len;
    use std::ops::Range;

    /// For each output of a plane, the places that it averages, and by what it divides.
    fn windows(shape: &PoolShape, divisor: Divisor) -> Vec<(Vec<usize>, f64)> {
        let span = |output: usize, axis: usize| {
            let start = (output * shape.stride[axis]) as i64 - shape.padding[axis] as i64;
            start..(start + shape.kernel[axis] as i64).min((shape.input[axis] + shape.padding[axis]) as i64)
        };
        let inside = |span: &Range<i64>, axis: usize| span.start.max(0)..span.end.min(shape.input[axis] as i64);
        let outputs = (0..shape.output[0]).flat_map(|y| (0..shape.output[1]).map(move |x| (y, x)));
        let window = |(y, x)| {
            let (rows, cols) = (span(y, 0), span(x, 1));
            let padded = (rows.end - rows.start) * (cols.end - cols.start);
            let (rows, cols) = (inside(&rows, 0), inside(&cols, 1));
            let width = shape.input[1] as i64;
            let places: Vec<_> = rows.flat_map(|y| cols.clone().map(move |x| (y * width + x) as usize)).collect();
            let by = match divisor {
                Divisor::Padded => padded as f64,
                Divisor::Inside => places.len() as f64,
                Divisor::Given(number) => number,
            };
            (places, by)
        };
        outputs.map(window).collect()
    }

    /// Compares with the sums over `windows`; the numbers are multiples of what windows divide by, to be exact.
    pub(super) fn check(
        shape: &PoolShape,
        windows: &[(Vec<usize>, f64)],
        pool: impl Fn(&mut [f64], &[f64]),
        grad: impl Fn(&mut [f64], &[f64]),
    ) {
        let (area, out_area) = (shape.input_area(), shape.output_area());
        let numbers: Vec<f64> = (0..shape.planes * area).map(|i| ((i * 7919) % 101) as f64 * 5040.0).collect();
        let grads: Vec<f64> = (0..shape.planes * out_area).map(|i| ((i * 104_729) % 89) as f64 * 5040.0).collect();
        let mut means = vec![0.0; shape.planes * out_area];
        let mut spread = vec![0.0; shape.planes * area];
        for plane in 0..shape.planes {
            for (index, (places, divisor)) in windows.iter().enumerate() {
                for place in places {
                    means[plane * out_area + index] += numbers[plane * area + place] / divisor;
                    spread[plane * area + place] += grads[plane * out_area + index] / divisor;
                }
            }
        }
        let (mut out, mut grad_input) = (vec![f64::NAN; means.len()], vec![f64::NAN; spread.len()]);
        pool(&mut out, &numbers);
        grad(&mut grad_input, &grads);
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close(&out, &means) && close(&grad_input, &spread), "{shape:?}");
    }

    #[test]
    fn means_agree_with_a_plain_loop() {
        let parameters =
            [([2, 2], [2, 2], [0, 0]), ([3, 2], [1, 3], [1, 1]), ([2, 3], [3, 1], [1, 0]), ([3, 3], [2, 2], [1, 1])];
        for (kernel, stride, padding) in parameters {
            for (ceil_mode, input) in [(false, [9, 7]), (true, [8, 6]), (true, [5, 33]), (false, [33, 40])] {
                let len =
                    |axis: usize| pooled_len(input[axis], kernel[axis], stride[axis], padding[axis], 1, ceil_mode);
                let shape =
                    PoolShape { planes: 3, input, output: [len(0), len(1)], kernel, stride, padding, dilation: [1, 1] };
                for divisor in [Divisor::Padded, Divisor::Inside, Divisor::Given(7.0)] {
                    let pool = |out: &mut [f64], input: &[f64]| avg_pool2d(out, input, &shape, divisor);
                    let grad = |out: &mut [f64], input: &[f64]| avg_pool2d_grad(out, input, &shape, divisor);
                    check(&shape, &windows(&shape, divisor), pool, grad);
                }
            }
        }
    }
}
