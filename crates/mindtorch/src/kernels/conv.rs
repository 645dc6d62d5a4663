//! Convolution of images, and its gradients.

mod direct;
mod padded;
mod windows;

use super::parallel;
use super::real::Real;
use super::simd::vectorized;
use std::iter;
use std::ops::Range;

/// Multiplications that are worth a thread of their own.
const GRAIN: usize = 1 << 20;

/// The sizes of a convolution. A pair is height and width.
///
/// Input is [batch, `in_channels`, height, width], weight [`out_channels`, `in_channels` / groups, kernel height, kernel
/// width], output [batch, `out_channels`, output height, output width].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvShape {
    pub(crate) batch: usize,
    pub(crate) in_channels: usize,
    pub(crate) out_channels: usize,
    pub(crate) groups: usize,
    pub(crate) input: [usize; 2],
    pub(crate) kernel: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) padding: [usize; 2],
    pub(crate) dilation: [usize; 2],
}

impl ConvShape {
    /// Height and width of the output. The kernel fits into the padded input.
    pub(crate) fn output(&self) -> [usize; 2] {
        [0, 1].map(|axis| (self.input[axis] + 2 * self.padding[axis] - self.span(axis)) / self.stride[axis] + 1)
    }

    /// How far the kernel reaches along an axis.
    fn span(&self, axis: usize) -> usize {
        self.dilation[axis] * (self.kernel[axis] - 1) + 1
    }

    fn input_area(&self) -> usize {
        self.input[0] * self.input[1]
    }

    fn output_area(&self) -> usize {
        let [height, width] = self.output();
        height * width
    }

    fn group_in(&self) -> usize {
        self.in_channels / self.groups
    }

    fn group_out(&self) -> usize {
        self.out_channels / self.groups
    }

    /// Numbers that one output sees.
    fn window(&self) -> usize {
        self.group_in() * self.kernel[0] * self.kernel[1]
    }

    /// The channels of `group`, counted through all images, of `input`.
    fn group_of<'a, T>(&self, input: &'a [T], group: usize) -> &'a [T] {
        let len = self.group_in() * self.input_area();
        &input[group * len..][..len]
    }

    /// Divides `rows`, one of `len` numbers for each output channel of one image after another, the first of them number
    /// `first`, by groups: the number of the group, counted through all images, its channels among those of the image, and
    /// their rows.
    fn by_group<'a, T>(
        &self,
        first: usize,
        mut rows: &'a mut [T],
        len: usize,
    ) -> impl Iterator<Item = (usize, Range<usize>, &'a mut [T])> {
        let (out_channels, group_out, mut next) = (self.out_channels, self.group_out(), first);
        iter::from_fn(move || {
            let count = (group_out - next % group_out).min(rows.len() / len);
            let (group, channel) = (next / group_out, next % out_channels);
            next += count;
            let part = rows.split_off_mut(..count * len)?;
            (count > 0).then_some((group, channel..channel + count, part))
        })
    }

    /// How many threads are worth it.
    fn threads(&self) -> usize {
        let work = self.batch * self.out_channels * self.output_area() * self.window();
        if work < 2 * GRAIN { 1 } else { parallel::num_threads().min(work / GRAIN) }
    }

    fn weight_len(&self) -> usize {
        self.out_channels * self.window()
    }

    fn is_empty(&self) -> bool {
        self.batch == 0 || self.in_channels == 0 || self.out_channels == 0
    }

    /// The convolution of the gradient of the output that is the gradient with respect to the input, if it is one (the
    /// kernel has to pass over every place, and to reach as far as the padding) and a fast one.
    fn backward(&self) -> Option<Self> {
        let reaches = (0..2).all(|axis| self.padding[axis] < self.span(axis));
        let backward = (self.stride == [1, 1] && reaches).then(|| Self {
            in_channels: self.out_channels,
            out_channels: self.in_channels,
            input: self.output(),
            padding: [0, 1].map(|axis| self.span(axis) - 1 - self.padding[axis]),
            ..*self
        });
        backward.filter(direct::suits)
    }
}

/// How many numbers of scratch [`conv2d`] and its gradients need.
pub(crate) fn conv2d_scratch_len(shape: &ConvShape) -> usize {
    if shape.is_empty() {
        return 0;
    }
    let forward = if direct::suits(shape) { direct::scratch_len(shape) } else { windows::scratch_len(shape) };
    let grad_input = shape.backward().map_or(windows::scratch_len(shape), |backward| direct::scratch_len(&backward));
    let grad_weight = if direct::suits_grad_weight(shape) { forward } else { windows::scratch_len(shape) };
    shape.weight_len() + shape.threads() * forward.max(grad_input).max(grad_weight)
}

/// The convolution of `input` with `weight`, plus `bias` for each output channel.
pub(crate) fn conv2d<T: Real>(
    out: &mut [T],
    input: &[T],
    weight: &[T],
    bias: Option<&[T]>,
    shape: &ConvShape,
    scratch: &mut [T],
) {
    debug_assert_eq!(out.len(), shape.batch * shape.out_channels * shape.output_area());
    debug_assert_eq!(input.len(), shape.batch * shape.in_channels * shape.input_area());
    debug_assert_eq!(weight.len(), shape.weight_len());
    debug_assert!(bias.is_none_or(|bias| bias.len() == shape.out_channels));
    if shape.is_empty() {
        return out.fill(T::ZERO);
    }
    // Whole images, if there are enough of them: then each is padded once.
    let unit = if shape.batch < shape.threads() { 6 } else { shape.out_channels };
    let directly = direct::suits(shape);
    let scratch_len = if directly { direct::scratch_len(shape) } else { windows::scratch_len(shape) };
    let parts = Parts { row: shape.output_area(), unit, scratch: scratch_len };
    parts.for_each(out, scratch, shape, |first, planes, scratch| {
        if directly {
            direct::conv2d(first, planes, input, weight, bias, shape, scratch);
        } else {
            windows::conv2d(first, planes, input, weight, bias, shape, scratch);
        }
    });
}

/// The gradient of [`conv2d`] with respect to its input. It also is the transposed convolution of `grad_out`.
pub(crate) fn conv2d_grad_input<T: Real>(
    grad_input: &mut [T],
    grad_out: &[T],
    weight: &[T],
    shape: &ConvShape,
    scratch: &mut [T],
) {
    debug_assert_eq!(grad_input.len(), shape.batch * shape.in_channels * shape.input_area());
    debug_assert_eq!(grad_out.len(), shape.batch * shape.out_channels * shape.output_area());
    debug_assert_eq!(weight.len(), shape.weight_len());
    if shape.is_empty() {
        return grad_input.fill(T::ZERO);
    }
    if let Some(backward) = shape.backward() {
        let (turned, scratch) = scratch.split_at_mut(shape.weight_len());
        turn(turned, weight, shape);
        return conv2d(grad_input, grad_out, turned, None, &backward, scratch);
    }
    let image = shape.in_channels * shape.input_area();
    let parts = Parts { row: image, unit: 1, scratch: windows::scratch_len(shape) };
    parts.for_each(grad_input, scratch, shape, |first, images, scratch| {
        windows::grad_input(first, images, grad_out, weight, shape, scratch);
    });
}

/// Writes `weight` into `turned` with input and output channels exchanged, and each kernel back to front.
fn turn<T: Real>(turned: &mut [T], weight: &[T], shape: &ConvShape) {
    let (group_in, group_out, taps) = (shape.group_in(), shape.group_out(), shape.kernel[0] * shape.kernel[1]);
    for (index, kernel) in turned.chunks_exact_mut(taps).enumerate() {
        let (channel, out) = (index / group_out, index % group_out);
        let (group, channel) = (channel / group_in, channel % group_in);
        let from = ((group * group_out + out) * group_in + channel) * taps;
        for (to, &number) in kernel.iter_mut().rev().zip(&weight[from..from + taps]) {
            *to = number;
        }
    }
}

/// The gradient of [`conv2d`] with respect to its weight.
pub(crate) fn conv2d_grad_weight<T: Real>(
    grad_weight: &mut [T],
    grad_out: &[T],
    input: &[T],
    shape: &ConvShape,
    scratch: &mut [T],
) {
    debug_assert_eq!(grad_weight.len(), shape.weight_len());
    debug_assert_eq!(grad_out.len(), shape.batch * shape.out_channels * shape.output_area());
    debug_assert_eq!(input.len(), shape.batch * shape.in_channels * shape.input_area());
    grad_weight.fill(T::ZERO);
    if shape.is_empty() {
        return;
    }
    // Divided by channels, not by images, so that no sums have to be joined.
    let directly = direct::suits_grad_weight(shape);
    let scratch_len = if directly { direct::scratch_len(shape) } else { windows::scratch_len(shape) };
    let parts = Parts { row: shape.window(), unit: 4, scratch: scratch_len };
    parts.for_each(grad_weight, scratch, shape, |first, rows, scratch| {
        if directly {
            direct::grad_weight(first, rows, grad_out, input, shape, scratch);
        } else {
            windows::grad_weight(first, rows, grad_out, input, shape, scratch);
        }
    });
}

/// The gradient of [`conv2d`] with respect to its bias: the sums over batch and places.
pub(crate) fn conv2d_grad_bias<T: Real>(grad_bias: &mut [T], grad_out: &[T], shape: &ConvShape) {
    debug_assert_eq!(grad_bias.len(), shape.out_channels);
    debug_assert_eq!(grad_out.len(), shape.batch * shape.out_channels * shape.output_area());
    grad_bias.fill(T::ZERO);
    if shape.is_empty() {
        return;
    }
    for image in grad_out.chunks_exact(shape.out_channels * shape.output_area()) {
        for (sum, channel) in grad_bias.iter_mut().zip(image.chunks_exact(shape.output_area())) {
            *sum += vectorized(
                #[inline(always)]
                || total(channel),
            );
        }
    }
}

/// The sum of `numbers`, in many parts, because each addition has to wait for the last one of its part.
#[inline(always)]
fn total<T: Real>(numbers: &[T]) -> T {
    let (chunks, rest) = numbers.as_chunks::<64>();
    let mut sums = [T::ZERO; 64];
    for chunk in chunks {
        for (sum, &number) in sums.iter_mut().zip(chunk) {
            *sum += number;
        }
    }
    sums.iter().chain(rest).fold(T::ZERO, |sum, &number| sum + number)
}

/// How a result is divided among threads.
struct Parts {
    /// How many numbers a row has.
    row: usize,
    /// A part is a multiple of so many rows.
    unit: usize,
    /// How many numbers of scratch a thread needs.
    scratch: usize,
}

impl Parts {
    /// Calls `work` for each part of `out`, with the number of its first row, and scratch.
    fn for_each<T: Real>(
        &self,
        out: &mut [T],
        scratch: &mut [T],
        shape: &ConvShape,
        work: impl Fn(usize, &mut [T], &mut [T]) + Sync,
    ) {
        let threads = shape.threads().min(scratch.len() / self.scratch).max(1);
        let rows = out.len().div_ceil(self.row * self.unit).div_ceil(threads) * self.unit;
        let parts = out.chunks_mut(rows * self.row).zip(scratch.chunks_mut(self.scratch));
        let mut parts: Vec<_> = parts.enumerate().collect();
        parallel::for_rows(&mut parts, 1, 1, |_, parts| {
            for (index, (out, scratch)) in parts {
                work(*index * rows, out, scratch);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, small enough that sums of their products are exact however they are added.
    fn numbers<T: Real>(len: usize, seed: usize) -> Vec<T> {
        (0..len).map(|i| T::from_f64(((i * 7919 + seed) % 13) as f64 - 6.0)).collect()
    }

    /// Every product of an input with a weight: the places of input, weight and output.
    fn products(shape: &ConvShape) -> impl Iterator<Item = (usize, usize, usize)> {
        let (shape, [out_height, out_width]) = (*shape, shape.output());
        let [height, width] = shape.input;
        let outputs = shape.batch * shape.out_channels * out_height * out_width;
        (0..outputs).flat_map(move |out| {
            let (x, y) = (out % out_width, out / out_width % out_height);
            let (channel, image) =
                (out / shape.output_area() % shape.out_channels, out / shape.output_area() / shape.out_channels);
            let group = channel / shape.group_out();
            (0..shape.window()).filter_map(move |tap| {
                let (kx, ky) = (tap % shape.kernel[1], tap / shape.kernel[1] % shape.kernel[0]);
                let from = group * shape.group_in() + tap / shape.kernel[1] / shape.kernel[0];
                let row = (y * shape.stride[0] + ky * shape.dilation[0]).checked_sub(shape.padding[0])?;
                let col = (x * shape.stride[1] + kx * shape.dilation[1]).checked_sub(shape.padding[1])?;
                let inside = row < height && col < width;
                let place = ((image * shape.in_channels + from) * height + row) * width + col;
                inside.then_some((place, channel * shape.window() + tap, out))
            })
        })
    }

    fn check<T: Real>(shape: &ConvShape) {
        let input = numbers::<T>(shape.batch * shape.in_channels * shape.input_area(), 1);
        let (weight, bias) = (numbers::<T>(shape.weight_len(), 2), numbers::<T>(shape.out_channels, 3));
        let grad_out = numbers::<T>(shape.batch * shape.out_channels * shape.output_area(), 4);
        let mut scratch = vec![T::NAN; conv2d_scratch_len(shape)];
        let mut naive = (vec![T::ZERO; grad_out.len()], vec![T::ZERO; input.len()], vec![T::ZERO; weight.len()]);
        for (place, tap, out) in products(shape) {
            naive.0[out] += input[place] * weight[tap];
            naive.1[place] += grad_out[out] * weight[tap];
            naive.2[tap] += grad_out[out] * input[place];
        }

        let mut out = vec![T::NAN; grad_out.len()];
        conv2d(&mut out, &input, &weight, None, shape, &mut scratch);
        assert_eq!(out, naive.0, "{shape:?}");
        conv2d(&mut out, &input, &weight, Some(&bias), shape, &mut scratch);
        for (index, (&number, &plain)) in out.iter().zip(&naive.0).enumerate() {
            assert_eq!(number, plain + bias[index / shape.output_area() % shape.out_channels], "{index} {shape:?}");
        }
        let mut grad_input = vec![T::NAN; input.len()];
        conv2d_grad_input(&mut grad_input, &grad_out, &weight, shape, &mut scratch);
        assert_eq!(grad_input, naive.1, "{shape:?}");
        let mut grad_weight = vec![T::NAN; weight.len()];
        conv2d_grad_weight(&mut grad_weight, &grad_out, &input, shape, &mut scratch);
        assert_eq!(grad_weight, naive.2, "{shape:?}");
        let mut grad_bias = vec![T::NAN; bias.len()];
        conv2d_grad_bias(&mut grad_bias, &grad_out, shape);
        for (channel, &sum) in grad_bias.iter().enumerate() {
            let planes = grad_out.chunks(shape.output_area()).skip(channel).step_by(shape.out_channels);
            assert_eq!(sum, planes.flatten().copied().sum::<T>());
        }
    }

    const PLAIN: ConvShape = ConvShape {
        batch: 2,
        in_channels: 3,
        out_channels: 7,
        groups: 1,
        input: [11, 19],
        kernel: [3, 3],
        stride: [1, 1],
        padding: [1, 1],
        dilation: [1, 1],
    };

    #[test]
    fn parameters_mean_what_they_mean_in_a_plain_loop() {
        let kernels = [[3, 3], [1, 1], [2, 4], [5, 1]];
        let others = [([1, 1], [0, 0]), ([1, 1], [1, 2]), ([2, 3], [2, 0]), ([3, 2], [1, 1])];
        for kernel in kernels {
            for (stride, padding) in others {
                for dilation in [[1, 1], [2, 1], [1, 3]] {
                    let shape = ConvShape { kernel, stride, padding, dilation, ..PLAIN };
                    check::<f32>(&shape);
                    check::<f64>(&shape);
                }
            }
        }
    }

    #[test]
    fn sizes_from_narrow_to_wide_agree_with_a_plain_loop() {
        for input in [[3, 3], [1, 9], [5, 18], [4, 70], [9, 131]] {
            for out_channels in [1, 6, 8, 13] {
                check::<f32>(&ConvShape { input, out_channels, kernel: [1.max(input[0].min(3)), 3], ..PLAIN });
            }
        }
    }

    #[test]
    fn groups_see_their_own_channels_only() {
        for (groups, in_channels, out_channels) in [(2, 4, 6), (3, 3, 6), (5, 5, 5)] {
            for input in [[6, 7], [8, 20]] {
                check::<f32>(&ConvShape { groups, in_channels, out_channels, input, ..PLAIN });
                check::<f32>(&ConvShape { groups, in_channels, out_channels, input, stride: [2, 2], ..PLAIN });
            }
        }
    }

    #[test]
    fn work_for_several_threads_and_bands_agrees_with_a_plain_loop() {
        check::<f32>(&ConvShape { batch: 3, in_channels: 16, out_channels: 20, input: [30, 34], ..PLAIN });
        check::<f32>(&ConvShape { batch: 1, in_channels: 40, out_channels: 12, input: [60, 70], ..PLAIN });
        check::<f32>(&ConvShape {
            batch: 1,
            in_channels: 40,
            out_channels: 12,
            input: [60, 70],
            stride: [2, 2],
            ..PLAIN
        });
    }

    #[test]
    fn an_empty_batch_gives_nothing() {
        check::<f32>(&ConvShape { batch: 0, ..PLAIN });
    }
}
