//! Quotients, number by number.

use super::binary::{SavedOperand, Types, both, compute, original, saved_for, saved_original};
use super::operand::{Operand, result_type};
use super::update::change;
use super::{mul, neg, zeros_like};
use crate::Tensor;
use crate::autograd::{Context, check_in_place, track, track_in_place};
use crate::dispatch::Op;
use crate::dtype::DType;
use crate::error::{Result, ensure};
use crate::kernels::pointwise as kernel;

/// How the result of a division is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Not at all.
    None,
    /// Towards zero.
    Trunc,
    /// Down.
    Floor,
}

fn div_into(a: Operand<'_>, b: Operand<'_>, rounding: Rounding, out: Option<&Tensor>) -> Result<Tensor> {
    match rounding {
        Rounding::None => compute("div", [a, b], Types::Float, out, kernel::div),
        Rounding::Trunc => {
            check_zero_division(a, b)?;
            compute("div", [a, b], Types::Same, out, kernel::div_trunc)
        }
        Rounding::Floor => {
            check_zero_division(a, b)?;
            compute("div", [a, b], Types::Same, out, kernel::div_floor)
        }
    }
}

/// Fails for truths, with which some operations make no sense.
pub(super) fn check_not_bool(name: &str, a: Operand<'_>, b: Operand<'_>) -> Result<()> {
    ensure!(result_type(&[a, b]) != DType::Bool, Runtime, "\"{name}\" not implemented for 'Bool'");
    Ok(())
}

fn check_zero_division(a: Operand<'_>, b: Operand<'_>) -> Result<()> {
    check_not_bool("div_floor_cpu", a, b)?;
    let is_zero = match b {
        Operand::Scalar(scalar) => scalar.to_i64() == 0,
        // Looking would wait for the device.
        Operand::Tensor(tensor) if tensor.device() != mindtorch_profiler::Device::Cpu => false,
        Operand::Tensor(tensor) => !result_type(&[a, b]).is_float() && super::has_zero(tensor)?,
    };
    ensure!(result_type(&[a, b]).is_float() || !is_zero, Runtime, "ZeroDivisionError");
    Ok(())
}

/// Of the overload that rounds, or of the other.
fn node_name(rounding: Rounding) -> &'static str {
    if rounding == Rounding::None { "DivBackward0" } else { "DivBackward2" }
}

fn div_rule(
    a: SavedOperand,
    b: SavedOperand,
    rounding: Rounding,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> {
    move |context, grad| {
        if rounding != Rounding::None {
            return both(context, || zeros_like(grad), || zeros_like(grad));
        }
        both(
            context,
            || b.with(context, |b| div(grad, b)),
            || {
                a.with(context, |a| {
                    b.with(context, |b| {
                        let slope = div(&div(a, b)?, b)?;
                        mul(&neg(grad)?, &slope)
                    })
                })
            },
        )
    }
}

/// `a / b`.
///
/// # Errors
/// If the operands do not go together.
pub fn div<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    div_with(a, b, Rounding::None)
}

/// `a / b`, rounded.
///
/// # Errors
/// If the operands do not go together, or if an integer is divided by zero.
pub fn div_with<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>, rounding: Rounding) -> Result<Tensor> {
    static OP: Op = Op::new("aten::div", "Tensor");
    let (a, b) = (a.into(), b.into());
    let out = OP.run(&[a.into(), b.into()], || div_into(a, b, rounding, None))?;
    track(node_name(rounding), [a.tensor(), b.tensor()], &out, || {
        div_rule(saved_for(a, b), SavedOperand::new(b), rounding)
    })?;
    Ok(out)
}

/// `a /= b`.
///
/// # Errors
/// As for [`div`], and if `a` may not be changed.
pub fn div_<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>, rounding: Rounding) -> Result<Tensor> {
    static OP: Op = Op::new("aten::div_", "Tensor");
    let b = b.into();
    check_in_place(a)?;
    let original = original(a, b)?;
    OP.run(&[a.into(), b.into()], || div_into(a.into(), b, rounding, Some(a)))?;
    track_in_place(node_name(rounding), [Some(a), b.tensor()], a, || {
        div_rule(saved_original(original.as_ref()), SavedOperand::new(b), rounding)
    })?;
    Ok(a.clone())
}

/// `a` divided by `b`, rounded down.
///
/// # Errors
/// As for [`div_with`].
pub fn floor_divide<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::floor_divide", "");
    let (a, b) = (a.into(), b.into());
    let out = OP.run(&[a.into(), b.into()], || div_into(a, b, Rounding::Floor, None))?;
    // It has steps only: its gradient is nothing.
    Ok(out)
}

/// `a //= b`.
///
/// # Errors
/// As for [`floor_divide`], and if `a` may not be changed.
pub fn floor_divide_<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::floor_divide_", "Tensor");
    let b = b.into();
    let into = || div_into(a.into(), b, Rounding::Floor, Some(a));
    change(&OP, &[a.into(), b.into()], a, |x| floor_divide(x, b), into)
}
