//! New tensors.

use super::args::Args;
use super::call::bindings;
use super::{finish, unsigned};
use mindtorch::{DType, Device, Result, Scalar, Tensor, default_dtype, ops};

fn place(a: &Args, dtype: usize, device: usize) -> (DType, Device) {
    (a.dtype(dtype).unwrap_or_else(default_dtype), a.device(device).unwrap_or(Device::Cpu))
}

/// The type of a range: that of its bounds.
fn range_dtype(scalars: &[Scalar]) -> DType {
    if scalars.iter().any(|scalar| matches!(scalar, Scalar::Float(_))) { default_dtype() } else { DType::Int64 }
}

fn arange(a: &Args) -> Result<Tensor> {
    let (start, end) = match (a.opt_scalar(0), a.opt_scalar(1)) {
        (start, Some(end)) => (start.unwrap_or(Scalar::Int(0)), end),
        (Some(end), None) => (Scalar::Int(0), end),
        (None, None) => {
            let message = "arange() missing 1 required positional arguments: \"end\"";
            return Err(mindtorch::Error::new(mindtorch::ErrorKind::Type, message));
        }
    };
    let step = a.scalar(2);
    let dtype = a.dtype(3).unwrap_or_else(|| range_dtype(&[start, end, step]));
    finish(ops::arange(start, end, step, dtype, a.device(4).unwrap_or(Device::Cpu)), a.bool(5))
}

bindings! {
    empty: "empty(int[*] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False, bool pin_memory=False)", Function => |a| {
        let (dtype, device) = place(a, 1, 2);
        finish(ops::empty(&unsigned(a.ints(0))?, dtype, device), a.bool(3))
    };
    zeros: "zeros(int[*] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let (dtype, device) = place(a, 1, 2);
        finish(ops::zeros(&unsigned(a.ints(0))?, dtype, device), a.bool(3))
    };
    ones: "ones(int[*] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let (dtype, device) = place(a, 1, 2);
        finish(ops::ones(&unsigned(a.ints(0))?, dtype, device), a.bool(3))
    };
    full: "full(int[] size, Scalar fill_value, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let dtype = a.dtype(2).unwrap_or_else(|| a.scalar(1).dtype());
        finish(ops::full(&unsigned(a.ints(0))?, a.scalar(1), dtype, a.device(3).unwrap_or(Device::Cpu)), a.bool(4))
    };
    empty_like: "empty_like(Tensor input, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        finish(ops::empty_like(a.tensor(0), a.dtype(1), a.device(2)), a.bool(3))
    };
    zeros_like: "zeros_like(Tensor input, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let zeros = if a.is_none(1) && a.is_none(2) { ops::zeros_like(a.tensor(0)) } else { ops::full_like(a.tensor(0), 0.into(), a.dtype(1), a.device(2)) };
        finish(zeros, a.bool(3))
    };
    ones_like: "ones_like(Tensor input, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let ones = if a.is_none(1) && a.is_none(2) { ops::ones_like(a.tensor(0)) } else { ops::full_like(a.tensor(0), 1.into(), a.dtype(1), a.device(2)) };
        finish(ones, a.bool(3))
    };
    full_like: "full_like(Tensor input, Scalar fill_value, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        finish(ops::full_like(a.tensor(0), a.scalar(1), a.dtype(2), a.device(3)), a.bool(4))
    };
    new_empty: "new_empty(Tensor input, int[*] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Method => |a| {
        let (dtype, device) = (a.dtype(2).unwrap_or(a.tensor(0).dtype()), a.device(3).unwrap_or(a.tensor(0).device()));
        finish(ops::empty(&unsigned(a.ints(1))?, dtype, device), a.bool(4))
    };
    new_zeros: "new_zeros(Tensor input, int[*] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Method => |a| {
        let (dtype, device) = (a.dtype(2).unwrap_or(a.tensor(0).dtype()), a.device(3).unwrap_or(a.tensor(0).device()));
        finish(ops::zeros(&unsigned(a.ints(1))?, dtype, device), a.bool(4))
    };
    new_ones: "new_ones(Tensor input, int[*] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Method => |a| {
        let (dtype, device) = (a.dtype(2).unwrap_or(a.tensor(0).dtype()), a.device(3).unwrap_or(a.tensor(0).device()));
        finish(ops::ones(&unsigned(a.ints(1))?, dtype, device), a.bool(4))
    };
    new_full: "new_full(Tensor input, int[] size, Scalar fill_value, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Method => |a| {
        let (dtype, device) = (a.dtype(3).unwrap_or(a.tensor(0).dtype()), a.device(4).unwrap_or(a.tensor(0).device()));
        finish(ops::full(&unsigned(a.ints(1))?, a.scalar(2), dtype, device), a.bool(5))
    };
    arange: "arange(Scalar? start=None, Scalar? end=None, Scalar step=1, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => self::arange;
    linspace: "linspace(float start, float end, int steps, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let (dtype, device) = place(a, 3, 4);
        finish(ops::linspace(a.float(0), a.float(1), unsigned(&[a.int(2)])?[0], dtype, device), a.bool(5))
    };
    eye: "eye(int n, int? m=None, *, dtype? dtype=None, device? device=None, bool requires_grad=False)", Function => |a| {
        let (dtype, device) = place(a, 2, 3);
        let sizes = unsigned(&[a.int(0), a.opt_int(1).unwrap_or(a.int(0))])?;
        finish(ops::eye(sizes[0], sizes[1], dtype, device), a.bool(4))
    };
    scalar_tensor: "scalar_tensor(Scalar s, *, dtype? dtype=None, device? device=None)", Function => |a| {
        let (dtype, device) = place(a, 1, 2);
        ops::scalar_tensor(a.scalar(0), dtype, device)
    };
    fill_: "fill_(Tensor input, Operand value)", Both => |a| match a.operand(1) {
        ops::Operand::Scalar(value) => ops::fill_(a.tensor(0), value),
        ops::Operand::Tensor(value) if value.ndim() == 0 => ops::copy_(a.tensor(0), value),
        ops::Operand::Tensor(value) => Err(mindtorch::Error::new(
            mindtorch::ErrorKind::Runtime,
            format!("fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.", value.ndim()),
        )),
    };
    zero_: "zero_(Tensor input)", Both => |a| ops::zero_(a.tensor(0));
}
