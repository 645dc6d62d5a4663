//! Numbers within bounds.

use super::binary::SavedOperand;
use super::operand::{Operand, result_type};
use super::ternary::compute;
use super::update::{change, in_place};
use super::{gt, logical_and_, lt, mul, r#where};
use crate::Tensor;
use crate::autograd::{Context, Grads, Saved, mode, track_list};
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::pointwise as kernel;

const LOWEST: Scalar = Scalar::Float(f64::NEG_INFINITY);
const HIGHEST: Scalar = Scalar::Float(f64::INFINITY);

fn bound(given: Option<Operand<'_>>, other: Scalar, dtype: DType) -> Operand<'_> {
    given.unwrap_or(Operand::Scalar(match other {
        Scalar::Float(value) if !dtype.is_float() => Scalar::Int(if value < 0.0 { i64::MIN } else { i64::MAX }),
        other => other,
    }))
}

fn clamp_into(x: &Tensor, low: Option<Operand<'_>>, high: Option<Operand<'_>>, out: Option<&Tensor>) -> Result<Tensor> {
    ensure!(low.is_some() || high.is_some(), Runtime, "torch.clamp: At least one of 'min' or 'max' must not be None");
    let mut operands: smallvec::SmallVec<[Operand<'_>; 3]> = smallvec::SmallVec::from_iter([x.into()]);
    operands.extend(low);
    operands.extend(high);
    let dtype = result_type(&operands);
    let (low, high) = (bound(low, LOWEST, dtype), bound(high, HIGHEST, dtype));
    compute("clamp", [x.into(), low, high], dtype, out, kernel::clamp)
}

/// The gradient goes where the number was within the bounds.
fn clamp_rule(
    x: &Tensor,
    low: Option<Operand<'_>>,
    high: Option<Operand<'_>>,
) -> impl Fn(&Context<'_>, &Grads) -> Result<Grads> + use<> {
    let saved = (Saved::new(x), low.map(SavedOperand::new), high.map(SavedOperand::new));
    move |context: &Context<'_>, grads: &Grads| {
        let Some(grad) = &grads[0] else { return Ok(Grads::from_elem(None, 3)) };
        let (x, low, high) = &saved;
        let x = x.get(context)?;
        // At a bound that is a number the gradient ends; one that is a tensor gets half of it.
        if !matches!((low, high), (Some(SavedOperand::Tensor(_)), _) | (_, Some(SavedOperand::Tensor(_)))) {
            let above = low.as_ref().map(|low| low.with(context, |low| gt(&x, low))).transpose()?;
            let below = high.as_ref().map(|high| high.with(context, |high| lt(&x, high))).transpose()?;
            let own = match (above, below) {
                (Some(above), Some(below)) => Some(r#where(&logical_and_(&above, &below)?, grad, Scalar::Int(0))?),
                (Some(inside), None) | (None, Some(inside)) => Some(r#where(&inside, grad, Scalar::Int(0))?),
                (None, None) => None,
            };
            return Ok(Grads::from_iter([own, None, None]));
        }
        let mut own = grad.clone();
        let mut of_bounds = [None, None];
        for (index, bound) in [low, high].into_iter().enumerate() {
            let Some(bound) = bound else { continue };
            (own, of_bounds[index]) = bound.with(context, |bound| {
                let (outside, inside) = (lt(&x, bound)?, gt(&x, bound)?);
                let (outside, inside) = if index == 0 { (outside, inside) } else { (inside, outside) };
                let at = super::eq(&x, bound)?;
                let half = mul(grad, Scalar::Float(0.5))?;
                let share = if bound.tensor().is_some() { half.clone() } else { super::zeros_like(grad)? };
                let own = r#where(&inside, &own, &r#where(&at, &share, Scalar::Int(0))?)?;
                let of_bound = match bound {
                    Operand::Tensor(_) if context.needs(index + 1) => {
                        Some(r#where(&outside, grad, &r#where(&at, &half, Scalar::Int(0))?)?)
                    }
                    _ => None,
                };
                Ok((own, of_bound))
            })?;
        }
        let [first, second] = of_bounds;
        Ok(Grads::from_iter([if context.needs(0) { Some(own) } else { None }, first, second]))
    }
}

/// Every number within the bounds, each of which may be missing.
///
/// # Errors
/// If both are missing, or if the operands do not go together.
pub fn clamp<'a>(x: &'a Tensor, low: Option<Operand<'a>>, high: Option<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::clamp", "");
    clamp_as(&OP, ["ClampBackward0", "ClampBackward1"], x, low, high)
}

/// Every number at least as large as the bound.
///
/// # Errors
/// If the operands do not go together.
pub fn clamp_min<'a>(x: &'a Tensor, low: Option<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::clamp_min", "");
    clamp_as(&OP, ["ClampMinBackward1", "ClampMinBackward0"], x, low, None)
}

/// Every number at most as large as the bound.
///
/// # Errors
/// If the operands do not go together.
pub fn clamp_max<'a>(x: &'a Tensor, high: Option<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::clamp_max", "");
    clamp_as(&OP, ["ClampMaxBackward1", "ClampMaxBackward0"], x, None, high)
}

/// [`clamp`] in place.
///
/// # Errors
/// As for [`clamp`], and if the tensor may not be changed.
pub fn clamp_<'a>(x: &'a Tensor, low: Option<Operand<'a>>, high: Option<Operand<'a>>) -> Result<Tensor> {
    static BOTH: Op = Op::new("aten::clamp_", "");
    static MIN: Op = Op::new("aten::clamp_min_", "");
    static MAX: Op = Op::new("aten::clamp_max_", "");
    let op = match (low, high) {
        (Some(_), None) => &MIN,
        (None, Some(_)) => &MAX,
        _ => &BOTH,
    };
    let is_tracked =
        |bound: Option<Operand<'_>>| bound.and_then(|bound| bound.tensor()).is_some_and(Tensor::requires_grad);
    if mode::is_recording() && (is_tracked(low) || is_tracked(high)) {
        return in_place(x, |x| clamp(x, low, high));
    }
    let bound = |bound: Option<Operand<'a>>| bound.map_or(Arg::None, Into::into);
    change(op, &[x.into(), bound(low), bound(high)], x, |x| clamp(x, low, high), || clamp_into(x, low, high, Some(x)))
}

/// [`clamp`] by one of its names, with the names of the nodes for bounds that are tensors and for others.
fn clamp_as<'a>(
    op: &'static Op,
    nodes: [&'static str; 2],
    x: &'a Tensor,
    low: Option<Operand<'a>>,
    high: Option<Operand<'a>>,
) -> Result<Tensor> {
    let bound = |bound: Option<Operand<'a>>| bound.map_or(Arg::None, Into::into);
    let out = op.run(&[x.into(), bound(low), bound(high)], || clamp_into(x, low, high, None))?;
    let inputs = [Some(x), low.and_then(|low| low.tensor()), high.and_then(|high| high.tensor())];
    let name = if inputs[1].or(inputs[2]).is_some() { nodes[0] } else { nodes[1] };
    track_list(name, &inputs, &[&out], || clamp_rule(x, low, high))?;
    Ok(out)
}
