//! Softmax along an axis, its logarithm, and the gradients of both.

use super::axis::Axis;
use super::lanes;
use super::parallel;
use super::real::Real;
use super::simd::vectorized;
use std::ops::Range;

/// So many numbers are worth another thread.
const GRAIN: usize = 100_000;
/// Columns of a strided axis that are worked on side by side.
const COLUMNS: usize = 128;

/// `out = exp(x) / sum(exp(x))` along the axis.
pub(crate) fn softmax<T: Real>(out: &mut [T], x: &[T], axis: Axis) {
    for_slabs(
        out,
        axis,
        #[inline(always)]
        |out, slab| {
            let x = &x[slab];
            if axis.inner == 1 {
                softmax_row(out, x);
            } else {
                for_columns(
                    axis.inner,
                    #[inline(always)]
                    |columns| softmax_columns(out, x, axis, columns),
                );
            }
        },
    );
}

#[inline(always)]
pub(super) fn softmax_row<T: Real>(out: &mut [T], x: &[T]) {
    let max = lanes::max(x);
    for (y, &x) in out.iter_mut().zip(x) {
        *y = (x - max).exp();
    }
    let scale = T::ONE / lanes::sum(out);
    for y in out {
        *y *= scale;
    }
}

#[inline(always)]
fn softmax_columns<T: Real>(out: &mut [T], x: &[T], axis: Axis, columns: Range<usize>) {
    let max = column_maxima(x, axis, columns.clone());
    let mut sums = [T::ZERO; COLUMNS];
    for row in rows_of(axis, columns.clone()) {
        for (((y, &x), &max), sum) in out[row.clone()].iter_mut().zip(&x[row]).zip(&max).zip(&mut sums) {
            *y = (x - max).exp();
            *sum += *y;
        }
    }
    for row in rows_of(axis, columns) {
        for (y, &sum) in out[row].iter_mut().zip(&sums) {
            *y /= sum;
        }
    }
}

/// `out = x - log(sum(exp(x)))` along the axis.
pub(crate) fn log_softmax<T: Real>(out: &mut [T], x: &[T], axis: Axis) {
    for_slabs(
        out,
        axis,
        #[inline(always)]
        |out, slab| {
            let x = &x[slab];
            if axis.inner == 1 {
                log_softmax_row(out, x);
            } else {
                for_columns(
                    axis.inner,
                    #[inline(always)]
                    |columns| log_softmax_columns(out, x, axis, columns),
                );
            }
        },
    );
}

#[inline(always)]
fn log_softmax_row<T: Real>(out: &mut [T], x: &[T]) {
    let max = lanes::max(x);
    let log_sum = sum_of_exp(x, max).ln();
    for (y, &x) in out.iter_mut().zip(x) {
        *y = (x - max) - log_sum;
    }
}

#[inline(always)]
fn log_softmax_columns<T: Real>(out: &mut [T], x: &[T], axis: Axis, columns: Range<usize>) {
    let max = column_maxima(x, axis, columns.clone());
    let log_sums = column_log_sums(x, axis, columns.clone(), &max);
    for row in rows_of(axis, columns) {
        for (((y, &x), &max), &log_sum) in out[row.clone()].iter_mut().zip(&x[row]).zip(&max).zip(&log_sums) {
            *y = (x - max) - log_sum;
        }
    }
}

/// `log(sum(exp(x)))` along the axis, for every number before and behind it.
pub(crate) fn logsumexp<T: Real>(out: &mut [T], x: &[T], axis: Axis) {
    let width = axis.length * axis.inner;
    // Infinities may not be subtracted from each other.
    let finite = |max: T| if max.is_finite() { max } else { T::ZERO };
    parallel::for_rows(out, axis.inner, GRAIN.div_ceil(width.max(1)), |first, rows| {
        vectorized(
            #[inline(always)]
            || {
                for (index, out) in rows.chunks_exact_mut(axis.inner).enumerate() {
                    let x = &x[(first + index) * width..][..width];
                    if axis.inner == 1 {
                        let max = finite(lanes::max(x));
                        out[0] = max + sum_of_exp(x, max).ln();
                        continue;
                    }
                    for_columns(
                        axis.inner,
                        #[inline(always)]
                        |columns| {
                            let max = column_maxima(x, axis, columns.clone()).map(finite);
                            let log_sums = column_log_sums(x, axis, columns.clone(), &max);
                            for ((y, &max), &log_sum) in out[columns].iter_mut().zip(&max).zip(&log_sums) {
                                *y = max + log_sum;
                            }
                        },
                    );
                }
            },
        );
    });
}

/// The gradient of [`softmax`], of whose output `y` it is made: `y * (grad - sum(grad * y))`.
pub(crate) fn softmax_backward<T: Real>(grad_input: &mut [T], grad: &[T], y: &[T], axis: Axis) {
    for_slabs(
        grad_input,
        axis,
        #[inline(always)]
        |out, slab| {
            let (grad, y) = (&grad[slab.clone()], &y[slab]);
            if axis.inner == 1 {
                softmax_backward_row(out, grad, y);
                return;
            }
            for_columns(
                axis.inner,
                #[inline(always)]
                |columns| {
                    let mut dots = [T::ZERO; COLUMNS];
                    for row in rows_of(axis, columns.clone()) {
                        for ((dot, &grad), &y) in dots.iter_mut().zip(&grad[row.clone()]).zip(&y[row]) {
                            *dot = grad.mul_add(y, *dot);
                        }
                    }
                    for row in rows_of(axis, columns) {
                        let numbers = grad[row.clone()].iter().zip(&y[row.clone()]).zip(&dots);
                        for (out, ((&grad, &y), &dot)) in out[row].iter_mut().zip(numbers) {
                            *out = y * (grad - dot);
                        }
                    }
                },
            );
        },
    );
}

#[inline(always)]
pub(super) fn softmax_backward_row<T: Real>(out: &mut [T], grad: &[T], y: &[T]) {
    let dot = lanes::dot(grad, y);
    for ((out, &grad), &y) in out.iter_mut().zip(grad).zip(y) {
        *out = y * (grad - dot);
    }
}

/// The gradient of [`log_softmax`], of whose output `y` it is made: `grad - exp(y) * sum(grad)`.
pub(crate) fn log_softmax_backward<T: Real>(grad_input: &mut [T], grad: &[T], y: &[T], axis: Axis) {
    for_slabs(
        grad_input,
        axis,
        #[inline(always)]
        |out, slab| {
            let (grad, y) = (&grad[slab.clone()], &y[slab]);
            if axis.inner == 1 {
                let sum = lanes::sum(grad);
                for ((out, &grad), &y) in out.iter_mut().zip(grad).zip(y) {
                    *out = y.exp().mul_add(-sum, grad);
                }
                return;
            }
            for_columns(
                axis.inner,
                #[inline(always)]
                |columns| {
                    let mut sums = [T::ZERO; COLUMNS];
                    for row in rows_of(axis, columns.clone()) {
                        for (sum, &grad) in sums.iter_mut().zip(&grad[row]) {
                            *sum += grad;
                        }
                    }
                    for row in rows_of(axis, columns) {
                        let numbers = grad[row.clone()].iter().zip(&y[row.clone()]).zip(&sums);
                        for (out, ((&grad, &y), &sum)) in out[row].iter_mut().zip(numbers) {
                            *out = y.exp().mul_add(-sum, grad);
                        }
                    }
                },
            );
        },
    );
}

/// Calls `work` for each of the outer dimensions with its part of `out` and where that lies, in parallel.
#[inline(always)]
fn for_slabs<T: Real>(out: &mut [T], axis: Axis, work: impl Fn(&mut [T], Range<usize>) + Sync) {
    debug_assert_eq!(out.len(), axis.numel());
    let width = axis.length * axis.inner;
    parallel::for_rows(out, width, GRAIN.div_ceil(width.max(1)), |first, slabs| {
        vectorized(
            #[inline(always)]
            || {
                for (index, slab) in slabs.chunks_exact_mut(width).enumerate() {
                    let start = (first + index) * width;
                    work(slab, start..start + width);
                }
            },
        );
    });
}

/// Calls `work` with ranges of at most [`COLUMNS`] columns.
#[inline(always)]
fn for_columns(inner: usize, mut work: impl FnMut(Range<usize>)) {
    for start in (0..inner).step_by(COLUMNS) {
        work(start..inner.min(start + COLUMNS));
    }
}

/// Where the numbers of these columns lie within a slab, for each index along the axis.
#[inline(always)]
fn rows_of(axis: Axis, columns: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    (0..axis.length).map(move |index| index * axis.inner + columns.start..index * axis.inner + columns.end)
}

#[inline(always)]
fn column_maxima<T: Real>(x: &[T], axis: Axis, columns: Range<usize>) -> [T; COLUMNS] {
    let mut max = [T::NEG_INFINITY; COLUMNS];
    for row in rows_of(axis, columns) {
        for (max, &x) in max.iter_mut().zip(&x[row]) {
            *max = if x > *max { x } else { *max };
        }
    }
    max
}

/// The logarithms of the sums of `exp(x - max)`.
#[inline(always)]
fn column_log_sums<T: Real>(x: &[T], axis: Axis, columns: Range<usize>, max: &[T; COLUMNS]) -> [T; COLUMNS] {
    let mut sums = [T::ZERO; COLUMNS];
    for row in rows_of(axis, columns) {
        for ((sum, &x), &max) in sums.iter_mut().zip(&x[row]).zip(max) {
            *sum += (x - max).exp();
        }
    }
    for sum in &mut sums {
        *sum = sum.ln();
    }
    sums
}

#[inline(always)]
pub(super) fn sum_of_exp<T: Real>(x: &[T], max: T) -> T {
    lanes::fold(x, T::ZERO, |sum, x| sum + (x - max).exp(), |a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: [Axis; 6] = [
        Axis { outer: 1, length: 1, inner: 1 },
        Axis { outer: 5, length: 37, inner: 1 },
        Axis { outer: 3, length: 130, inner: 1 },
        Axis { outer: 2, length: 7, inner: 5 },
        Axis { outer: 2, length: 4, inner: 300 },
        Axis { outer: 0, length: 4, inner: 3 },
    ];

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|index| ((index * 7919 + seed) % 1009) as f64 / 101.0 - 5.0).collect()
    }

    /// What `naive` makes of each sequence along the axis of both inputs.
    fn along(axis: Axis, a: &[f64], b: &[f64], naive: fn(&[f64], &[f64]) -> Vec<f64>) -> Vec<f64> {
        let mut out = vec![0.0; axis.numel()];
        for outer in 0..axis.outer {
            for inner in 0..axis.inner {
                let place = |index: usize| (outer * axis.length + index) * axis.inner + inner;
                let pick = |from: &[f64]| (0..axis.length).map(|index| from[place(index)]).collect::<Vec<_>>();
                for (index, y) in naive(&pick(a), &pick(b)).into_iter().enumerate() {
                    out[place(index)] = y;
                }
            }
        }
        out
    }

    fn assert_close(got: &[f64], wanted: &[f64]) {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
        assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(close), "{got:?}\n{wanted:?}");
    }

    fn naive(x: &[f64], _: &[f64]) -> Vec<f64> {
        let sum: f64 = x.iter().map(|x| x.exp()).sum();
        x.iter().map(|x| x.exp() / sum).collect()
    }

    #[test]
    fn forward_agrees_with_the_definition() {
        for axis in AXES {
            let x = numbers(axis.numel(), 3);
            let mut out = vec![f64::NAN; x.len()];
            softmax(&mut out, &x, axis);
            assert_close(&out, &along(axis, &x, &x, naive));
            log_softmax(&mut out, &x, axis);
            assert_close(&out, &along(axis, &x, &x, |x, _| naive(x, x).into_iter().map(f64::ln).collect()));
            let mut sums = vec![f64::NAN; axis.outer * axis.inner];
            logsumexp(&mut sums, &x, axis);
            let one = Axis { length: 1, ..axis };
            let wanted = along(axis, &x, &x, |x, _| vec![x.iter().map(|x| x.exp()).sum::<f64>().ln(); x.len()]);
            let first = |place: usize| wanted[(place / axis.inner * axis.length) * axis.inner + place % axis.inner];
            assert_close(&sums, &(0..one.numel()).map(first).collect::<Vec<_>>());
        }
    }

    #[test]
    fn backward_agrees_with_the_definition() {
        for axis in AXES {
            let (x, grad) = (numbers(axis.numel(), 3), numbers(axis.numel(), 500));
            let y = along(axis, &x, &x, naive);
            let mut out = vec![f64::NAN; x.len()];
            softmax_backward(&mut out, &grad, &y, axis);
            let wanted = along(axis, &grad, &y, |grad, y| {
                let dot: f64 = grad.iter().zip(y).map(|(a, b)| a * b).sum();
                grad.iter().zip(y).map(|(grad, y)| y * (grad - dot)).collect()
            });
            assert_close(&out, &wanted);
            let log_y: Vec<f64> = y.iter().map(|y| y.ln()).collect();
            log_softmax_backward(&mut out, &grad, &log_y, axis);
            let wanted = along(axis, &grad, &y, |grad, y| {
                let sum: f64 = grad.iter().sum();
                grad.iter().zip(y).map(|(grad, y)| grad - y * sum).collect()
            });
            assert_close(&out, &wanted);
        }
    }

    #[test]
    fn infinities_and_nan_do_as_the_formula_says() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let axis = Axis { outer: 4, length: 2, inner: 1 };
        let x = [1.0, -inf, -inf, -inf, 0.0, nan, 1e30, 1e30];
        let mut out = [0.0; 8];
        softmax(&mut out, &x, axis);
        assert_eq!(out[..2], [1.0, 0.0]);
        assert!(out[2..6].iter().all(|y| y.is_nan()));
        assert_eq!(out[6..], [0.5, 0.5]);
        let mut sums = [0.0; 4];
        logsumexp(&mut sums, &x, axis);
        assert_eq!(sums[..2], [1.0, -inf]);
        assert!(sums[2].is_nan() && sums[3] == 1e30);
    }

    #[test]
    fn rows_are_divided_among_threads_alike() {
        let axis = Axis { outer: 300, length: 1000, inner: 1 };
        let x: Vec<f32> = numbers(axis.numel(), 1).into_iter().map(|x| x as f32).collect();
        let (mut one, mut two) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        parallel::set_num_threads(1);
        softmax(&mut one, &x, axis);
        parallel::set_num_threads(2);
        softmax(&mut two, &x, axis);
        assert_eq!(one, two);
    }
}
