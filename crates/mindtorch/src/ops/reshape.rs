//! The same numbers in other shapes.

use super::clone_contiguous;
use super::view::{sizes, tracked};
use crate::Tensor;
use crate::autograd::{Context, track};
use crate::dispatch::{Arg, Op};
use crate::error::{Result, bail, ensure};
use crate::shape::{Dims, infer_size, list, view_strides, wrap_dim};

/// The same numbers in another shape, without a copy. One size may be -1.
///
/// # Errors
/// If the shape has another number of numbers, or if strides do not allow it.
pub fn view(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::view", "");
    let view = OP.run(&[tensor.into(), Arg::Ints(shape)], || viewed(tensor, shape))?;
    tracked("ViewBackward0", tensor, view, || {
        let shape = sizes(tensor);
        move |grad: &Tensor| reshape(grad, &shape)
    })
}

fn viewed(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let shape = infer_size(shape, tensor.numel())?;
    let Some(strides) = view_strides(tensor.shape(), tensor.strides(), &shape) else {
        bail!(
            Runtime,
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two \
             contiguous subspaces). Use .reshape(...) instead."
        )
    };
    Ok(tensor.window(shape, strides, tensor.offset()))
}

/// The same numbers in another shape, copied if strides do not allow it otherwise.
///
/// # Errors
/// If the shape has another number of numbers.
pub fn reshape(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::reshape", "");
    OP.compose(&[tensor.into(), Arg::Ints(shape)], || reshaped(tensor, shape))
}

/// What [`reshape`] does, for operations that are one themselves.
fn reshaped(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    if tensor.is_contiguous() {
        return view(tensor, shape);
    }
    let sizes = infer_size(shape, tensor.numel())?;
    match view_strides(tensor.shape(), tensor.strides(), &sizes) {
        Some(strides) => alias(tensor, sizes, strides),
        None => unsafe_view(&clone_contiguous(tensor)?, shape),
    }
}

/// A view whose strides were computed before.
fn alias(tensor: &Tensor, shape: Dims, strides: Dims) -> Result<Tensor> {
    static OP: Op = Op::new("aten::_reshape_alias", "");
    let args = [tensor.into(), Arg::Sizes(&shape.clone()), Arg::Sizes(&strides.clone())];
    let view = OP.run(&args, || Ok(tensor.window(shape, strides, tensor.offset())))?;
    tracked("ReshapeAliasBackward0", tensor, view, || {
        let shape = sizes(tensor);
        move |grad: &Tensor| reshape(grad, &shape)
    })
}

/// [`view`] of a tensor that nobody else has: the result is no view of anything.
pub(crate) fn unsafe_view(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::_unsafe_view", "");
    let view = OP.run(&[tensor.into(), Arg::Ints(shape)], || viewed(tensor, shape))?;
    track("UnsafeViewBackward0", [tensor], &view, || {
        let shape = sizes(tensor);
        move |_: &Context<'_>, grad: &Tensor| Ok([Some(reshape(grad, &shape)?)])
    })?;
    Ok(view)
}

/// Several dimensions as one.
///
/// # Errors
/// If the dimensions do not exist.
pub fn flatten(tensor: &Tensor, start: i64, end: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::flatten", "using_ints");
    OP.compose(&[tensor.into(), Arg::Int(start), Arg::Int(end)], || {
        let (start, end) = (wrap_dim(start, tensor.ndim())?, wrap_dim(end, tensor.ndim())?);
        ensure!(start <= end, Runtime, "flatten() has invalid args: start_dim cannot come after end_dim");
        if tensor.ndim() == 0 {
            return reshape(tensor, &[1]);
        }
        if start == end {
            return Ok(tensor.clone());
        }
        let mut shape = sizes(tensor);
        let joined = shape[start..=end].iter().product();
        shape.splice(start..=end, [joined]);
        reshaped(tensor, &shape)
    })
}

/// One dimension as several, one of which may be -1.
///
/// # Errors
/// If the sizes do not fit.
pub fn unflatten(tensor: &Tensor, dim: i64, shape: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::unflatten", "int");
    OP.compose(&[tensor.into(), Arg::Int(dim), Arg::Ints(shape)], || {
        let dim = wrap_dim(dim, tensor.ndim())?;
        ensure!(!shape.is_empty(), Runtime, "unflatten: sizes must be non-empty");
        let parts = infer_size(shape, tensor.shape()[dim]).map_err(|_| {
            crate::Error::new(
                crate::ErrorKind::Runtime,
                format!(
                    "unflatten: Provided sizes {} don't multiply up to the size of dim {dim} ({}) in the input tensor",
                    list(shape),
                    tensor.shape()[dim]
                ),
            )
        })?;
        let mut sizes = sizes(tensor);
        sizes.splice(dim..=dim, parts.iter().map(|&size| size as i64));
        view(tensor, &sizes)
    })
}
