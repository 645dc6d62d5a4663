//! Normalisation of groups of channels: group norm. The axis of an [`Axis`] here is that of the channels.

use super::axis::Axis;
use super::lanes;
use super::norm::{Affine, Gradients, Saved};
use super::parallel;
use super::real::Real;
use super::rows::{self, RowsMut};
use super::simd::vectorized;

/// So many numbers are worth another thread.
const GRAIN: usize = 200_000;

/// `out = (x - mean) * rstd * weight + bias`, with the mean of each group of each sample, the inverse of its standard
/// deviation, and weight and bias of each channel.
pub(crate) fn group_norm<T: Real>(
    out: &mut [T],
    (mean, rstd): (&mut [T], &mut [T]),
    x: &[T],
    affine: Affine<'_, T>,
    axis: Axis,
    groups: usize,
    eps: T,
) {
    let channels = axis.length / groups;
    let width = channels * axis.inner;
    let rows = (RowsMut::new(out, width), RowsMut::new(mean, 1), RowsMut::new(rstd, 1));
    rows::for_each(rows, axis.outer * groups, GRAIN.div_ceil(width.max(1)), |first, count, (out, mean, rstd)| {
        vectorized(
            #[inline(always)]
            || {
                for row in 0..count {
                    let group = &x[(first + row) * width..][..width];
                    let out = &mut out.data[row * width..][..width];
                    let (average, variance) = lanes::moments(group);
                    let inverse = (variance + eps).rsqrt();
                    (mean.data[row], rstd.data[row]) = (average, inverse);
                    for channel in 0..channels {
                        let index = (first + row) % groups * channels + channel;
                        let weight = affine.weight.map_or(T::ONE, |weight| weight[index]);
                        let bias = affine.bias.map_or(T::ZERO, |bias| bias[index]);
                        let places = channel * axis.inner..(channel + 1) * axis.inner;
                        for (y, &x) in out[places.clone()].iter_mut().zip(&group[places]) {
                            *y = (x - average).mul_add(inverse * weight, bias);
                        }
                    }
                }
            },
        );
    });
}

/// How much scratch memory [`group_norm_backward`] needs.
pub(crate) fn scratch_len(axis: Axis) -> usize {
    2 * axis.outer * axis.length
}

/// The gradients of [`group_norm`].
pub(crate) fn group_norm_backward<T: Real>(
    gradients: Gradients<'_, T>,
    grad: &[T],
    saved: Saved<'_, T>,
    axis: Axis,
    groups: usize,
    scratch: &mut [T],
) {
    let Saved { x, mean, rstd, weight } = saved;
    let channels = axis.length / groups;
    let sums = scratch[..scratch_len(axis)].as_chunks_mut::<2>().0;
    parallel::for_rows(sums, 1, GRAIN.div_ceil(axis.inner.max(1)), |first, sums| {
        vectorized(
            #[inline(always)]
            || {
                for (row, sums) in sums.iter_mut().enumerate() {
                    let row = first + row;
                    let places = row * axis.inner..(row + 1) * axis.inner;
                    let mean = mean[row / channels];
                    *sums = lanes::sums([[&grad[places.clone()], &x[places]]], |[sum, along], [grad, x]| {
                        [sum + grad, (x - mean).mul_add(grad, along)]
                    });
                }
            },
        );
    });
    let sums = &*sums;
    if let Some(weight) = gradients.weight {
        weight.fill(T::ZERO);
        for (row, &[_, along]) in sums.iter().enumerate() {
            weight[row % axis.length] += along * rstd[row / channels];
        }
    }
    if let Some(bias) = gradients.bias {
        bias.fill(T::ZERO);
        for (row, &[sum, _]) in sums.iter().enumerate() {
            bias[row % axis.length] += sum;
        }
    }
    let Some(input) = gradients.input else { return };

    let width = channels * axis.inner;
    let scale = T::ONE / T::from_usize(width);
    let weight = |channel: usize| weight.map_or(T::ONE, |weight| weight[channel]);
    parallel::for_rows(input, width, GRAIN.div_ceil(width.max(1)), |first, rows| {
        vectorized(
            #[inline(always)]
            || {
                for (row, out) in rows.chunks_exact_mut(width).enumerate() {
                    let group = first + row;
                    let (mean, rstd) = (mean[group], rstd[group]);
                    let of_channel = |channel: usize| weight(group % groups * channels + channel);
                    let (mut shift, mut slope) = (T::ZERO, T::ZERO);
                    for channel in 0..channels {
                        let [sum, along] = sums[group * channels + channel];
                        shift += of_channel(channel) * sum * scale;
                        slope += of_channel(channel) * along * scale * rstd * rstd;
                    }
                    for (channel, out) in out.chunks_exact_mut(axis.inner).enumerate() {
                        let start = group * width + channel * axis.inner;
                        let weight = of_channel(channel);
                        for ((out, &grad), &x) in out.iter_mut().zip(&grad[start..]).zip(&x[start..]) {
                            *out = (grad * weight - shift - (x - mean) * slope) * rstd;
                        }
                    }
                }
            },
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [(Axis, usize); 5] = [
        (Axis { outer: 2, length: 4, inner: 1 }, 2),
        (Axis { outer: 3, length: 6, inner: 7 }, 3),
        (Axis { outer: 3, length: 6, inner: 7 }, 1),
        (Axis { outer: 0, length: 4, inner: 3 }, 2),
        (Axis { outer: 20, length: 50, inner: 441 }, 10),
    ];

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|index| ((index * 7919 + seed) % 1009) as f64 / 101.0 - 5.0).collect()
    }

    fn assert_close(got: &[f64], wanted: &[f64]) {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(close), "{got:?}\n{wanted:?}");
    }

    #[test]
    fn forward_agrees_with_the_definition() {
        for (axis, groups) in SHAPES {
            let width = axis.length / groups * axis.inner;
            let (x, weight, bias) = (numbers(axis.numel(), 1), numbers(axis.length, 2), numbers(axis.length, 3));
            let mut out = vec![f64::NAN; x.len()];
            let (mut mean, mut rstd) = (vec![f64::NAN; axis.outer * groups], vec![f64::NAN; axis.outer * groups]);
            for (weight, bias) in [(None, None), (Some(&weight[..]), None), (Some(&weight[..]), Some(&bias[..]))] {
                group_norm(&mut out, (&mut mean, &mut rstd), &x, Affine { weight, bias }, axis, groups, 1e-5);
                let mut wanted = Vec::new();
                for (place, group) in x.chunks(width).enumerate() {
                    let average = group.iter().sum::<f64>() / width as f64;
                    let variance = group.iter().map(|x| (x - average).powi(2)).sum::<f64>() / width as f64;
                    let factor = 1.0 / (variance + 1e-5).sqrt();
                    assert_close(&[mean[place], rstd[place]], &[average, factor]);
                    for (index, x) in group.iter().enumerate() {
                        let channel = (place * width + index) / axis.inner % axis.length;
                        let (w, b) = (weight.map_or(1.0, |w| w[channel]), bias.map_or(0.0, |b| b[channel]));
                        wanted.push((x - average) * factor * w + b);
                    }
                }
                assert_close(&out, &wanted);
            }
        }
    }

    #[test]
    fn backward_agrees_with_the_definition() {
        for (axis, groups) in SHAPES {
            let width = axis.length / groups * axis.inner;
            let (x, grad, weight) = (numbers(axis.numel(), 1), numbers(axis.numel(), 4), numbers(axis.length, 2));
            let (mean, rstd) = (numbers(axis.outer * groups, 5), numbers(axis.outer * groups, 6));
            let channel = |place: usize| place / axis.inner % axis.length;
            let hat = |place: usize| (x[place] - mean[place / width]) * rstd[place / width];
            let mut wanted = (Vec::new(), vec![0.0; axis.length], vec![0.0; axis.length]);
            for (group, &rstd) in rstd.iter().enumerate() {
                let places = group * width..(group + 1) * width;
                let average = |f: &dyn Fn(usize) -> f64| places.clone().map(f).sum::<f64>() / width as f64;
                let shift = average(&|i| grad[i] * weight[channel(i)]);
                let slope = average(&|i| grad[i] * weight[channel(i)] * hat(i));
                for i in places.clone() {
                    wanted.0.push(rstd * (grad[i] * weight[channel(i)] - shift - hat(i) * slope));
                    wanted.1[channel(i)] += grad[i] * hat(i);
                    wanted.2[channel(i)] += grad[i];
                }
            }
            let mut out = (vec![f64::NAN; x.len()], vec![f64::NAN; axis.length], vec![f64::NAN; axis.length]);
            let mut scratch = vec![f64::NAN; scratch_len(axis)];
            let gradients = Gradients { input: Some(&mut out.0), weight: Some(&mut out.1), bias: Some(&mut out.2) };
            let saved = Saved { x: &x, mean: &mean, rstd: &rstd, weight: Some(&weight) };
            group_norm_backward(gradients, &grad, saved, axis, groups, &mut scratch);
            assert_close(&out.0, &wanted.0);
            assert_close(&out.1, &wanted.1);
            assert_close(&out.2, &wanted.2);
        }
    }
}
