//! The largest and the smallest.

use super::reduce::{Reduction, kernel_dtype, signed};
use super::sorting::value_selecting_reduction_backward;
use super::{div, eq, mul, reshape, sum, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track, track_list};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{ComputeType, DType};
use crate::error::{Result, ensure};
use crate::kernels::{arg_reduce, reduce as kernel};
use crate::shape::{Dims, wrap_dim, wrap_dims};
use crate::tensor::access::{read, write};

/// Which end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Max,
    Min,
}

fn check_not_empty(input: &Tensor, dims: &[i64], name: &str) -> Result<()> {
    for &dim in &wrap_dims(dims, input.ndim())? {
        ensure!(
            input.shape().get(dim).is_none_or(|&size| size > 0),
            Index,
            "{name}(): Expected reduction dim {dim} to have non-zero size."
        );
    }
    Ok(())
}

fn values(end: End, input: &Tensor, dims: &[i64], keepdim: bool) -> Result<(Tensor, Dims)> {
    let compute = kernel_dtype(input.dtype());
    let reduction = Reduction::new(input, dims, keepdim, compute)?;
    let out =
        reduction.launch("reduce_extremum", compute, move |input, axis, out| match (out.dtype().compute(), end) {
            (ComputeType::F32, End::Max) => kernel::max::<f32>(read(input), axis, write(out)),
            (ComputeType::F32, End::Min) => kernel::min::<f32>(read(input), axis, write(out)),
            (ComputeType::F64, End::Max) => kernel::max::<f64>(read(input), axis, write(out)),
            (ComputeType::F64, End::Min) => kernel::min::<f64>(read(input), axis, write(out)),
            (ComputeType::I64, End::Max) => kernel::max::<i64>(read(input), axis, write(out)),
            (ComputeType::I64, End::Min) => kernel::min::<i64>(read(input), axis, write(out)),
        })?;
    Ok((to_dtype(&out, input.dtype())?, reduction.dims))
}

/// Whoever has the extreme value gets an equal share of the gradient.
fn shared_rule(
    input: &Tensor,
    out: &Tensor,
    gone: Dims,
    keepdim: bool,
    finds_nan: bool,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 1]> + use<> {
    // What is left of the dimensions if those that went stay.
    let shape: Vec<i64> =
        (0..input.ndim()).map(|dim| if gone.contains(&dim) { 1 } else { input.shape()[dim] as i64 }).collect();
    let kept = move |reduced: &Tensor| if keepdim { Ok(reduced.clone()) } else { reshape(reduced, &shape) };
    let (input, out) = (Saved::new(input), Saved::output(out));
    move |context, grad| {
        let (input, out) = (input.get(context)?, out.get(context)?);
        let best = if finds_nan { out } else { kept(&out)? };
        let mut is_best = eq(&input, &best)?;
        if finds_nan {
            is_best = super::logical_or(&is_best, &super::logical_and(&super::isnan(&input)?, &super::isnan(&best)?)?)?;
        }
        let grad = if finds_nan { grad.clone() } else { kept(grad)? };
        // Counted in numbers of the gradient's type, where these can count: they take less memory than integers.
        let counts = matches!(grad.dtype(), DType::Float32 | DType::Float64).then_some(grad.dtype());
        let count = sum(&is_best, &signed(&gone), !finds_nan, counts)?;
        Ok([Some(mul(&div(&grad, &count)?, &is_best)?)])
    }
}

macro_rules! extrema {
    ($($end:ident: $amax:ident $amax_name:literal $amax_node:literal, $whole:ident $max_name:literal $max_node:literal, $along:ident $along_node:literal, $arg:ident $arg_name:literal $kernel:ident;)*) => {$(
        /// The extreme values over dimensions; none given are all.
        ///
        /// # Errors
        /// If a dimension does not exist or has nothing in it.
        pub fn $amax(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
            static OP: Op = Op::new(concat!("aten::", $amax_name), "");
            check_not_empty(input, dims, $amax_name)?;
            let mut gone = Dims::new();
            let out = OP.run(&[input.into(), Arg::Ints(dims), Arg::Bool(keepdim)], || {
                let (out, dims) = values(End::$end, input, dims, keepdim)?;
                gone = dims;
                Ok(out)
            })?;
            track($amax_node, [input], &out, || shared_rule(input, &out, gone, keepdim, false))?;
            Ok(out)
        }

        /// The extreme value of all.
        ///
        /// # Errors
        /// If there are none.
        pub fn $whole(input: &Tensor) -> Result<Tensor> {
            static OP: Op = Op::new(concat!("aten::", $max_name), "");
            ensure!(
                input.numel() > 0,
                Runtime,
                "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' \
                 argument.",
                $max_name
            );
            let mut gone = Dims::new();
            let out = OP.run(&[input.into()], || {
                let (out, dims) = values(End::$end, input, &[], false)?;
                gone = dims;
                Ok(out)
            })?;
            track($max_node, [input], &out, || shared_rule(input, &out, gone, false, true))?;
            Ok(out)
        }

        /// The extreme values along a dimension, and where they are.
        ///
        /// # Errors
        /// If the dimension does not exist or has nothing in it.
        pub fn $along(input: &Tensor, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
            static OP: Op = Op::new(concat!("aten::", $max_name), "dim");
            check_not_empty(input, &[dim], $max_name)?;
            let place = wrap_dim(dim, input.ndim())?;
            let (out, indices) = OP.run(&[input.into(), Arg::Int(dim), Arg::Bool(keepdim)], || {
                with_indices(End::$end, input, place, keepdim)
            })?;
            track_along($along_node, input, place, keepdim, &out, &indices)?;
            Ok((out, indices))
        }

        /// Where the extreme values are: along a dimension, or of all.
        ///
        /// # Errors
        /// If the dimension does not exist or has nothing in it.
        pub fn $arg(input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
            static OP: Op = Op::new(concat!("aten::", $arg_name), "");
            match dim {
                Some(dim) => check_not_empty(input, &[dim], $arg_name)?,
                None => ensure!(
                    input.numel() > 0,
                    Index,
                    "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the \
                     'dim' argument.",
                    $arg_name
                ),
            }
            OP.run(&[input.into(), dim.into(), Arg::Bool(keepdim)], || {
                let dims: smallvec::SmallVec<[i64; 1]> = dim.into_iter().collect();
                let reduction = Reduction::new(input, &dims, keepdim, kernel_dtype(input.dtype()))?;
                reduction.launch($arg_name, DType::Int64, |input, axis, out| match input.dtype().compute() {
                    ComputeType::F32 => arg_reduce::$kernel::<f32>(read(input), axis, write(out)),
                    ComputeType::F64 => arg_reduce::$kernel::<f64>(read(input), axis, write(out)),
                    ComputeType::I64 => arg_reduce::$kernel::<i64>(read(input), axis, write(out)),
                })
            })
        }
    )*};
}

extrema! {
    Max: amax "amax" "AmaxBackward0", max "max" "MaxBackward1", max_along "MaxBackward0", argmax "argmax" argmax;
    Min: amin "amin" "AminBackward0", min "min" "MinBackward1", min_along "MinBackward0", argmin "argmin" argmin;
}

fn with_indices(end: End, input: &Tensor, dim: usize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let compute = kernel_dtype(input.dtype());
    let reduction = Reduction::new(input, &[dim as i64], keepdim, compute)?;
    let out = Tensor::allocate(&reduction.shape, compute, input.device())?;
    let indices = Tensor::allocate(&reduction.shape, DType::Int64, input.device())?;
    let axis = reduction.axis;
    launch("reduce_extremum", [&out, &indices, &reduction.input], move |[out, indices, input]| {
        macro_rules! run {
            ($type:ty) => {{
                match end {
                    End::Max => arg_reduce::argmax::<$type>(read(input), axis, write(indices)),
                    End::Min => arg_reduce::argmin::<$type>(read(input), axis, write(indices)),
                }
                arg_reduce::pick::<$type>(read(input), axis, read(indices), write(out));
            }};
        }
        match out.dtype().compute() {
            ComputeType::F32 => run!(f32),
            ComputeType::F64 => run!(f64),
            ComputeType::I64 => run!(i64),
        }
    })?;
    Ok((to_dtype(&out, input.dtype())?, indices))
}

/// The gradient goes to the places that were picked.
fn track_along(
    name: &'static str,
    input: &Tensor,
    dim: usize,
    keepdim: bool,
    out: &Tensor,
    indices: &Tensor,
) -> Result<()> {
    track_list(name, &[Some(input)], &[out, indices], || {
        let (shape, indices): (Dims, Tensor) = (input.shape().into(), indices.clone());
        move |_: &Context<'_>, grads: &crate::autograd::Grads| {
            let Some(grad) = &grads[0] else { return Ok(crate::autograd::Grads::from_iter([None])) };
            let result = value_selecting_reduction_backward(grad, dim as i64, &indices, &shape, keepdim)?;
            Ok(crate::autograd::Grads::from_iter([Some(result)]))
        }
    })
}
