//! Convolutions.

use super::conv_backward::convolution_backward;
use super::float::{as_kernel_dtype, check_float, for_kernel, with_float};
use super::{constant_pad_nd, copy_, expand, reshape, same_device, squeeze, to_dtype, unsqueeze, zeros};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch_list};
use crate::dtype::Scalar;
use crate::error::{Result, bail, ensure};
use crate::kernels::conv::{self as kernel, ConvShape};
use crate::shape::{Dims, list};
use crate::tensor::access::{read, write};

/// How much is put around an image.
#[derive(Clone, Copy, Debug)]
pub enum Padding<'a> {
    /// So many zeros at both ends of each dimension; one number is for all of them.
    Zeros(&'a [i64]),
    /// As many zeros as keep its size.
    Same,
    /// Nothing.
    Valid,
}

/// How a kernel moves over an image: a number for each dimension, from the first on.
#[derive(Clone, Debug)]
pub(super) struct Movement {
    pub(super) stride: Vec<i64>,
    pub(super) padding: Vec<i64>,
    pub(super) dilation: Vec<i64>,
    pub(super) groups: i64,
}

/// The convolution of sequences: `[batch, channels, length]`, or without a batch.
///
/// # Errors
/// If shapes or types do not go together.
pub fn conv1d(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: Padding<'_>,
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::conv1d", "");
    convolve::<1>(&OP, input, weight, bias, stride, padding, dilation, groups)
}

/// The convolution of images: `[batch, channels, height, width]`, or without a batch.
///
/// # Errors
/// If shapes or types do not go together.
pub fn conv2d(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: Padding<'_>,
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::conv2d", "");
    convolve::<2>(&OP, input, weight, bias, stride, padding, dilation, groups)
}

#[expect(clippy::too_many_arguments, reason = "they are torch's")]
fn convolve<const DIMS: usize>(
    op: &'static Op,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: Padding<'_>,
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    let amounts = match padding {
        Padding::Zeros(amounts) => for_each_dim::<DIMS>("padding", amounts)?,
        Padding::Same | Padding::Valid => vec![0; DIMS],
    };
    let movement = Movement {
        stride: for_each_dim::<DIMS>("stride", stride)?,
        padding: amounts,
        dilation: for_each_dim::<DIMS>("dilation", dilation)?,
        groups,
    };
    let shown = if matches!(padding, Padding::Zeros(_)) { Arg::Ints(&movement.padding) } else { Arg::None };
    let (stride, dilation) = (Arg::Ints(&movement.stride), Arg::Ints(&movement.dilation));
    let args = [input.into(), weight.into(), bias.into(), stride, shown, dilation, Arg::Int(groups)];
    op.compose(&args, || {
        ensure!(
            (DIMS + 1..=DIMS + 2).contains(&input.ndim()),
            Runtime,
            "Expected {}D (unbatched) or {}D (batched) input to conv{DIMS}d, but got input of size: {}",
            DIMS + 1,
            DIMS + 2,
            list(input.shape())
        );
        let run = |input: &Tensor| match padding {
            Padding::Same => convolve_same(input, weight, bias, movement.clone(), &args),
            Padding::Zeros(_) | Padding::Valid => convolution(input, weight, bias, movement.clone()),
        };
        if input.ndim() == DIMS + 2 {
            return run(input);
        }
        squeeze(&run(&unsqueeze(input, 0)?)?, Some(&[0]))
    })
}

fn for_each_dim<const DIMS: usize>(name: &str, numbers: &[i64]) -> Result<Vec<i64>> {
    match numbers {
        [number] => Ok(vec![*number; DIMS]),
        numbers if numbers.len() == DIMS => Ok(numbers.to_vec()),
        _ => bail!(
            Runtime,
            "expected {name} to be a single integer value or a list of {DIMS} values to match the convolution dimensions, but \
             got {name}={}",
            list(numbers)
        ),
    }
}

/// A convolution whose result has the image's size.
fn convolve_same(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    mut movement: Movement,
    args: &[Arg<'_>],
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::_convolution_mode", "");
    OP.compose(args, || {
        check(input, weight, bias, &movement)?;
        ensure!(
            movement.stride.iter().all(|&stride| stride == 1),
            Runtime,
            "padding='same' is not supported for strided convolutions"
        );
        let mut more = Vec::new();
        for (dim, &size) in weight.shape()[2..].iter().enumerate() {
            let total = movement.dilation[dim] * (size as i64 - 1);
            movement.padding[dim] = total / 2;
            // What cannot be halved has one more at the end.
            more.splice(0..0, [0, total % 2]);
        }
        if more.iter().all(|&amount| amount == 0) {
            return convolution(input, weight, bias, movement);
        }
        convolution(&constant_pad_nd(input, &more, Scalar::Int(0))?, weight, bias, movement)
    })
}

/// A convolution over one or two dimensions.
pub(super) fn convolution(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    movement: Movement,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::convolution", "");
    static INNER: Op = Op::new("aten::_convolution", "");
    check(input, weight, bias, &movement)?;
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
        let shape = conv_shape(input, weight, movement);
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
    let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
    expand(&reshape(numbers, &shape)?, &sizes)
}

/// The sizes, as kernels take them: a sequence is an image of height one.
pub(super) fn conv_shape(input: &Tensor, weight: &Tensor, movement: &Movement) -> ConvShape {
    let pair = |sizes: &[usize], missing: usize| match sizes {
        [width] => [missing, *width],
        sizes => [sizes[0], sizes[1]],
    };
    let moved = |numbers: &[i64], missing: usize| {
        pair(&numbers.iter().map(|&number| number as usize).collect::<Dims>(), missing)
    };
    ConvShape {
        batch: input.shape()[0],
        in_channels: input.shape()[1],
        out_channels: weight.shape()[0],
        groups: movement.groups as usize,
        input: pair(&input.shape()[2..], 1),
        kernel: pair(&weight.shape()[2..], 1),
        stride: moved(&movement.stride, 1),
        padding: moved(&movement.padding, 0),
        dilation: moved(&movement.dilation, 1),
    }
}

fn check(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>, movement: &Movement) -> Result<()> {
    let Movement { stride, padding, dilation, groups } = movement;
    let groups = *groups;
    ensure!(
        weight.ndim() == input.ndim(),
        Runtime,
        "Expected {}-dimensional input for {}-dimensional weight {}, but got {}-dimensional input of size {} instead",
        weight.ndim(),
        weight.ndim(),
        list(weight.shape()),
        input.ndim(),
        list(input.shape())
    );
    ensure!(padding.iter().all(|&amount| amount >= 0), Runtime, "negative padding is not supported");
    ensure!(stride.iter().all(|&step| step > 0), Runtime, "non-positive stride is not supported");
    ensure!(
        dilation.iter().all(|&step| step > 0),
        Runtime,
        "dilation should be greater than zero, but got {}",
        list(dilation)
    );
    ensure!(groups > 0, Runtime, "non-positive groups is not supported");
    let (sizes, filters) = (weight.shape(), weight.shape()[0] as i64);
    ensure!(
        filters >= groups,
        Runtime,
        "Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {} instead",
        list(sizes)
    );
    ensure!(
        filters % groups == 0,
        Runtime,
        "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{}] instead",
        list(sizes)
    );
    let channels = sizes[1] as i64 * groups;
    ensure!(
        input.shape()[1] as i64 == channels,
        Runtime,
        "Given groups={groups}, weight of size {}, expected input{} to have {channels} channels, but got {} channels instead",
        list(sizes),
        list(input.shape()),
        input.shape()[1]
    );
    ensure!(
        bias.is_none_or(|bias| bias.shape() == [sizes[0]]),
        Runtime,
        "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got bias of size {} instead",
        list(sizes),
        sizes[0],
        list(bias.map_or(&[], Tensor::shape))
    );
    check_sizes(input, weight, movement)?;
    ensure!(
        weight.dtype() == input.dtype(),
        Runtime,
        "expected scalar type {} but found {}",
        input.dtype().scalar_type(),
        weight.dtype().scalar_type()
    );
    ensure!(
        bias.is_none_or(|bias| bias.dtype() == input.dtype()),
        Runtime,
        "Input type ({}) and bias type ({}) should be the same",
        input.dtype().profiler_name(),
        bias.map_or("", |bias| bias.dtype().profiler_name())
    );
    check_float("slow_conv2d_cpu", input.dtype())?;
    same_device(&[input, weight].into_iter().chain(bias).collect::<Vec<_>>())?;
    Ok(())
}

fn check_sizes(input: &Tensor, weight: &Tensor, movement: &Movement) -> Result<()> {
    let (image, kernel) = (&input.shape()[2..], &weight.shape()[2..]);
    ensure!(
        !kernel.contains(&0),
        Runtime,
        "kernel size should be greater than zero, but got kernel size {}",
        list(kernel)
    );
    let padded: Vec<i64> =
        image.iter().zip(&movement.padding).map(|(&size, padding)| size as i64 + 2 * padding).collect();
    let window: Vec<i64> =
        kernel.iter().zip(&movement.dilation).map(|(&size, dilation)| dilation * (size as i64 - 1) + 1).collect();
    let by = |sizes: &[i64]| sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
    ensure!(
        padded.iter().zip(&window).all(|(padded, window)| padded >= window),
        Runtime,
        "Calculated padded input size per channel: ({}). Kernel size: ({}). Kernel size can't be greater than actual input size",
        by(&padded),
        by(&window)
    );
    ensure!(
        !image.contains(&0),
        Runtime,
        "Only zero batch or zero channel inputs are supported, but got input shape: {}",
        list(input.shape())
    );
    Ok(())
}
