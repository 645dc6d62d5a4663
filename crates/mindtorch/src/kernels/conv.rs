//! Convolution of images, and its gradients.

use super::im2col::{col2im, im2col};
use super::matmul::{Mat, MatMut, matmul};
use super::parallel;
use super::real::Real;

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
    /// Height and width of the output. The window fits into the padded input.
    pub(crate) fn output(&self) -> [usize; 2] {
        [0, 1].map(|axis| {
            let window = self.dilation[axis] * (self.kernel[axis] - 1) + 1;
            (self.input[axis] + 2 * self.padding[axis] - window) / self.stride[axis] + 1
        })
    }

    fn input_area(&self) -> usize {
        self.input[0] * self.input[1]
    }

    fn output_area(&self) -> usize {
        let [height, width] = self.output();
        height * width
    }

    /// Numbers that one output sees of one group of channels.
    fn window(&self) -> usize {
        self.in_channels / self.groups * self.kernel[0] * self.kernel[1]
    }

    /// Multiplications per image.
    fn work(&self) -> usize {
        self.out_channels * self.window() * self.output_area()
    }

    fn columns_len(&self) -> usize {
        self.window() * self.output_area()
    }
}

const GRAIN: usize = 1 << 20;

/// How many numbers of scratch [`conv2d`], [`conv2d_grad_input`] and [`conv2d_grad_weight`] need. With more than they
/// need for one thread they use more threads.
pub(crate) fn conv2d_scratch_len(shape: &ConvShape) -> usize {
    let pieces = (shape.batch * shape.work() / GRAIN).clamp(1, parallel::num_threads()).min(shape.batch.max(1));
    (shape.columns_len() + shape.out_channels * shape.window()) * pieces
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
    let (area, groups) = (shape.output_area(), shape.groups);
    let (group_in, group_out) = (shape.in_channels / groups, shape.out_channels / groups);
    let columns = &mut scratch[..shape.columns_len()];
    for (out, input) in
        out.chunks_exact_mut(shape.out_channels * area).zip(input.chunks_exact(shape.in_channels * shape.input_area()))
    {
        let parts = out.chunks_exact_mut(group_out * area).zip(input.chunks_exact(group_in * shape.input_area()));
        for (group, (out, input)) in parts.enumerate() {
            im2col(columns, input, group_in, shape);
            let weight = &weight[group * group_out * shape.window()..][..group_out * shape.window()];
            for (channel, out) in out.chunks_exact_mut(area).enumerate() {
                out.fill(bias.map_or(T::ZERO, |bias| bias[group * group_out + channel]));
            }
            let (weight, columns) =
                (Mat::row_major(weight, group_out, shape.window()), Mat::row_major(columns, shape.window(), area));
            matmul(MatMut::row_major(out, group_out, area), T::ONE, weight, columns, T::ONE);
        }
    }
}

/// The gradient with respect to the input.
pub(crate) fn conv2d_grad_input<T: Real>(
    grad_input: &mut [T],
    grad_out: &[T],
    weight: &[T],
    shape: &ConvShape,
    scratch: &mut [T],
) {
    let (area, groups) = (shape.output_area(), shape.groups);
    let (group_in, group_out) = (shape.in_channels / groups, shape.out_channels / groups);
    let columns = &mut scratch[..shape.columns_len()];
    grad_input.fill(T::ZERO);
    for (grad_out, grad_input) in grad_out
        .chunks_exact(shape.out_channels * area)
        .zip(grad_input.chunks_exact_mut(shape.in_channels * shape.input_area()))
    {
        let parts =
            grad_out.chunks_exact(group_out * area).zip(grad_input.chunks_exact_mut(group_in * shape.input_area()));
        for (group, (grad_out, grad_input)) in parts.enumerate() {
            let weight = &weight[group * group_out * shape.window()..][..group_out * shape.window()];
            let (weight, grad_out) =
                (Mat::row_major(weight, group_out, shape.window()), Mat::row_major(grad_out, group_out, area));
            matmul(MatMut::row_major(columns, shape.window(), area), T::ONE, weight.t(), grad_out, T::ZERO);
            col2im(grad_input, columns, group_in, shape);
        }
    }
}

/// The gradient with respect to the weight.
pub(crate) fn conv2d_grad_weight<T: Real>(
    grad_weight: &mut [T],
    grad_out: &[T],
    input: &[T],
    shape: &ConvShape,
    scratch: &mut [T],
) {
    let (area, groups) = (shape.output_area(), shape.groups);
    let (group_in, group_out) = (shape.in_channels / groups, shape.out_channels / groups);
    let columns = &mut scratch[..shape.columns_len()];
    grad_weight.fill(T::ZERO);
    for (grad_out, input) in
        grad_out.chunks_exact(shape.out_channels * area).zip(input.chunks_exact(shape.in_channels * shape.input_area()))
    {
        let parts = grad_out.chunks_exact(group_out * area).zip(input.chunks_exact(group_in * shape.input_area()));
        for (group, (grad_out, input)) in parts.enumerate() {
            im2col(columns, input, group_in, shape);
            let grad_weight = &mut grad_weight[group * group_out * shape.window()..][..group_out * shape.window()];
            let (grad_out, columns) =
                (Mat::row_major(grad_out, group_out, area), Mat::row_major(columns, shape.window(), area));
            matmul(MatMut::row_major(grad_weight, group_out, shape.window()), T::ONE, grad_out, columns.t(), T::ONE);
        }
    }
}

/// The gradient with respect to the bias: the sums over batch and places.
pub(crate) fn conv2d_grad_bias<T: Real>(grad_bias: &mut [T], grad_out: &[T], shape: &ConvShape) {
    grad_bias.fill(T::ZERO);
    for image in grad_out.chunks_exact(shape.out_channels * shape.output_area()) {
        for (sum, channel) in grad_bias.iter_mut().zip(image.chunks_exact(shape.output_area())) {
            *sum += channel.iter().fold(T::ZERO, |sum, &number| sum + number);
        }
    }
}
