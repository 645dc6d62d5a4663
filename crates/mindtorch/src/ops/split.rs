//! A tensor as several that together are it.

use super::view::window;
use super::{narrow, select, zeros};
use crate::Tensor;
use crate::autograd::{Context, Grads, track_list, track_view};
use crate::dispatch::{Arg, Op};
use crate::error::{Result, ensure};
use crate::shape::{Dims, list, wrap_dim};

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
        let mut offset = tensor.offset();
        let part = |&size: &i64| {
            let mut shape = Dims::from(tensor.shape());
            shape[place] = size as usize;
            let start = offset;
            offset += size as usize * tensor.strides()[place];
            window(tensor, shape, tensor.strides().into(), start)
        };
        sizes.iter().map(part).collect::<Result<Vec<_>>>()
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
            .map(|part| narrow(tensor, place as i64, part * size, size.min(whole - part * size)))
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
