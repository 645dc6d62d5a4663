//! Operations on one tensor, number by number.

use super::call::bindings;
use mindtorch::{Result, Scalar, Tensor, ops};

/// Rounded to as many places behind the point, or before it.
fn rounded(input: &Tensor, decimals: i64) -> Result<Tensor> {
    if decimals == 0 {
        return ops::round(input);
    }
    let factor = Scalar::Float(10f64.powi(decimals.unsigned_abs() as i32));
    if decimals > 0 {
        ops::div(&ops::round(&ops::mul(input, factor)?)?, factor)
    } else {
        ops::mul(&ops::round(&ops::div(input, factor)?)?, factor)
    }
}

bindings! {
    neg: "neg(Tensor input)", Both => |a| ops::neg(a.tensor(0));
    neg_: "neg_(Tensor input)", Both => |a| ops::neg_(a.tensor(0));
    abs: "abs(Tensor input)", Both => |a| ops::abs(a.tensor(0));
    abs_: "abs_(Tensor input)", Both => |a| ops::abs_(a.tensor(0));
    sign: "sign(Tensor input)", Both => |a| ops::sign(a.tensor(0));
    sign_: "sign_(Tensor input)", Both => |a| ops::sign_(a.tensor(0));
    floor: "floor(Tensor input)", Both => |a| ops::floor(a.tensor(0));
    floor_: "floor_(Tensor input)", Both => |a| ops::floor_(a.tensor(0));
    ceil: "ceil(Tensor input)", Both => |a| ops::ceil(a.tensor(0));
    ceil_: "ceil_(Tensor input)", Both => |a| ops::ceil_(a.tensor(0));
    trunc: "trunc(Tensor input)", Both => |a| ops::trunc(a.tensor(0));
    trunc_: "trunc_(Tensor input)", Both => |a| ops::trunc_(a.tensor(0));
    frac: "frac(Tensor input)", Both => |a| ops::frac(a.tensor(0));
    frac_: "frac_(Tensor input)", Both => |a| ops::frac_(a.tensor(0));
    exp: "exp(Tensor input)", Both => |a| ops::exp(a.tensor(0));
    exp_: "exp_(Tensor input)", Both => |a| ops::exp_(a.tensor(0));
    exp2: "exp2(Tensor input)", Both => |a| ops::exp2(a.tensor(0));
    exp2_: "exp2_(Tensor input)", Both => |a| ops::exp2_(a.tensor(0));
    expm1: "expm1(Tensor input)", Both => |a| ops::expm1(a.tensor(0));
    expm1_: "expm1_(Tensor input)", Both => |a| ops::expm1_(a.tensor(0));
    log: "log(Tensor input)", Both => |a| ops::log(a.tensor(0));
    log_: "log_(Tensor input)", Both => |a| ops::log_(a.tensor(0));
    log2: "log2(Tensor input)", Both => |a| ops::log2(a.tensor(0));
    log2_: "log2_(Tensor input)", Both => |a| ops::log2_(a.tensor(0));
    log10: "log10(Tensor input)", Both => |a| ops::log10(a.tensor(0));
    log10_: "log10_(Tensor input)", Both => |a| ops::log10_(a.tensor(0));
    log1p: "log1p(Tensor input)", Both => |a| ops::log1p(a.tensor(0));
    log1p_: "log1p_(Tensor input)", Both => |a| ops::log1p_(a.tensor(0));
    sqrt: "sqrt(Tensor input)", Both => |a| ops::sqrt(a.tensor(0));
    sqrt_: "sqrt_(Tensor input)", Both => |a| ops::sqrt_(a.tensor(0));
    rsqrt: "rsqrt(Tensor input)", Both => |a| ops::rsqrt(a.tensor(0));
    rsqrt_: "rsqrt_(Tensor input)", Both => |a| ops::rsqrt_(a.tensor(0));
    reciprocal: "reciprocal(Tensor input)", Both => |a| ops::reciprocal(a.tensor(0));
    reciprocal_: "reciprocal_(Tensor input)", Both => |a| ops::reciprocal_(a.tensor(0));
    square: "square(Tensor input)", Both => |a| ops::square(a.tensor(0));
    square_: "square_(Tensor input)", Both => |a| ops::square_(a.tensor(0));
    sin: "sin(Tensor input)", Both => |a| ops::sin(a.tensor(0));
    sin_: "sin_(Tensor input)", Both => |a| ops::sin_(a.tensor(0));
    cos: "cos(Tensor input)", Both => |a| ops::cos(a.tensor(0));
    cos_: "cos_(Tensor input)", Both => |a| ops::cos_(a.tensor(0));
    tan: "tan(Tensor input)", Both => |a| ops::tan(a.tensor(0));
    tan_: "tan_(Tensor input)", Both => |a| ops::tan_(a.tensor(0));
    asin: "asin(Tensor input)", Both => |a| ops::asin(a.tensor(0));
    asin_: "asin_(Tensor input)", Both => |a| ops::asin_(a.tensor(0));
    acos: "acos(Tensor input)", Both => |a| ops::acos(a.tensor(0));
    acos_: "acos_(Tensor input)", Both => |a| ops::acos_(a.tensor(0));
    atan: "atan(Tensor input)", Both => |a| ops::atan(a.tensor(0));
    atan_: "atan_(Tensor input)", Both => |a| ops::atan_(a.tensor(0));
    sinh: "sinh(Tensor input)", Both => |a| ops::sinh(a.tensor(0));
    sinh_: "sinh_(Tensor input)", Both => |a| ops::sinh_(a.tensor(0));
    cosh: "cosh(Tensor input)", Both => |a| ops::cosh(a.tensor(0));
    cosh_: "cosh_(Tensor input)", Both => |a| ops::cosh_(a.tensor(0));
    tanh: "tanh(Tensor input)", Both => |a| ops::tanh(a.tensor(0));
    tanh_: "tanh_(Tensor input)", Both => |a| ops::tanh_(a.tensor(0));
    sigmoid: "sigmoid(Tensor input)", Both => |a| ops::sigmoid(a.tensor(0));
    sigmoid_: "sigmoid_(Tensor input)", Both => |a| ops::sigmoid_(a.tensor(0));
    erf: "erf(Tensor input)", Both => |a| ops::erf(a.tensor(0));
    erf_: "erf_(Tensor input)", Both => |a| ops::erf_(a.tensor(0));
    relu: "relu(Tensor input)", Both => |a| ops::relu(a.tensor(0));
    relu_: "relu_(Tensor input)", Both => |a| ops::relu_(a.tensor(0));
    negative: "negative(Tensor input)", Both => |a| ops::neg(a.tensor(0));
    absolute: "absolute(Tensor input)", Both => |a| ops::abs(a.tensor(0));
    round: "round(Tensor input, *, int decimals=0)", Both => |a| rounded(a.tensor(0), a.int(1));
    round_: "round_(Tensor input, *, int decimals=0)", Method => |a| ops::in_place(a.tensor(0), |x| rounded(x, a.int(1)));
}
