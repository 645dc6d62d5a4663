//! Convolution as products of the weight with a matrix of all windows of an image.

use crate::kernels::conv::ConvShape;
use crate::kernels::im2col::{col2im, im2col};
use crate::kernels::matmul::{Mat, MatMut, matmul_alone};
use crate::kernels::real::Real;

/// How many numbers of scratch a thread needs.
pub(crate) fn scratch_len(shape: &ConvShape) -> usize {
    // At least one, so that scratch can be divided.
    if is_plain(shape) { 1 } else { shape.window() * shape.output_area() }
}

/// Whether the windows are the image itself.
fn is_plain(shape: &ConvShape) -> bool {
    shape.kernel == [1, 1] && shape.stride == [1, 1] && shape.padding == [0, 0]
}

/// Computes `planes` of the output, those from number `first` of all channels of all images on.
pub(crate) fn conv2d<T: Real>(
    first: usize,
    planes: &mut [T],
    input: &[T],
    weight: &[T],
    bias: Option<&[T]>,
    shape: &ConvShape,
    scratch: &mut [T],
) {
    let (area, window) = (shape.output_area(), shape.window());
    for (group, channels, planes) in shape.by_group(first, planes, area) {
        let windows = windows(scratch, shape.group_of(input, group), shape);
        if let Some(bias) = bias {
            for (plane, &bias) in planes.chunks_exact_mut(area).zip(&bias[channels.clone()]) {
                plane.fill(bias);
            }
        }
        let weight = Mat::row_major(&weight[channels.start * window..], channels.len(), window);
        let beta = if bias.is_some() { T::ONE } else { T::ZERO };
        matmul_alone(MatMut::row_major(planes, channels.len(), area), T::ONE, weight, windows, beta);
    }
}

/// The windows of a group of channels: [numbers of a window, places].
fn windows<'a, T: Real>(scratch: &'a mut [T], input: &'a [T], shape: &ConvShape) -> Mat<'a, T> {
    let (area, window) = (shape.output_area(), shape.window());
    if is_plain(shape) {
        return Mat::row_major(input, window, area);
    }
    let columns = &mut scratch[..window * area];
    im2col(columns, input, shape.group_in(), shape);
    Mat::row_major(columns, window, area)
}

/// Computes the gradient with respect to `images` of the input, those from number `first` on.
pub(crate) fn grad_input<T: Real>(
    first: usize,
    images: &mut [T],
    grad_out: &[T],
    weight: &[T],
    shape: &ConvShape,
    scratch: &mut [T],
) {
    let (area, window, group_out) = (shape.output_area(), shape.window(), shape.group_out());
    let grads = grad_out.chunks_exact(group_out * area).skip(first * shape.groups);
    for (index, (grad_input, grad_out)) in
        images.chunks_exact_mut(shape.group_in() * shape.input_area()).zip(grads).enumerate()
    {
        let weight = &weight[index % shape.groups * group_out * window..];
        let (weight, grad_out) = (Mat::row_major(weight, group_out, window), Mat::row_major(grad_out, group_out, area));
        if is_plain(shape) {
            matmul_alone(MatMut::row_major(grad_input, window, area), T::ONE, weight.t(), grad_out, T::ZERO);
            continue;
        }
        let columns = &mut scratch[..window * area];
        matmul_alone(MatMut::row_major(columns, window, area), T::ONE, weight.t(), grad_out, T::ZERO);
        grad_input.fill(T::ZERO);
        col2im(grad_input, columns, shape.group_in(), shape);
    }
}

/// Adds to `rows` of the gradient of the weight, those from channel `first` on.
pub(crate) fn grad_weight<T: Real>(
    first: usize,
    rows: &mut [T],
    grad_out: &[T],
    input: &[T],
    shape: &ConvShape,
    scratch: &mut [T],
) {
    let (area, window) = (shape.output_area(), shape.window());
    for image in 0..shape.batch {
        for (group, channels, rows) in shape.by_group(first, rows, window) {
            let windows = windows(scratch, shape.group_of(input, image * shape.groups + group), shape);
            let grad_out = &grad_out[(image * shape.out_channels + channels.start) * area..];
            let grad_out = Mat::row_major(grad_out, channels.len(), area);
            matmul_alone(MatMut::row_major(rows, channels.len(), window), T::ONE, grad_out, windows.t(), T::ONE);
        }
    }
}
