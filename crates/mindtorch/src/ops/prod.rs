//! Products over dimensions.

use super::reduce::{Reduction, kernel_dtype, signed, spread};
use super::{div, mul, sum, to_dtype, r#where};
use crate::Tensor;
use crate::autograd::{Context, Saved, mode, track};
use crate::dispatch::{Arg, Op};
use crate::dtype::{ComputeType, DType, Scalar};
use crate::error::Result;
use crate::kernels::reduce as kernel;
use crate::shape::Dims;
use crate::tensor::access::{read, write};

/// The product over a dimension, or of all.
///
/// # Errors
/// If the dimension does not exist.
pub fn prod(input: &Tensor, dim: Option<i64>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    static WHOLE: Op = Op::new("aten::prod", "");
    static ALONG: Op = Op::new("aten::prod", "dim_int");
    let (op, name) = if dim.is_none() { (&WHOLE, "ProdBackward0") } else { (&ALONG, "ProdBackward1") };
    let result = dtype.unwrap_or(if input.dtype().is_float() { input.dtype() } else { DType::Int64 });
    let dims: smallvec::SmallVec<[i64; 1]> = dim.into_iter().collect();
    let mut gone = Dims::new();
    let out = op.run(&[input.into(), dim.into(), Arg::Bool(keepdim), dtype.into()], || {
        let reduction = Reduction::new(input, &dims, keepdim, kernel_dtype(result))?;
        gone = reduction.dims.clone();
        let out = reduction.launch("prod", kernel_dtype(result), |input, axis, out| match out.dtype().compute() {
            ComputeType::F32 => kernel::prod::<f32>(read(input), axis, write(out)),
            ComputeType::F64 => kernel::prod::<f64>(read(input), axis, write(out)),
            ComputeType::I64 => kernel::prod::<i64>(read(input), axis, write(out)),
        })?;
        to_dtype(&out, result)
    })?;
    track(name, [input], &out, || {
        let (input, out) = (Saved::new(input), Saved::output(&out));
        move |context: &Context<'_>, grad: &Tensor| {
            let (input, out) = (input.get(context)?, out.get(context)?);
            let grad = spread(grad, input.shape(), &gone, keepdim)?;
            let whole = spread(&out, input.shape(), &gone, keepdim)?;
            prod_grad(&grad, &input, &whole, &gone).map(|grad| [Some(grad)])
        }
    })?;
    Ok(out)
}

/// The product of the others, as operations that have gradients whatever is zero: without each in turn.
fn prod_of_others(input: &Tensor, gone: &[usize]) -> Result<Tensor> {
    let shape = signed(input.shape());
    let (flat, dim) = match gone {
        [] => return super::ones_like(input),
        [dim] => (input.clone(), *dim as i64),
        _ => (super::reshape(input, &[-1])?, 0),
    };
    let size = flat.shape()[dim as usize] as i64;
    if size == 0 {
        return super::ones_like(input);
    }
    let without = |index: i64| {
        let before = super::narrow(&flat, dim, 0, index)?;
        let after = super::narrow(&flat, dim, index + 1, size - index - 1)?;
        prod(&super::cat(&[before, after], dim)?, Some(dim), true, None)
    };
    let others = (0..size).map(without).collect::<Result<Vec<_>>>()?;
    super::reshape(&super::cat(&others, dim)?, &shape)
}

/// The product of the others: the whole divided by each, except where one is zero.
fn prod_grad(grad: &Tensor, input: &Tensor, whole: &Tensor, gone: &[usize]) -> Result<Tensor> {
    if mode::is_recording() && (grad.requires_grad() || input.requires_grad()) {
        return mul(grad, &prod_of_others(input, gone)?);
    }
    let is_zero = super::eq(input, Scalar::Int(0))?;
    let filled = r#where(&is_zero, Scalar::Int(1), input)?;
    let plain = div(&mul(grad, whole)?, &filled)?;
    let dims = signed(gone);
    let zeros = if dims.is_empty() { to_dtype(&is_zero, DType::Int64)? } else { sum(&is_zero, &dims, true, None)? };
    // With one zero, only that place has a gradient: the product of the rest.
    let mut rest = filled;
    for &dim in gone {
        rest = prod(&rest, Some(dim as i64), true, None)?;
    }
    let alone = super::logical_and(&is_zero, &super::eq(&zeros, Scalar::Int(1))?)?;
    let of_zero = r#where(&alone, &mul(grad, &rest)?, Scalar::Int(0))?;
    let has_none = super::eq(&zeros, Scalar::Int(0))?;
    r#where(&has_none, &plain, &of_zero)
}
