//! Operations on three operands, number by number.

use super::binary::SavedOperand;
use super::operand::{Operand, check_target, common_device, common_shape, on_device, result_type};
use super::update::{change, in_place};
use super::{div, mul, neg, sub};
use crate::Tensor;
use crate::autograd::{Context, check_in_place, mode, track, track_in_place};
use crate::dispatch::{Op, launch_list};
use crate::dtype::{ComputeType, DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::pointwise as kernel;

/// Computes into `out`, or into a new tensor of type `dtype`.
pub(super) fn compute(
    name: &'static str,
    operands: [Operand<'_>; 3],
    dtype: DType,
    out: Option<&Tensor>,
    kernel: impl Fn(ComputeType, &Tensor, [Operand<'_>; 3]) + Send + 'static,
) -> Result<Tensor> {
    let device = common_device(&operands)?;
    let shape = common_shape(&operands)?;
    let out = match out {
        Some(out) => {
            check_target(out, &shape, dtype)?;
            out.clone()
        }
        None => Tensor::allocate(&shape, dtype, device)?,
    };
    let [a, b, c] = operands;
    let operands = [on_device(a, device)?, on_device(b, device)?, on_device(c, device)?];
    let scalars = operands.map(|operand| match operand {
        Operand::Scalar(scalar) => scalar,
        Operand::Tensor(_) => Scalar::Int(0),
    });
    let tensors = operands.map(|operand| operand.tensor());
    let compute = dtype.compute();
    launch_list(name, &[Some(&out), tensors[0], tensors[1], tensors[2]], move |tensors| {
        let operand = |index: usize| tensors[index + 1].map_or(Operand::Scalar(scalars[index]), Operand::Tensor);
        if let Some(out) = tensors[0] {
            kernel(compute, out, [operand(0), operand(1), operand(2)]);
        }
    })?;
    Ok(out)
}

/// `a` where the condition holds, else `b`.
///
/// # Errors
/// If the operands do not go together, or if the condition is not of truths.
pub fn r#where<'a>(condition: &'a Tensor, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::where", "self");
    let (a, b) = (a.into(), b.into());
    ensure!(
        matches!(condition.dtype(), DType::Bool | DType::UInt8),
        Runtime,
        "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
        condition.dtype().scalar_type()
    );
    let dtype = result_type(&[a, b]);
    let out = OP.run(&[condition.into(), a.into(), b.into()], || {
        compute("where", [condition.into(), a, b], dtype, None, kernel::r#where)
    })?;
    track("WhereBackward0", [None, a.tensor(), b.tensor()], &out, || {
        let condition = crate::autograd::Saved::new(condition);
        move |context: &Context<'_>, grad: &Tensor| {
            let condition = condition.get(context)?;
            let first = if context.needs(1) { Some(r#where(&condition, grad, Scalar::Int(0))?) } else { None };
            let second = if context.needs(2) { Some(r#where(&condition, Scalar::Int(0), grad)?) } else { None };
            Ok([None, first, second])
        }
    })?;
    Ok(out)
}

/// From `a` towards `b`, as far as the weight says.
///
/// # Errors
/// If the operands do not go together.
pub fn lerp<'a>(a: &'a Tensor, b: &'a Tensor, weight: impl Into<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::lerp", "Tensor");
    let weight = weight.into();
    check_lerp(a, b)?;
    let out = OP.run(&[a.into(), b.into(), weight.into()], || {
        compute("lerp", [a.into(), b.into(), weight], a.dtype(), None, kernel::lerp)
    })?;
    let name = if weight.tensor().is_some() { "LerpBackward1" } else { "LerpBackward0" };
    track(name, [Some(a), Some(b), weight.tensor()], &out, || {
        let saved = [SavedOperand::new(a.into()), SavedOperand::new(b.into()), SavedOperand::new(weight)];
        move |context: &Context<'_>, grad: &Tensor| {
            saved[2].with(context, |weight| {
                let second = if context.needs(1) { Some(mul(grad, weight)?) } else { None };
                let first = match weight {
                    _ if !context.needs(0) => None,
                    Operand::Scalar(weight) => Some(mul(grad, Scalar::Float(1.0 - weight.to_f64()))?),
                    Operand::Tensor(weight) => Some(mul(grad, &sub(Scalar::Int(1), weight, 1.into())?)?),
                };
                let third = if context.needs(2) {
                    Some(saved[0].with(context, |a| saved[1].with(context, |b| mul(grad, &sub(b, a, 1.into())?)))?)
                } else {
                    None
                };
                Ok([first, second, third])
            })
        }
    })?;
    Ok(out)
}

fn check_lerp(a: &Tensor, b: &Tensor) -> Result<()> {
    ensure!(
        a.dtype() == b.dtype(),
        Runtime,
        "expected dtype {} for `end` but got dtype {}",
        a.dtype().scalar_type().to_lowercase(),
        b.dtype().scalar_type().to_lowercase()
    );
    ensure!(a.dtype().is_float(), Runtime, "\"lerp_kernel\" not implemented for '{}'", a.dtype().scalar_type());
    Ok(())
}

/// [`lerp`] in place.
///
/// # Errors
/// As for [`lerp`], and if `a` may not be changed.
pub fn lerp_<'a>(a: &'a Tensor, b: &'a Tensor, weight: impl Into<Operand<'a>>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::lerp_", "Tensor");
    let weight = weight.into();
    check_in_place(a)?;
    check_lerp(a, b)?;
    if mode::is_recording() && (b.requires_grad() || weight.tensor().is_some_and(Tensor::requires_grad)) {
        return in_place(a, |a| lerp(a, b, weight));
    }
    let into = || compute("lerp", [a.into(), b.into(), weight], a.dtype(), Some(a), kernel::lerp);
    change(&OP, &[a.into(), b.into(), weight.into()], a, |a| lerp(a, b, weight), into)
}

/// How two factors are combined.
#[derive(Clone, Copy)]
enum Factors {
    Product,
    Quotient,
}

fn addc_into(factors: Factors, [a, b, c]: [&Tensor; 3], value: Scalar, out: Option<&Tensor>) -> Result<Tensor> {
    let operands = [a.into(), b.into(), c.into()];
    let dtype = result_type(&operands);
    match factors {
        Factors::Product => compute("addcmul", operands, dtype, out, move |compute, out, inputs| {
            kernel::addcmul(compute, out, inputs, value);
        }),
        Factors::Quotient => {
            ensure!(
                dtype.is_float(),
                Runtime,
                "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a true \
                 division of tensor1 and tensor2."
            );
            compute("addcdiv", operands, dtype, out, move |compute, out, inputs| {
                kernel::addcdiv(compute, out, inputs, value);
            })
        }
    }
}

fn addc_rule(
    factors: Factors,
    [b, c]: [&Tensor; 2],
    value: Scalar,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 3]> + use<> {
    let saved = [crate::autograd::Saved::new(b), crate::autograd::Saved::new(c)];
    move |context, grad| {
        let (b, c) = (saved[0].get(context)?, saved[1].get(context)?);
        let scaled = || mul(grad, value);
        let (second, third) = match factors {
            Factors::Product => (
                if context.needs(1) { Some(mul(grad, &mul(&c, value)?)?) } else { None },
                if context.needs(2) { Some(mul(grad, &mul(&b, value)?)?) } else { None },
            ),
            Factors::Quotient => (
                if context.needs(1) { Some(div(&scaled()?, &c)?) } else { None },
                if context.needs(2) { Some(mul(&neg(&scaled()?)?, &div(&b, &mul(&c, &c)?)?)?) } else { None },
            ),
        };
        Ok([if context.needs(0) { Some(grad.clone()) } else { None }, second, third])
    }
}

macro_rules! addc_ops {
    ($($(#[$doc:meta])* $name:ident, $in_place:ident: $factors:ident, $aten:literal, $backward:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// If the operands do not go together.
        pub fn $name(a: &Tensor, b: &Tensor, c: &Tensor, value: Scalar) -> Result<Tensor> {
            static OP: Op = Op::new(concat!("aten::", $aten), "");
            let factors = Factors::$factors;
            let out = OP.run(&[a.into(), b.into(), c.into(), value.into()], || addc_into(factors, [a, b, c], value, None))?;
            track($backward, [a, b, c], &out, || addc_rule(factors, [b, c], value))?;
            Ok(out)
        }

        /// The same in place.
        ///
        /// # Errors
        /// If the operands do not go together, or if the first may not be changed.
        pub fn $in_place(a: &Tensor, b: &Tensor, c: &Tensor, value: Scalar) -> Result<Tensor> {
            static OP: Op = Op::new(concat!("aten::", $aten, "_"), "");
            check_in_place(a)?;
            let factors = Factors::$factors;
            OP.run(&[a.into(), b.into(), c.into(), value.into()], || addc_into(factors, [a, b, c], value, Some(a)))?;
            track_in_place($backward, [a, b, c], a, || addc_rule(factors, [b, c], value))?;
            Ok(a.clone())
        }
    )*};
}

addc_ops! {
    /// `a + value * b * c`.
    addcmul, addcmul_: Product, "addcmul", "AddcmulBackward0";
    /// `a + value * b / c`.
    addcdiv, addcdiv_: Quotient, "addcdiv", "AddcdivBackward0";
}
