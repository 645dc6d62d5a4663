//! Where tensors are not zero.

use super::{contiguous, ne, on_host, to, unbind, view};
use crate::Tensor;
use crate::dispatch::Op;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::kernels::{nonzero as kernel, positions};
use crate::shape::Dims;
use crate::tensor::access::{read, write};
use mindtorch_profiler::Device;

/// The coordinates of the numbers that are not zero, a row for each. Waits for the device.
///
/// # Errors
/// If there is no memory.
pub fn nonzero(input: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::nonzero", "");
    OP.run(&[input.into()], || {
        let host = on_host(input)?;
        let mask = if host.dtype() == DType::Bool { contiguous(&host)? } else { ne(&host, Scalar::Int(0))? };
        let bytes: &[u8] = read(&mask);
        // A dimension's coordinates lie together: this is what they are used by.
        let columns = Tensor::allocate(&[input.ndim(), positions::count(bytes)], DType::Int64, Device::Cpu)?;
        kernel::coordinates(bytes, input.shape(), write(&columns));
        let columns =
            if input.device() == Device::Cpu { columns } else { to(&columns, None, Some(input.device()), false)? };
        let turned = |of: &[usize]| Dims::from_slice(&[of[1], of[0]]);
        Ok(columns.window(turned(columns.shape()), turned(columns.strides()), 0))
    })
}

/// The coordinates of the numbers that are not zero, a tensor for each dimension. Waits for the device.
///
/// # Errors
/// If there is no memory.
pub fn nonzero_numpy(input: &Tensor) -> Result<Vec<Tensor>> {
    static OP: Op = Op::new("aten::nonzero_numpy", "");
    OP.compose(&[input.into()], || {
        let input = if input.ndim() == 0 { view(input, &[1])? } else { input.clone() };
        unbind(&nonzero(&input)?, 1)
    })
}

/// [`nonzero_numpy`] of a condition, under the name that it has when it is given alone.
///
/// # Errors
/// If there is no memory.
pub fn where_nonzero(condition: &Tensor) -> Result<Vec<Tensor>> {
    static OP: Op = Op::new("aten::where", "");
    OP.compose(&[condition.into()], || nonzero_numpy(condition))
}
