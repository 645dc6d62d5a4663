//! Parts of a tensor.

use super::view::{tracked, window};
use super::{copy_, zeros};
use crate::Tensor;
use crate::autograd::{Context, track};
use crate::dispatch::{Arg, Op};
use crate::error::{Result, ensure};
use crate::shape::{Dims, list, wrap_dim};

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
            static OP: Op = Op::new("aten::select_backward", "");
            let args = [grad.into(), Arg::Sizes(&shape), Arg::Int(place as i64), Arg::Int(at as i64)];
            let part = move |whole: &Tensor| select(whole, place as i64, at as i64);
            embed((&OP, &args), grad, &shape, part, "SelectBackwardBackward0")
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
            static OP: Op = Op::new("aten::slice_backward", "");
            let places = [place as i64, first, last, step].map(Arg::Int);
            let args = [grad.into(), Arg::Sizes(&shape), places[0], places[1], places[2], places[3]];
            let part = move |whole: &Tensor| slice(whole, place as i64, Some(first), Some(last), step);
            embed((&OP, &args), grad, &shape, part, "SliceBackwardBackward0")
        }
    })
}

/// A gradient of zeros but for the part that a view showed.
fn embed(
    (op, args): (&'static Op, &[Arg<'_>]),
    grad: &Tensor,
    shape: &[usize],
    part: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    name: &'static str,
) -> Result<Tensor> {
    let whole = op.run(args, || {
        let whole = zeros(shape, grad.dtype(), grad.device())?;
        copy_(&part(&whole)?, grad)?;
        Ok(whole)
    })?;
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
            static OP: Op = Op::new("aten::diagonal_backward", "");
            let args =
                [grad.into(), Arg::Sizes(&shape), Arg::Int(offset), Arg::Int(row as i64), Arg::Int(column as i64)];
            let part = move |whole: &Tensor| diagonal(whole, offset, row as i64, column as i64);
            embed((&OP, &args), grad, &shape, part, "DiagonalBackwardBackward0")
        }
    })
}
