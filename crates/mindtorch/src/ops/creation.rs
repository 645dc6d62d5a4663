//! New tensors.

use crate::Tensor;
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{DType, Element, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::pointwise as kernel;
use crate::shape::{Dims, contiguous_strides};
use crate::tensor::access::write;
use mindtorch_profiler::Device;

/// Device arguments, as the profiler shows them.
fn options(dtype: DType) -> [Arg<'static>; 4] {
    [Arg::DType(dtype), Arg::None, Arg::None, Arg::None]
}

/// A tensor with whatever is in its memory.
///
/// # Errors
/// If there is not so much memory.
pub fn empty(shape: &[usize], dtype: DType, device: Device) -> Result<Tensor> {
    static OP: Op = Op::new("aten::empty", "memory_format");
    let [a, b, c, d] = options(dtype);
    OP.run(&[Arg::Sizes(shape), a, b, c, d, Arg::None], || Tensor::allocate(shape, dtype, device))
}

/// A tensor with these strides, which leave no gaps, and whatever is in its memory.
pub(crate) fn empty_strided(shape: &[usize], strides: &[usize], dtype: DType, device: Device) -> Result<Tensor> {
    static OP: Op = Op::new("aten::empty_strided", "");
    let [a, b, c, d] = options(dtype);
    OP.run(&[Arg::Sizes(shape), Arg::Sizes(strides), a, b, c, d], || {
        let out = Tensor::allocate(shape, dtype, device)?;
        // The layout of most is the one that tensors are made with.
        if out.strides() == strides { Ok(out) } else { Ok(out.window(shape.into(), strides.into(), 0)) }
    })
}

/// A tensor of one number.
///
/// # Errors
/// If there is not so much memory.
pub fn full(shape: &[usize], value: Scalar, dtype: DType, device: Device) -> Result<Tensor> {
    static OP: Op = Op::new("aten::full", "");
    let [a, b, c, d] = options(dtype);
    OP.run(&[Arg::Sizes(shape), value.into(), a, b, c, d], || {
        let out = empty(shape, dtype, device)?;
        fill_(&out, value)
    })
}

/// A tensor of zeros.
///
/// # Errors
/// If there is not so much memory.
pub fn zeros(shape: &[usize], dtype: DType, device: Device) -> Result<Tensor> {
    static OP: Op = Op::new("aten::zeros", "");
    let [a, b, c, d] = options(dtype);
    OP.run(&[Arg::Sizes(shape), a, b, c, d], || zero_(&empty(shape, dtype, device)?))
}

/// A tensor of ones.
///
/// # Errors
/// If there is not so much memory.
pub fn ones(shape: &[usize], dtype: DType, device: Device) -> Result<Tensor> {
    static OP: Op = Op::new("aten::ones", "");
    let [a, b, c, d] = options(dtype);
    OP.run(&[Arg::Sizes(shape), a, b, c, d], || fill_(&empty(shape, dtype, device)?, 1.into()))
}

/// A tensor of this one's shape with whatever is in its memory; type and device are this one's, unless given.
///
/// # Errors
/// If there is not so much memory.
pub fn empty_like(like: &Tensor, dtype: Option<DType>, device: Option<Device>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::empty_like", "");
    let args = [like.into(), dtype.into(), Arg::None, Arg::None, Arg::None, Arg::None];
    OP.run(&args, || empty_as(like, dtype.unwrap_or(like.dtype()), device.unwrap_or(like.device())))
}

/// [`empty_like`], in the words that torch has for a result whose strides follow from another tensor. Here they are those
/// of numbers one after another.
pub(crate) fn empty_as(like: &Tensor, dtype: DType, device: Device) -> Result<Tensor> {
    empty_strided(like.shape(), &contiguous_strides(like.shape()), dtype, device)
}

/// [`empty_like`], in torch's words for numbers that shall lie one after another.
pub(crate) fn empty_contiguous(like: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::empty_like", "");
    let args = [like.into(), Arg::None, Arg::None, Arg::None, Arg::None, Arg::Int(0)];
    OP.run(&args, || empty(like.shape(), like.dtype(), like.device()))
}

/// A tensor of zeros of this one's shape, type and device.
///
/// # Errors
/// If there is not so much memory.
pub fn zeros_like(like: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::zeros_like", "");
    OP.run(&[like.into(), Arg::None, Arg::None, Arg::None, Arg::None, Arg::None], || {
        zero_(&empty_like(like, None, None)?)
    })
}

/// A tensor of zeros of this one's type and device, but another shape.
pub(crate) fn new_zeros(like: &Tensor, shape: &[usize]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::new_zeros", "");
    static EMPTY: Op = Op::new("aten::new_empty", "");
    let args = [like.into(), Arg::Sizes(shape), Arg::None, Arg::None, Arg::None, Arg::None];
    OP.run(&args, || zero_(&EMPTY.run(&args, || empty(shape, like.dtype(), like.device()))?))
}

/// A tensor of ones of this one's shape, type and device.
///
/// # Errors
/// If there is not so much memory.
pub fn ones_like(like: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::ones_like", "");
    OP.run(&[like.into(), Arg::None, Arg::None, Arg::None, Arg::None, Arg::None], || {
        fill_(&empty_like(like, None, None)?, 1.into())
    })
}

/// A tensor of one number, of this one's shape; type and device are this one's, unless given.
///
/// # Errors
/// If there is not so much memory.
pub fn full_like(like: &Tensor, value: Scalar, dtype: Option<DType>, device: Option<Device>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::full_like", "");
    OP.run(&[like.into(), value.into(), dtype.into(), Arg::None, Arg::None, Arg::None, Arg::None], || {
        fill_(&empty_like(like, dtype, device)?, value)
    })
}

/// Makes every number this one.
///
/// # Errors
/// If the tensor may not be changed.
pub fn fill_(target: &Tensor, value: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::fill_", "Scalar");
    crate::autograd::check_in_place(target)?;
    super::check_overlap(target)?;
    OP.run(&[target.into(), value.into()], || {
        launch("fill", [target], move |[target]| kernel::fill(target, value))?;
        Ok(())
    })?;
    forget("FillBackward2", target)
}

/// Makes every number zero.
///
/// # Errors
/// If the tensor may not be changed.
pub fn zero_(target: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::zero_", "");
    crate::autograd::check_in_place(target)?;
    super::check_overlap(target)?;
    OP.run(&[target.into()], || {
        launch("zero", [target], move |[target]| kernel::fill(target, Scalar::Int(0)))?;
        Ok(())
    })?;
    forget("ZeroBackward0", target)
}

/// Says that nothing of what a tensor was is left: its gradient goes nowhere.
fn forget(name: &'static str, target: &Tensor) -> Result<Tensor> {
    crate::autograd::track_in_place(name, [target], target, || {
        |_: &crate::autograd::Context<'_>, grad: &Tensor| Ok([Some(zeros_like(grad)?)])
    })?;
    Ok(target.clone())
}

/// The numbers from `start` on, `step` apart, before `end`.
///
/// # Errors
/// If the step leads away from the end, or if there is no memory.
pub fn arange(start: Scalar, end: Scalar, step: Scalar, dtype: DType, device: Device) -> Result<Tensor> {
    static OP: Op = Op::new("aten::arange", "start_step");
    let [a, b, c, d] = options(dtype);
    OP.run(&[start.into(), end.into(), step.into(), a, b, c, d], || {
        let (first, last, width) = (start.to_f64(), end.to_f64(), step.to_f64());
        ensure!(width != 0.0, Runtime, "step must be nonzero");
        ensure!(first.is_finite() && last.is_finite(), Runtime, "unsupported range: {first} -> {last}");
        ensure!(
            if width > 0.0 { last >= first } else { last <= first },
            Runtime,
            "upper bound and lower bound inconsistent with step sign"
        );
        let exact = !dtype.is_float() && [start, end, step].iter().all(|scalar| !matches!(scalar, Scalar::Float(_)));
        let count = if exact {
            let (first, last, width) =
                (i128::from(start.to_i64()), i128::from(end.to_i64()), i128::from(step.to_i64()));
            ((last - first + width - width.signum()) / width).max(0) as usize
        } else {
            ((last - first) / width).ceil().max(0.0) as usize
        };
        let out = Tensor::allocate(&[count], dtype, device)?;
        launch("arange", [&out], move |[out]| crate::kernels::sequence::arange(out, start, step))?;
        Ok(out)
    })
}

/// `steps` numbers from `start` to `end`, both included.
///
/// # Errors
/// If there is no memory.
pub fn linspace(start: f64, end: f64, steps: usize, dtype: DType, device: Device) -> Result<Tensor> {
    static OP: Op = Op::new("aten::linspace", "");
    let [a, b, c, d] = options(dtype);
    OP.run(&[Arg::Float(start), Arg::Float(end), Arg::Int(steps as i64), a, b, c, d], || {
        let out = Tensor::allocate(&[steps], dtype, device)?;
        launch("linspace", [&out], move |[out]| crate::kernels::sequence::linspace(out, start, end))?;
        Ok(out)
    })
}

/// Ones on the diagonal, zeros elsewhere.
///
/// # Errors
/// If there is no memory.
pub fn eye(rows: usize, columns: usize, dtype: DType, device: Device) -> Result<Tensor> {
    static OP: Op = Op::new("aten::eye", "m");
    let [a, b, c, d] = options(dtype);
    OP.run(&[Arg::Int(rows as i64), Arg::Int(columns as i64), a, b, c, d], || {
        let out = zero_(&empty(&[rows, columns], dtype, device)?)?;
        let diagonal = out.window(Dims::from_slice(&[rows.min(columns)]), Dims::from_slice(&[columns + 1]), 0);
        launch("fill", [&diagonal], |[diagonal]| kernel::fill(diagonal, Scalar::Int(1)))?;
        Ok(out)
    })
}

/// A tensor of the program's numbers, in the steps that torch takes for one.
///
/// # Errors
/// If there is no memory.
pub fn lift<T: Element>(numbers: &[T], shape: &[usize], dtype: DType, device: Device) -> Result<Tensor> {
    static LIFT: Op = Op::new("aten::lift_fresh", "");
    static DETACH: Op = Op::new("aten::detach_", "");
    static INNER: Op = Op::new("detach_", "");
    let host = empty(shape, dtype, Device::Cpu)?;
    if T::DTYPE == dtype {
        write(&host).copy_from_slice(numbers);
    } else {
        super::copy::transfer(&host, &Tensor::from_slice(numbers, shape)?)?;
    }
    let tensor = super::to(&host, None, Some(device), false)?;
    LIFT.run(&[(&tensor).into()], || Ok(()))?;
    DETACH.run(&[(&tensor).into()], || INNER.run(&[(&tensor).into()], || Ok(())))?;
    Ok(tensor)
}

/// A tensor without dimensions.
///
/// # Errors
/// If there is no memory.
pub fn scalar_tensor(value: Scalar, dtype: DType, device: Device) -> Result<Tensor> {
    let out = Tensor::allocate(&[], dtype, device)?;
    launch("fill", [&out], move |[out]| kernel::fill(out, value))?;
    Ok(out)
}
