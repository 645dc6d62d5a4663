//! Sums and differences.

use super::binary::{Types, both, compute, tensor_first};
use super::operand::{Operand, result_type};
use super::{mul, neg};
use crate::Tensor;
use crate::autograd::{Context, check_in_place, track, track_in_place};
use crate::dispatch::Op;
use crate::dtype::{DType, Scalar};
use crate::error::{Result, bail, ensure};
use crate::kernels::pointwise as kernel;

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
    let (a, b) = if alpha.to_f64() == 1.0 { tensor_first(a, b) } else { (a, b) };
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

/// `-alpha * grad`.
fn opposite(grad: &Tensor, alpha: Scalar) -> Result<Tensor> {
    if is_one(alpha) { neg(grad) } else { mul(grad, negated(alpha)) }
}

fn sub_rule(alpha: Scalar) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> {
    move |context, grad| both(context, || Ok(grad.clone()), || opposite(grad, alpha))
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
    static SCALAR: Op = Op::new("aten::rsub", "Scalar");
    static TENSOR: Op = Op::new("aten::rsub", "Tensor");
    let b = b.into();
    let (op, name) = if b.tensor().is_some() { (&TENSOR, "RsubBackward0") } else { (&SCALAR, "RsubBackward1") };
    let out = op.run(&[a.into(), b.into(), alpha.into()], || sub(b, a, alpha))?;
    track(name, [Some(a), b.tensor()], &out, || {
        move |context: &Context<'_>, grad: &Tensor| both(context, || opposite(grad, alpha), || Ok(grad.clone()))
    })?;
    Ok(out)
}
