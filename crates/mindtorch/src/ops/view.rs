//! Views: other windows on the same memory.

use super::{contiguous, copy_, zeros};
use crate::Tensor;
use crate::autograd::{Context, Grads, track, track_list, track_view};
use crate::dispatch::{Arg, Op};
use crate::error::{Result, bail, ensure};
use crate::shape::{Dims, expanded_strides, infer_size, list, view_strides, wrap_dim, wrap_dims};

/// Makes `view` a view of `of` in the graph, with the rule for its gradient.
fn tracked<F>(name: &'static str, of: &Tensor, view: Tensor, rule: impl FnOnce() -> F) -> Result<Tensor>
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

fn sizes(tensor: &Tensor) -> Vec<i64> {
    tensor.shape().iter().map(|&size| size as i64).collect()
}

/// A window by sizes, strides and offset, as torch shows it inside other views.
fn window(tensor: &Tensor, shape: Dims, strides: Dims, offset: usize) -> Result<Tensor> {
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

/// The same numbers in another shape, without a copy. One size may be -1.
///
/// # Errors
/// If the shape has another number of numbers, or if strides do not allow it.
pub fn view(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::view", "");
    let view = OP.run(&[tensor.into(), Arg::Ints(shape)], || {
        let shape = infer_size(shape, tensor.numel())?;
        let Some(strides) = view_strides(tensor.shape(), tensor.strides(), &shape) else {
            bail!(
                Runtime,
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two \
                 contiguous subspaces). Use .reshape(...) instead."
            )
        };
        Ok(tensor.window(shape, strides, tensor.offset()))
    })?;
    tracked("ViewBackward0", tensor, view, || {
        let shape = sizes(tensor);
        move |grad: &Tensor| reshape(grad, &shape)
    })
}

/// The same numbers in another shape, copied if strides do not allow it otherwise.
///
/// # Errors
/// If the shape has another number of numbers.
pub fn reshape(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::reshape", "");
    OP.compose(&[tensor.into(), Arg::Ints(shape)], || {
        let sizes = infer_size(shape, tensor.numel())?;
        if view_strides(tensor.shape(), tensor.strides(), &sizes).is_some() {
            view(tensor, shape)
        } else {
            view(&contiguous(tensor)?, shape)
        }
    })
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
        reshape(tensor, &shape)
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

/// Two dimensions exchanged.
///
/// # Errors
/// If they do not exist.
pub fn transpose(tensor: &Tensor, first: i64, second: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::transpose", "int");
    let view = OP.run(&[tensor.into(), Arg::Int(first), Arg::Int(second)], || {
        let (first, second) = (wrap_dim(first, tensor.ndim())?, wrap_dim(second, tensor.ndim())?);
        let (mut shape, mut strides): (Dims, Dims) = (tensor.shape().into(), tensor.strides().into());
        if tensor.ndim() > 0 {
            shape.swap(first, second);
            strides.swap(first, second);
        }
        window(tensor, shape, strides, tensor.offset())
    })?;
    tracked("TransposeBackward0", tensor, view, || move |grad: &Tensor| transpose(grad, first, second))
}

/// A matrix with its dimensions exchanged.
///
/// # Errors
/// If it has more than two.
pub fn t(tensor: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::t", "");
    ensure!(tensor.ndim() <= 2, Runtime, "t() expects a tensor with <= 2 dimensions, but self is {}D", tensor.ndim());
    let view = OP.run(&[tensor.into()], || transpose(tensor, 0, if tensor.ndim() < 2 { 0 } else { 1 }))?;
    tracked("TBackward0", tensor, view, || |grad: &Tensor| t(grad))
}

/// The dimensions in another order.
///
/// # Errors
/// If `dims` is no order of them.
pub fn permute(tensor: &Tensor, dims: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::permute", "");
    let mut inverse = vec![0i64; tensor.ndim()];
    let view = OP.run(&[tensor.into(), Arg::Ints(dims)], || {
        ensure!(
            dims.len() == tensor.ndim(),
            Runtime,
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering \
             of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
            tensor.ndim(),
            dims.len()
        );
        let order: Dims = dims.iter().map(|&dim| wrap_dim(dim, tensor.ndim())).collect::<Result<_>>()?;
        let is_double = |(index, dim): (usize, &usize)| order[..index].contains(dim);
        ensure!(!order.iter().enumerate().any(is_double), Runtime, "permute(): duplicate dims are not allowed.");
        for (to, &from) in order.iter().enumerate() {
            inverse[from] = to as i64;
        }
        let pick = |of: &[usize]| order.iter().map(|&dim| of[dim]).collect::<Dims>();
        window(tensor, pick(tensor.shape()), pick(tensor.strides()), tensor.offset())
    })?;
    tracked("PermuteBackward0", tensor, view, || move |grad: &Tensor| permute(grad, &inverse))
}

/// Dimensions moved to other places.
///
/// # Errors
/// If they do not exist.
pub fn movedim(tensor: &Tensor, source: &[i64], destination: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::movedim", "intlist");
    OP.compose(&[tensor.into(), Arg::Ints(source), Arg::Ints(destination)], || {
        ensure!(
            source.len() == destination.len(),
            Runtime,
            "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as \
             destination ({} dims)",
            list(source),
            list(destination)
        );
        let (source, destination) = (wrap_dims(source, tensor.ndim())?, wrap_dims(destination, tensor.ndim())?);
        let mut order = vec![None; tensor.ndim()];
        for (&from, &to) in source.iter().zip(&destination) {
            order[to] = Some(from as i64);
        }
        let mut rest = (0..tensor.ndim()).filter(|dim| !source.contains(dim)).map(|dim| dim as i64);
        let order: Vec<i64> = order.into_iter().filter_map(|place| place.or_else(|| rest.next())).collect();
        permute(tensor, &order)
    })
}

/// The tensor as if it had a larger shape, in which dimensions of size 1 repeat. A size of -1 stays.
///
/// # Errors
/// If it cannot have that shape.
pub fn expand(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::expand", "");
    let view = OP.run(&[tensor.into(), Arg::Ints(shape), Arg::Bool(false)], || {
        ensure!(
            shape.len() >= tensor.ndim(),
            Runtime,
            "expand({}{{{}}}, size={}): the number of sizes provided ({}) must be greater or equal to the number of dimensions \
             in the tensor ({})",
            tensor.type_name(),
            list(tensor.shape()),
            list(shape),
            shape.len(),
            tensor.ndim()
        );
        let added = shape.len() - tensor.ndim();
        let mut target = Dims::new();
        for (dim, &size) in shape.iter().enumerate() {
            let own = dim.checked_sub(added).map(|dim| tensor.shape()[dim]);
            match (own, size) {
                (Some(own), -1) => target.push(own),
                (None, -1) => bail!(
                    Runtime,
                    "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {dim}"
                ),
                (own, size) if size >= 0 && own.is_none_or(|own| own == 1 || own as i64 == size) => target.push(size as usize),
                (own, size) => bail!(
                    Runtime,
                    "The expanded size of the tensor ({size}) must match the existing size ({}) at non-singleton dimension \
                     {dim}.  Target sizes: {}.  Tensor sizes: {}",
                    own.unwrap_or(0),
                    list(shape),
                    list(tensor.shape())
                ),
            }
        }
        let strides = expanded_strides(tensor.shape(), tensor.strides(), &target);
        window(tensor, target, strides, tensor.offset())
    })?;
    tracked("ExpandBackward0", tensor, view, || {
        let shape: Dims = tensor.shape().into();
        move |grad: &Tensor| sum_to(grad, &shape)
    })
}

/// Whether a tensor of this shape can be expanded to the other.
pub fn is_expandable_to(shape: &[usize], target: &[usize]) -> bool {
    shape.len() <= target.len()
        && shape.iter().rev().zip(target.iter().rev()).all(|(&own, &size)| own == size || own == 1)
}

/// The sum over what an expansion from `shape` repeated.
///
/// # Errors
/// If there is no memory.
pub fn sum_to(tensor: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if tensor.shape() == shape {
        return Ok(tensor.clone());
    }
    let added = tensor.ndim() - shape.len();
    let repeated = |dim: usize| dim < added || (shape[dim - added] == 1 && tensor.shape()[dim] != 1);
    let dims: Vec<i64> = (0..tensor.ndim()).filter(|&dim| repeated(dim)).map(|dim| dim as i64).collect();
    let sum = super::sum(tensor, &dims, true, None)?;
    if added == 0 { Ok(sum) } else { view(&sum, &shape.iter().map(|&size| size as i64).collect::<Vec<_>>()) }
}

/// Without dimensions of size 1: all of them, or those given.
///
/// # Errors
/// If a dimension does not exist.
pub fn squeeze(tensor: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::squeeze", "");
    let view = OP.run(&[tensor.into(), dims.map_or(Arg::None, Arg::Ints)], || {
        let dims = match dims {
            None => (0..tensor.ndim()).collect(),
            Some([]) => Dims::new(),
            Some(dims) => wrap_dims(dims, tensor.ndim())?,
        };
        let kept = |dim: &usize| !(dims.contains(dim) && tensor.shape()[*dim] == 1);
        let pick = |of: &[usize]| (0..tensor.ndim()).filter(kept).map(|dim| of[dim]).collect::<Dims>();
        window(tensor, pick(tensor.shape()), pick(tensor.strides()), tensor.offset())
    })?;
    tracked("SqueezeBackward0", tensor, view, || {
        let shape = sizes(tensor);
        move |grad: &Tensor| reshape(grad, &shape)
    })
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

/// One index of a dimension, which is gone then.
///
/// # Errors
/// If the index does not exist.
pub fn select(tensor: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::select", "int");
    ensure!(tensor.ndim() > 0, Index, "select() cannot be applied to a 0-dim tensor.");
    let place = wrap_dim(dim, tensor.ndim())?;
    let size = tensor.shape()[place] as i64;
    ensure!(
        (-size..size).contains(&index),
        Index,
        "select(): index {index} out of range for tensor of size {} at dimension {place}",
        list(tensor.shape())
    );
    let at = if index < 0 { index + size } else { index } as usize;
    let view = OP.run(&[tensor.into(), Arg::Int(dim), Arg::Int(index)], || {
        let (mut shape, mut strides): (Dims, Dims) = (tensor.shape().into(), tensor.strides().into());
        shape.remove(place);
        let stride = strides.remove(place);
        window(tensor, shape, strides, tensor.offset() + at * stride)
    })?;
    tracked("SelectBackward0", tensor, view, || {
        let shape: Dims = tensor.shape().into();
        move |grad: &Tensor| {
            embed(grad, &shape, move |whole| select(whole, place as i64, at as i64), "SelectBackwardBackward0")
        }
    })
}

/// A part of a dimension, every `step`th index from `start` before `end`.
///
/// # Errors
/// If the dimension does not exist, or if the step is not positive.
pub fn slice(tensor: &Tensor, dim: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::slice", "Tensor");
    ensure!(tensor.ndim() > 0, Runtime, "slice() cannot be applied to a 0-dim tensor.");
    let place = wrap_dim(dim, tensor.ndim())?;
    ensure!(step > 0, Runtime, "slice step must be positive");
    let size = tensor.shape()[place] as i64;
    let within = |index: i64| (if index < 0 { index.saturating_add(size) } else { index }).clamp(0, size);
    let first = within(start.unwrap_or(0));
    let last = within(end.unwrap_or(size)).max(first);
    let view = OP.run(&[tensor.into(), Arg::Int(dim), start.into(), end.into(), Arg::Int(step)], || {
        let (mut shape, mut strides): (Dims, Dims) = (tensor.shape().into(), tensor.strides().into());
        let offset = tensor.offset() + first as usize * strides[place];
        shape[place] = ((last - first) as usize).div_ceil(step as usize);
        strides[place] *= step as usize;
        window(tensor, shape, strides, offset)
    })?;
    tracked("SliceBackward0", tensor, view, || {
        let shape: Dims = tensor.shape().into();
        move |grad: &Tensor| {
            let part = move |whole: &Tensor| slice(whole, place as i64, Some(first), Some(last), step);
            embed(grad, &shape, part, "SliceBackwardBackward0")
        }
    })
}

/// A gradient of zeros but for the part that a view showed.
fn embed(
    grad: &Tensor,
    shape: &[usize],
    part: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    name: &'static str,
) -> Result<Tensor> {
    let whole = {
        let _below = crate::autograd::mode::BelowAutograd::enter();
        let whole = zeros(shape, grad.dtype(), grad.device())?;
        copy_(&part(&whole)?, grad)?;
        whole
    };
    track(name, [grad], &whole, || move |_: &Context<'_>, grad: &Tensor| Ok([Some(part(grad)?)]))?;
    Ok(whole)
}

/// `length` indices of a dimension from `start` on.
///
/// # Errors
/// If they do not exist.
pub fn narrow(tensor: &Tensor, dim: i64, start: i64, length: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::narrow", "");
    OP.compose(&[tensor.into(), Arg::Int(dim), Arg::Int(start), Arg::Int(length)], || {
        ensure!(tensor.ndim() > 0, Runtime, "narrow() cannot be applied to a 0-dim tensor.");
        ensure!(length >= 0, Runtime, "narrow(): length must be non-negative.");
        let size = tensor.shape()[wrap_dim(dim, tensor.ndim())?] as i64;
        ensure!(
            (-size..=size).contains(&start),
            Index,
            "start out of range (expected to be in range of [-{size}, {size}], but got {start})"
        );
        let start = if start < 0 { start + size } else { start };
        ensure!(
            start + length <= size,
            Runtime,
            "start ({start}) + length ({length}) exceeds dimension size ({size})."
        );
        slice(tensor, dim, Some(start), Some(start + length), 1)
    })
}

/// Every index of a dimension as a tensor of its own.
///
/// # Errors
/// If the dimension does not exist.
pub fn unbind(tensor: &Tensor, dim: i64) -> Result<Vec<Tensor>> {
    static OP: Op = Op::new("aten::unbind", "int");
    ensure!(tensor.ndim() > 0, Runtime, "Dimension specified as {dim} but tensor has no dimensions");
    let place = wrap_dim(dim, tensor.ndim())?;
    let parts = OP.run(&[tensor.into(), Arg::Int(dim)], || {
        (0..tensor.shape()[place]).map(|index| select(tensor, place as i64, index as i64)).collect::<Result<Vec<_>>>()
    })?;
    join_rule("UnbindBackward0", tensor, &parts, move |grads| super::stack(grads, place as i64))?;
    Ok(parts)
}

/// Parts of the given sizes along a dimension.
///
/// # Errors
/// If they do not add up to its size.
pub fn split_with_sizes(tensor: &Tensor, sizes: &[i64], dim: i64) -> Result<Vec<Tensor>> {
    static OP: Op = Op::new("aten::split_with_sizes", "");
    ensure!(tensor.ndim() > 0, Runtime, "split_with_sizes expects at least a 1-dimensional tensor");
    let place = wrap_dim(dim, tensor.ndim())?;
    let size = tensor.shape()[place] as i64;
    ensure!(
        sizes.iter().all(|&part| part >= 0) && sizes.iter().sum::<i64>() == size,
        Runtime,
        "split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {place}), but got \
         split_sizes={}",
        list(sizes)
    );
    let parts = OP.run(&[tensor.into(), Arg::Ints(sizes), Arg::Int(dim)], || {
        let mut start = 0;
        sizes
            .iter()
            .map(|&size| {
                start += size;
                slice(tensor, place as i64, Some(start - size), Some(start), 1)
            })
            .collect::<Result<Vec<_>>>()
    })?;
    join_rule("SplitWithSizesBackward0", tensor, &parts, move |grads| super::cat(grads, place as i64))?;
    Ok(parts)
}

/// Parts of one size along a dimension; the last may be smaller.
///
/// # Errors
/// If the dimension does not exist, or if the size is negative.
pub fn split(tensor: &Tensor, size: i64, dim: i64) -> Result<Vec<Tensor>> {
    static OP: Op = Op::new("aten::split", "Tensor");
    ensure!(tensor.ndim() > 0, Runtime, "split expects at least a 1-dimensional tensor");
    ensure!(size >= 0, Runtime, "split expects split_size be non-negative, but got split_size={size}");
    let place = wrap_dim(dim, tensor.ndim())?;
    let whole = tensor.shape()[place] as i64;
    ensure!(
        size > 0 || whole == 0,
        Runtime,
        "split_size can only be 0 if dimension size is 0, but got dimension size of {whole}"
    );
    let count = if size == 0 { 1 } else { (whole + size - 1) / size }.max(1);
    let parts = OP.run(&[tensor.into(), Arg::Int(size), Arg::Int(dim)], || {
        (0..count)
            .map(|part| slice(tensor, place as i64, Some(part * size), Some(((part + 1) * size).min(whole)), 1))
            .collect::<Result<Vec<_>>>()
    })?;
    join_rule("SplitBackward0", tensor, &parts, move |grads| super::cat(grads, place as i64))?;
    Ok(parts)
}

/// As many parts along a dimension as asked for, as equal as they can be.
///
/// # Errors
/// If the dimension does not exist.
pub fn chunk(tensor: &Tensor, chunks: i64, dim: i64) -> Result<Vec<Tensor>> {
    static OP: Op = Op::new("aten::chunk", "");
    ensure!(tensor.ndim() > 0, Runtime, "chunk expects at least a 1-dimensional tensor");
    ensure!(chunks > 0, Runtime, "chunk expects `chunks` to be greater than 0, got: {chunks}");
    OP.compose(&[tensor.into(), Arg::Int(chunks), Arg::Int(dim)], || {
        let size = tensor.shape()[wrap_dim(dim, tensor.ndim())?] as i64;
        let each = (size + chunks - 1) / chunks;
        if each == 0 {
            return split_with_sizes(tensor, &vec![0; chunks as usize], dim);
        }
        split(tensor, each, dim)
    })
}

/// The rule of an operation whose outputs together are its input.
fn join_rule(
    name: &'static str,
    tensor: &Tensor,
    parts: &[Tensor],
    join: impl Fn(&[Tensor]) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<()> {
    let outs: Vec<&Tensor> = parts.iter().collect();
    track_list(name, &[Some(tensor)], &outs, || {
        let shapes: Vec<Dims> = parts.iter().map(|part| part.shape().into()).collect();
        move |_: &Context<'_>, grads: &Grads| {
            let Some(like) = grads.iter().flatten().next() else { return Ok(Grads::from_iter([None])) };
            let all: Result<Vec<Tensor>> = grads
                .iter()
                .zip(&shapes)
                .map(|(grad, shape)| match grad {
                    Some(grad) => Ok(grad.clone()),
                    None => zeros(shape, like.dtype(), like.device()),
                })
                .collect();
            Ok(Grads::from_iter([Some(join(&all?)?)]))
        }
    })?;
    for part in parts {
        track_view(part, tensor);
    }
    Ok(())
}

/// Tensors expanded to the shape that they have in common.
///
/// # Errors
/// If they have none.
pub fn broadcast_tensors(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    static OP: Op = Op::new("aten::broadcast_tensors", "");
    OP.compose(&[Arg::Tensors(tensors)], || {
        let operands: Vec<super::Operand<'_>> = tensors.iter().map(super::Operand::Tensor).collect();
        let shape: Vec<i64> = super::common_shape(&operands)?.iter().map(|&size| size as i64).collect();
        tensors.iter().map(|tensor| expand(tensor, &shape)).collect()
    })
}

/// The diagonal of two dimensions, `offset` to the right of the main one, as the last dimension.
///
/// # Errors
/// If the dimensions do not exist or are one.
pub fn diagonal(tensor: &Tensor, offset: i64, first: i64, second: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::diagonal", "");
    let (row, column) = (wrap_dim(first, tensor.ndim())?, wrap_dim(second, tensor.ndim())?);
    ensure!(row != column, Runtime, "diagonal dimensions cannot be identical {first}, {second}");
    let view = OP.run(&[tensor.into(), Arg::Int(offset), Arg::Int(first), Arg::Int(second)], || {
        let (rows, columns) = (tensor.shape()[row] as i64, tensor.shape()[column] as i64);
        let length =
            if offset >= 0 { rows.min(columns - offset) } else { (rows + offset).min(columns) }.max(0) as usize;
        let skipped = match offset {
            _ if length == 0 => 0,
            offset if offset >= 0 => offset as usize * tensor.strides()[column],
            offset => offset.unsigned_abs() as usize * tensor.strides()[row],
        };
        let kept = |dim: &usize| *dim != row && *dim != column;
        let pick = |of: &[usize]| (0..tensor.ndim()).filter(kept).map(|dim| of[dim]).collect::<Dims>();
        let (mut shape, mut strides) = (pick(tensor.shape()), pick(tensor.strides()));
        shape.push(length);
        strides.push(tensor.strides()[row] + tensor.strides()[column]);
        window(tensor, shape, strides, tensor.offset() + skipped)
    })?;
    tracked("DiagonalBackward0", tensor, view, || {
        let shape: Dims = tensor.shape().into();
        move |grad: &Tensor| {
            let part = move |whole: &Tensor| diagonal(whole, offset, row as i64, column as i64);
            embed(grad, &shape, part, "DiagonalBackwardBackward0")
        }
    })
}
