//! Reductions: many numbers become one.

use super::{contiguous, div, expand, permute, to_dtype, unsqueeze};
use crate::Tensor;
use crate::autograd::{Context, track};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{ComputeType, DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::line::Axis;
use crate::kernels::reduce as kernel;
use crate::shape::{Dims, wrap_dims};
use crate::tensor::access::{read, write};

/// A reduction, as kernels see it: a contiguous input whose middle dimension goes.
pub(super) struct Reduction {
    pub(super) input: Tensor,
    pub(super) axis: Axis,
    /// The result's shape, with or without the dimensions that went.
    pub(super) shape: Dims,
    /// The dimensions that went, in ascending order.
    pub(super) dims: Dims,
}

impl Reduction {
    /// Prepares a reduction of `input`, as numbers of type `dtype`, over `dims`; none given are all.
    pub(super) fn new(input: &Tensor, dims: &[i64], keepdim: bool, dtype: DType) -> Result<Self> {
        let mut dims = wrap_dims(dims, input.ndim())?;
        if input.ndim() == 0 {
            dims.clear();
        }
        dims.sort_unstable();
        let kept = |dim: &usize| !dims.contains(dim);
        let shape: Dims = if keepdim {
            (0..input.ndim()).map(|dim| if dims.contains(&dim) { 1 } else { input.shape()[dim] }).collect()
        } else {
            (0..input.ndim()).filter(kept).map(|dim| input.shape()[dim]).collect()
        };
        let adjacent = dims.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let (input, first) = if adjacent {
            (contiguous(&to_dtype(input, dtype)?)?, dims.first().copied().unwrap_or(0))
        } else {
            // What goes comes last, where it lies together.
            let order: Vec<i64> =
                (0..input.ndim()).filter(kept).chain(dims.iter().copied()).map(|dim| dim as i64).collect();
            (contiguous(&to_dtype(&permute(input, &order)?, dtype)?)?, input.ndim() - dims.len())
        };
        let sizes = input.shape();
        let axis = Axis {
            outer: sizes[..first].iter().product(),
            len: sizes[first..first + dims.len()].iter().product(),
            inner: sizes[first + dims.len()..].iter().product(),
        };
        Ok(Self { input, axis, shape, dims })
    }

    /// Allocates the result and launches a kernel for it.
    pub(super) fn launch(
        &self,
        name: &'static str,
        dtype: DType,
        kernel: impl FnOnce(&Tensor, Axis, &Tensor) + Send + 'static,
    ) -> Result<Tensor> {
        let out = Tensor::allocate(&self.shape, dtype, self.input.device())?;
        let axis = self.axis;
        launch(name, [&out, &self.input], move |[out, input]| kernel(input, axis, out))?;
        Ok(out)
    }
}

/// The type that kernels have for this one: that of the numbers they compute in.
pub(super) fn kernel_dtype(dtype: DType) -> DType {
    match dtype.compute() {
        ComputeType::F32 => DType::Float32,
        ComputeType::F64 => DType::Float64,
        ComputeType::I64 => DType::Int64,
    }
}

pub(super) fn signed(dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|&dim| dim as i64).collect()
}

/// With the dimensions that a reduction took away.
pub(super) fn restore(reduced: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    let mut restored = reduced.clone();
    if !keepdim {
        for &dim in dims {
            restored = unsqueeze(&restored, dim as i64)?;
        }
    }
    Ok(restored)
}

/// A gradient of a reduction over `dims`, as one of its input. One number for all needs no dimensions.
pub(super) fn spread(grad: &Tensor, shape: &[usize], dims: &[usize], keepdim: bool) -> Result<Tensor> {
    expand(&restore(grad, dims, keepdim)?, &signed(shape))
}

/// The sum over dimensions; none given are all.
///
/// # Errors
/// If a dimension does not exist.
pub fn sum(input: &Tensor, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    static WHOLE: Op = Op::new("aten::sum", "");
    static ALONG: Op = Op::new("aten::sum", "dim_IntList");
    let (op, node) = if dims.is_empty() { (&WHOLE, "SumBackward0") } else { (&ALONG, "SumBackward1") };
    let result = dtype.unwrap_or(if input.dtype().is_float() { input.dtype() } else { DType::Int64 });
    let mut gone = Dims::new();
    let out = op.run(&[input.into(), Arg::Ints(dims), Arg::Bool(keepdim), dtype.into()], || {
        let reduction = Reduction::new(input, dims, keepdim, kernel_dtype(result))?;
        if !dims.is_empty() {
            gone = reduction.dims.clone();
        }
        let sum = reduction.launch("sum", kernel_dtype(result), |input, axis, out| match out.dtype().compute() {
            ComputeType::F32 => kernel::sum::<f32>(read(input), axis, write(out)),
            ComputeType::F64 => kernel::sum::<f64>(read(input), axis, write(out)),
            ComputeType::I64 => kernel::sum::<i64>(read(input), axis, write(out)),
        })?;
        to_dtype(&sum, result)
    })?;
    track(node, [input], &out, || {
        let shape: Dims = input.shape().into();
        move |_: &Context<'_>, grad: &Tensor| Ok([Some(spread(grad, &shape, &gone, keepdim)?)])
    })?;
    Ok(out)
}

/// The mean over dimensions; none given are all.
///
/// # Errors
/// If a dimension does not exist, or for integers.
pub fn mean(input: &Tensor, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    static WHOLE: Op = Op::new("aten::mean", "");
    static ALONG: Op = Op::new("aten::mean", "dim");
    let (op, node) = if dims.is_empty() { (&WHOLE, "MeanBackward0") } else { (&ALONG, "MeanBackward1") };
    let result = dtype.unwrap_or(input.dtype());
    ensure!(
        result.is_float(),
        Runtime,
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {}",
        result.scalar_type()
    );
    let wrapped = wrap_dims(dims, input.ndim())?;
    let count: usize = wrapped.iter().map(|&dim| input.shape().get(dim).copied().unwrap_or(1)).product();
    let mut gone = Dims::new();
    let out = op.run(&[input.into(), Arg::Ints(dims), Arg::Bool(keepdim), dtype.into()], || {
        let reduction = Reduction::new(input, dims, keepdim, kernel_dtype(result))?;
        if !dims.is_empty() {
            gone = reduction.dims.clone();
        }
        let mean = reduction.launch("mean", kernel_dtype(result), |input, axis, out| match out.dtype() {
            DType::Float64 => kernel::mean::<f64>(read(input), axis, write(out)),
            _ => kernel::mean::<f32>(read(input), axis, write(out)),
        })?;
        to_dtype(&mean, result)
    })?;
    track(node, [input], &out, || {
        let shape: Dims = input.shape().into();
        move |_: &Context<'_>, grad: &Tensor| {
            Ok([Some(div(&spread(grad, &shape, &gone, keepdim)?, Scalar::Int(count as i64))?)])
        }
    })?;
    Ok(out)
}
