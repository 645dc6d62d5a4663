//! Convolutions of sequences and images.

use super::convolution::convolution;
use super::movement::Movement;
use super::{constant_pad_nd, squeeze, unsqueeze};
use crate::Tensor;
use crate::dispatch::{Arg, Op};
use crate::dtype::Scalar;
use crate::error::{Result, bail, ensure};
use crate::shape::list;

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
        movement.check(input, weight, bias)?;
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
