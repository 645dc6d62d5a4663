//! Reductions beyond sums: variances, exponentials, truths.

use super::binary::{Types, compute};
use super::reduce::{Reduction, kernel_dtype, restore, signed, spread};
use super::{div, exp, log, masked_fill_, mul, sub, sum, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Grads, Saved, track, track_list};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::axis::Axis;
use crate::kernels::{moments, pointwise, reduce as kernel, softmax};
use crate::shape::Dims;
use crate::tensor::access::{read, write};

/// Truths over dimensions.
fn truth(name: &'static str, input: &Tensor, dims: &[i64], keepdim: bool, all: bool) -> Result<Tensor> {
    let truths = if input.dtype() == DType::Bool {
        input.clone()
    } else {
        compute("ne", [input.into(), Scalar::Int(0).into()], Types::Truth, None, pointwise::ne)?
    };
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
    // The gradient of one list of numbers is one number, which goes with all of them.
    let grad = if input.ndim() > 1 { restore(grad, gone, keepdim)? } else { grad.clone() };
    let mean = super::mean(input, &signed(gone), !gone.is_empty(), None)?;
    let distance = sub(input, &mean, 1.into())?;
    mul(&mul(&grad, Scalar::Float(2.0 / divisor))?, &distance)
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
        about = (if dims.is_empty() { Dims::new() } else { gone }, count);
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
        about = (if dims.is_empty() { Dims::new() } else { gone }, count);
        Ok(out)
    })?;
    track("StdBackward0", [input], &out, || {
        let (input, out, divisor) = (Saved::new(input), Saved::output(&out), (about.1 as f64 - correction).max(0.0));
        move |context: &Context<'_>, grad: &Tensor| {
            let out = out.get(context)?;
            let root = div(grad, &mul(&out, Scalar::Int(2))?)?;
            // Where nothing varies there is no direction.
            let grad = masked_fill_(&root, &super::eq(&out, Scalar::Int(0))?, Scalar::Int(0))?;
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
        about = (if dims.is_empty() { Dims::new() } else { gone }, count);
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
            let (whole, grad) = (restore(&out, &gone, keepdim)?, restore(grad, &gone, keepdim)?);
            Ok([Some(mul(&grad, &exp(&sub(&input, &whole, 1.into())?)?)?)])
        }
    })?;
    Ok(out)
}
