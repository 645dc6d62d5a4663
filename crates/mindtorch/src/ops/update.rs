//! What operations share that change some of a tensor's numbers, in place or in a copy.

use super::copy::transfer;
use super::{check_overlap, check_target, contiguous, copy_};
use crate::Tensor;
use crate::autograd::{Context, check_in_place, mark_changed, mode, track, track_in_place};
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use half::{bf16, f16};

/// The form of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It changes a copy, as `scatter`.
    Copy,
    /// It changes the tensor itself, as `scatter_`.
    InPlace,
}

impl Form {
    /// Runs an operation that changes `tensor`, or a copy of it, with `change`.
    pub(super) fn run(
        self,
        op: &'static Op,
        args: &[Arg<'_>],
        tensor: &Tensor,
        change: impl FnOnce(&Tensor) -> Result<()>,
    ) -> Result<Tensor> {
        if self == Self::InPlace {
            check_in_place(tensor)?;
            check_overlap(tensor)?;
        }
        op.run(args, || {
            let target = match self {
                Self::Copy => copy_(&Tensor::allocate(tensor.shape(), tensor.dtype(), tensor.device())?, tensor)?,
                Self::InPlace => tensor.clone(),
            };
            change(&target)?;
            Ok(target)
        })
    }

    /// Makes the result part of the graph; the first input is the tensor that changed.
    pub(super) fn track<const N: usize, F>(
        self,
        name: &'static str,
        inputs: [Option<&Tensor>; N],
        out: &Tensor,
        rule: impl FnOnce() -> F,
    ) -> Result<()>
    where
        F: Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; N]> + Send + Sync + 'static,
    {
        match self {
            Self::Copy => track(name, inputs, out, rule),
            Self::InPlace => track_in_place(name, inputs, out, rule),
        }
    }
}

/// Runs an operation in place by copying its result back. What it was computed from is a copy, so that its gradient can
/// still be computed.
///
/// # Errors
/// What goes wrong in the operation, or if the target may not be changed.
pub fn in_place(target: &Tensor, operation: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    check_in_place(target)?;
    let result = if mode::is_recording() && target.requires_grad() {
        operation(&super::clone(target)?)?
    } else {
        operation(target)?
    };
    check_target(target, result.shape(), result.dtype())?;
    super::copy_(target, &result)
}

/// Runs an operation in place whose result has no gradient: `into` computes it, into the target or not. Where the target
/// has a gradient, as [`in_place`] does.
pub(super) fn change(
    op: &'static Op,
    args: &[Arg<'_>],
    target: &Tensor,
    operation: impl FnOnce(&Tensor) -> Result<Tensor>,
    into: impl FnOnce() -> Result<Tensor>,
) -> Result<Tensor> {
    if mode::is_recording() && target.requires_grad() {
        return in_place(target, operation);
    }
    check_in_place(target)?;
    op.run(args, || {
        let result = into()?;
        if result.is_same(target) {
            return Ok(());
        }
        check_target(target, result.shape(), result.dtype())?;
        transfer(target, &result)
    })?;
    mark_changed(target);
    Ok(target.clone())
}

/// What is written to `target`, contiguous, and in memory of its own: a kernel that reads what it writes reads garbage.
pub(super) fn apart_from(target: &Tensor, values: &Tensor) -> Result<Tensor> {
    if !values.storage().is_same(target.storage()) {
        return contiguous(values);
    }
    copy_(&Tensor::allocate(values.shape(), values.dtype(), values.device())?, values)
}

/// Fails if a number is too large for a type. Fractions are cut off, and negative numbers wrap around in an unsigned
/// type.
pub(super) fn check_fits(value: Scalar, dtype: DType) -> Result<()> {
    let (name, lowest, highest) = match dtype {
        DType::Bool | DType::Float64 => return Ok(()),
        DType::UInt8 => ("uint8_t", -255.0, 255.0),
        DType::Int8 => ("int8_t", f64::from(i8::MIN), f64::from(i8::MAX)),
        DType::Int16 => ("int16_t", f64::from(i16::MIN), f64::from(i16::MAX)),
        DType::Int32 => ("int", f64::from(i32::MIN), f64::from(i32::MAX)),
        DType::Int64 => ("int64_t", i64::MIN as f64, i64::MAX as f64),
        DType::Float16 => ("c10::Half", f16::MIN.to_f64(), f16::MAX.to_f64()),
        DType::BFloat16 => ("c10::BFloat16", bf16::MIN.to_f64(), bf16::MAX.to_f64()),
        DType::Float32 => ("float", f64::from(f32::MIN), f64::from(f32::MAX)),
    };
    let number = value.to_f64();
    let fits = (lowest..=highest).contains(&number) || (dtype.is_float() && !number.is_finite());
    ensure!(fits, Runtime, "value cannot be converted to type {name} without overflow");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_or_fail() {
        let fits = |value: Scalar, dtype| check_fits(value, dtype).is_ok();
        assert!(fits(Scalar::Int(-1), DType::UInt8) && !fits(Scalar::Int(-300), DType::UInt8));
        assert!(fits(Scalar::Float(f64::INFINITY), DType::Float16) && !fits(Scalar::Float(1e9), DType::Float16));
        assert!(!fits(Scalar::Float(f64::NAN), DType::Int64) && fits(Scalar::Int(5), DType::Bool));
    }
}
