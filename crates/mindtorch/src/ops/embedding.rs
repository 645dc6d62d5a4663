//! Rows of a table, as indices name them.

use super::index::Indexed;
use super::{div, eq, index_add_, index_select, masked_fill, ones, reshape, select, unsqueeze, view, zero_, zeros};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::update::Update;
use crate::shape::numel;

fn check_indices(indices: &Tensor) -> Result<()> {
    ensure!(
        matches!(indices.dtype(), DType::Int64 | DType::Int32),
        Runtime,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {} \
         instead (while checking arguments for embedding)",
        indices.type_name()
    );
    Ok(())
}

/// The shape of a row for each index.
fn rows_shape(indices: &[usize], width: usize) -> Vec<i64> {
    indices.iter().chain([&width]).map(|&size| size as i64).collect()
}

/// For every index the row of a table, which has as many dimensions more as the indices have. The row `padding_idx`
/// gets no gradient, unless it is negative; with `scale_grad_by_freq`, a row's gradient is divided by how often it is
/// used.
///
/// # Errors
/// If the table has not two dimensions, if the indices are no integers, or if a row does not exist.
pub fn embedding(
    weight: &Tensor,
    indices: &Tensor,
    padding_idx: i64,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::embedding", "");
    ensure!(weight.ndim() == 2, Runtime, "'weight' must be 2-D");
    ensure!(
        !sparse,
        NotImplemented,
        "embedding: sparse=True asks for a sparse gradient, and there are no sparse tensors; use sparse=False"
    );
    check_indices(indices)?;
    let args = [weight.into(), indices.into(), Arg::Int(padding_idx), Arg::Bool(scale_grad_by_freq), Arg::Bool(sparse)];
    let out = OP.run(&args, || {
        if indices.ndim() == 1 {
            return index_select(weight, 0, indices);
        }
        let rows = index_select(weight, 0, &reshape(indices, &[-1])?)?;
        view(&rows, &rows_shape(indices.shape(), weight.shape()[1]))
    })?;
    track("EmbeddingBackward0", [weight], &out, || {
        let (indices, rows) = (Saved::new(indices), weight.shape()[0]);
        move |context: &Context<'_>, grad: &Tensor| {
            let indices = indices.get(context)?;
            Ok([Some(embedding_backward(grad, &indices, rows, padding_idx, scale_grad_by_freq)?)])
        }
    })?;
    Ok(out)
}

fn embedding_backward(grad: &Tensor, indices: &Tensor, rows: usize, padding_idx: i64, scale: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::embedding_backward", "");
    let args =
        [grad.into(), indices.into(), Arg::Int(rows as i64), Arg::Int(padding_idx), Arg::Bool(scale), Arg::Bool(false)];
    OP.compose(&args, || embedding_dense_backward(grad, indices, rows, padding_idx, scale))
}

/// The gradient of a table of so many rows, from that of the rows that [`embedding`] gave.
///
/// # Errors
/// If the shapes do not fit, or if a row does not exist.
pub fn embedding_dense_backward(
    grad: &Tensor,
    indices: &Tensor,
    rows: usize,
    padding_idx: i64,
    scale_grad_by_freq: bool,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::embedding_dense_backward", "");
    check_indices(indices)?;
    ensure!(
        grad.ndim() == indices.ndim() + 1 && grad.shape()[..indices.ndim()] == *indices.shape(),
        Runtime,
        "embedding_dense_backward: expected grad_output to be of the shape of the indices, and a row for each"
    );
    let share =
        if scale_grad_by_freq { div(grad, &unsqueeze(&frequencies(indices, rows, grad)?, -1)?)? } else { grad.clone() };
    let args =
        [(&share).into(), indices.into(), Arg::Int(rows as i64), Arg::Int(padding_idx), Arg::Bool(scale_grad_by_freq)];
    let out = OP.run(&args, || {
        let width = share.shape()[indices.ndim()];
        let out = zeros(&[rows, width], share.dtype(), share.device())?;
        let indexed = Indexed::along(&out, 0, indices, false)?;
        ensure!(indexed.first_outside().is_none(), Index, "index out of range in self");
        let values = view(&super::contiguous(&share)?, &rows_shape(&[numel(indices.shape())], width))?;
        indexed.write("embedding_dense_backward", &values, Update::Add)?;
        if (0..rows as i64).contains(&padding_idx) {
            zero_(&select(&out, 0, padding_idx)?)?;
        }
        Ok(out)
    })?;
    track("EmbeddingDenseBackwardBackward0", [&share], &out, || {
        let indices = Saved::new(indices);
        move |context: &Context<'_>, grad: &Tensor| {
            let indices = indices.get(context)?;
            let rows = embedding(grad, &indices, -1, false, false)?;
            if padding_idx < 0 {
                return Ok([Some(rows)]);
            }
            let is_padding = unsqueeze(&eq(&indices, Scalar::Int(padding_idx))?, -1)?;
            Ok([Some(masked_fill(&rows, &is_padding, Scalar::Int(0))?)])
        }
    })?;
    Ok(out)
}

/// How often each index is among the indices, for each of them.
fn frequencies(indices: &Tensor, rows: usize, like: &Tensor) -> Result<Tensor> {
    let flat = reshape(indices, &[-1])?;
    let counts = zeros(&[rows], like.dtype(), like.device())?;
    index_add_(&counts, 0, &flat, &ones(&[flat.numel()], like.dtype(), like.device())?, Scalar::Int(1))?;
    let sizes: Vec<i64> = indices.shape().iter().map(|&size| size as i64).collect();
    view(&index_select(&counts, 0, &flat)?, &sizes)
}
