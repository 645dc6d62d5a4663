//! The largest number of every window.

use super::float::{as_kernel_dtype, check_float, for_kernel, signed, with_float};
use super::pool::Windows;
use super::{flatten, gather, reshape, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Grads, Saved, track, track_list};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::max_pool as kernel;
use crate::kernels::pool::PoolShape;
use crate::tensor::access::{read, write};

/// The largest number of every window of images: `[batch, channels, height, width]`, or without a batch. One number is for
/// both height and width; a stride of none is the window's size.
///
/// # Errors
/// If the windows do not fit the images.
pub fn max_pool2d(
    input: &Tensor,
    kernel_size: &[i64],
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::max_pool2d", "");
    let windows = Windows::new(kernel_size, stride, padding, dilation, ceil_mode);
    OP.compose(&windows.args(input), || Ok(with_indices(input, windows.clone())?.0))
}

/// [`max_pool2d`], and where in its image each number was.
///
/// # Errors
/// If the windows do not fit the images.
pub fn max_pool2d_with_indices(
    input: &Tensor,
    kernel_size: &[i64],
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    ceil_mode: bool,
) -> Result<(Tensor, Tensor)> {
    with_indices(input, Windows::new(kernel_size, stride, padding, dilation, ceil_mode))
}

fn with_indices(input: &Tensor, windows: Windows) -> Result<(Tensor, Tensor)> {
    static OP: Op = Op::new("aten::max_pool2d_with_indices", "");
    let (shape, sizes) = windows.over("max_pool2d", input)?;
    check_float("max_pool2d", input.dtype())?;
    let (out, indices) = OP.run(&windows.args(input), || {
        let x = for_kernel(input)?;
        let out = Tensor::allocate(&sizes, x.dtype(), x.device())?;
        let indices = Tensor::allocate(&sizes, DType::Int64, x.device())?;
        launch("max_pool2d", [&out, &indices, &x], move |[out, indices, x]| {
            with_float!(x.dtype(), T => kernel::max_pool2d::<T>(write(out), write(indices), read(x), &shape));
        })?;
        Ok((to_dtype(&out, input.dtype())?, indices))
    })?;
    track_list("MaxPool2DWithIndicesBackward0", &[Some(input)], &[&out, &indices], || {
        let (input, places) = (Saved::new(input), Saved::new(&indices));
        move |context: &Context<'_>, grads: &Grads| {
            let Some(grad) = &grads[0] else { return Ok(Grads::from_iter([None])) };
            let (input, places) = (input.get(context)?, places.get(context)?);
            Ok(Grads::from_iter([Some(backward(grad, &input, &windows, &places, shape)?)]))
        }
    })?;
    Ok((out, indices))
}

fn backward(grad: &Tensor, input: &Tensor, windows: &Windows, indices: &Tensor, shape: PoolShape) -> Result<Tensor> {
    static OP: Op = Op::new("aten::max_pool2d_with_indices_backward", "");
    let [of_input, kernel, stride, padding, dilation, ceil_mode] = windows.args(input);
    let args = [grad.into(), of_input, kernel, stride, padding, dilation, ceil_mode, indices.into()];
    let out = OP.run(&args, || {
        let grad = as_kernel_dtype(grad, input.dtype())?;
        let out = Tensor::allocate(input.shape(), grad.dtype(), grad.device())?;
        launch("max_pool2d_grad", [&out, &grad, indices], move |[out, grad, indices]| {
            with_float!(grad.dtype(), T => kernel::max_pool2d_grad::<T>(write(out), read(grad), read(indices), &shape));
        })?;
        Ok(out)
    })?;
    track("MaxPool2DWithIndicesBackwardBackward0", [grad], &out, || {
        let indices = Saved::new(indices);
        move |context: &Context<'_>, grad: &Tensor| {
            let indices = indices.get(context)?;
            let largest = gather(&flatten(grad, -2, -1)?, -1, &flatten(&indices, -2, -1)?)?;
            Ok([Some(reshape(&largest, &signed(indices.shape()))?)])
        }
    })?;
    Ok(out)
}

impl Windows {
    fn new(kernel: &[i64], stride: &[i64], padding: &[i64], dilation: &[i64], ceil_mode: bool) -> Self {
        let [kernel, stride, padding, dilation] = [kernel, stride, padding, dilation].map(<[i64]>::to_vec);
        Self { kernel, stride, padding, dilation, ceil_mode }
    }

    fn args<'a>(&'a self, input: &'a Tensor) -> [Arg<'a>; 6] {
        [
            input.into(),
            Arg::Ints(&self.kernel),
            Arg::Ints(&self.stride),
            Arg::Ints(&self.padding),
            Arg::Ints(&self.dilation),
            Arg::Bool(self.ceil_mode),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, leaf, numbers};
    use super::*;

    #[test]
    fn the_gradient_goes_to_the_largest() {
        let x = leaf(&[1.0, 5.0, 2.0, 3.0, 4.0, 0.0, 7.0, 6.0], &[1, 2, 4]);
        let (y, places) = max_pool2d_with_indices(&x, &[2], &[], &[0], &[1], false).unwrap();
        assert_eq!(numbers(&y), [5.0, 7.0]);
        assert_eq!(places.to_vec::<i64>().unwrap(), [1, 6]);
        let found = gradients(&y, &[1.0, 2.0], &[&x]);
        assert_eq!(numbers(&found[0]), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    }

    #[test]
    fn there_is_a_second_derivative() {
        let x = leaf(&[1.0, 5.0, 2.0, 3.0], &[1, 2, 2]);
        let y = max_pool2d(&x, &[2], &[], &[0], &[1], false).unwrap();
        let first = gradients(&super::super::mul(&y, &y).unwrap(), &[1.0], &[&x]);
        assert_eq!(numbers(&first[0]), [0.0, 10.0, 0.0, 0.0]);
        assert_eq!(numbers(&gradients(&first[0], &[1.0; 4], &[&x])[0]), [0.0, 2.0, 0.0, 0.0]);
    }

    #[test]
    fn windows_must_fit() {
        let error = max_pool2d(&leaf(&[0.0], &[1, 1, 1]), &[2], &[], &[0], &[1], false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Given input size: (1x1x1). Calculated output size: (1x0x0). Output size is too small"
        );
    }
}
