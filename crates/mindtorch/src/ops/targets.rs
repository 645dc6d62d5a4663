//! What the targets of a loss may be that are classes.

use super::float::check_float;
use super::loss::check_constant;
use super::same_device;
use crate::Tensor;
use crate::dtype::DType;
use crate::error::{Result, ensure};
use crate::shape::list;

/// Fails unless there is a target for each row of classes.
pub(super) fn check_rows(input: &Tensor, target: &Tensor, weight: Option<&Tensor>) -> Result<()> {
    ensure!(target.ndim() <= 1, Runtime, "0D or 1D target tensor expected, multi-target not supported");
    if input.ndim() == 1 && target.ndim() == 1 {
        let size = target.shape()[0];
        ensure!(size == 1, Value, "For 1D input, 1D target must have size 1, but got target size: {size}");
    }
    ensure!(
        input.ndim() == 1 || target.shape() == &input.shape()[..1],
        Runtime,
        "size mismatch (got input: {}, target: {})",
        list(input.shape()),
        list(target.shape())
    );
    let classes = input.shape()[input.ndim() - 1];
    ensure!(
        weight.is_none_or(|weight| weight.shape() == [classes]),
        Runtime,
        "weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: {}",
        list(weight.map_or(&[], Tensor::shape))
    );
    Ok(())
}

/// Fails unless there is a target for each place of images.
pub(super) fn check_images(input: &Tensor, target: &Tensor, weight: Option<&Tensor>) -> Result<()> {
    ensure!(
        target.ndim() == 3,
        Runtime,
        "only batches of spatial targets supported (3D tensors) but got targets of dimension: {}",
        target.ndim()
    );
    let (sizes, targets) = (input.shape(), target.shape());
    ensure!(
        sizes[0] == targets[0] && sizes[2..] == targets[1..],
        Runtime,
        "size mismatch (got input: {} , target: {}",
        list(sizes),
        list(targets)
    );
    ensure!(
        weight.is_none_or(|weight| weight.numel() == sizes[1]),
        Runtime,
        "weight tensor should be defined either for all or no classes"
    );
    Ok(())
}

/// Fails unless targets are classes, and weights are of the input's type.
pub(super) fn check_types(input: &Tensor, target: &Tensor, weight: Option<&Tensor>) -> Result<()> {
    ensure!(
        matches!(target.dtype(), DType::Int64 | DType::UInt8),
        Runtime,
        "expected target dtype to be Long or Byte, but got {}",
        target.dtype().scalar_type()
    );
    check_float("nll_loss_out_frame", input.dtype())?;
    ensure!(
        weight.is_none_or(|weight| weight.dtype() == input.dtype()),
        Runtime,
        "expected scalar type {} but found {}",
        input.dtype().scalar_type(),
        weight.map_or("", |weight| weight.dtype().scalar_type())
    );
    check_constant("weight", weight)?;
    same_device(&[input, target].into_iter().chain(weight).collect::<Vec<_>>())?;
    Ok(())
}
