//! The operation behind every convolution.

use super::conv_backward::convolution_backward;
use super::float::{as_kernel_dtype, for_kernel, signed, with_float};
use super::movement::Movement;
use super::{copy_, expand, reshape, to_dtype, zeros};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch_list};
use crate::error::Result;
use crate::kernels::conv as kernel;
use crate::shape::Dims;
use crate::tensor::access::{read, write};

/// A convolution over one or two dimensions.
pub(super) fn convolution(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    movement: Movement,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::convolution", "");
    static INNER: Op = Op::new("aten::_convolution", "");
    movement.check(input, weight, bias)?;
    let Movement { stride, padding, dilation, groups } = &movement;
    let no_output_padding = vec![0; stride.len()];
    let args = [
        input.into(),
        weight.into(),
        bias.into(),
        Arg::Ints(stride),
        Arg::Ints(padding),
        Arg::Ints(dilation),
        Arg::Bool(false),
        Arg::Ints(&no_output_padding),
        Arg::Int(*groups),
    ];
    let out = OP.run(&args, || INNER.run(&args, || forward(input, weight, bias, &movement)))?;
    track("ConvolutionBackward0", [Some(input), Some(weight), bias], &out, || {
        let (input, weight) = (Saved::new(input), Saved::new(weight));
        move |context: &Context<'_>, grad: &Tensor| {
            let wanted = [0, 1, 2].map(|input| context.needs(input));
            convolution_backward(grad, &input.get(context)?, &weight.get(context)?, &movement, wanted)
        }
    })?;
    Ok(out)
}

fn forward(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>, movement: &Movement) -> Result<Tensor> {
    static OP: Op = Op::new("aten::thnn_conv2d", "");
    let size = Arg::Sizes(&weight.shape()[2..]);
    let (stride, padding) = (Arg::Ints(&movement.stride), Arg::Ints(&movement.padding));
    OP.run(&[input.into(), weight.into(), size, bias.into(), stride, padding], || {
        let shape = movement.over(input, weight);
        let mut sizes: Dims = Dims::from_slice(&[shape.batch, shape.out_channels]);
        sizes.extend_from_slice(&shape.output()[2 - movement.stride.len()..]);
        let x = for_kernel(input)?;
        let parameter = |tensor: &Tensor| as_kernel_dtype(tensor, x.dtype());
        let (weight, bias) = (parameter(weight)?, bias.map(parameter).transpose()?);
        if input.numel() == 0 {
            let out = zeros(&sizes, input.dtype(), input.device())?;
            if let Some(bias) = &bias {
                copy_(&out, &by_channel(bias, &sizes)?)?;
            }
            return Ok(out);
        }
        let out = Tensor::allocate(&sizes, x.dtype(), x.device())?;
        let scratch = Tensor::allocate(&[kernel::conv2d_scratch_len(&shape)], x.dtype(), x.device())?;
        let tensors = [Some(&out), Some(&scratch), Some(&x), Some(&weight), bias.as_ref()];
        launch_list("conv2d", &tensors, move |tensors| {
            let &[Some(out), Some(scratch), Some(x), Some(weight), bias] = tensors else { return };
            with_float!(x.dtype(), T => {
                kernel::conv2d::<T>(write(out), read(x), read(weight), bias.map(read), &shape, write(scratch));
            });
        })?;
        to_dtype(&out, input.dtype())
    })
}

/// A number for each channel, as if it were in every place.
pub(super) fn by_channel(numbers: &Tensor, sizes: &[usize]) -> Result<Tensor> {
    let mut shape = vec![1; sizes.len() - 1];
    shape[0] = -1;
    expand(&reshape(numbers, &shape)?, &signed(sizes))
}
