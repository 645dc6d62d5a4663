//! Normalisation of channels: batch norm. The axis of an [`Axis`] here is that of the channels.

use super::axis::Axis;
use super::lanes;
use super::norm::{Affine, Gradients, Saved};
use super::parallel;
use super::real::Real;
use super::simd::vectorized;

/// So many numbers are worth another thread.
const GRAIN: usize = 200_000;
/// Channels that are worked on side by side where one number of each follows the other.
const COLUMNS: usize = 128;
/// Rows that are summed up before the sum is added to that of the others, so that rounding errors stay small.
const ROWS: usize = 64;

/// The averages that grow with every batch.
#[derive(Debug)]
pub(crate) struct Running<'a, T> {
    pub(crate) mean: &'a mut [T],
    pub(crate) variance: &'a mut [T],
    /// The share of the new batch.
    pub(crate) momentum: T,
}

/// The mean of each channel and the inverse of its standard deviation.
pub(crate) fn statistics<T: Real>(
    (mean, rstd): (&mut [T], &mut [T]),
    x: &[T],
    axis: Axis,
    eps: T,
    running: Option<Running<'_, T>>,
) {
    let count = axis.outer * axis.inner;
    let scale = T::ONE / T::from_usize(count);
    channel_sums(mean.as_chunks_mut().0, [x], None, axis, |_, [sum], [x]| [sum + x]);
    for mean in &mut *mean {
        *mean *= scale;
    }
    let square = |mean: T, [sum]: [T; 1], [x]: [T; 1]| [(x - mean).mul_add(x - mean, sum)];
    channel_sums(rstd.as_chunks_mut().0, [x], Some(mean), axis, square);
    if let Some(Running { mean: means, variance: variances, momentum }) = running {
        let unbiased = T::ONE / T::from_usize(count.max(2) - 1);
        let keep = T::ONE - momentum;
        for ((running, &mean), (variance, &squares)) in
            means.iter_mut().zip(&*mean).zip(variances.iter_mut().zip(&*rstd))
        {
            *running = *running * keep + mean * momentum;
            *variance = *variance * keep + squares * unbiased * momentum;
        }
    }
    for rstd in rstd {
        *rstd = (*rstd * scale + eps).rsqrt();
    }
}

/// The inverse of each standard deviation.
pub(crate) fn inverse_deviations<T: Real>(rstd: &mut [T], variance: &[T], eps: T) {
    for (rstd, &variance) in rstd.iter_mut().zip(variance) {
        *rstd = (variance + eps).rsqrt();
    }
}

/// `out = (x - mean) * rstd * weight + bias`, with one of each for a channel.
pub(crate) fn normalize<T: Real>(
    out: &mut [T],
    x: &[T],
    (mean, rstd): (&[T], &[T]),
    affine: Affine<'_, T>,
    axis: Axis,
) {
    let constants = |channel: usize| {
        let weight = affine.weight.map_or(T::ONE, |weight| weight[channel]);
        let bias = affine.bias.map_or(T::ZERO, |bias| bias[channel]);
        [mean[channel], rstd[channel] * weight, bias]
    };
    map_channels(out, [x], axis, constants, |[mean, factor, bias], [x]| (x - mean).mul_add(factor, bias));
}

/// How much scratch memory [`backward`] needs.
pub(crate) fn scratch_len(channels: usize) -> usize {
    2 * channels
}

/// The gradients of [`normalize`], with `training` those of [`statistics`] before it too.
pub(crate) fn backward<T: Real>(
    gradients: Gradients<'_, T>,
    grad: &[T],
    saved: Saved<'_, T>,
    axis: Axis,
    training: bool,
    scratch: &mut [T],
) {
    let Saved { x, mean, rstd, weight } = saved;
    let sums = scratch[..scratch_len(axis.length)].as_chunks_mut::<2>().0;
    if training || gradients.weight.is_some() || gradients.bias.is_some() {
        channel_sums(sums, [grad, x], Some(mean), axis, |mean, [sum, along], [grad, x]| {
            [sum + grad, (x - mean).mul_add(grad, along)]
        });
    }
    let sums = &*sums;
    if let Some(weight) = gradients.weight {
        for ((weight, &[_, along]), &rstd) in weight.iter_mut().zip(sums).zip(rstd) {
            *weight = along * rstd;
        }
    }
    if let Some(bias) = gradients.bias {
        for (bias, &[sum, _]) in bias.iter_mut().zip(sums) {
            *bias = sum;
        }
    }
    let Some(input) = gradients.input else { return };
    let factor = |channel: usize| rstd[channel] * weight.map_or(T::ONE, |weight| weight[channel]);
    if !training {
        return map_channels(input, [grad], axis, |channel| [factor(channel)], |[factor], [grad]| grad * factor);
    }
    let scale = T::ONE / T::from_usize(axis.outer * axis.inner);
    let constants = |channel: usize| {
        let ([sum, along], factor, rstd) = (sums[channel], factor(channel), rstd[channel]);
        [mean[channel], factor, -factor * along * rstd * rstd * scale, -factor * sum * scale]
    };
    map_channels(input, [grad, x], axis, constants, |[mean, factor, slope, shift], [grad, x]| {
        grad.mul_add(factor, (x - mean).mul_add(slope, shift))
    });
}

/// `out = map(constants, numbers)` for the numbers of `N` slices at every place, with `K` constants of its channel.
#[inline(always)]
fn map_channels<T: Real, const N: usize, const K: usize>(
    out: &mut [T],
    slices: [&[T]; N],
    axis: Axis,
    constants: impl Fn(usize) -> [T; K] + Sync,
    map: impl Fn([T; K], [T; N]) -> T + Sync,
) {
    let width = if axis.inner > 1 { axis.inner } else { axis.length };
    parallel::for_rows(out, width, GRAIN.div_ceil(width.max(1)), |first, rows| {
        vectorized(
            #[inline(always)]
            || {
                if axis.inner > 1 {
                    for (row, out) in rows.chunks_exact_mut(width).enumerate() {
                        let row = first + row;
                        let constants = constants(row % axis.length);
                        let slices = slices.map(|slice| &slice[row * width..][..width]);
                        for (index, out) in out.iter_mut().enumerate() {
                            *out = map(constants, slices.map(|slice| slice[index]));
                        }
                    }
                    return;
                }
                for start in (0..width).step_by(COLUMNS) {
                    let columns = start..width.min(start + COLUMNS);
                    let mut block = [[T::ZERO; COLUMNS]; K];
                    for (column, channel) in columns.clone().enumerate() {
                        for (block, constant) in block.iter_mut().zip(constants(channel)) {
                            block[column] = constant;
                        }
                    }
                    for (row, out) in rows.chunks_exact_mut(width).enumerate() {
                        let out = &mut out[columns.clone()];
                        let slices = slices.map(|slice| &slice[(first + row) * width + start..][..out.len()]);
                        for (column, out) in out.iter_mut().enumerate().take(COLUMNS) {
                            let constants = std::array::from_fn(|constant| block[constant][column]);
                            *out = map(constants, slices.map(|slice| slice[column]));
                        }
                    }
                }
            },
        );
    });
}

/// `M` sums over `N` slices for every channel: `step` is told its mean, or zero, and adds to the sums so far.
#[inline(always)]
fn channel_sums<T: Real, const N: usize, const M: usize>(
    out: &mut [[T; M]],
    slices: [&[T]; N],
    mean: Option<&[T]>,
    axis: Axis,
    step: impl Fn(T, [T; M], [T; N]) -> [T; M] + Sync,
) {
    let grain = GRAIN.div_ceil((axis.outer * axis.inner).max(1));
    parallel::for_rows(out, 1, grain, |first, out| {
        vectorized(
            #[inline(always)]
            || {
                if axis.inner > 1 {
                    for (channel, out) in out.iter_mut().enumerate() {
                        let channel = first + channel;
                        let mean = mean.map_or(T::ZERO, |mean| mean[channel]);
                        let segments = (0..axis.outer).map(|row| {
                            let start = (row * axis.length + channel) * axis.inner;
                            slices.map(|slice| &slice[start..][..axis.inner])
                        });
                        *out = lanes::sums(segments, |sums, numbers| step(mean, sums, numbers));
                    }
                    return;
                }
                for (block, out) in out.chunks_mut(COLUMNS).enumerate() {
                    let channel = first + block * COLUMNS;
                    let mut means = [T::ZERO; COLUMNS];
                    if let Some(mean) = mean {
                        means[..out.len()].copy_from_slice(&mean[channel..][..out.len()]);
                    }
                    side_by_side(out, slices, &means, axis, channel, &step);
                }
            },
        );
    });
}

#[inline(always)]
fn side_by_side<T: Real, const N: usize, const M: usize>(
    out: &mut [[T; M]],
    slices: [&[T]; N],
    means: &[T; COLUMNS],
    axis: Axis,
    channel: usize,
    step: &impl Fn(T, [T; M], [T; N]) -> [T; M],
) {
    out.fill([T::ZERO; M]);
    for first in (0..axis.outer).step_by(ROWS) {
        let rows = first..axis.outer.min(first + ROWS);
        let fours = rows.end - rows.len() % 4;
        let mut sums = [[T::ZERO; COLUMNS]; M];
        for row in (rows.start..fours).step_by(4) {
            let start = |index| (row + index) * axis.length + channel;
            add_rows(&mut sums, slices, [start(0), start(1), start(2), start(3)], means, out.len(), step);
        }
        for row in fours..rows.end {
            add_rows(&mut sums, slices, [row * axis.length + channel], means, out.len(), step);
        }
        for (column, out) in out.iter_mut().enumerate() {
            *out = std::array::from_fn(|index| out[index] + sums[index][column]);
        }
    }
}

/// Adds `R` rows of all slices, the `width` numbers from each of `starts` on, to the sums of their columns.
#[inline(always)]
fn add_rows<T: Real, const N: usize, const M: usize, const R: usize>(
    sums: &mut [[T; COLUMNS]; M],
    slices: [&[T]; N],
    starts: [usize; R],
    means: &[T; COLUMNS],
    width: usize,
    step: &impl Fn(T, [T; M], [T; N]) -> [T; M],
) {
    let width = width.min(COLUMNS);
    let rows = starts.map(|start| slices.map(|slice| &slice[start..][..width]));
    for column in 0..width {
        let mut new = std::array::from_fn(|index| sums[index][column]);
        for row in rows {
            new = step(means[column], new, row.map(|slice| slice[column]));
        }
        for (sums, new) in sums.iter_mut().zip(new) {
            sums[column] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: [Axis; 6] = [
        Axis { outer: 2, length: 1, inner: 1 },
        Axis { outer: 5, length: 3, inner: 7 },
        Axis { outer: 130, length: 200, inner: 1 },
        Axis { outer: 4, length: 5, inner: 100 },
        Axis { outer: 0, length: 4, inner: 3 },
        Axis { outer: 20, length: 50, inner: 441 },
    ];

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|index| ((index * 7919 + seed) % 1009) as f64 / 101.0 - 5.0).collect()
    }

    fn assert_close(got: &[f64], wanted: &[f64]) {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(close), "{got:?}\n{wanted:?}");
    }

    /// The sum of what `f` gives for the places of each channel.
    fn sums(axis: Axis, f: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; axis.length];
        for place in 0..axis.numel() {
            sums[place / axis.inner % axis.length] += f(place);
        }
        sums
    }

    #[test]
    fn training_agrees_with_the_definition() {
        for axis in AXES.into_iter().filter(|axis| axis.outer > 0) {
            let count = (axis.outer * axis.inner) as f64;
            let channel = |place: usize| place / axis.inner % axis.length;
            let (x, weight, bias) = (numbers(axis.numel(), 1), numbers(axis.length, 2), numbers(axis.length, 3));
            let means: Vec<f64> = sums(axis, |i| x[i]).iter().map(|sum| sum / count).collect();
            let squares = sums(axis, |i| (x[i] - means[channel(i)]).powi(2));
            let factors: Vec<f64> = squares.iter().map(|square| 1.0 / (square / count + 1e-5).sqrt()).collect();

            let (mut mean, mut rstd) = (vec![f64::NAN; axis.length], vec![f64::NAN; axis.length]);
            let (mut means_so_far, mut variances_so_far) = (vec![1.0; axis.length], vec![2.0; axis.length]);
            let running = Running { mean: &mut means_so_far, variance: &mut variances_so_far, momentum: 0.1 };
            statistics((&mut mean, &mut rstd), &x, axis, 1e-5, Some(running));
            assert_close(&mean, &means);
            assert_close(&rstd, &factors);
            assert_close(&means_so_far, &means.iter().map(|mean| 0.9 + 0.1 * mean).collect::<Vec<_>>());
            let variances = squares.iter().map(|square| 1.8 + 0.1 * square / (count - 1.0));
            assert_close(&variances_so_far, &variances.collect::<Vec<_>>());

            let mut out = vec![f64::NAN; x.len()];
            for (weight, bias) in [(None, None), (Some(&weight[..]), None), (Some(&weight[..]), Some(&bias[..]))] {
                normalize(&mut out, &x, (&mean, &rstd), Affine { weight, bias }, axis);
                let wanted = (0..x.len()).map(|i| {
                    let c = channel(i);
                    (x[i] - means[c]) * factors[c] * weight.map_or(1.0, |w| w[c]) + bias.map_or(0.0, |b| b[c])
                });
                assert_close(&out, &wanted.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn backward_agrees_with_the_definition() {
        for threads in [1, 2] {
            parallel::set_num_threads(threads);
            for axis in AXES {
                let count = (axis.outer * axis.inner) as f64;
                let channel = |place: usize| place / axis.inner % axis.length;
                let (x, grad, weight) = (numbers(axis.numel(), 1), numbers(axis.numel(), 4), numbers(axis.length, 2));
                let (mean, rstd) = (numbers(axis.length, 5), numbers(axis.length, 6));
                let hat = |place: usize| (x[place] - mean[channel(place)]) * rstd[channel(place)];
                let (sum, along) = (sums(axis, |i| grad[i]), sums(axis, |i| grad[i] * hat(i)));
                for training in [true, false] {
                    let mut out = (vec![f64::NAN; x.len()], vec![f64::NAN; axis.length], vec![f64::NAN; axis.length]);
                    let mut scratch = vec![f64::NAN; scratch_len(axis.length)];
                    let gradients =
                        Gradients { input: Some(&mut out.0), weight: Some(&mut out.1), bias: Some(&mut out.2) };
                    let saved = Saved { x: &x, mean: &mean, rstd: &rstd, weight: Some(&weight) };
                    backward(gradients, &grad, saved, axis, training, &mut scratch);
                    let input = (0..x.len()).map(|i| {
                        let c = channel(i);
                        let common = if training { (sum[c] + hat(i) * along[c]) / count } else { 0.0 };
                        (grad[i] - common) * rstd[c] * weight[c]
                    });
                    assert_close(&out.0, &input.collect::<Vec<_>>());
                    assert_close(&out.1, &along);
                    assert_close(&out.2, &sum);
                }
            }
        }
    }

    #[test]
    fn deviations_are_inverted() {
        let mut rstd = [0.0; 2];
        inverse_deviations(&mut rstd, &[4.0, 0.25], 0.0);
        assert_eq!(rstd, [0.5, 2.0]);
    }
}
