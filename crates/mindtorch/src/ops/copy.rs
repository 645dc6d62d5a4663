//! Copies: to another type, another device, other strides.

use crate::Tensor;
use crate::autograd::{Context, check_in_place, mark_changed, track, track_in_place};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::{copy as kernel, sequence};
use crate::npu;
use crate::shape::list;
use mindtorch_profiler::{Device, Name};

/// Copies numbers, wherever both are.
pub(super) fn transfer(to: &Tensor, from: &Tensor) -> Result<()> {
    let bytes = Some((to.numel() * to.dtype().size()) as u64);
    match (to.device(), from.device()) {
        (Device::Cpu, Device::Cpu) => kernel::copy(to, from),
        (Device::Npu(to_index), Device::Npu(from_index)) if to_index == from_index => {
            launch("copy", [to, from], |[to, from]| kernel::copy(to, from))?;
        }
        (Device::Npu(index), Device::Cpu) => {
            // The program may change or free what it copies from as soon as this returns: the device gets its own copy,
            // unless it is done at once.
            let (to, from) = (to.alias_for_device(), staged(from)?);
            let work = move || kernel::copy(&to, &from);
            npu::enqueue(index, Name::new("Memcpy HtoD (Pageable -> Device)"), bytes, Box::new(work))?;
        }
        (Device::Cpu, Device::Npu(index)) => {
            let (target, source) = (to.clone(), from.alias_for_device());
            let work = move || kernel::copy(&target, &source);
            npu::enqueue(index, Name::new("Memcpy DtoH (Device -> Pageable)"), bytes, Box::new(work))?;
            synchronize(index)?;
        }
        (Device::Npu(to_index), Device::Npu(from_index)) => {
            synchronize(from_index)?;
            let (to, from) = (to.alias_for_device(), from.alias_for_device());
            let work = move || kernel::copy(&to, &from);
            npu::enqueue(to_index, Name::new("Memcpy PtoP (Device -> Device)"), bytes, Box::new(work))?;
            synchronize(to_index)?;
        }
    }
    Ok(())
}

/// Waits until the work that this thread queued is done.
fn synchronize(index: u16) -> Result<()> {
    npu::Npu::get(index)?.synchronize_stream(npu::current_stream(index))?;
    Ok(())
}

fn staged(from: &Tensor) -> Result<Tensor> {
    let stage = Tensor::allocate(from.shape(), from.dtype(), Device::Cpu)?;
    kernel::copy(&stage, from);
    Ok(stage)
}

/// Makes `to`'s numbers those of `from`, which may have another type or be on another device.
///
/// # Errors
/// If `from` cannot be expanded to `to`'s shape, or if `to` may not be changed.
pub fn copy_(to: &Tensor, from: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::copy_", "");
    check_in_place(to)?;
    super::check_overlap(to)?;
    let shape = crate::shape::broadcast(to.shape(), from.shape())?;
    ensure!(
        shape[..] == *to.shape(),
        Runtime,
        "output with shape {} doesn't match the broadcast shape {}",
        list(to.shape()),
        list(&shape)
    );
    OP.run(&[to.into(), from.into(), Arg::Bool(false)], || transfer(to, from))?;
    track_in_place("torch::autograd::CopyBackwards", [to, from], to, || {
        let (device, dtype) = (from.device(), from.dtype());
        move |context: &Context<'_>, grad: &Tensor| {
            let target = if context.needs(0) { Some(super::zeros_like(grad)?) } else { None };
            let source = if context.needs(1) { Some(self::to(grad, Some(dtype), Some(device), false)?) } else { None };
            Ok([target, source])
        }
    })?;
    Ok(to.clone())
}

/// Writes the result of an operation to where the program wants it, as a part of that operation: not one of its own.
///
/// # Errors
/// If `to` may not be changed.
pub fn store(to: &Tensor, result: &Tensor) -> Result<()> {
    check_in_place(to)?;
    super::check_overlap(to)?;
    transfer(to, result)?;
    mark_changed(to);
    Ok(())
}

/// The same numbers in memory of their own.
///
/// # Errors
/// If there is no memory.
pub fn clone(tensor: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::clone", "");
    let out = OP.run(&[tensor.into(), Arg::None], || {
        let out = if tensor.is_dense() {
            super::empty_as(tensor, tensor.dtype(), tensor.device())?
        } else {
            super::empty_like(tensor, None, None)?
        };
        copy_(&out, tensor)
    })?;
    track("CloneBackward0", [tensor], &out, || |_: &Context<'_>, grad: &Tensor| Ok([Some(grad.clone())]))?;
    Ok(out)
}

/// The same numbers one after another in memory of their own.
pub(crate) fn clone_contiguous(tensor: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::clone", "");
    let out = OP.run(&[tensor.into(), Arg::Int(0)], || copy_(&super::empty_contiguous(tensor)?, tensor))?;
    track("CloneBackward0", [tensor], &out, || |_: &Context<'_>, grad: &Tensor| Ok([Some(grad.clone())]))?;
    Ok(out)
}

/// The same numbers in memory of their own, laid out as those of `like` if these leave no gaps.
pub(crate) fn clone_as(tensor: &Tensor, like: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::new_empty_strided", "");
    if !like.is_dense() {
        return clone_contiguous(tensor);
    }
    let (shape, strides) = (like.shape(), like.strides());
    let args = [tensor.into(), Arg::Sizes(shape), Arg::Sizes(strides), Arg::None, Arg::None, Arg::None, Arg::None];
    let out = OP.run(&args, || super::empty_strided(shape, strides, tensor.dtype(), tensor.device()))?;
    copy_(&out, tensor)
}

/// The tensor itself if its numbers lie one after another, else a copy where they do.
///
/// # Errors
/// If there is no memory.
pub fn contiguous(tensor: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::contiguous", "");
    if tensor.is_contiguous() {
        return Ok(tensor.clone());
    }
    OP.compose(&[tensor.into(), Arg::Int(0)], || clone_contiguous(tensor))
}

/// The tensor in another type or on another device; itself if nothing changes and no copy is asked for.
///
/// # Errors
/// If there is no memory.
pub fn to(tensor: &Tensor, dtype: Option<DType>, device: Option<Device>, copy: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::to", "dtype");
    let (dtype, device) = (dtype.unwrap_or(tensor.dtype()), device.unwrap_or(tensor.device()));
    let args = [tensor.into(), Arg::DType(dtype), Arg::Bool(false), Arg::Bool(copy), Arg::None];
    OP.compose(&args, || {
        if !copy && dtype == tensor.dtype() && device == tensor.device() {
            return Ok(tensor.clone());
        }
        to_copy(tensor, dtype, device)
    })
}

fn to_copy(tensor: &Tensor, dtype: DType, device: Device) -> Result<Tensor> {
    static OP: Op = Op::new("aten::_to_copy", "");
    let args = [tensor.into(), Arg::DType(dtype), Arg::None, Arg::None, Arg::None, Arg::Bool(false), Arg::None];
    let out = OP.run(&args, || copy_(&super::empty_as(tensor, dtype, device)?, tensor))?;
    track("ToCopyBackward0", [tensor], &out, || {
        let (dtype, device) = (tensor.dtype(), tensor.device());
        move |_: &Context<'_>, grad: &Tensor| Ok([Some(to(grad, Some(dtype), Some(device), false)?)])
    })?;
    Ok(out)
}

/// The tensor in another type; itself if it has it.
///
/// # Errors
/// If there is no memory.
pub fn to_dtype(tensor: &Tensor, dtype: DType) -> Result<Tensor> {
    if dtype == tensor.dtype() { Ok(tensor.clone()) } else { to(tensor, Some(dtype), None, false) }
}

/// The one number of a tensor. Waits for the device.
///
/// # Errors
/// If there are more, or none.
pub fn item(tensor: &Tensor) -> Result<Scalar> {
    static OP: Op = Op::new("aten::item", "");
    static LOCAL: Op = Op::new("aten::_local_scalar_dense", "");
    ensure!(tensor.numel() == 1, Runtime, "a Tensor with {} elements cannot be converted to Scalar", tensor.numel());
    OP.run(&[tensor.into()], || LOCAL.run(&[tensor.into()], || Ok(sequence::item(&on_host(tensor)?))))
}

/// All numbers, in the order of the dimensions. Waits for the device.
///
/// # Errors
/// If there is no memory.
pub fn items(tensor: &Tensor) -> Result<Vec<Scalar>> {
    Ok(sequence::items(&contiguous(&on_host(tensor)?)?))
}

/// The tensor on the host, without history.
pub(crate) fn on_host(tensor: &Tensor) -> Result<Tensor> {
    if tensor.device() == Device::Cpu {
        return Ok(tensor.alias());
    }
    let host = Tensor::allocate(tensor.shape(), tensor.dtype(), Device::Cpu)?;
    transfer(&host, tensor)?;
    Ok(host)
}

/// Whether a number of a tensor on the host is zero.
pub(super) fn has_zero(tensor: &Tensor) -> Result<bool> {
    Ok(items(tensor)?.iter().any(|number| number.to_f64() == 0.0))
}

/// The same memory without history.
///
/// # Errors
/// None; it is an operation like others.
pub fn detach(tensor: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::detach", "");
    static INNER: Op = Op::new("detach", "");
    OP.run(&[tensor.into()], || INNER.run(&[tensor.into()], || Ok(tensor.alias())))
}
