//! Indices of a dimension that are replaced by others.

use super::binary::both;
use super::index::Indexed;
use super::index_select::sizes;
use super::update::Form;
use super::{index_fill, index_select, reshape, same_device};
use crate::Tensor;
use crate::autograd::{Context, Saved};
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, bail, ensure};
use crate::kernels::update::Update;
use crate::shape::wrap_dim;

fn check_index_copy(target: &Tensor, dim: usize, index: &Tensor, source: &Tensor) -> Result<()> {
    same_device(&[target, index, source])?;
    ensure!(index.ndim() <= 1, Index, "index_copy_(): Index should have dimension 1 or 0 (got {})", index.ndim());
    ensure!(
        index.dtype() == DType::Int64,
        Runtime,
        "index_copy_(): Expected a long tensor for index, but got {}",
        index.dtype().scalar_type()
    );
    ensure!(
        target.dtype() == source.dtype(),
        Runtime,
        "index_copy_(): self and source expected to have the same dtype, but got (self) {} and (source) {}",
        target.dtype().scalar_type(),
        source.dtype().scalar_type()
    );
    ensure!(
        source.ndim() > 0 || index.numel() == 1,
        Index,
        "index_copy_(): When source is scalar, index should have one element (got {})",
        index.numel()
    );
    ensure!(
        source.ndim() == target.ndim() || source.ndim() == 0 || target.ndim() == 0,
        Index,
        "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source \
         dimensionality ({}), destination dimensionality ({})",
        source.ndim(),
        target.ndim()
    );
    let slice = |tensor: &Tensor| -> Vec<String> {
        let sizes = tensor.shape().iter().enumerate();
        sizes.filter(|&(other, _)| other != dim).map(|(_, size)| size.to_string()).collect()
    };
    ensure!(
        slice(target) == slice(source),
        Runtime,
        "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: {} at \
         dimension {dim} and source slice shape: {} at dimension 0.",
        slice(target).join(" "),
        slice(source).join(" ")
    );
    let count = source.shape().get(dim).copied().unwrap_or(1);
    ensure!(
        index.numel() == count,
        Index,
        "index_copy_(): Number of indices ({}) should be equal to source.size(dim) ({count})",
        index.numel()
    );
    Ok(())
}

fn index_copy_as(
    form: Form,
    op: &'static Op,
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
) -> Result<Tensor> {
    let args = [input.into(), Arg::Int(dim), index.into(), source.into()];
    let out = form.run(op, &args, input, |target| {
        let dim = wrap_dim(dim, target.ndim())?;
        check_index_copy(target, dim, index, source)?;
        let indexed = Indexed::along(target, dim, index, false)?;
        if let Some((bounds, index)) = indexed.first_outside() {
            bail!(Index, "index_copy_(): {}", bounds.message(index));
        }
        indexed.write("index_copy", &reshape(source, &sizes(&indexed.shape))?, Update::Replace)
    })?;
    form.track("IndexCopyBackward0", [Some(input), Some(source)], &out, || {
        let (index, shape) = (Saved::new(index), sizes(source.shape()));
        move |context: &Context<'_>, grad: &Tensor| {
            let index = index.get(context)?;
            both(
                context,
                || index_fill(grad, dim, &index, Scalar::Int(0)),
                || reshape(&index_select(grad, dim, &index)?, &shape),
            )
        }
    })?;
    Ok(out)
}

/// A copy in which each index of `source` is at the index that the list names for it.
///
/// # Errors
/// If the index is no list of integers, if one does not exist, or if the shapes do not fit.
pub fn index_copy(input: &Tensor, dim: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::index_copy", "");
    index_copy_as(Form::Copy, &OP, input, dim, index, source)
}

/// [`index_copy`] in place.
///
/// # Errors
/// As for [`index_copy`], and if the tensor may not be changed.
pub fn index_copy_(target: &Tensor, dim: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::index_copy_", "");
    index_copy_as(Form::InPlace, &OP, target, dim, index, source)
}
