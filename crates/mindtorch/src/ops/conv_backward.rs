//! The gradients of a convolution. They are made of convolutions, and so are their own gradients, however often.

use super::convolution::{by_channel, convolution};
use super::float::{as_kernel_dtype, for_kernel, with_float};
use super::movement::Movement;
use super::{add, zeros};
use crate::Tensor;
use crate::autograd::{Context, Grads, Saved, track_list};
use crate::dispatch::{Arg, Op, launch};
use crate::error::Result;
use crate::kernels::conv::{self as kernel, ConvShape};
use crate::shape::Dims;
use crate::tensor::access::{read, write};

/// The gradients of input, weight and bias, of those that are wanted.
pub(super) fn convolution_backward(
    grad: &Tensor,
    input: &Tensor,
    weight: &Tensor,
    movement: &Movement,
    wanted: [bool; 3],
) -> Result<[Option<Tensor>; 3]> {
    static OP: Op = Op::new("aten::convolution_backward", "");
    let Movement { stride, padding, dilation, groups } = movement;
    let no_output_padding = vec![0; stride.len()];
    let args = [
        grad.into(),
        input.into(),
        weight.into(),
        Arg::Sizes(&weight.shape()[..1]),
        Arg::Ints(stride),
        Arg::Ints(padding),
        Arg::Ints(dilation),
        Arg::Bool(false),
        Arg::Ints(&no_output_padding),
        Arg::Int(*groups),
    ];
    let gradients = OP.run(&args, || launch_backward(grad, input, weight, movement, wanted))?;
    let given: Vec<&Tensor> = gradients.iter().flatten().collect();
    track_list("ConvolutionBackwardBackward0", &[Some(grad), Some(input), Some(weight)], &given, || {
        let saved = [grad, input, weight].map(Saved::new);
        let (movement, sizes) = (movement.clone(), Dims::from(grad.shape()));
        move |context: &Context<'_>, grads: &Grads| {
            let mut arrived = grads.iter().cloned();
            let [of_input, of_weight, of_bias] =
                wanted.map(|wanted| if wanted { arrived.next().flatten() } else { None });
            let [grad, input, weight] = [saved[0].get(context)?, saved[1].get(context)?, saved[2].get(context)?];
            let backward = |input: &Tensor, weight: &Tensor, wanted: [bool; 3]| {
                convolution_backward(&grad, input, weight, &movement, wanted)
            };
            let mut second = Grads::from_elem(None, 3);
            if context.needs(0) {
                second[0] = sum([
                    of_input.as_ref().map(|it| convolution(it, &weight, None, movement.clone())),
                    of_weight.as_ref().map(|it| convolution(&input, it, None, movement.clone())),
                    of_bias.as_ref().map(|it| by_channel(it, &sizes)),
                ])?;
            }
            if let (true, Some(of_weight)) = (context.needs(1), &of_weight) {
                second[1] = backward(&input, of_weight, [true, false, false])?[0].take();
            }
            if let (true, Some(of_input)) = (context.needs(2), &of_input) {
                second[2] = backward(of_input, &weight, [false, true, false])?[1].take();
            }
            Ok(second)
        }
    })?;
    Ok(gradients)
}

/// The sum of those that are there.
fn sum(tensors: [Option<Result<Tensor>>; 3]) -> Result<Option<Tensor>> {
    let mut sum: Option<Tensor> = None;
    for tensor in tensors.into_iter().flatten() {
        let tensor = tensor?;
        sum = Some(match sum {
            Some(sum) => add(&sum, &tensor, 1.into())?,
            None => tensor,
        });
    }
    Ok(sum)
}

fn launch_backward(
    grad: &Tensor,
    input: &Tensor,
    weight: &Tensor,
    movement: &Movement,
    wanted: [bool; 3],
) -> Result<[Option<Tensor>; 3]> {
    let shape = movement.over(input, weight);
    let x = for_kernel(input)?;
    let (dtype, device) = (x.dtype(), x.device());
    let (grad, weight) = (as_kernel_dtype(grad, dtype)?, as_kernel_dtype(weight, dtype)?);
    let sizes: [&[usize]; 3] = [x.shape(), weight.shape(), &[shape.out_channels]];
    let is_empty = x.numel() == 0;
    let make = if is_empty { zeros } else { Tensor::allocate };
    let gradient = |index: usize| wanted[index].then(|| make(sizes[index], dtype, device)).transpose();
    let gradients = [gradient(0)?, gradient(1)?, gradient(2)?];
    if is_empty {
        return Ok(gradients);
    }
    let scratch = Tensor::allocate(&[kernel::conv2d_scratch_len(&shape)], dtype, device)?;
    if let Some(of_input) = &gradients[0] {
        let run = |[out, scratch, grad, weight]: [&Tensor; 4], shape: &ConvShape| {
            with_float!(out.dtype(), T => {
                kernel::conv2d_grad_input::<T>(write(out), read(grad), read(weight), shape, write(scratch));
            });
        };
        launch("conv2d_grad_input", [of_input, &scratch, &grad, &weight], move |tensors| run(tensors, &shape))?;
    }
    if let Some(of_weight) = &gradients[1] {
        let run = |[out, scratch, grad, x]: [&Tensor; 4], shape: &ConvShape| {
            with_float!(out.dtype(), T => {
                kernel::conv2d_grad_weight::<T>(write(out), read(grad), read(x), shape, write(scratch));
            });
        };
        launch("conv2d_grad_weight", [of_weight, &scratch, &grad, &x], move |tensors| run(tensors, &shape))?;
    }
    if let Some(of_bias) = &gradients[2] {
        launch("conv2d_grad_bias", [of_bias, &grad], move |[out, grad]| {
            with_float!(out.dtype(), T => kernel::conv2d_grad_bias::<T>(write(out), read(grad), &shape));
        })?;
    }
    Ok(gradients)
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, leaf, numbers, tensor};
    use super::super::{Padding, conv1d, conv2d};

    #[test]
    fn a_window_slides_over_a_sequence() {
        let x = leaf(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 4]);
        let (weight, bias) = (leaf(&[1.0, 10.0], &[1, 1, 2]), leaf(&[0.5], &[1]));
        let y = conv1d(&x, &weight, Some(&bias), &[1], Padding::Zeros(&[0]), &[1], 1).unwrap();
        assert_eq!(numbers(&y), [21.5, 32.5, 43.5]);
        let first = gradients(&y, &[1.0, 2.0, 3.0], &[&x, &weight, &bias]);
        assert_eq!(numbers(&first[0]), [1.0, 12.0, 23.0, 30.0]);
        assert_eq!(numbers(&first[1]), [14.0, 20.0]);
        assert_eq!(numbers(&first[2]), [6.0]);
        // The input's gradient is made of the weight, and the weight's of the input.
        let second = gradients(&first[0], &[1.0, 0.0, 0.0, 0.0], &[&weight]);
        assert_eq!(numbers(&second[0]), [1.0, 0.0]);
        let second = gradients(&first[1], &[0.0, 1.0], &[&x]);
        assert_eq!(numbers(&second[0]), [0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn the_same_size_may_need_one_more_at_the_end() {
        let x = tensor(&[1.0, 2.0, 3.0, 4.0], &[1, 2, 2]);
        let weight = leaf(&[1.0, 1.0, 1.0, 1.0], &[1, 1, 2, 2]);
        let y = conv2d(&x, &weight, None, &[1], Padding::Same, &[1], 1).unwrap();
        assert_eq!(y.shape(), [1, 2, 2]);
        assert_eq!(numbers(&y), [10.0, 6.0, 7.0, 4.0]);
    }

    #[test]
    fn groups_do_not_see_each_other() {
        let x = tensor(&[1.0, 2.0, 3.0, 4.0], &[1, 2, 2]);
        let weight = leaf(&[1.0, 10.0], &[2, 1, 1]);
        let y = conv1d(&x, &weight, None, &[1], Padding::Valid, &[1], 2).unwrap();
        assert_eq!(numbers(&y), [1.0, 2.0, 30.0, 40.0]);
        let none = conv1d(&tensor(&[], &[0, 2, 2]), &weight, None, &[1], Padding::Valid, &[1], 2).unwrap();
        assert_eq!(none.shape(), [0, 2, 2]);
        let error = conv1d(&x, &weight, None, &[1], Padding::Valid, &[1], 1).unwrap_err();
        let expected = "Given groups=1, weight of size [2, 1, 1], expected input[1, 2, 2] to have 1 channels, but got 2 \
                        channels instead";
        assert_eq!(error.to_string(), expected);
    }
}
