//! Indices of a dimension that a list selects, and sums that are added to them.

use super::binary::both;
use super::index::Indexed;
use super::update::Form;
use super::{mul, new_zeros, reshape, same_device, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, bail, ensure};
use crate::kernels::update::Update;
use crate::shape::{Dims, list, wrap_dim};

fn is_index(dtype: DType) -> bool {
    matches!(dtype, DType::Int64 | DType::Int32)
}

/// The indices of a dimension that are in the list, in its order.
///
/// # Errors
/// If the index is no list of integers, or if one does not exist.
pub fn index_select(input: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::index_select", "");
    let out = OP.run(&[input.into(), Arg::Int(dim), index.into()], || {
        let place = wrap_dim(dim, input.ndim())?;
        same_device(&[input, index])?;
        ensure!(index.ndim() <= 1, Index, "index_select(): Index is supposed to be a vector");
        ensure!(is_index(index.dtype()), Runtime, "index_select(): Expected dtype int32 or int64 for index");
        ensure!(
            input.ndim() > 0 || index.numel() == 1,
            Runtime,
            "index_select(): Index to scalar can have only 1 value, got {} value(s)",
            index.numel()
        );
        let indexed = Indexed::along(input, place, index, false)?;
        ensure!(indexed.first_outside().is_none(), Index, "index out of range in self");
        let out = indexed.pick("index_select")?;
        if input.ndim() == 0 { reshape(&out, &[]) } else { Ok(out) }
    })?;
    track("IndexSelectBackward0", [input], &out, || {
        let (shape, index) = (Dims::from(input.shape()), Saved::new(index));
        move |context: &Context<'_>, grad: &Tensor| {
            Ok([Some(index_select_backward(grad, &shape, dim, &index.get(context)?)?)])
        }
    })?;
    Ok(out)
}

fn index_select_backward(grad: &Tensor, shape: &[usize], dim: i64, index: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::index_select_backward", "");
    OP.compose(&[grad.into(), Arg::Sizes(shape), Arg::Int(dim), index.into()], || {
        index_add_(&new_zeros(grad, shape)?, dim, index, grad, Scalar::Int(1))
    })
}

fn check_index_add(target: &Tensor, dim: usize, index: &Tensor, source: &Tensor) -> Result<()> {
    same_device(&[target, index, source])?;
    ensure!(
        index.ndim() <= 1,
        Index,
        "index_add_(): Index is supposed to be a vector, but got dim: {} with type: {} and size: {}",
        index.ndim(),
        index.dtype().scalar_type(),
        list(index.shape())
    );
    ensure!(
        is_index(index.dtype()),
        Runtime,
        "index_add_(): Expected dtype int32/int64 for index but got: {}",
        index.dtype().scalar_type()
    );
    ensure!(
        target.dtype() == source.dtype(),
        Runtime,
        "index_add_(): self ({}) and source ({}) must have the same scalar type",
        target.dtype().scalar_type(),
        source.dtype().scalar_type()
    );
    let count = source.shape().get(dim).copied().unwrap_or(1);
    ensure!(
        index.numel() == count,
        Runtime,
        "index_add_(): Number of indices ({}) should be equal to source.size(dim): ({count}), for dim: {dim}",
        index.numel()
    );
    let others = |tensor: &Tensor| -> Dims {
        let sizes = tensor.shape().iter().enumerate();
        sizes.filter(|&(other, _)| other != dim).map(|(_, &size)| size).collect()
    };
    ensure!(
        target.ndim() == source.ndim() && others(target) == others(source),
        Runtime,
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {} \
         source.shape = {}",
        list(target.shape()),
        list(source.shape())
    );
    Ok(())
}

fn index_add_as(
    form: Form,
    op: &'static Op,
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
    alpha: Scalar,
) -> Result<Tensor> {
    let args = [input.into(), Arg::Int(dim), index.into(), source.into(), alpha.into()];
    let out = form.run(op, &args, input, |target| {
        let dim = wrap_dim(dim, target.ndim())?;
        check_index_add(target, dim, index, source)?;
        let indexed = Indexed::along(target, dim, index, false)?;
        if let Some((bounds, index)) = indexed.first_outside() {
            bail!(Runtime, "{}", bounds.message(index));
        }
        let values = reshape(&scaled(source, alpha)?, &sizes(&indexed.shape))?;
        indexed.write("index_add", &values, Update::Add)
    })?;
    form.track("IndexAddBackward0", [Some(input), Some(source)], &out, || {
        let index = Saved::new(index);
        move |context: &Context<'_>, grad: &Tensor| {
            both(context, || Ok(grad.clone()), || scaled(&index_select(grad, dim, &index.get(context)?)?, alpha))
        }
    })?;
    Ok(out)
}

pub(super) fn sizes(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|&size| size as i64).collect()
}

/// Times a number, which is cut off to one of the tensor's type.
fn scaled(tensor: &Tensor, alpha: Scalar) -> Result<Tensor> {
    let alpha = if tensor.dtype().is_float() { alpha } else { Scalar::Int(alpha.to_i64()) };
    if alpha.to_f64() == 1.0 { Ok(tensor.clone()) } else { to_dtype(&mul(tensor, alpha)?, tensor.dtype()) }
}

/// A copy in which `alpha` times each index of `source` is added to the index of `input` that the list names for it.
///
/// # Errors
/// If the index is no list of integers, if one does not exist, or if the shapes do not fit.
pub fn index_add(input: &Tensor, dim: i64, index: &Tensor, source: &Tensor, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::index_add", "");
    index_add_as(Form::Copy, &OP, input, dim, index, source, alpha)
}

/// [`index_add`] in place.
///
/// # Errors
/// As for [`index_add`], and if the tensor may not be changed.
pub fn index_add_(target: &Tensor, dim: i64, index: &Tensor, source: &Tensor, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::index_add_", "");
    index_add_as(Form::InPlace, &OP, target, dim, index, source, alpha)
}
