//! Running sums and products.

use super::reduce::kernel_dtype;
use super::{contiguous, div, flip, mul, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{ComputeType, DType};
use crate::error::Result;
use crate::kernels::line::Axis;
use crate::kernels::scan as kernel;
use crate::shape::wrap_dim;
use crate::tensor::access::{read, write};

fn scan(name: &'static str, input: &Tensor, dim: usize, result: DType, product: bool) -> Result<Tensor> {
    let compute = kernel_dtype(result);
    let input = contiguous(&to_dtype(input, compute)?)?;
    let out = Tensor::allocate(input.shape(), compute, input.device())?;
    let (outer, inner) = (input.shape()[..dim].iter().product(), input.shape().iter().skip(dim + 1).product());
    let axis = Axis { outer, len: input.shape().get(dim).copied().unwrap_or(1), inner };
    launch(name, [&out, &input], move |[out, input]| {
        macro_rules! run {
            ($type:ty) => {
                match product {
                    false => kernel::cumsum::<$type>(read(input), axis, write(out)),
                    true => kernel::cumprod::<$type>(read(input), axis, write(out)),
                }
            };
        }
        match out.dtype().compute() {
            ComputeType::F32 => run!(f32),
            ComputeType::F64 => run!(f64),
            ComputeType::I64 => run!(i64),
        }
    })?;
    to_dtype(&out, result)
}

fn result_dtype(input: &Tensor, dtype: Option<DType>) -> DType {
    dtype.unwrap_or(if input.dtype().is_float() { input.dtype() } else { DType::Int64 })
}

/// Sums of each number and all before it.
///
/// # Errors
/// If the dimension does not exist.
pub fn cumsum(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::cumsum", "");
    let place = wrap_dim(dim, input.ndim())?;
    let out = OP.run(&[input.into(), Arg::Int(dim), dtype.into()], || {
        scan("cumsum", input, place, result_dtype(input, dtype), false)
    })?;
    track("CumsumBackward0", [input], &out, || {
        move |_: &Context<'_>, grad: &Tensor| Ok([Some(reversed_sum(grad, place)?)])
    })?;
    Ok(out)
}

/// Sums of each number and all behind it.
fn reversed_sum(grad: &Tensor, dim: usize) -> Result<Tensor> {
    if grad.ndim() == 0 {
        return Ok(grad.clone());
    }
    flip(&cumsum(&flip(grad, &[dim as i64])?, dim as i64, None)?, &[dim as i64])
}

/// Products of each number and all before it.
///
/// # Errors
/// If the dimension does not exist.
pub fn cumprod(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::cumprod", "");
    let place = wrap_dim(dim, input.ndim())?;
    let out = OP.run(&[input.into(), Arg::Int(dim), dtype.into()], || {
        scan("cumprod", input, place, result_dtype(input, dtype), true)
    })?;
    track("CumprodBackward0", [input], &out, || {
        let (input, out) = (Saved::new(input), Saved::output(&out));
        move |context: &Context<'_>, grad: &Tensor| {
            let (input, out) = (input.get(context)?, out.get(context)?);
            Ok([Some(div(&reversed_sum(&mul(grad, &out)?, place)?, &input)?)])
        }
    })?;
    Ok(out)
}
