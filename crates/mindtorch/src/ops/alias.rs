//! Operations by their other names: the profiler shows both, as in torch.

use super::{Operand, Rounding, cat, clamp, div_with, expand, maximum, minimum, mul, reshape, sub, transpose, view};
use crate::Tensor;
use crate::dispatch::{Arg, Op};
use crate::dtype::Scalar;
use crate::error::Result;

fn sizes(tensor: &Tensor) -> Vec<i64> {
    tensor.shape().iter().map(|&size| size as i64).collect()
}

/// [`sub`].
///
/// # Errors
/// As for [`sub`].
pub fn subtract(a: Operand<'_>, b: Operand<'_>, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::subtract", "Tensor");
    OP.compose(&[a.into(), b.into(), alpha.into()], || sub(a, b, alpha))
}

/// [`mul`].
///
/// # Errors
/// As for [`mul`].
pub fn multiply(a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::multiply", "Tensor");
    OP.compose(&[a.into(), b.into()], || mul(a, b))
}

/// [`div_with`].
///
/// # Errors
/// As for [`div_with`].
pub fn divide(a: Operand<'_>, b: Operand<'_>, rounding: Rounding) -> Result<Tensor> {
    static OP: Op = Op::new("aten::divide", "Tensor");
    OP.compose(&[a.into(), b.into()], || div_with(a, b, rounding))
}

/// [`div_with`], not rounded.
///
/// # Errors
/// As for [`div_with`].
pub fn true_divide(a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::true_divide", "Tensor");
    OP.compose(&[a.into(), b.into()], || div_with(a, b, Rounding::None))
}

/// [`clamp`].
///
/// # Errors
/// As for [`clamp`].
pub fn clip<'a>(x: &'a Tensor, low: Option<Operand<'a>>, high: Option<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::clip", "");
    let bound = |bound: Option<Operand<'a>>| bound.map_or(Arg::None, Into::into);
    OP.compose(&[x.into(), bound(low), bound(high)], || clamp(x, low, high))
}

/// [`maximum`], as `max` of two tensors.
///
/// # Errors
/// As for [`maximum`].
pub fn max_of_two(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::max", "other");
    OP.compose(&[a.into(), b.into()], || maximum(a, b))
}

/// [`minimum`], as `min` of two tensors.
///
/// # Errors
/// As for [`minimum`].
pub fn min_of_two(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::min", "other");
    OP.compose(&[a.into(), b.into()], || minimum(a, b))
}

/// [`view`] in the shape of another.
///
/// # Errors
/// As for [`view`].
pub fn view_as(tensor: &Tensor, other: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::view_as", "");
    OP.compose(&[tensor.into(), other.into()], || view(tensor, &sizes(other)))
}

/// [`reshape`] to the shape of another.
///
/// # Errors
/// As for [`reshape`].
pub fn reshape_as(tensor: &Tensor, other: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::reshape_as", "");
    OP.compose(&[tensor.into(), other.into()], || reshape(tensor, &sizes(other)))
}

/// [`expand`] to the shape of another.
///
/// # Errors
/// As for [`expand`].
pub fn expand_as(tensor: &Tensor, other: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::expand_as", "");
    OP.compose(&[tensor.into(), other.into()], || expand(tensor, &sizes(other)))
}

/// [`expand`].
///
/// # Errors
/// As for [`expand`].
pub fn broadcast_to(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::broadcast_to", "");
    OP.compose(&[tensor.into(), Arg::Ints(shape)], || expand(tensor, shape))
}

/// [`transpose`].
///
/// # Errors
/// As for [`transpose`].
pub fn swapaxes(tensor: &Tensor, first: i64, second: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::swapaxes", "");
    OP.compose(&[tensor.into(), Arg::Int(first), Arg::Int(second)], || transpose(tensor, first, second))
}

/// [`cat`].
///
/// # Errors
/// As for [`cat`].
pub fn concat(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::concat", "");
    OP.compose(&[Arg::Tensors(tensors), Arg::Int(dim)], || cat(tensors, dim))
}
