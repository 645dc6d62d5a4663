//! Operations on one tensor, number by number.

use super::binary::Types;
use super::{add, div, mul, sub};
use crate::Tensor;
use crate::autograd::{Context, Saved, check_in_place, mode, track, track_in_place};
use crate::dispatch::{Op, launch};
use crate::dtype::{ComputeType, Scalar};
use crate::error::Result;
use crate::kernels::plan::Operand;
use crate::kernels::pointwise as kernel;

/// Computes into `out`, or into a new tensor.
pub(super) fn unary(
    name: &'static str,
    x: &Tensor,
    types: Types,
    out: Option<&Tensor>,
    kernel: fn(ComputeType, &Tensor, Operand<'_>),
) -> Result<Tensor> {
    let (common, result) = types.of(x.dtype());
    let out = match out {
        Some(out) => {
            super::check_target(out, x.shape(), result)?;
            out.clone()
        }
        None => Tensor::allocate(x.shape(), result, x.device())?,
    };
    let compute = common.compute();
    launch(name, [&out, x], move |[out, x]| kernel(compute, out, x.into()))?;
    Ok(out)
}

/// What a rule saves: the input or the result, whichever its formula needs.
#[derive(Clone, Copy)]
enum Saves {
    Input,
    Output,
    Nothing,
}

impl Saves {
    fn save(self, x: &Tensor, out: &Tensor) -> Option<Saved> {
        match self {
            Self::Input => Some(Saved::new(x)),
            Self::Output => Some(Saved::output(out)),
            Self::Nothing => None,
        }
    }
}

/// A rule: from the gradient of the result and what was saved.
type UnaryRule = fn(&Tensor, &Tensor) -> Result<Tensor>;

fn rule(saved: Option<Saved>, rule: UnaryRule) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 1]> {
    move |context, grad| {
        let saved = match &saved {
            Some(saved) => saved.get(context)?,
            None => grad.clone(),
        };
        Ok([Some(rule(grad, &saved)?)])
    }
}

macro_rules! unary_ops {
    ($($(#[$doc:meta])* $name:ident, $in_place:ident: $aten:literal, $types:ident, $kernel:ident, $backward:literal, $saves:ident => $rule:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// If there is no memory.
        pub fn $name(x: &Tensor) -> Result<Tensor> {
            static OP: Op = Op::new(concat!("aten::", $aten), "");
            let out = OP.run(&[x.into()], || unary(stringify!($name), x, Types::$types, None, kernel::$kernel))?;
            track($backward, [x], &out, || rule(Saves::$saves.save(x, &out), $rule))?;
            Ok(out)
        }

        /// The same in place.
        ///
        /// # Errors
        /// If the tensor may not be changed.
        pub fn $in_place(x: &Tensor) -> Result<Tensor> {
            static OP: Op = Op::new(concat!("aten::", $aten, "_"), "");
            check_in_place(x)?;
            // A rule that needs what was there before gets a copy of it.
            let before = match Saves::$saves {
                Saves::Input if mode::is_recording() && x.requires_grad() => Some(super::clone(&super::detach(x)?)?),
                _ => None,
            };
            OP.run(&[x.into()], || unary(stringify!($name), x, Types::$types, Some(x), kernel::$kernel))?;
            track_in_place($backward, [x], x, || rule(Saves::$saves.save(before.as_ref().unwrap_or(x), x), $rule))?;
            Ok(x.clone())
        }
    )*};
}

fn number(value: f64) -> Scalar {
    Scalar::Float(value)
}

unary_ops! {
    /// The opposite.
    neg, neg_: "neg", Same, neg, "NegBackward0", Nothing => |grad, _| neg(grad);
    /// The distance from zero.
    abs, abs_: "abs", Same, abs, "AbsBackward0", Input => |grad, x| mul(grad, &sgn(x)?);
    /// -1, 0 or 1.
    sign, sign_: "sign", Same, sign, "SignBackward0", Nothing => |grad, _| super::zeros_like(grad);
    /// -1, 0 or 1, by the name that it has for complex numbers too.
    sgn, sgn_: "sgn", Same, sign, "SgnBackward0", Nothing => |grad, _| super::zeros_like(grad);
    /// Rounded down.
    floor, floor_: "floor", Same, floor, "FloorBackward0", Nothing => |grad, _| super::zeros_like(grad);
    /// Rounded up.
    ceil, ceil_: "ceil", Same, ceil, "CeilBackward0", Nothing => |grad, _| super::zeros_like(grad);
    /// Rounded to the nearest, to even where two are.
    round, round_: "round", Same, round, "RoundBackward0", Nothing => |grad, _| super::zeros_like(grad);
    /// Rounded towards zero.
    trunc, trunc_: "trunc", Same, trunc, "TruncBackward0", Nothing => |grad, _| super::zeros_like(grad);
    /// What is behind the point.
    frac, frac_: "frac", Same, frac, "FracBackward0", Nothing => |grad, _| Ok(grad.clone());
    /// The exponential.
    exp, exp_: "exp", Float, exp, "ExpBackward0", Output => |grad, y| mul(grad, y);
    /// 2 to this power.
    exp2, exp2_: "exp2", Float, exp2, "Exp2Backward0", Output => |grad, y| mul(&mul(grad, y)?, number(std::f64::consts::LN_2));
    /// The exponential, less 1.
    expm1, expm1_: "expm1", Float, expm1, "Expm1Backward0", Output => |grad, y| mul(grad, &add(y, Scalar::Int(1), 1.into())?);
    /// The natural logarithm.
    log, log_: "log", Float, log, "LogBackward0", Input => |grad, x| div(grad, x);
    /// The logarithm to base 2.
    log2, log2_: "log2", Float, log2, "Log2Backward0", Input => |grad, x| div(grad, &mul(x, number(std::f64::consts::LN_2))?);
    /// The logarithm to base 10.
    log10, log10_: "log10", Float, log10, "Log10Backward0", Input => |grad, x| div(grad, &mul(x, number(std::f64::consts::LN_10))?);
    /// The natural logarithm of 1 more.
    log1p, log1p_: "log1p", Float, log1p, "Log1PBackward0", Input => |grad, x| div(grad, &add(x, Scalar::Int(1), 1.into())?);
    /// The square root.
    sqrt, sqrt_: "sqrt", Float, sqrt, "SqrtBackward0", Output => |grad, y| div(grad, &mul(y, Scalar::Int(2))?);
    /// One over the square root.
    rsqrt, rsqrt_: "rsqrt", Float, rsqrt, "RsqrtBackward0", Output => |grad, y| {
        let cube = super::pow(y, Scalar::Int(3))?;
        mul(&mul(grad, number(-0.5))?, &cube)
    };
    /// One over it.
    reciprocal, reciprocal_: "reciprocal", Float, reciprocal, "ReciprocalBackward0", Output => |grad, y| {
        let square = mul(y, y)?;
        mul(&neg(grad)?, &square)
    };
    /// Times itself.
    square, square_: "square", Same, square, "PowBackward0", Input => |grad, x| mul(grad, &mul(x, Scalar::Int(2))?);
    /// The sine.
    sin, sin_: "sin", Float, sin, "SinBackward0", Input => |grad, x| mul(grad, &cos(x)?);
    /// The cosine.
    cos, cos_: "cos", Float, cos, "CosBackward0", Input => |grad, x| mul(grad, &neg(&sin(x)?)?);
    /// The tangent.
    tan, tan_: "tan", Float, tan, "TanBackward0", Output => |grad, y| mul(grad, &add(&mul(y, y)?, Scalar::Int(1), 1.into())?);
    /// The angle with this sine.
    asin, asin_: "asin", Float, asin, "AsinBackward0", Input => |grad, x| mul(grad, &rsqrt(&sub(Scalar::Int(1), &mul(x, x)?, 1.into())?)?);
    /// The angle with this cosine.
    acos, acos_: "acos", Float, acos, "AcosBackward0", Input => |grad, x| {
        mul(&neg(grad)?, &rsqrt(&sub(Scalar::Int(1), &mul(x, x)?, 1.into())?)?)
    };
    /// The angle with this tangent.
    atan, atan_: "atan", Float, atan, "AtanBackward0", Input => |grad, x| div(grad, &add(&mul(x, x)?, Scalar::Int(1), 1.into())?);
    /// The hyperbolic sine.
    sinh, sinh_: "sinh", Float, sinh, "SinhBackward0", Input => |grad, x| mul(grad, &cosh(x)?);
    /// The hyperbolic cosine.
    cosh, cosh_: "cosh", Float, cosh, "CoshBackward0", Input => |grad, x| mul(grad, &sinh(x)?);
    /// The hyperbolic tangent.
    tanh, tanh_: "tanh", Float, tanh, "TanhBackward0", Output => tanh_backward;
    /// The logistic function.
    sigmoid, sigmoid_: "sigmoid", Float, sigmoid, "SigmoidBackward0", Output => sigmoid_backward;
    /// The error function.
    erf, erf_: "erf", Float, erf, "ErfBackward0", Input => |grad, x| {
        let slope = mul(&exp(&neg(&super::pow(x, Scalar::Int(2))?)?)?, number(std::f64::consts::FRAC_2_SQRT_PI))?;
        mul(grad, &slope)
    };
    /// Times its logistic function.
    silu, silu_: "silu", Float, silu, "SiluBackward0", Input => silu_backward;
    /// The Gaussian error linear unit.
    gelu, gelu_: "gelu", Float, gelu, "GeluBackward0", Input => gelu_backward;
    /// The Gaussian error linear unit, approximated by a hyperbolic tangent.
    gelu_tanh, gelu_tanh_: "gelu", Float, gelu_tanh, "GeluBackward0", Input => gelu_tanh_backward;
}

/// Whether the gradient of a gradient is being asked for. Then a formula is made of operations that have gradients
/// themselves; else one kernel does it all.
pub(super) fn is_differentiated(grad: &Tensor, saved: &Tensor) -> bool {
    mode::is_recording() && (grad.requires_grad() || saved.requires_grad())
}

/// Runs a kernel of a gradient and what was saved.
pub(super) fn backward_kernel(
    op: &'static Op,
    name: &'static str,
    grad: &Tensor,
    saved: &Tensor,
    kernel: fn(ComputeType, &Tensor, Operand<'_>, Operand<'_>),
) -> Result<Tensor> {
    op.run(&[grad.into(), saved.into()], || {
        super::binary::compute(name, [grad.into(), saved.into()], Types::Same, None, kernel)
    })
}

fn tanh_backward(grad: &Tensor, y: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::tanh_backward", "");
    if is_differentiated(grad, y) {
        return mul(grad, &sub(Scalar::Int(1), &mul(y, y)?, 1.into())?);
    }
    backward_kernel(&OP, "tanh_backward", grad, y, kernel::tanh_backward)
}

fn sigmoid_backward(grad: &Tensor, y: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::sigmoid_backward", "");
    if is_differentiated(grad, y) {
        return mul(&mul(grad, y)?, &sub(Scalar::Int(1), y, 1.into())?);
    }
    backward_kernel(&OP, "sigmoid_backward", grad, y, kernel::sigmoid_backward)
}

fn silu_backward(grad: &Tensor, x: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::silu_backward", "");
    if is_differentiated(grad, x) {
        let sigmoid = sigmoid(x)?;
        let slope = add(&mul(x, &sub(Scalar::Int(1), &sigmoid, 1.into())?)?, Scalar::Int(1), 1.into())?;
        return mul(grad, &mul(&sigmoid, &slope)?);
    }
    backward_kernel(&OP, "silu_backward", grad, x, kernel::silu_backward)
}

fn gelu_backward(grad: &Tensor, x: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::gelu_backward", "");
    if is_differentiated(grad, x) {
        let half = number(0.5);
        let cdf = mul(&add(&erf(&mul(x, number(std::f64::consts::FRAC_1_SQRT_2))?)?, Scalar::Int(1), 1.into())?, half)?;
        let pdf = mul(&exp(&mul(&mul(x, x)?, number(-0.5))?)?, number(0.398_942_280_401_432_7))?;
        return mul(grad, &add(&cdf, &mul(x, &pdf)?, 1.into())?);
    }
    backward_kernel(&OP, "gelu_backward", grad, x, kernel::gelu_backward)
}

fn gelu_tanh_backward(grad: &Tensor, x: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::gelu_backward", "");
    if is_differentiated(grad, x) {
        let (beta, kappa) = (number(0.797_884_560_802_865_4), 0.044715);
        let squared = mul(x, x)?;
        let inner = mul(x, &add(&mul(&squared, number(kappa))?, Scalar::Int(1), 1.into())?)?;
        let tanh = tanh(&mul(&inner, beta)?)?;
        let left = mul(&add(&tanh, Scalar::Int(1), 1.into())?, number(0.5))?;
        let steep = mul(&add(&mul(&squared, number(3.0 * kappa))?, Scalar::Int(1), 1.into())?, beta)?;
        let right = mul(&mul(&mul(x, number(0.5))?, &sub(Scalar::Int(1), &mul(&tanh, &tanh)?, 1.into())?)?, &steep)?;
        return mul(grad, &add(&left, &right, 1.into())?);
    }
    backward_kernel(&OP, "gelu_backward", grad, x, kernel::gelu_tanh_backward)
}
