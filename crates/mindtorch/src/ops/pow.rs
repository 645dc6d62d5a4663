//! Powers.

use super::binary::{SavedOperand, Types, both, compute, saved_original};
use super::div::check_not_bool;
use super::operand::{Operand, result_type};
use super::{clone, detach, eq, ge, log, logical_and, mul, sub, r#where, zeros_like};
use crate::Tensor;
use crate::autograd::{Context, Saved, check_in_place, mode, track, track_in_place};
use crate::dispatch::Op;
use crate::dtype::Scalar;
use crate::error::{Result, ensure};
use crate::kernels::pointwise as kernel;

/// `a` to the power of `b`.
///
/// # Errors
/// If the operands do not go together, or for an integer to a negative power.
pub fn pow<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    static TENSORS: Op = Op::new("aten::pow", "Tensor_Tensor");
    static EXPONENT: Op = Op::new("aten::pow", "Tensor_Scalar");
    static BASE: Op = Op::new("aten::pow", "Scalar");
    let (a, b) = (a.into(), b.into());
    let op = match (a, b) {
        (_, Operand::Scalar(_)) => &EXPONENT,
        (Operand::Scalar(_), _) => &BASE,
        _ => &TENSORS,
    };
    check_exponent(a, b)?;
    let out = op.run(&[a.into(), b.into()], || pow_into(a, b, None))?;
    track(node_name(a, b), [a.tensor(), b.tensor()], &out, || {
        pow_rule(SavedOperand::new(a), SavedOperand::new(b), Saved::output(&out))
    })?;
    Ok(out)
}

/// `a` to the power of `b`, in place.
///
/// # Errors
/// As for [`pow`], and if `a` may not be changed.
pub fn pow_<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    static TENSOR: Op = Op::new("aten::pow_", "Tensor");
    static SCALAR: Op = Op::new("aten::pow_", "Scalar");
    let b = b.into();
    check_in_place(a)?;
    check_exponent(a.into(), b)?;
    let recorded = mode::is_recording() && (a.requires_grad() || b.tensor().is_some_and(Tensor::requires_grad));
    let original = if recorded { Some(clone(&detach(a)?)?) } else { None };
    let op = if b.tensor().is_some() { &TENSOR } else { &SCALAR };
    op.run(&[a.into(), b.into()], || pow_into(a.into(), b, Some(a)))?;
    track_in_place(node_name(a.into(), b), [Some(a), b.tensor()], a, || {
        pow_rule(saved_original(original.as_ref()), SavedOperand::new(b), Saved::output(a))
    })?;
    Ok(a.clone())
}

fn check_exponent(a: Operand<'_>, b: Operand<'_>) -> Result<()> {
    match b {
        Operand::Tensor(_) => check_not_bool("pow", a, b),
        Operand::Scalar(exponent) => {
            ensure!(
                result_type(&[a, b]).is_float() || exponent.to_f64() >= 0.0,
                Runtime,
                "Integers to negative integer powers are not allowed."
            );
            Ok(())
        }
    }
}

fn pow_into(a: Operand<'_>, b: Operand<'_>, out: Option<&Tensor>) -> Result<Tensor> {
    match b {
        // The powers that people use need no logarithm.
        Operand::Scalar(exponent) if exponent.to_f64() == 2.0 && result_type(&[a, b]) == result_type(&[a]) => {
            compute("pow", [a, a], Types::Same, out, kernel::mul)
        }
        _ => compute("pow", [a, b], Types::Same, out, kernel::pow),
    }
}

/// Of the overload that takes these.
fn node_name(a: Operand<'_>, b: Operand<'_>) -> &'static str {
    match (a, b) {
        (_, Operand::Scalar(_)) => "PowBackward0",
        (Operand::Tensor(_), _) => "PowBackward1",
        (Operand::Scalar(_), _) => "PowBackward2",
    }
}

fn pow_rule(
    a: SavedOperand,
    b: SavedOperand,
    result: Saved,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> {
    move |context: &Context<'_>, grad: &Tensor| {
        both(
            context,
            || a.with(context, |a| b.with(context, |b| pow_base_grad(grad, a, b))),
            || a.with(context, |a| b.with(context, |b| pow_exponent_grad(grad, a, b, &result.get(context)?))),
        )
    }
}

fn pow_base_grad(grad: &Tensor, a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    match b {
        Operand::Scalar(exponent) if exponent.to_f64() == 0.0 => zeros_like(grad),
        Operand::Scalar(exponent) => {
            let less = match exponent {
                Scalar::Float(value) => Scalar::Float(value - 1.0),
                scalar => Scalar::Int(scalar.to_i64() - 1),
            };
            mul(grad, &mul(&pow(a, less)?, exponent)?)
        }
        Operand::Tensor(exponent) => {
            let slope = mul(exponent, &pow(a, &sub(exponent, Scalar::Int(1), 1.into())?)?)?;
            let slope = mul(grad, &slope)?;
            r#where(&eq(exponent, Scalar::Int(0))?, Scalar::Float(0.0), &slope)
        }
    }
}

fn pow_exponent_grad(grad: &Tensor, a: Operand<'_>, b: Operand<'_>, result: &Tensor) -> Result<Tensor> {
    match a {
        Operand::Tensor(base) => {
            // 0 to any positive power stays 0.
            let is_positive = ge(b, Scalar::Int(0))?;
            let flat = logical_and(&eq(base, Scalar::Int(0))?, &is_positive)?;
            let slope = mul(result, &log(base)?)?;
            mul(grad, &r#where(&flat, Scalar::Float(0.0), &slope)?)
        }
        Operand::Scalar(base) => {
            let slope = mul(result, Scalar::Float(base.to_f64().ln()))?;
            let is_zero = base.to_f64() == 0.0;
            let slope = if is_zero { r#where(&ge(b, Scalar::Int(0))?, Scalar::Float(0.0), &slope)? } else { slope };
            mul(grad, &slope)
        }
    }
}
