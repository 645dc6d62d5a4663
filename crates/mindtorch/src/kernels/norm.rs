//! Normalisation of rows: layer norm, and RMS norm, which leaves the mean as it is.

use super::lanes;
use super::parallel;
use super::real::Real;
use super::rows::{self, RowsMut};
use super::simd::vectorized;
use std::ops::Range;

/// So many numbers are worth another thread.
const GRAIN: usize = 200_000;
/// So many numbers of each operand stay in the innermost cache between two loops over them.
const BLOCK: usize = 4096;

/// What the normalised numbers are multiplied with, and what is added to them: one number for each column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affine<'a, T> {
    pub(crate) weight: Option<&'a [T]>,
    pub(crate) bias: Option<&'a [T]>,
}

/// Where the gradients go that are wanted.
#[derive(Debug)]
pub(crate) struct Gradients<'a, T> {
    pub(crate) input: Option<&'a mut [T]>,
    pub(crate) weight: Option<&'a mut [T]>,
    pub(crate) bias: Option<&'a mut [T]>,
}

/// What gradients are made of: the input, and what the forward pass found of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saved<'a, T> {
    pub(crate) x: &'a [T],
    pub(crate) mean: &'a [T],
    pub(crate) rstd: &'a [T],
    pub(crate) weight: Option<&'a [T]>,
}

/// `out = (x - mean) * rstd * weight + bias` for rows of `width` numbers, with the mean of each row and the inverse of its
/// standard deviation.
pub(crate) fn layer_norm<T: Real>(
    out: &mut [T],
    (mean, rstd): (&mut [T], &mut [T]),
    x: &[T],
    affine: Affine<'_, T>,
    width: usize,
    eps: T,
) {
    let count = rstd.len();
    let rows = (RowsMut::new(out, width), RowsMut::new(mean, 1), RowsMut::new(rstd, 1));
    rows::for_each(rows, count, grain(width), |first, count, (out, mean, rstd)| {
        vectorized(
            #[inline(always)]
            || {
                for row in 0..count {
                    let x = &x[(first + row) * width..][..width];
                    let out = &mut out.data[row * width..][..width];
                    let (average, variance) = lanes::moments(x);
                    (mean.data[row], rstd.data[row]) = (average, (variance + eps).rsqrt());
                    normalize_row(out, x, average, rstd.data[row], affine);
                }
            },
        );
    });
}

/// `out = x * rstd * weight` for rows of `width` numbers, with the inverse root of the mean square of each row.
pub(crate) fn rms_norm<T: Real>(out: &mut [T], rstd: &mut [T], x: &[T], weight: Option<&[T]>, width: usize, eps: T) {
    let count = rstd.len();
    let rows = (RowsMut::new(out, width), RowsMut::new(rstd, 1));
    rows::for_each(rows, count, grain(width), |first, count, (out, rstd)| {
        vectorized(
            #[inline(always)]
            || {
                for row in 0..count {
                    let x = &x[(first + row) * width..][..width];
                    let out = &mut out.data[row * width..][..width];
                    rstd.data[row] = (lanes::dot(x, x) / T::from_usize(width) + eps).rsqrt();
                    normalize_row(out, x, T::ZERO, rstd.data[row], Affine { weight, bias: None });
                }
            },
        );
    });
}

#[inline(always)]
fn normalize_row<T: Real>(out: &mut [T], x: &[T], mean: T, rstd: T, affine: Affine<'_, T>) {
    if let Affine { weight: Some(weight), bias: Some(bias) } = affine {
        for (((y, &x), &weight), &bias) in out.iter_mut().zip(x).zip(weight).zip(bias) {
            *y = ((x - mean) * rstd).mul_add(weight, bias);
        }
        return;
    }
    for (y, &x) in out.iter_mut().zip(x) {
        *y = (x - mean) * rstd;
    }
    for (y, &weight) in out.iter_mut().zip(affine.weight.unwrap_or_default()) {
        *y *= weight;
    }
    for (y, &bias) in out.iter_mut().zip(affine.bias.unwrap_or_default()) {
        *y += bias;
    }
}

/// The gradients of [`layer_norm`].
pub(crate) fn layer_norm_backward<T: Real>(gradients: Gradients<'_, T>, grad: &[T], saved: Saved<'_, T>, width: usize) {
    let Saved { x, mean, rstd, weight } = saved;
    backward(gradients, &Rows { grad, x, mean: Some(mean), rstd, weight, width });
}

/// The gradients of [`rms_norm`].
pub(crate) fn rms_norm_backward<T: Real>(
    (input, grad_weight): (Option<&mut [T]>, Option<&mut [T]>),
    grad: &[T],
    x: &[T],
    rstd: &[T],
    weight: Option<&[T]>,
    width: usize,
) {
    let gradients = Gradients { input, weight: grad_weight, bias: None };
    backward(gradients, &Rows { grad, x, mean: None, rstd, weight, width });
}

/// What gradients of rows are made of.
struct Rows<'a, T> {
    grad: &'a [T],
    x: &'a [T],
    /// None where it was not subtracted.
    mean: Option<&'a [T]>,
    rstd: &'a [T],
    weight: Option<&'a [T]>,
    width: usize,
}

fn backward<T: Real>(gradients: Gradients<'_, T>, rows: &Rows<'_, T>) {
    let Gradients { mut input, mut weight, mut bias } = gradients;
    let (count, width) = (rows.rstd.len(), rows.width);
    if let Some(weight) = weight.as_deref_mut() {
        weight.fill(T::ZERO);
    }
    if let Some(bias) = bias.as_deref_mut() {
        bias.fill(T::ZERO);
    }
    if count == 0 || width == 0 {
        return;
    }
    if parallel::num_threads() == 1 || count * width < 2 * GRAIN {
        // Block by block, so that the second loop finds its numbers in the cache.
        let step = BLOCK.div_ceil(width);
        vectorized(
            #[inline(always)]
            || {
                for first in (0..count).step_by(step) {
                    let block = first..count.min(first + step);
                    if let Some(input) = input.as_deref_mut() {
                        rows.input_gradient(&mut input[block.start * width..block.end * width], block.start);
                    }
                    rows.parameter_gradients((weight.as_deref_mut(), bias.as_deref_mut()), block, 0);
                }
            },
        );
        return;
    }
    if let Some(input) = input {
        parallel::for_rows(input, width, grain(width), |first, out| {
            vectorized(
                #[inline(always)]
                || rows.input_gradient(out, first),
            );
        });
    }
    // Each thread sums all rows of some columns.
    let columns = (weight.map(|weight| RowsMut::new(weight, 1)), bias.map(|bias| RowsMut::new(bias, 1)));
    rows::for_each(columns, width, grain(count), |first, _, (weight, bias)| {
        vectorized(
            #[inline(always)]
            || rows.parameter_gradients((weight.map(|w| w.data), bias.map(|b| b.data)), 0..count, first),
        );
    });
}

impl<T: Real> Rows<'_, T> {
    #[inline(always)]
    fn mean(&self, row: usize) -> T {
        self.mean.map_or(T::ZERO, |mean| mean[row])
    }

    /// The gradients of the rows of `x` from `first` on, as many as `out` has room for.
    #[inline(always)]
    fn input_gradient(&self, out: &mut [T], first: usize) {
        let scale = T::ONE / T::from_usize(self.width);
        let means = |[slope, shift]: [T; 2], rstd: T| {
            [slope * scale * rstd * rstd, if self.mean.is_some() { shift * scale } else { T::ZERO }]
        };
        for (row, out) in out.chunks_exact_mut(self.width).enumerate() {
            let row = first + row;
            let (mean, rstd) = (self.mean(row), self.rstd[row]);
            let grad = &self.grad[row * self.width..][..self.width];
            let x = &self.x[row * self.width..][..self.width];
            let along = |[slope, shift]: [T; 2], grad: T, x: T| [(x - mean).mul_add(grad, slope), shift + grad];
            let of_x = |grad: T, x: T, slope: T, shift: T| (grad - shift - (x - mean) * slope) * rstd;
            match self.weight {
                Some(weight) => {
                    let sums =
                        lanes::sums([[grad, x, weight]], |sums, [grad, x, weight]| along(sums, grad * weight, x));
                    let [slope, shift] = means(sums, rstd);
                    for (((out, &grad), &x), &weight) in out.iter_mut().zip(grad).zip(x).zip(weight) {
                        *out = of_x(grad * weight, x, slope, shift);
                    }
                }
                None => {
                    let sums = lanes::sums([[grad, x]], |sums, [grad, x]| along(sums, grad, x));
                    let [slope, shift] = means(sums, rstd);
                    for ((out, &grad), &x) in out.iter_mut().zip(grad).zip(x) {
                        *out = of_x(grad, x, slope, shift);
                    }
                }
            }
        }
    }

    /// Adds what some rows have for the columns of weight and bias from `first` on.
    #[inline(always)]
    fn parameter_gradients(
        &self,
        (mut weight, mut bias): (Option<&mut [T]>, Option<&mut [T]>),
        rows: Range<usize>,
        first: usize,
    ) {
        let count = weight.as_deref().or(bias.as_deref()).map_or(0, <[T]>::len);
        let mut column = 0;
        while column < count {
            let (weight, bias) = (part(&mut weight, column), part(&mut bias, column));
            column += match count - column {
                64.. => self.add_columns::<64>(weight, bias, rows.clone(), first + column),
                16.. => self.add_columns::<16>(weight, bias, rows.clone(), first + column),
                _ => self.add_columns::<1>(weight, bias, rows.clone(), first + column),
            };
        }
    }

    /// Adds what some rows have for `N` columns of weight and bias; gives `N`.
    #[inline(always)]
    fn add_columns<const N: usize>(&self, weight: &mut [T], bias: &mut [T], rows: Range<usize>, first: usize) -> usize {
        let (mut along, mut sums) = ([T::ZERO; N], [T::ZERO; N]);
        for row in rows {
            let (mean, rstd) = (self.mean(row), self.rstd[row]);
            let grad = &self.grad[row * self.width + first..][..N];
            let x = &self.x[row * self.width + first..][..N];
            for column in 0..N {
                along[column] = ((x[column] - mean) * rstd).mul_add(grad[column], along[column]);
                sums[column] += grad[column];
            }
        }
        for (weight, along) in weight.iter_mut().zip(lanes::opaque(along)) {
            *weight += along;
        }
        for (bias, sum) in bias.iter_mut().zip(lanes::opaque(sums)) {
            *bias += sum;
        }
        N
    }
}

/// What is there from an index on.
#[inline(always)]
fn part<'a, T>(of: &'a mut Option<&mut [T]>, from: usize) -> &'a mut [T] {
    of.as_deref_mut().map_or(&mut [], |all| &mut all[from..])
}

/// How many rows of so many numbers are worth another thread.
fn grain(width: usize) -> usize {
    GRAIN.div_ceil(width.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [(usize, usize); 6] = [(1, 1), (3, 5), (7, 37), (2, 1000), (0, 4), (1030, 500)];

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|index| ((index * 7919 + seed) % 1009) as f64 / 101.0 - 5.0).collect()
    }

    fn assert_close(got: &[f64], wanted: &[f64]) {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(close));
    }

    /// The mean that is subtracted and the factor, for each row.
    fn moments(x: &[f64], width: usize, centred: bool) -> (Vec<f64>, Vec<f64>) {
        let moments = |x: &[f64]| {
            let mean = if centred { x.iter().sum::<f64>() / width as f64 } else { 0.0 };
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
            (mean, 1.0 / (variance + 1e-5).sqrt())
        };
        x.chunks(width).map(moments).unzip()
    }

    #[test]
    fn forward_agrees_with_the_definition() {
        for (count, width) in SHAPES {
            let (x, weight, bias) = (numbers(count * width, 1), numbers(width, 2), numbers(width, 3));
            let mut out = vec![f64::NAN; x.len()];
            let (mut mean, mut rstd) = (vec![f64::NAN; count], vec![f64::NAN; count]);
            for (weight, bias) in
                [(None, None), (Some(&weight[..]), None), (None, Some(&bias[..])), (Some(&weight[..]), Some(&bias[..]))]
            {
                let row = |place: usize| place / width;
                let (w, b) = (|c: usize| weight.map_or(1.0, |w| w[c]), |c: usize| bias.map_or(0.0, |b| b[c]));
                let (means, factors) = moments(&x, width, true);
                layer_norm(&mut out, (&mut mean, &mut rstd), &x, Affine { weight, bias }, width, 1e-5);
                let wanted =
                    (0..x.len()).map(|i| (x[i] - means[row(i)]) * factors[row(i)] * w(i % width) + b(i % width));
                assert_close(&out, &wanted.collect::<Vec<_>>());
                assert_close(&mean, &means);
                assert_close(&rstd, &factors);
                let (_, factors) = moments(&x, width, false);
                rms_norm(&mut out, &mut rstd, &x, weight, width, 1e-5);
                let wanted = (0..x.len()).map(|i| x[i] * factors[row(i)] * w(i % width));
                assert_close(&out, &wanted.collect::<Vec<_>>());
                assert_close(&rstd, &factors);
            }
        }
    }

    #[test]
    fn backward_agrees_with_the_definition() {
        for threads in [1, 2] {
            parallel::set_num_threads(threads);
            for (count, width) in SHAPES {
                for centred in [true, false] {
                    let (x, grad, weight) = (numbers(count * width, 1), numbers(count * width, 4), numbers(width, 2));
                    check_backward(&x, &grad, Some(&weight), width, centred);
                    check_backward(&x, &grad, None, width, centred);
                }
            }
        }
    }

    fn check_backward(x: &[f64], grad: &[f64], weight: Option<&[f64]>, width: usize, centred: bool) {
        let (mean, rstd) = moments(x, width, centred);
        let w = |place: usize| weight.map_or(1.0, |w| w[place % width]);
        let hat: Vec<f64> = (0..x.len()).map(|i| (x[i] - mean[i / width]) * rstd[i / width]).collect();
        let mut wanted = (vec![0.0; x.len()], vec![0.0; width], vec![0.0; width]);
        for (row, &rstd) in rstd.iter().enumerate() {
            let places = row * width..(row + 1) * width;
            let average = |f: &dyn Fn(usize) -> f64| places.clone().map(f).sum::<f64>() / width as f64;
            let shift = if centred { average(&|i| grad[i] * w(i)) } else { 0.0 };
            let slope = average(&|i| grad[i] * w(i) * hat[i]);
            for i in places.clone() {
                wanted.0[i] = rstd * (grad[i] * w(i) - shift - hat[i] * slope);
                wanted.1[i % width] += grad[i] * hat[i];
                wanted.2[i % width] += grad[i];
            }
        }
        let mut out = (vec![f64::NAN; x.len()], vec![f64::NAN; width], vec![f64::NAN; width]);
        if centred {
            let saved = Saved { x, mean: &mean, rstd: &rstd, weight };
            let gradients = Gradients { input: Some(&mut out.0), weight: Some(&mut out.1), bias: Some(&mut out.2) };
            layer_norm_backward(gradients, grad, saved, width);
            assert_close(&out.2, &wanted.2);
            let none = Gradients { input: None, weight: None, bias: None };
            layer_norm_backward(none, grad, saved, width);
        } else {
            rms_norm_backward((Some(&mut out.0), Some(&mut out.1)), grad, x, &rstd, weight, width);
        }
        assert_close(&out.0, &wanted.0);
        assert_close(&out.1, &wanted.1);
    }
}
