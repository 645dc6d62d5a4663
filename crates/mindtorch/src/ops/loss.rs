//! Losses number by number: the distance between what is and what should be.

use super::binary::{Types, compute};
use super::float::{check_float, is_differentiated};
use super::operand::{common_shape, result_type};
use super::{abs, add, exp, log1p, maximum, mean, mul, mul_, neg, same_device, sigmoid, sub, sum, zeros_like};
use crate::Tensor;
use crate::autograd::{Context, Saved, mode, track};
use crate::dispatch::{Arg, Op, launch, launch_list};
use crate::dtype::{ComputeType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::map::{map2, map3};
use crate::kernels::plan::Operand;
use crate::kernels::real::Real;

/// How the losses of many numbers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReduction {
    /// Not at all.
    None,
    /// Their mean.
    Mean,
    /// Their sum.
    Sum,
}

impl LossReduction {
    /// As the profiler shows it, and as torch's functions take it.
    pub(super) fn arg(self) -> Arg<'static> {
        Arg::Int(match self {
            Self::None => 0,
            Self::Mean => 1,
            Self::Sum => 2,
        })
    }

    fn apply(self, losses: Tensor) -> Result<Tensor> {
        match self {
            Self::None => Ok(losses),
            Self::Mean => mean(&losses, &[], false, None),
            Self::Sum => sum(&losses, &[], false, None),
        }
    }

    /// What a gradient of one of so many losses is multiplied with.
    fn share(self, count: usize) -> f64 {
        if self == Self::Mean { 1.0 / count as f64 } else { 1.0 }
    }
}

/// Fails if a gradient would have to be computed that there is no rule for.
pub(super) fn check_constant(name: &str, tensor: Option<&Tensor>) -> Result<()> {
    ensure!(
        !tensor.is_some_and(|tensor| mode::is_recording() && tensor.requires_grad()),
        Runtime,
        "the derivative for '{name}' is not implemented."
    );
    Ok(())
}

/// The squared differences.
///
/// # Errors
/// If shapes or types do not go together.
pub fn mse_loss(input: &Tensor, target: &Tensor, reduction: LossReduction) -> Result<Tensor> {
    static OP: Op = Op::new("aten::mse_loss", "");
    check_float("mse_cpu", result_type(&[input.into(), target.into()]))?;
    let out = OP.run(&[input.into(), target.into(), reduction.arg()], || {
        let losses =
            compute("mse", [input.into(), target.into()], Types::Same, None, |compute, out, a, b| match compute {
                ComputeType::F64 => map2::<f64, f64>(out, a, b, |a, b| (a - b) * (a - b)),
                _ => map2::<f32, f32>(out, a, b, |a, b| (a - b) * (a - b)),
            })?;
        reduction.apply(losses)
    })?;
    track("MseLossBackward0", [input, target], &out, || {
        let (input, target) = (Saved::new(input), Saved::new(target));
        move |context: &Context<'_>, grad: &Tensor| {
            let (input, target) = (input.get(context)?, target.get(context)?);
            let of = |index: usize, a: &Tensor, b: &Tensor| {
                context.needs(index).then(|| mse_loss_backward(grad, a, b, reduction)).transpose()
            };
            Ok([of(0, &input, &target)?, of(1, &target, &input)?])
        }
    })?;
    Ok(out)
}

fn mse_loss_backward(grad: &Tensor, input: &Tensor, target: &Tensor, reduction: LossReduction) -> Result<Tensor> {
    static OP: Op = Op::new("aten::mse_loss_backward", "");
    let operands = [input.into(), target.into()];
    let shape = common_shape(&operands)?;
    let factor = 2.0 * reduction.share(shape.iter().product());
    if is_differentiated([grad, input, target]) {
        return mul(&mul(&sub(input, target, 1.into())?, Scalar::Float(factor))?, grad);
    }
    OP.run(&[grad.into(), input.into(), target.into(), reduction.arg()], || {
        let out = Tensor::allocate(&shape, result_type(&operands), input.device())?;
        let compute = out.dtype().compute();
        launch("mse_backward", [&out, input, target, grad], move |[out, a, b, grad]| {
            let operands: [Operand<'_>; 3] = [a.into(), b.into(), grad.into()];
            match compute {
                ComputeType::F64 => map3::<f64, f64>(out, operands, |a, b, grad| factor * (a - b) * grad),
                _ => map3::<f32, f32>(out, operands, |a, b, grad| factor as f32 * (a - b) * grad),
            }
        })?;
        Ok(out)
    })
}

/// The absolute differences.
///
/// # Errors
/// If shapes or types do not go together.
pub fn l1_loss(input: &Tensor, target: &Tensor, reduction: LossReduction) -> Result<Tensor> {
    static OP: Op = Op::new("aten::l1_loss", "");
    OP.compose(&[input.into(), target.into(), reduction.arg()], || {
        reduction.apply(abs(&sub(input, target, 1.into())?)?)
    })
}

/// The cross entropy between the logits of a yes and the targets. Each loss is multiplied with its weight; the part of a yes
/// with `pos_weight`.
///
/// # Errors
/// If shapes or types do not go together.
pub fn binary_cross_entropy_with_logits(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    pos_weight: Option<&Tensor>,
    reduction: LossReduction,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::binary_cross_entropy_with_logits", "");
    check_float("log_sigmoid_cpu", input.dtype())?;
    ensure!(
        target.dtype().is_float(),
        Runtime,
        "result type {} can't be cast to the desired output type {}",
        input.dtype().scalar_type(),
        target.dtype().scalar_type()
    );
    check_constant("weight", weight)?;
    check_constant("pos_weight", pos_weight)?;
    let args = [input.into(), target.into(), weight.into(), pos_weight.into(), reduction.arg()];
    let out = OP.run(&args, || {
        let losses = logit_losses(input, target, pos_weight)?;
        reduction.apply(match weight {
            Some(weight) if weight.ndim() <= losses.ndim() => mul_(&losses, weight)?,
            Some(weight) => mul(&losses, weight)?,
            None => losses,
        })
    })?;
    track("BinaryCrossEntropyWithLogitsBackward0", [input, target], &out, || {
        let (input, target) = (Saved::new(input), Saved::new(target));
        let (weight, pos_weight) = (weight.map(Saved::new), pos_weight.map(Saved::new));
        move |context: &Context<'_>, grad: &Tensor| {
            let (input, target) = (input.get(context)?, target.get(context)?);
            let weight = weight.as_ref().map(|weight| weight.get(context)).transpose()?;
            let pos_weight = pos_weight.as_ref().map(|weight| weight.get(context)).transpose()?;
            let shape = common_shape(&[(&input).into(), (&target).into()])?;
            let mut grad = match reduction.share(shape.iter().product()) {
                1.0 => grad.clone(),
                share => mul(grad, Scalar::Float(share))?,
            };
            if let Some(weight) = &weight {
                grad = mul(&grad, weight)?;
            }
            let of = |index: usize, slope: fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<Tensor>| {
                let gradient = || mul(&slope(&input, &target, pos_weight.as_ref())?, &grad);
                context.needs(index).then(gradient).transpose()
            };
            Ok([of(0, slope_of_input)?, of(1, slope_of_target)?])
        }
    })?;
    Ok(out)
}

/// The losses of logits, each in one go.
fn logit_losses(input: &Tensor, target: &Tensor, pos_weight: Option<&Tensor>) -> Result<Tensor> {
    #[inline(always)]
    fn loss<T: Real>(x: T, target: T, pos_weight: T) -> T {
        // The logarithm of 1 + exp(-x), of an exponential that cannot overflow.
        let softplus = (-x.abs()).exp().ln_1p() + (-x).maximum(T::ZERO);
        (T::ONE - target) * x + (T::ONE + (pos_weight - T::ONE) * target) * softplus
    }
    let operands: Vec<Operand<'_>> = [input, target].into_iter().chain(pos_weight).map(Operand::Tensor).collect();
    same_device(&[input, target].into_iter().chain(pos_weight).collect::<Vec<_>>())?;
    let out = Tensor::allocate(&common_shape(&operands)?, result_type(&operands[..2]), input.device())?;
    let compute = out.dtype().compute();
    let tensors = [Some(&out), Some(input), Some(target), pos_weight];
    launch_list("binary_cross_entropy_with_logits", &tensors, move |tensors| {
        let &[Some(out), Some(x), Some(target), pos_weight] = tensors else { return };
        let pos_weight = pos_weight.map_or(Operand::Scalar(Scalar::Float(1.0)), Operand::Tensor);
        let operands = [x.into(), target.into(), pos_weight];
        match compute {
            ComputeType::F64 => map3::<f64, f64>(out, operands, loss),
            _ => map3::<f32, f32>(out, operands, loss),
        }
    })?;
    Ok(out)
}

/// What a loss changes with its logit: `sigmoid(x) - target`, with the part of a yes weighted.
fn slope_of_input(input: &Tensor, target: &Tensor, pos_weight: Option<&Tensor>) -> Result<Tensor> {
    let Some(pos_weight) = pos_weight else { return sub(&sigmoid(input)?, target, 1.into()) };
    let yes = mul(pos_weight, target)?;
    let either = sub(&add(&yes, Scalar::Int(1), 1.into())?, target, 1.into())?;
    sub(&mul(&either, &sigmoid(input)?)?, &yes, 1.into())
}

/// What a loss changes with its target: `(pos_weight - 1) * softplus(-x) - x`.
fn slope_of_target(input: &Tensor, _: &Tensor, pos_weight: Option<&Tensor>) -> Result<Tensor> {
    let minus = neg(input)?;
    let Some(pos_weight) = pos_weight else { return Ok(minus) };
    let softplus = add(&log1p(&exp(&neg(&abs(input)?)?)?)?, &maximum(&minus, &zeros_like(&minus)?)?, 1.into())?;
    add(&mul(&sub(pos_weight, Scalar::Int(1), 1.into())?, &softplus)?, &minus, 1.into())
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, kernel_gradients, leaf, numbers, tensor};
    use super::*;

    #[test]
    fn squares_have_two_derivatives() {
        let (x, target) = (leaf(&[1.0, 4.0], &[2]), leaf(&[2.0, 2.0], &[2]));
        let y = mse_loss(&x, &target, LossReduction::Mean).unwrap();
        assert_eq!(numbers(&y), [2.5]);
        let first = gradients(&y, &[1.0], &[&x, &target]);
        assert_eq!(numbers(&first[0]), [-1.0, 2.0]);
        assert_eq!(numbers(&first[1]), [1.0, -2.0]);
        assert_eq!(numbers(&gradients(&first[0], &[1.0, 10.0], &[&x])[0]), [1.0, 10.0]);
        let sum = mse_loss(&x, &target, LossReduction::Sum).unwrap();
        assert_eq!(numbers(&kernel_gradients(&sum, &[1.0], &[&x])[0]), [-2.0, 4.0]);
    }

    #[test]
    fn distances_are_absolute() {
        let x = leaf(&[1.0, 4.0, 2.0], &[3]);
        let y = l1_loss(&x, &tensor(&[2.0, 2.0, 2.0], &[3]), LossReduction::None).unwrap();
        assert_eq!(numbers(&y), [1.0, 2.0, 0.0]);
        assert_eq!(numbers(&gradients(&y, &[1.0, 1.0, 1.0], &[&x])[0]), [-1.0, 1.0, 0.0]);
    }

    #[test]
    fn large_logits_do_not_overflow() {
        let (x, target) = (leaf(&[-2000.0, 2000.0, 0.0], &[3]), leaf(&[0.0, 0.0, 1.0], &[3]));
        let pos_weight = tensor(&[3.0], &[1]);
        let y = binary_cross_entropy_with_logits(&x, &target, None, Some(&pos_weight), LossReduction::None).unwrap();
        assert_eq!(numbers(&y), [0.0, 2000.0, (3.0 * 2f64.ln() * 1e9).round() / 1e9]);
        let found = gradients(&y, &[1.0, 1.0, 1.0], &[&x, &target]);
        assert_eq!(numbers(&found[0]), [0.0, 1.0, -1.5]);
        assert_eq!(numbers(&found[1]), [6000.0, -2000.0, (2.0 * 2f64.ln() * 1e9).round() / 1e9]);
    }
}
