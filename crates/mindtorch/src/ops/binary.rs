//! Operations on two tensors, or a tensor and a number, number by number.

use super::operand::{Operand, check_target, common_device, common_shape, on_device, result_type};
use super::{Rounding, add, clone, div, div_with, mul, neg, r#where};
use crate::Tensor;
use crate::autograd::{Context, Saved, check_in_place, mode, track, track_in_place};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{ComputeType, DType, Scalar, default_dtype};
use crate::error::Result;
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

/// The operands of an operation that does not mind their order: a number behind a tensor, as torch has them.
pub(super) fn tensor_first<'a>(a: Operand<'a>, b: Operand<'a>) -> (Operand<'a>, Operand<'a>) {
    if a.tensor().is_none() && b.tensor().is_some() { (b, a) } else { (a, b) }
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

/// The gradients of two inputs, each computed only if someone needs it. The second comes first, as in torch, which goes by
/// the names of the inputs: `other`, `self`.
pub(super) fn both(
    context: &Context<'_>,
    first: impl FnOnce() -> Result<Tensor>,
    second: impl FnOnce() -> Result<Tensor>,
) -> Result<[Option<Tensor>; 2]> {
    let second = if context.needs(1) { Some(second()?) } else { None };
    Ok([if context.needs(0) { Some(first()?) } else { None }, second])
}

/// The target of an in-place operation, as it was, if the gradient of the other operand needs it.
pub(super) fn original(target: &Tensor, other: Operand<'_>) -> Result<Option<Tensor>> {
    let needed = mode::is_recording() && other.tensor().is_some_and(Tensor::requires_grad);
    if needed { Ok(Some(clone(&super::detach(target)?)?)) } else { Ok(None) }
}

/// [`original`], as the backward pass needs it; nobody asks for it if there is none.
pub(super) fn saved_original(original: Option<&Tensor>) -> SavedOperand {
    original.map_or(SavedOperand::Scalar(Scalar::Int(0)), |original| SavedOperand::new(original.into()))
}

/// Saves an operand only if the gradient of the other is needed.
pub(super) fn saved_for(operand: Operand<'_>, other: Operand<'_>) -> SavedOperand {
    if other.tensor().is_some_and(Tensor::requires_grad) {
        SavedOperand::new(operand)
    } else {
        SavedOperand::Scalar(Scalar::Int(0))
    }
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

/// The same in place, for some of them.
macro_rules! binary_ops_in_place {
    ($($name:ident: $aten:literal, $kernel:ident, $backward:literal => $rule:expr;)*) => {$(
        /// The same in place.
        ///
        /// # Errors
        /// If the operands do not go together, or if the first may not be changed.
        pub fn $name<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>) -> Result<Tensor> {
            static OP: Op = Op::new($aten, "Tensor");
            let b = b.into();
            check_in_place(a)?;
            let original = original(a, b)?;
            OP.run(&[a.into(), b.into()], || {
                compute(stringify!($kernel), [a.into(), b], Types::Same, Some(a), kernel::$kernel)
            })?;
            track_in_place($backward, [Some(a), b.tensor()], a, || {
                let first = saved_original(original.as_ref());
                let b = SavedOperand::new(b);
                move |context: &Context<'_>, grad: &Tensor| {
                    first.with(context, |a| b.with(context, |b| $rule(context, grad, a, b)))
                }
            })?;
            Ok(a.clone())
        }
    )*};
}

binary_ops_in_place! {
    remainder_: "aten::remainder_", remainder, "RemainderBackward1" => remainder_grad;
    fmod_: "aten::fmod_", fmod, "FmodBackward1" => fmod_grad;
}

fn remainder_grad(context: &Context<'_>, grad: &Tensor, a: Operand<'_>, b: Operand<'_>) -> Result<[Option<Tensor>; 2]> {
    both(
        context,
        || Ok(grad.clone()),
        || {
            let quotient = div_with(a, b, Rounding::Floor)?;
            mul(&neg(grad)?, &quotient)
        },
    )
}

fn fmod_grad(context: &Context<'_>, grad: &Tensor, a: Operand<'_>, b: Operand<'_>) -> Result<[Option<Tensor>; 2]> {
    both(
        context,
        || Ok(grad.clone()),
        || {
            let quotient = div_with(a, b, Rounding::Trunc)?;
            mul(&neg(grad)?, &quotient)
        },
    )
}

binary_ops! {
    /// The larger of two numbers; NaN if one is.
    maximum: "aten::maximum", maximum, Same, "MaximumBackward0" => |context, grad, a, b| extremum_grad(context, grad, a, b, |a, b| super::lt(a, b));
    /// The smaller of two numbers; NaN if one is.
    minimum: "aten::minimum", minimum, Same, "MinimumBackward0" => |context, grad, a, b| extremum_grad(context, grad, a, b, |a, b| super::gt(a, b));
    /// The remainder of a division that rounds down, as Python's `%`.
    remainder: "aten::remainder", remainder, Same, "RemainderBackward1" => remainder_grad;
    /// The remainder of a division that rounds towards zero, as C's.
    fmod: "aten::fmod", fmod, Same, "FmodBackward1" => fmod_grad;
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
