//! Reductions beyond sums: products, variances, norms, truths.

use super::reduce::{Reduction, kernel_dtype, spread};
use super::{abs, div, exp, log, mul, pow, sign, sub, sum, to_dtype, r#where};
use crate::Tensor;
use crate::autograd::{Context, Grads, Saved, mode, track, track_list};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{ComputeType, DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::axis::Axis;
use crate::kernels::{moments, reduce as kernel, softmax};
use crate::shape::Dims;
use crate::tensor::access::{read, write};

fn signed(dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|&dim| dim as i64).collect()
}

/// The product over a dimension, or of all.
///
/// # Errors
/// If the dimension does not exist.
pub fn prod(input: &Tensor, dim: Option<i64>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::prod", "dim_int");
    let result = dtype.unwrap_or(if input.dtype().is_float() { input.dtype() } else { DType::Int64 });
    let dims: smallvec::SmallVec<[i64; 1]> = dim.into_iter().collect();
    let mut gone = Dims::new();
    let out = OP.run(&[input.into(), dim.into(), Arg::Bool(keepdim), dtype.into()], || {
        let reduction = Reduction::new(input, &dims, keepdim, kernel_dtype(result))?;
        gone = reduction.dims.clone();
        let out = reduction.launch("prod", kernel_dtype(result), |input, axis, out| match out.dtype().compute() {
            ComputeType::F32 => kernel::prod::<f32>(read(input), axis, write(out)),
            ComputeType::F64 => kernel::prod::<f64>(read(input), axis, write(out)),
            ComputeType::I64 => kernel::prod::<i64>(read(input), axis, write(out)),
        })?;
        to_dtype(&out, result)
    })?;
    track("ProdBackward1", [input], &out, || {
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

/// Truths over dimensions.
fn truth(name: &'static str, input: &Tensor, dims: &[i64], keepdim: bool, all: bool) -> Result<Tensor> {
    let truths = super::ne(input, Scalar::Int(0))?;
    let reduction = Reduction::new(&truths, dims, keepdim, DType::Bool)?;
    let out = reduction.launch(name, DType::Bool, move |input, axis, out| {
        if all { kernel::all(read(input), axis, write(out)) } else { kernel::any(read(input), axis, write(out)) }
    })?;
    // Bytes stay bytes, for the sake of old programs.
    if input.dtype() == DType::UInt8 { to_dtype(&out, DType::UInt8) } else { Ok(out) }
}

/// Whether any number is true, over dimensions; none given are all.
///
/// # Errors
/// If a dimension does not exist.
pub fn any(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::any", "");
    OP.run(&[input.into(), Arg::Ints(dims), Arg::Bool(keepdim)], || truth("any", input, dims, keepdim, false))
}

/// Whether all numbers are true, over dimensions; none given are all.
///
/// # Errors
/// If a dimension does not exist.
pub fn all(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::all", "");
    OP.run(&[input.into(), Arg::Ints(dims), Arg::Bool(keepdim)], || truth("all", input, dims, keepdim, true))
}

/// The variance over dimensions, and the mean.
fn moments_of(
    input: &Tensor,
    dims: &[i64],
    correction: f64,
    keepdim: bool,
    root: bool,
) -> Result<(Tensor, Tensor, Dims, usize)> {
    let compute = kernel_dtype(input.dtype());
    let reduction = Reduction::new(input, dims, keepdim, compute)?;
    let spread = Tensor::allocate(&reduction.shape, compute, input.device())?;
    let mean = Tensor::allocate(&reduction.shape, compute, input.device())?;
    let axis = reduction.axis;
    launch("var_mean", [&spread, &mean, &reduction.input], move |[spread, mean, input]| {
        match (spread.dtype(), root) {
            (DType::Float64, false) => {
                moments::var_mean::<f64>(read(input), axis, correction, write(spread), write(mean));
            }
            (DType::Float64, true) => {
                moments::std_mean::<f64>(read(input), axis, correction, write(spread), write(mean));
            }
            (_, false) => moments::var_mean::<f32>(read(input), axis, correction, write(spread), write(mean)),
            (_, true) => moments::std_mean::<f32>(read(input), axis, correction, write(spread), write(mean)),
        }
    })?;
    Ok((to_dtype(&spread, input.dtype())?, to_dtype(&mean, input.dtype())?, reduction.dims, axis.len))
}

fn check_float(input: &Tensor) -> Result<()> {
    ensure!(input.dtype().is_float(), Runtime, "std and var only support floating point and complex dtypes");
    Ok(())
}

/// The gradient of a variance: twice the distance from the mean, over the divisor.
fn var_grad(grad: &Tensor, input: &Tensor, gone: &[usize], keepdim: bool, divisor: f64) -> Result<Tensor> {
    let mean = super::mean(input, &signed(gone), true, None)?;
    let distance = sub(input, &mean, 1.into())?;
    let grad = spread(grad, input.shape(), gone, keepdim)?;
    mul(&mul(&grad, &distance)?, Scalar::Float(2.0 / divisor))
}

/// The variance over dimensions; none given are all.
///
/// # Errors
/// If a dimension does not exist, or for integers.
pub fn var(input: &Tensor, dims: &[i64], correction: f64, keepdim: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::var", "correction");
    check_float(input)?;
    let mut about = (Dims::new(), 0);
    let out = OP.run(&[input.into(), Arg::Ints(dims), Arg::Float(correction), Arg::Bool(keepdim)], || {
        let (out, _, gone, count) = moments_of(input, dims, correction, keepdim, false)?;
        about = (gone, count);
        Ok(out)
    })?;
    track("VarBackward0", [input], &out, || {
        let (input, divisor) = (Saved::new(input), (about.1 as f64 - correction).max(0.0));
        move |context: &Context<'_>, grad: &Tensor| {
            Ok([Some(var_grad(grad, &input.get(context)?, &about.0, keepdim, divisor)?)])
        }
    })?;
    Ok(out)
}

/// The standard deviation over dimensions; none given are all.
///
/// # Errors
/// If a dimension does not exist, or for integers.
pub fn std(input: &Tensor, dims: &[i64], correction: f64, keepdim: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::std", "correction");
    check_float(input)?;
    let mut about = (Dims::new(), 0);
    let out = OP.run(&[input.into(), Arg::Ints(dims), Arg::Float(correction), Arg::Bool(keepdim)], || {
        let (out, _, gone, count) = moments_of(input, dims, correction, keepdim, true)?;
        about = (gone, count);
        Ok(out)
    })?;
    track("StdBackward0", [input], &out, || {
        let (input, out, divisor) = (Saved::new(input), Saved::output(&out), (about.1 as f64 - correction).max(0.0));
        move |context: &Context<'_>, grad: &Tensor| {
            let out = out.get(context)?;
            let root = div(grad, &mul(&out, Scalar::Int(2))?)?;
            // Where nothing varies there is no direction.
            let grad = r#where(&super::eq(&out, Scalar::Int(0))?, Scalar::Float(0.0), &root)?;
            Ok([Some(var_grad(&grad, &input.get(context)?, &about.0, keepdim, divisor)?)])
        }
    })?;
    Ok(out)
}

/// The variance and the mean over dimensions.
///
/// # Errors
/// If a dimension does not exist, or for integers.
pub fn var_mean(input: &Tensor, dims: &[i64], correction: f64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    static OP: Op = Op::new("aten::var_mean", "correction");
    check_float(input)?;
    let mut about = (Dims::new(), 0);
    let (var, mean) = OP.run(&[input.into(), Arg::Ints(dims), Arg::Float(correction), Arg::Bool(keepdim)], || {
        let (var, mean, gone, count) = moments_of(input, dims, correction, keepdim, false)?;
        about = (gone, count);
        Ok((var, mean))
    })?;
    track_list("VarMeanBackward0", &[Some(input)], &[&var, &mean], || {
        let (input, count) = (Saved::new(input), about.1 as f64);
        move |context: &Context<'_>, grads: &Grads| {
            let input = input.get(context)?;
            let mut total: Option<Tensor> = None;
            if let Some(grad) = &grads[0] {
                total = Some(var_grad(grad, &input, &about.0, keepdim, (count - correction).max(0.0))?);
            }
            if let Some(grad) = &grads[1] {
                let part = mul(&spread(grad, input.shape(), &about.0, keepdim)?, Scalar::Float(1.0 / count))?;
                total = Some(match total {
                    Some(total) => super::add(&total, &part, 1.into())?,
                    None => part,
                });
            }
            Ok(Grads::from_iter([total]))
        }
    })?;
    Ok((var, mean))
}

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
        gone = reduction.dims.clone();
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
            let grad = spread(grad, input.shape(), &gone, keepdim)?;
            let whole = spread(&out, input.shape(), &gone, keepdim)?;
            norm_grad(&grad, &input, &whole, p, &gone).map(|grad| [Some(grad)])
        }
    })?;
    Ok(out)
}

fn norm_grad(grad: &Tensor, input: &Tensor, whole: &Tensor, p: f64, gone: &[usize]) -> Result<Tensor> {
    let unless_zero = |slope: &Tensor| r#where(&super::eq(whole, Scalar::Int(0))?, Scalar::Float(0.0), slope);
    if p == 1.0 {
        return mul(grad, &sign(input)?);
    }
    if p == 2.0 {
        return mul(grad, &unless_zero(&div(input, whole)?)?);
    }
    if p.is_infinite() {
        let best = super::eq(&abs(input)?, whole)?;
        let mask = to_dtype(&best, input.dtype())?;
        let dims = signed(gone);
        let count = if dims.is_empty() { mask.clone() } else { sum(&mask, &dims, true, None)? };
        return mul(&mul(grad, &sign(input)?)?, &div(&mask, &count)?);
    }
    let slope =
        div(&mul(&sign(input)?, &pow(&abs(input)?, Scalar::Float(p - 1.0))?)?, &pow(whole, Scalar::Float(p - 1.0))?)?;
    let slope = r#where(&super::eq(input, Scalar::Int(0))?, Scalar::Float(0.0), &slope)?;
    mul(grad, &unless_zero(&slope)?)
}

/// The logarithm of the sum of the exponentials over dimensions.
///
/// # Errors
/// If a dimension does not exist.
pub fn logsumexp(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::logsumexp", "");
    let input = &if input.dtype().is_float() { input.clone() } else { to_dtype(input, crate::default_dtype())? };
    let mut gone = Dims::new();
    let out = OP.run(&[input.into(), Arg::Ints(dims), Arg::Bool(keepdim)], || {
        gone = Reduction::new(input, dims, keepdim, input.dtype())?.dims;
        if input.numel() == 0 {
            return log(&sum(&exp(input)?, dims, keepdim, None)?);
        }
        let compute = kernel_dtype(input.dtype());
        let reduction = Reduction::new(input, dims, keepdim, compute)?;
        let total = reduction.launch("logsumexp", compute, |input, axis, out| {
            let axis = Axis { outer: axis.outer, length: axis.len, inner: axis.inner };
            match out.dtype() {
                DType::Float64 => softmax::logsumexp::<f64>(write(out), read(input), axis),
                _ => softmax::logsumexp::<f32>(write(out), read(input), axis),
            }
        })?;
        to_dtype(&total, input.dtype())
    })?;
    track("LogsumexpBackward0", [input], &out, || {
        let (input, out) = (Saved::new(input), Saved::output(&out));
        move |context: &Context<'_>, grad: &Tensor| {
            let (input, out) = (input.get(context)?, out.get(context)?);
            let whole = spread(&out, input.shape(), &gone, keepdim)?;
            let grad = spread(grad, input.shape(), &gone, keepdim)?;
            Ok([Some(mul(&grad, &exp(&sub(&input, &whole, 1.into())?)?)?)])
        }
    })?;
    Ok(out)
}
