//! Views: other windows on the same memory.

use super::reduce::restore;
use super::{copy_, zeros};
use crate::Tensor;
use crate::autograd::{Context, track, track_view};
use crate::dispatch::{Arg, Op};
use crate::error::{Result, ensure};
use crate::shape::{Dims, list, wrap_dim, wrap_dims};

/// Makes `view` a view of `of` in the graph, with the rule for its gradient.
pub(super) fn tracked<F>(name: &'static str, of: &Tensor, view: Tensor, rule: impl FnOnce() -> F) -> Result<Tensor>
where
    F: Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
{
    track(name, [of], &view, || {
        let rule = rule();
        move |_: &Context<'_>, grad: &Tensor| Ok([Some(rule(grad)?)])
    })?;
    track_view(&view, of);
    Ok(view)
}

pub(super) fn sizes(tensor: &Tensor) -> Vec<i64> {
    tensor.shape().iter().map(|&size| size as i64).collect()
}

/// A window by sizes, strides and offset, as torch shows it inside other views.
pub(super) fn window(tensor: &Tensor, shape: Dims, strides: Dims, offset: usize) -> Result<Tensor> {
    static OP: Op = Op::new("aten::as_strided", "");
    let args = [tensor.into(), Arg::Sizes(&shape.clone()), Arg::Sizes(&strides.clone()), Arg::Int(offset as i64)];
    OP.run(&args, || Ok(tensor.window(shape, strides, offset)))
}

/// A window by sizes, strides and offset.
///
/// # Errors
/// If it would reach beyond the storage.
pub fn as_strided(tensor: &Tensor, shape: &[usize], strides: &[usize], offset: Option<usize>) -> Result<Tensor> {
    let offset = offset.unwrap_or(tensor.offset());
    ensure!(shape.len() == strides.len(), Runtime, "mismatch in length of strides and shape");
    let last = shape.iter().zip(strides).map(|(&size, &stride)| size.saturating_sub(1).saturating_mul(stride));
    let end = last.fold(offset, usize::saturating_add).saturating_add(1).saturating_mul(tensor.dtype().size());
    ensure!(
        shape.contains(&0) || end <= tensor.storage().bytes(),
        Runtime,
        "setStorage: sizes {}, strides {}, storage offset {offset}, and itemsize {} requiring a storage size of {end} are out \
         of bounds for storage of size {}",
        list(shape),
        list(strides),
        tensor.dtype().size(),
        tensor.storage().bytes()
    );
    let view = window(tensor, shape.into(), strides.into(), offset)?;
    tracked("AsStridedBackward0", tensor, view, || {
        let (whole, base) = (Dims::from(tensor.shape()), tensor.offset());
        let is_contiguous = tensor.is_contiguous();
        let (shape, strides): (Dims, Dims) = (shape.into(), strides.into());
        move |grad: &Tensor| {
            ensure!(
                is_contiguous && offset >= base,
                Runtime,
                "the gradient of as_strided is only there for windows on contiguous tensors"
            );
            let whole = zeros(&whole, grad.dtype(), grad.device())?;
            let part = whole.window(shape.clone(), strides.clone(), offset - base);
            // Numbers that the window shows several times get the sum.
            let flat = super::add(&part, grad, 1.into())?;
            copy_(&part, &flat)?;
            Ok(whole)
        }
    })
}

/// Without dimensions of size 1: all of them, or those given.
///
/// # Errors
/// If a dimension does not exist.
pub fn squeeze(tensor: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::squeeze", "");
    let mut gone = Dims::new();
    let view = OP.run(&[tensor.into(), dims.map_or(Arg::None, Arg::Ints)], || {
        let dims = match dims {
            None => (0..tensor.ndim()).collect(),
            Some([]) => Dims::new(),
            Some(dims) => wrap_dims(dims, tensor.ndim())?,
        };
        gone = (0..tensor.ndim()).filter(|dim| dims.contains(dim) && tensor.shape()[*dim] == 1).collect();
        let kept = |dim: &usize| !gone.contains(dim);
        let pick = |of: &[usize]| (0..tensor.ndim()).filter(kept).map(|dim| of[dim]).collect::<Dims>();
        window(tensor, pick(tensor.shape()), pick(tensor.strides()), tensor.offset())
    })?;
    let name = match dims {
        None => "SqueezeBackward0",
        Some([_]) => "SqueezeBackward1",
        Some(_) => "SqueezeBackward2",
    };
    tracked(name, tensor, view, || move |grad: &Tensor| restore(grad, &gone, false))
}

/// With a dimension of size 1 more.
///
/// # Errors
/// If there is no such place for it.
pub fn unsqueeze(tensor: &Tensor, dim: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::unsqueeze", "");
    let place = wrap_dim(dim, tensor.ndim() + 1)?;
    let view = OP.run(&[tensor.into(), Arg::Int(dim)], || {
        let (mut shape, mut strides): (Dims, Dims) = (tensor.shape().into(), tensor.strides().into());
        let stride = if place < tensor.ndim() { shape[place] * strides[place] } else { 1 };
        shape.insert(place, 1);
        strides.insert(place, stride);
        window(tensor, shape, strides, tensor.offset())
    })?;
    tracked("UnsqueezeBackward0", tensor, view, || move |grad: &Tensor| squeeze(grad, Some(&[place as i64])))
}
