//! What every operation on several tensors needs: one type, one device, one shape.

use crate::Tensor;
use crate::dispatch::Arg;
use crate::dtype::{Category, DType, Scalar};
use crate::error::{Result, bail, ensure};
pub use crate::kernels::plan::Operand;
use crate::shape::{Dims, broadcast, list};
use mindtorch_profiler::Device;

impl From<Scalar> for Operand<'_> {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

impl<'a> From<Operand<'a>> for Arg<'a> {
    fn from(operand: Operand<'a>) -> Self {
        match operand {
            Operand::Tensor(tensor) => Arg::Tensor(tensor),
            Operand::Scalar(scalar) => Arg::Scalar(scalar),
        }
    }
}

/// The type of what an operation on these gives: numbers of the program's and tensors without dimensions decide only where
/// they are of a higher category.
pub fn result_type(operands: &[Operand<'_>]) -> DType {
    let (mut dimensioned, mut zero_dim, mut wrapped) = (None, None, None);
    for operand in operands {
        let (dtype, place) = match operand {
            Operand::Tensor(tensor) if tensor.ndim() > 0 => (tensor.dtype(), &mut dimensioned),
            Operand::Tensor(tensor) => (tensor.dtype(), &mut zero_dim),
            Operand::Scalar(scalar) => (scalar.dtype(), &mut wrapped),
        };
        *place = Some(place.map_or(dtype, |other: DType| other.promote(dtype)));
    }
    combine(dimensioned, combine(zero_dim, wrapped)).unwrap_or(DType::Float32)
}

fn combine(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    match (higher, lower) {
        (Some(higher), Some(lower)) => {
            let decides = higher.category() >= lower.category();
            Some(if decides { higher } else { higher.promote(lower) })
        }
        (higher, lower) => higher.or(lower),
    }
}

/// The device of an operation on these. A number in a tensor without dimensions may come from the host.
pub(crate) fn common_device(operands: &[Operand<'_>]) -> Result<Device> {
    let mut device: Option<(Device, bool)> = None;
    for tensor in operands.iter().filter_map(Operand::tensor) {
        let is_number = tensor.ndim() == 0 && tensor.device() == Device::Cpu;
        device = match device {
            None => Some((tensor.device(), is_number)),
            Some((known, _)) if known == tensor.device() => {
                Some((known, is_number && device.is_some_and(|(_, number)| number)))
            }
            Some(known) if is_number => Some(known),
            Some((_, true)) => Some((tensor.device(), false)),
            Some((known, false)) => bail!(
                Runtime,
                "Expected all tensors to be on the same device, but found at least two devices, {} and {}!",
                device_name(known),
                device_name(tensor.device())
            ),
        };
    }
    Ok(device.map_or(Device::Cpu, |(device, _)| device))
}

/// An operand that `device` can read: a number from the host is given as such.
pub(crate) fn on_device(operand: Operand<'_>, device: Device) -> Result<Operand<'_>> {
    match operand {
        Operand::Tensor(tensor) if tensor.device() != device => Ok(Operand::Scalar(super::item(tensor)?)),
        operand => Ok(operand),
    }
}

/// Fails unless all are on one device.
pub(crate) fn same_device(tensors: &[&Tensor]) -> Result<Device> {
    let device = tensors[0].device();
    for tensor in tensors {
        ensure!(
            tensor.device() == device,
            Runtime,
            "Expected all tensors to be on the same device, but found at least two devices, {} and {}!",
            device_name(device),
            device_name(tensor.device())
        );
    }
    Ok(device)
}

/// As in messages: `cpu`, `npu:0`.
pub fn device_name(device: Device) -> String {
    match device {
        Device::Cpu => "cpu".to_owned(),
        Device::Npu(index) => format!("npu:{index}"),
    }
}

/// The shape of what an operation on these gives.
pub(crate) fn common_shape(operands: &[Operand<'_>]) -> Result<Dims> {
    let mut shapes = operands.iter().filter_map(Operand::tensor).map(Tensor::shape);
    let mut shape: Dims = shapes.next().unwrap_or_default().into();
    for other in shapes {
        shape = broadcast(&shape, other)?;
    }
    Ok(shape)
}

/// Fails unless the result of an in-place operation fits into its target.
pub(crate) fn check_target(target: &Tensor, shape: &[usize], result: DType) -> Result<()> {
    ensure!(
        shape == target.shape(),
        Runtime,
        "output with shape {} doesn't match the broadcast shape {}",
        list(target.shape()),
        list(shape)
    );
    let (from, to) = (result.category(), target.dtype().category());
    ensure!(
        from <= to || (from == Category::Integer && to == Category::Integer),
        Runtime,
        "result type {} can't be cast to the desired output type {}",
        result.scalar_type(),
        target.dtype().scalar_type()
    );
    check_overlap(target)
}

/// Fails if several numbers of a tensor that is written to are one place in memory.
pub(crate) fn check_overlap(target: &Tensor) -> Result<()> {
    let expanded = target.numel() > 0
        && target.shape().iter().zip(target.strides()).any(|(&size, &stride)| size > 1 && stride == 0);
    ensure!(
        !expanded,
        Runtime,
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please \
         clone() the tensor before performing the operation."
    );
    Ok(())
}
