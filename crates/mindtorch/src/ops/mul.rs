//! Products, number by number.

use super::binary::{SavedOperand, Types, both, compute, original, saved_for, saved_original, tensor_first};
use super::operand::Operand;
use crate::Tensor;
use crate::autograd::{Context, check_in_place, track, track_in_place};
use crate::dispatch::Op;
use crate::error::Result;
use crate::kernels::pointwise as kernel;

fn mul_rule(a: SavedOperand, b: SavedOperand) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> {
    move |context, grad| both(context, || b.with(context, |b| mul(grad, b)), || a.with(context, |a| mul(grad, a)))
}

/// `a * b`.
///
/// # Errors
/// If the operands do not go together.
pub fn mul<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::mul", "Tensor");
    let (a, b) = tensor_first(a.into(), b.into());
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
        mul_rule(saved_original(original.as_ref()), saved_for(b, a.into()))
    })?;
    Ok(a.clone())
}
