//! Operations on two tensors, or a tensor and a number, number by number.

use super::operand::{Operand, check_target, common_device, common_shape, on_device, result_type};
use super::{clone, log, neg, ones_like, r#where, zeros_like};
use crate::Tensor;
use crate::autograd::{Context, Saved, check_in_place, mode, track, track_in_place};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{ComputeType, DType, Scalar, default_dtype};
use crate::error::{Result, bail, ensure};
use crate::kernels::pointwise as kernel;

/// How the type of a result follows from that of the operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Types {
    /// It is the same.
    Same,
    /// It is a float.
    Float,
    /// It is a truth, whatever is compared.
    Truth,
}

impl Types {
    /// The type to compute in, and that of the result.
    pub(super) fn of(self, common: DType) -> (DType, DType) {
        match self {
            Self::Same => (common, common),
            Self::Float if common.is_float() => (common, common),
            Self::Float => (default_dtype(), default_dtype()),
            Self::Truth => (common, DType::Bool),
        }
    }
}

/// Computes into `out`, or into a new tensor.
pub(super) fn compute(
    name: &'static str,
    [a, b]: [Operand<'_>; 2],
    types: Types,
    out: Option<&Tensor>,
    kernel: impl Fn(ComputeType, &Tensor, Operand<'_>, Operand<'_>) + Copy + Send + 'static,
) -> Result<Tensor> {
    // Most operands are alike, and then there is nothing to find out.
    if let (Operand::Tensor(a), Operand::Tensor(b), None) = (a, b, out)
        && a.dtype() == b.dtype()
        && a.shape() == b.shape()
        && a.device() == b.device()
    {
        let (common, result) = types.of(a.dtype());
        let compute = common.compute();
        let out = Tensor::allocate(a.shape(), result, a.device())?;
        launch(name, [&out, a, b], move |[out, a, b]| kernel(compute, out, a.into(), b.into()))?;
        return Ok(out);
    }
    let (common, result) = types.of(result_type(&[a, b]));
    let device = common_device(&[a, b])?;
    let shape = common_shape(&[a, b])?;
    let out = match out {
        Some(out) => {
            check_target(out, &shape, result)?;
            out.clone()
        }
        None => Tensor::allocate(&shape, result, device)?,
    };
    let compute = common.compute();
    match (on_device(a, device)?, on_device(b, device)?) {
        (Operand::Tensor(a), Operand::Tensor(b)) => {
            launch(name, [&out, a, b], move |[out, a, b]| kernel(compute, out, a.into(), b.into()))?;
        }
        (Operand::Tensor(a), Operand::Scalar(b)) => {
            launch(name, [&out, a], move |[out, a]| kernel(compute, out, a.into(), b.into()))?;
        }
        (Operand::Scalar(a), Operand::Tensor(b)) => {
            launch(name, [&out, b], move |[out, b]| kernel(compute, out, a.into(), b.into()))?;
        }
        (Operand::Scalar(a), Operand::Scalar(b)) => {
            launch(name, [&out], move |[out]| kernel(compute, out, a.into(), b.into()))?;
        }
    }
    Ok(out)
}

/// An operand, as the backward pass needs it.
pub(super) enum SavedOperand {
    Tensor(Saved),
    Scalar(Scalar),
}

impl SavedOperand {
    pub(super) fn new(operand: Operand<'_>) -> Self {
        match operand {
            Operand::Tensor(tensor) => Self::Tensor(Saved::new(tensor)),
            Operand::Scalar(scalar) => Self::Scalar(scalar),
        }
    }

    /// Calls `with` with the operand, if it is what it was.
    pub(super) fn with<R>(&self, context: &Context<'_>, with: impl FnOnce(Operand<'_>) -> Result<R>) -> Result<R> {
        match self {
            Self::Tensor(saved) => with(Operand::Tensor(&saved.get(context)?)),
            Self::Scalar(scalar) => with(Operand::Scalar(*scalar)),
        }
    }
}

/// The gradients of two inputs, each computed only if someone needs it.
pub(super) fn both(
    context: &Context<'_>,
    first: impl FnOnce() -> Result<Tensor>,
    second: impl FnOnce() -> Result<Tensor>,
) -> Result<[Option<Tensor>; 2]> {
    Ok([if context.needs(0) { Some(first()?) } else { None }, if context.needs(1) { Some(second()?) } else { None }])
}

/// The target of an in-place operation, as it was, if the gradient of the other operand needs it.
fn original(target: &Tensor, other: Operand<'_>) -> Result<Option<Tensor>> {
    let needed = mode::is_recording() && other.tensor().is_some_and(Tensor::requires_grad);
    if needed { Ok(Some(clone(&super::detach(target)?)?)) } else { Ok(None) }
}

fn is_one(alpha: Scalar) -> bool {
    alpha.to_f64() == 1.0
}

fn scale(grad: &Tensor, alpha: Scalar) -> Result<Tensor> {
    if is_one(alpha) { Ok(grad.clone()) } else { mul(grad, alpha) }
}

fn check_alpha(a: Operand<'_>, b: Operand<'_>, alpha: Scalar) -> Result<()> {
    let common = result_type(&[a, b]);
    ensure!(
        common.is_float() || !matches!(alpha, Scalar::Float(_)),
        Runtime,
        "For integral input tensors, argument alpha must not be a floating point number."
    );
    ensure!(
        common == DType::Bool || !matches!(alpha, Scalar::Bool(_)),
        Runtime,
        "Boolean alpha only supported for Boolean results."
    );
    Ok(())
}

fn add_into(a: Operand<'_>, b: Operand<'_>, alpha: Scalar, out: Option<&Tensor>) -> Result<Tensor> {
    if is_one(alpha) {
        return compute("add", [a, b], Types::Same, out, kernel::add);
    }
    check_alpha(a, b, alpha)?;
    let kernel =
        move |compute, out: &Tensor, a: Operand<'_>, b: Operand<'_>| kernel::add_scaled(compute, out, a, b, alpha);
    compute("add", [a, b], Types::Same, out, kernel)
}

/// `a + alpha * b`.
///
/// # Errors
/// If the operands do not go together.
pub fn add<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::add", "Tensor");
    let (a, b) = (a.into(), b.into());
    let out = OP.run(&[a.into(), b.into(), alpha.into()], || add_into(a, b, alpha, None))?;
    track("AddBackward0", [a.tensor(), b.tensor()], &out, || {
        move |context: &Context<'_>, grad: &Tensor| both(context, || Ok(grad.clone()), || scale(grad, alpha))
    })?;
    Ok(out)
}

/// `a += alpha * b`.
///
/// # Errors
/// As for [`add`], and if `a` may not be changed.
pub fn add_<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::add_", "Tensor");
    let b = b.into();
    check_in_place(a)?;
    OP.run(&[a.into(), b.into(), alpha.into()], || add_into(a.into(), b, alpha, Some(a)))?;
    track_in_place("AddBackward0", [Some(a), b.tensor()], a, || {
        move |context: &Context<'_>, grad: &Tensor| both(context, || Ok(grad.clone()), || scale(grad, alpha))
    })?;
    Ok(a.clone())
}

fn check_sub(a: Operand<'_>, b: Operand<'_>) -> Result<()> {
    let is_bool = |operand: Operand<'_>| match operand {
        Operand::Tensor(tensor) => tensor.dtype() == DType::Bool,
        Operand::Scalar(scalar) => matches!(scalar, Scalar::Bool(_)),
    };
    if is_bool(a) && is_bool(b) {
        bail!(
            Runtime,
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator \
             instead."
        );
    }
    if is_bool(a) || is_bool(b) {
        bail!(
            Runtime,
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the \
             `~` or `logical_not()` operator instead."
        );
    }
    Ok(())
}

fn sub_into(a: Operand<'_>, b: Operand<'_>, alpha: Scalar, out: Option<&Tensor>) -> Result<Tensor> {
    check_sub(a, b)?;
    if is_one(alpha) {
        return compute("sub", [a, b], Types::Same, out, kernel::sub);
    }
    check_alpha(a, b, alpha)?;
    let minus = negated(alpha);
    let kernel =
        move |compute, out: &Tensor, a: Operand<'_>, b: Operand<'_>| kernel::add_scaled(compute, out, a, b, minus);
    compute("sub", [a, b], Types::Same, out, kernel)
}

fn negated(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Float(value) => Scalar::Float(-value),
        scalar => Scalar::Int(scalar.to_i64().wrapping_neg()),
    }
}

fn sub_rule(alpha: Scalar) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> {
    move |context, grad| {
        both(context, || Ok(grad.clone()), || if is_one(alpha) { neg(grad) } else { mul(grad, negated(alpha)) })
    }
}

/// `a - alpha * b`.
///
/// # Errors
/// If the operands do not go together.
pub fn sub<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::sub", "Tensor");
    let (a, b) = (a.into(), b.into());
    let out = OP.run(&[a.into(), b.into(), alpha.into()], || sub_into(a, b, alpha, None))?;
    track("SubBackward0", [a.tensor(), b.tensor()], &out, || sub_rule(alpha))?;
    Ok(out)
}

/// `a -= alpha * b`.
///
/// # Errors
/// As for [`sub`], and if `a` may not be changed.
pub fn sub_<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::sub_", "Tensor");
    let b = b.into();
    check_in_place(a)?;
    OP.run(&[a.into(), b.into(), alpha.into()], || sub_into(a.into(), b, alpha, Some(a)))?;
    track_in_place("SubBackward0", [Some(a), b.tensor()], a, || sub_rule(alpha))?;
    Ok(a.clone())
}

/// `b - alpha * a`, as torch calls a number minus a tensor.
///
/// # Errors
/// If the operands do not go together.
pub fn rsub<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::rsub", "Scalar");
    let b = b.into();
    OP.compose(&[a.into(), b.into(), alpha.into()], || sub(b, a, alpha))
}

fn mul_rule(a: SavedOperand, b: SavedOperand) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> {
    move |context, grad| both(context, || b.with(context, |b| mul(grad, b)), || a.with(context, |a| mul(grad, a)))
}

/// Saves an operand only if the gradient of the other is needed.
fn saved_for(operand: Operand<'_>, other: Operand<'_>) -> SavedOperand {
    if other.tensor().is_some_and(Tensor::requires_grad) {
        SavedOperand::new(operand)
    } else {
        SavedOperand::Scalar(Scalar::Int(0))
    }
}

/// `a * b`.
///
/// # Errors
/// If the operands do not go together.
pub fn mul<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::mul", "Tensor");
    let (a, b) = (a.into(), b.into());
    let out = OP.run(&[a.into(), b.into()], || compute("mul", [a, b], Types::Same, None, kernel::mul))?;
    track("MulBackward0", [a.tensor(), b.tensor()], &out, || mul_rule(saved_for(a, b), saved_for(b, a)))?;
    Ok(out)
}

/// `a *= b`.
///
/// # Errors
/// As for [`mul`], and if `a` may not be changed.
pub fn mul_<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::mul_", "Tensor");
    let b = b.into();
    check_in_place(a)?;
    let original = original(a, b)?;
    OP.run(&[a.into(), b.into()], || compute("mul", [a.into(), b], Types::Same, Some(a), kernel::mul))?;
    track_in_place("MulBackward0", [Some(a), b.tensor()], a, || {
        let first =
            original.as_ref().map_or(SavedOperand::Scalar(Scalar::Int(0)), |first| SavedOperand::new(first.into()));
        mul_rule(first, saved_for(b, a.into()))
    })?;
    Ok(a.clone())
}

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
fn check_not_bool(name: &str, a: Operand<'_>, b: Operand<'_>) -> Result<()> {
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
            || a.with(context, |a| b.with(context, |b| mul(&neg(grad)?, &div(&div(a, b)?, b)?))),
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
    track("DivBackward0", [a.tensor(), b.tensor()], &out, || {
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
    track_in_place("DivBackward0", [Some(a), b.tensor()], a, || {
        let first =
            original.as_ref().map_or(SavedOperand::Scalar(Scalar::Int(0)), |first| SavedOperand::new(first.into()));
        div_rule(first, SavedOperand::new(b), rounding)
    })?;
    Ok(a.clone())
}

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
    if matches!(b, Operand::Tensor(_)) {
        check_not_bool("pow", a, b)?;
    }
    if let Operand::Scalar(exponent) = b {
        ensure!(
            result_type(&[a, b]).is_float() || exponent.to_f64() >= 0.0,
            Runtime,
            "Integers to negative integer powers are not allowed."
        );
    }
    let out = op.run(&[a.into(), b.into()], || match b {
        // The powers that people use need no logarithm.
        Operand::Scalar(exponent) if exponent.to_f64() == 2.0 && result_type(&[a, b]) == result_type(&[a]) => {
            compute("pow", [a, a], Types::Same, None, kernel::mul)
        }
        _ => compute("pow", [a, b], Types::Same, None, kernel::pow),
    })?;
    track("PowBackward0", [a.tensor(), b.tensor()], &out, || {
        let (a, b, result) = (SavedOperand::new(a), SavedOperand::new(b), Saved::output(&out));
        move |context: &Context<'_>, grad: &Tensor| {
            both(
                context,
                || a.with(context, |a| b.with(context, |b| pow_base_grad(grad, a, b))),
                || a.with(context, |a| b.with(context, |b| pow_exponent_grad(grad, a, b, &result.get(context)?))),
            )
        }
    })?;
    Ok(out)
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
            let is_zero = super::eq(exponent, Scalar::Int(0))?;
            r#where(&is_zero, Scalar::Float(0.0), &mul(grad, &slope)?)
        }
    }
}

fn pow_exponent_grad(grad: &Tensor, a: Operand<'_>, b: Operand<'_>, result: &Tensor) -> Result<Tensor> {
    let base = match a {
        Operand::Tensor(base) => base.clone(),
        Operand::Scalar(base) => mul(&ones_like(result)?, base)?,
    };
    // 0 to any positive power stays 0.
    let flat = super::logical_and(&super::eq(&base, Scalar::Int(0))?, &super::ge_of(b, Scalar::Int(0))?)?;
    r#where(&flat, Scalar::Float(0.0), &mul(grad, &mul(result, &log(&base)?)?)?)
}

/// An operation on two operands that is the same for every one of a family.
macro_rules! binary_ops {
    ($($(#[$doc:meta])* $name:ident: $aten:literal, $kernel:ident, $types:ident, $backward:literal => $rule:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// If the operands do not go together.
        pub fn $name<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
            static OP: Op = Op::new($aten, "Tensor");
            let (a, b) = (a.into(), b.into());
            let args: [Arg<'_>; 2] = [a.into(), b.into()];
            let out = OP.run(&args, || compute(stringify!($name), [a, b], Types::$types, None, kernel::$kernel))?;
            track($backward, [a.tensor(), b.tensor()], &out, || {
                let (a, b) = (SavedOperand::new(a), SavedOperand::new(b));
                move |context: &Context<'_>, grad: &Tensor| {
                    let rule: fn(&Context<'_>, &Tensor, Operand<'_>, Operand<'_>) -> Result<[Option<Tensor>; 2]> = $rule;
                    a.with(context, |a| b.with(context, |b| rule(context, grad, a, b)))
                }
            })?;
            Ok(out)
        }
    )*};
}

binary_ops! {
    /// The larger of two numbers; NaN if one is.
    maximum: "aten::maximum", maximum, Same, "MaximumBackward0" => |context, grad, a, b| extremum_grad(context, grad, a, b, |a, b| super::lt(a, b));
    /// The smaller of two numbers; NaN if one is.
    minimum: "aten::minimum", minimum, Same, "MinimumBackward0" => |context, grad, a, b| extremum_grad(context, grad, a, b, |a, b| super::gt(a, b));
    /// The remainder of a division that rounds down, as Python's `%`.
    remainder: "aten::remainder", remainder, Same, "RemainderBackward0" => |context, grad, a, b| {
        both(context, || Ok(grad.clone()), || mul(&neg(grad)?, &div_with(a, b, Rounding::Floor)?))
    };
    /// The remainder of a division that rounds towards zero, as C's.
    fmod: "aten::fmod", fmod, Same, "FmodBackward0" => |context, grad, a, b| {
        both(context, || Ok(grad.clone()), || mul(&neg(grad)?, &div_with(a, b, Rounding::Trunc)?))
    };
    /// The angle of a point.
    atan2: "aten::atan2", atan2, Float, "Atan2Backward0" => |context, grad, a, b| {
        let length = add(&mul(a, a)?, &mul(b, b)?, 1.into())?;
        let part = div(grad, &length)?;
        both(context, || mul(&part, b), || mul(&neg(&part)?, a))
    };
}

/// Where both are equal, each gets half of the gradient; `loses` says where the first gets nothing.
fn extremum_grad(
    context: &Context<'_>,
    grad: &Tensor,
    a: Operand<'_>,
    b: Operand<'_>,
    loses: fn(Operand<'_>, Operand<'_>) -> Result<Tensor>,
) -> Result<[Option<Tensor>; 2]> {
    let shared = r#where(&super::eq(a, b)?, &mul(grad, Scalar::Float(0.5))?, grad)?;
    both(
        context,
        || r#where(&loses(a, b)?, Scalar::Int(0), &shared),
        || r#where(&loses(b, a)?, Scalar::Int(0), &shared),
    )
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
