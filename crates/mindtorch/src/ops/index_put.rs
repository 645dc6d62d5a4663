//! Writing to what tensors index.

use super::index::{Indexed, SavedIndices};
use super::update::Form;
use super::{clone, index, is_expandable_to, to, zeros};
use crate::Tensor;
use crate::autograd::Context;
use crate::dispatch::{Arg, Op};
use crate::error::{Result, ensure};
use crate::kernels::update::Update;
use crate::shape::list;

/// Writes to the part of `target` that the indices select.
fn put(target: &Tensor, indices: &[Option<Tensor>], values: &Tensor, accumulate: bool) -> Result<()> {
    ensure!(
        values.dtype() == target.dtype(),
        Runtime,
        "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source.",
        target.dtype().scalar_type(),
        values.dtype().scalar_type()
    );
    let values = if values.ndim() == 0 { to(values, None, Some(target.device()), false)? } else { values.alias() };
    super::same_device(&[target, &values])?;
    let indexed = Indexed::new(target, indices)?;
    ensure!(
        is_expandable_to(values.shape(), &indexed.shape),
        Runtime,
        "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}",
        list(values.shape()),
        list(&indexed.shape)
    );
    indexed.write("index_put", &values, if accumulate { Update::Add } else { Update::Replace })
}

fn rule(
    indices: &[Option<Tensor>],
    accumulate: bool,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> + use<> {
    let indices = SavedIndices::new(indices);
    move |context, grad| {
        let indices = indices.get(context)?;
        let target = match (context.needs(0), accumulate) {
            (false, _) => None,
            (true, true) => Some(grad.clone()),
            (true, false) => Some(index_put(grad, &indices, &zeros(&[], grad.dtype(), grad.device())?, false)?),
        };
        Ok([target, if context.needs(1) { Some(index(grad, &indices)?) } else { None }])
    }
}

fn args<'a>(tensor: &'a Tensor, values: &'a Tensor, accumulate: bool) -> [Arg<'a>; 4] {
    [tensor.into(), Arg::None, values.into(), Arg::Bool(accumulate)]
}

static IMPL: Op = Op::new("aten::_index_put_impl_", "");

/// [`index_put_`] as other operations use it: for the gradient of an index.
pub(super) fn index_put_impl_(
    target: &Tensor,
    indices: &[Option<Tensor>],
    values: &Tensor,
    accumulate: bool,
) -> Result<Tensor> {
    let args = args(target, values, accumulate);
    let out = Form::InPlace.run(&IMPL, &args, target, |target| put(target, indices, values, accumulate))?;
    Form::InPlace.track("IndexPutImplBackward0", [Some(target), Some(values)], &out, || rule(indices, accumulate))?;
    Ok(out)
}

/// `target[indices] = values`, or `+=` to accumulate, which adds as often as a place is indexed. For indices, see
/// [`index`].
///
/// # Errors
/// If the indices do not fit the tensor or each other, if the values cannot be expanded to what they select, or if the
/// tensor may not be changed.
pub fn index_put_(target: &Tensor, indices: &[Option<Tensor>], values: &Tensor, accumulate: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::index_put_", "");
    let args = args(target, values, accumulate);
    let out =
        Form::InPlace.run(&OP, &args, target, |target| IMPL.run(&args, || put(target, indices, values, accumulate)))?;
    Form::InPlace.track("IndexPutBackward0", [Some(target), Some(values)], &out, || rule(indices, accumulate))?;
    Ok(out)
}

/// [`index_put_`] in a copy.
///
/// # Errors
/// As for [`index_put_`].
pub fn index_put(input: &Tensor, indices: &[Option<Tensor>], values: &Tensor, accumulate: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::index_put", "");
    let out = OP.run(&args(input, values, accumulate), || index_put_(&clone(input)?, indices, values, accumulate))?;
    Form::Copy.track("IndexPutBackward0", [Some(input), Some(values)], &out, || rule(indices, accumulate))?;
    Ok(out)
}
