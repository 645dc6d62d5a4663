//! Norms.

use super::reduce::{Reduction, kernel_dtype, restore, signed};
use super::{abs, div, masked_fill_, mul, pow, sgn, sum, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::reduce as kernel;
use crate::shape::Dims;
use crate::tensor::access::{read, write};

/// The `p`-norm over dimensions; none given are all.
///
/// # Errors
/// If a dimension does not exist, or for integers.
pub fn norm(input: &Tensor, p: f64, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::linalg_vector_norm", "");
    let result = dtype.unwrap_or(input.dtype());
    ensure!(
        result.is_float(),
        Runtime,
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
        input.dtype().scalar_type()
    );
    let input = &to_dtype(input, result)?;
    let mut gone = Dims::new();
    let out = OP.run(&[input.into(), Arg::Float(p), Arg::Ints(dims), Arg::Bool(keepdim), dtype.into()], || {
        let compute = kernel_dtype(result);
        let reduction = Reduction::new(input, dims, keepdim, compute)?;
        if !dims.is_empty() {
            gone = reduction.dims.clone();
        }
        let out = reduction.launch("vector_norm", compute, move |input, axis, out| match out.dtype() {
            DType::Float64 => kernel::norm::<f64>(read(input), axis, p, write(out)),
            _ => kernel::norm::<f32>(read(input), axis, p, write(out)),
        })?;
        to_dtype(&out, result)
    })?;
    track("LinalgVectorNormBackward0", [input], &out, || {
        let (input, out) = (Saved::new(input), Saved::output(&out));
        move |context: &Context<'_>, grad: &Tensor| {
            let (input, out) = (input.get(context)?, out.get(context)?);
            // How many are not zero does not change with any of them.
            if p == 0.0 {
                return Ok([None]);
            }
            let (grad, whole) = (restore(grad, &gone, keepdim)?, restore(&out, &gone, keepdim)?);
            norm_grad(&grad, &input, &whole, p, &gone).map(|grad| [Some(grad)])
        }
    })?;
    Ok(out)
}

fn norm_grad(grad: &Tensor, input: &Tensor, whole: &Tensor, p: f64, gone: &[usize]) -> Result<Tensor> {
    let unless_zero = |slope: &Tensor| masked_fill_(slope, &super::eq(whole, Scalar::Int(0))?, Scalar::Int(0));
    if p == 1.0 {
        return mul(grad, &sgn(input)?);
    }
    if p == 2.0 {
        return mul(grad, &unless_zero(&div(input, whole)?)?);
    }
    if p.is_infinite() {
        let best = super::eq(&abs(input)?, whole)?;
        let mask = to_dtype(&best, input.dtype())?;
        let dims = signed(gone);
        let count = sum(&mask, &dims, !dims.is_empty(), None)?;
        return mul(&mul(grad, &sgn(input)?)?, &div(&mask, &count)?);
    }
    let slope =
        div(&mul(&sgn(input)?, &pow(&abs(input)?, Scalar::Float(p - 1.0))?)?, &pow(whole, Scalar::Float(p - 1.0))?)?;
    let slope = masked_fill_(&slope, &super::eq(input, Scalar::Int(0))?, Scalar::Int(0))?;
    mul(grad, &unless_zero(&slope)?)
}
