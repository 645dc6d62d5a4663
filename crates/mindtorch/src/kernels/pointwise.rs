//! The pointwise operations, number by number. The type to compute in is given: it is not always the output's.

use super::element::Truth;
use super::map::{map_slices, map1, map2, map3};
use super::plan::Operand;
use super::real::{Real, cos_all, sin_all};
use crate::Tensor;
use crate::dtype::ComputeType;

/// Kernels of one input. Those without a part for integers are never asked for one: their results are floats.
macro_rules! unary {
    ($($name:ident: float |$x:ident| $float:expr $(, int |$n:ident| $int:expr)?;)*) => {$(
        pub(crate) fn $name(compute: ComputeType, out: &Tensor, x: Operand<'_>) {
            match compute {
                ComputeType::F32 => map1::<f32, f32>(out, x, |$x| $float),
                ComputeType::F64 => map1::<f64, f64>(out, x, |$x| $float),
                ComputeType::I64 => { $(map1::<i64, i64>(out, x, |$n| $int))? }
            }
        }
    )*};
}

unary! {
    neg: float |x| -x, int |n| n.wrapping_neg();
    abs: float |x| Real::abs(x), int |n| n.wrapping_abs();
    square: float |x| x * x, int |n| n.wrapping_mul(n);
    // NaN has no sign, as in torch.
    sign: float |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 }, int |n| n.signum();
    relu: float |x| if x < 0.0 { 0.0 } else { x }, int |n| n.max(0);
    floor: float |x| x.floor(), int |n| n;
    ceil: float |x| Real::ceil(x), int |n| n;
    round: float |x| Real::round_ties_even(x), int |n| n;
    trunc: float |x| Real::trunc(x), int |n| n;
    frac: float |x| x - x.trunc();
    exp: float |x| Real::exp(x);
    exp2: float |x| Real::exp2(x);
    expm1: float |x| Real::exp_m1(x);
    log: float |x| Real::ln(x);
    log2: float |x| Real::log2(x);
    log10: float |x| Real::log10(x);
    log1p: float |x| Real::ln_1p(x);
    sqrt: float |x| x.sqrt();
    rsqrt: float |x| 1.0 / x.sqrt();
    reciprocal: float |x| 1.0 / x;
    tan: float |x| Real::tan(x);
    asin: float |x| Real::asin(x);
    acos: float |x| Real::acos(x);
    atan: float |x| Real::atan(x);
    sinh: float |x| Real::sinh(x);
    cosh: float |x| Real::cosh(x);
    tanh: float |x| Real::tanh(x);
    sigmoid: float |x| Real::sigmoid(x);
    erf: float |x| Real::erf(x);
    silu: float |x| x * Real::sigmoid(x);
    gelu: float |x| Real::gelu(x);
    gelu_tanh: float |x| gelu_tanh_of(x);
    bitwise_not: float |x| x, int |n| !n;
}

/// Kernels that look at many numbers at once: whether all angles are small enough for the quick way.
macro_rules! trigonometric {
    ($($name:ident: $all:ident;)*) => {$(
        pub(crate) fn $name(compute: ComputeType, out: &Tensor, x: Operand<'_>) {
            match compute {
                ComputeType::F32 => map_slices::<f32>(out, x, $all),
                ComputeType::F64 | ComputeType::I64 => map_slices::<f64>(out, x, $all),
            }
        }
    )*};
}

trigonometric! {
    sin: sin_all;
    cos: cos_all;
}

/// The two constants of the approximation: the square root of 2/pi, and the cube's weight.
const GELU: (f64, f64) = (0.797_884_560_802_865_4, 0.044715);

#[inline(always)]
fn gelu_tanh_of<T: Real>(x: T) -> T {
    let inner = T::from_f64(GELU.0) * (x + T::from_f64(GELU.1) * x * x * x);
    T::from_f64(0.5) * x * (T::ONE + inner.tanh())
}

#[inline(always)]
fn gelu_slope<T: Real>(x: T) -> T {
    let cdf = T::from_f64(0.5) * (T::ONE + (x * T::from_f64(std::f64::consts::FRAC_1_SQRT_2)).erf());
    let pdf = T::from_f64(0.398_942_280_401_432_7) * (T::from_f64(-0.5) * x * x).exp();
    cdf + x * pdf
}

#[inline(always)]
fn gelu_tanh_slope<T: Real>(x: T) -> T {
    let (beta, kappa, half) = (T::from_f64(GELU.0), T::from_f64(GELU.1), T::from_f64(0.5));
    let tanh = (beta * (x + kappa * x * x * x)).tanh();
    let inner = beta * (T::ONE + T::from_f64(3.0) * kappa * x * x);
    half * (T::ONE + tanh) + half * x * (T::ONE - tanh * tanh) * inner
}

/// Kernels of two inputs.
macro_rules! binary {
    ($($name:ident: float |$a:ident, $b:ident| $float:expr $(, int |$m:ident, $n:ident| $int:expr)?;)*) => {$(
        pub(crate) fn $name(compute: ComputeType, out: &Tensor, a: Operand<'_>, b: Operand<'_>) {
            match compute {
                ComputeType::F32 => map2::<f32, f32>(out, a, b, |$a, $b| $float),
                ComputeType::F64 => map2::<f64, f64>(out, a, b, |$a, $b| $float),
                ComputeType::I64 => { $(map2::<i64, i64>(out, a, b, |$m, $n| $int))? }
            }
        }
    )*};
}

binary! {
    add: float |a, b| a + b, int |m, n| m.wrapping_add(n);
    sub: float |a, b| a - b, int |m, n| m.wrapping_sub(n);
    mul: float |a, b| a * b, int |m, n| m.wrapping_mul(n);
    div: float |a, b| a / b;
    div_floor: float |a, b| floor_div(a, b), int |m, n| int_floor_div(m, n);
    div_trunc: float |a, b| (a / b).trunc(), int |m, n| m.checked_div(n).unwrap_or(0);
    remainder: float |a, b| python_mod(a, b), int |m, n| m.wrapping_sub(int_floor_div(m, n).wrapping_mul(n));
    fmod: float |a, b| a % b, int |m, n| m.checked_rem(n).unwrap_or(0);
    pow: float |a, b| Real::powf(a, b), int |m, n| int_pow(m, n);
    maximum: float |a, b| Real::maximum(a, b), int |m, n| m.max(n);
    minimum: float |a, b| Real::minimum(a, b), int |m, n| m.min(n);
    atan2: float |a, b| Real::atan2(a, b);
    bitwise_and: float |a, _b| a, int |m, n| m & n;
    bitwise_or: float |a, _b| a, int |m, n| m | n;
    bitwise_xor: float |a, _b| a, int |m, n| m ^ n;
    shift_left: float |a, _b| a, int |m, n| m.checked_shl(n as u32).unwrap_or(0);
    shift_right: float |a, _b| a, int |m, n| m >> n.clamp(0, 63);
    // The first is the gradient of the result, the second what the operation saved.
    relu_backward: float |grad, x| if x <= 0.0 { 0.0 } else { grad };
    sigmoid_backward: float |grad, y| grad * (1.0 - y) * y;
    tanh_backward: float |grad, y| grad * (1.0 - y * y);
    silu_backward: float |grad, x| {
        let sigmoid = Real::sigmoid(x);
        grad * sigmoid * (1.0 + x * (1.0 - sigmoid))
    };
    gelu_backward: float |grad, x| grad * gelu_slope(x);
    gelu_tanh_backward: float |grad, x| grad * gelu_tanh_slope(x);
}

#[inline(always)]
fn floor_div<T: Real>(a: T, b: T) -> T {
    (a / b).floor()
}

#[inline(always)]
fn python_mod<T: Real + std::ops::Rem<Output = T>>(a: T, b: T) -> T {
    let rest = a % b;
    if rest != T::ZERO && (rest < T::ZERO) != (b < T::ZERO) { rest + b } else { rest }
}

/// Rounds down. A division by zero is an error before it comes here.
#[inline(always)]
fn int_floor_div(m: i64, n: i64) -> i64 {
    if n == 0 {
        return 0;
    }
    let quotient = m.wrapping_div(n);
    if m.wrapping_rem(n) != 0 && (m < 0) != (n < 0) { quotient - 1 } else { quotient }
}

#[inline(always)]
fn int_pow(base: i64, exponent: i64) -> i64 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, exponent) if exponent < 0 => {
            if exponent % 2 == 0 {
                1
            } else {
                -1
            }
        }
        (_, exponent) if exponent < 0 => 0,
        (base, exponent) => base.wrapping_pow(exponent.min(i64::from(u32::MAX)) as u32),
    }
}

/// `a + alpha * b`.
pub(crate) fn add_scaled(compute: ComputeType, out: &Tensor, a: Operand<'_>, b: Operand<'_>, alpha: crate::Scalar) {
    match compute {
        ComputeType::F32 => {
            let alpha = alpha.to_f64() as f32;
            map2::<f32, f32>(out, a, b, move |a, b| a + alpha * b);
        }
        ComputeType::F64 => {
            let alpha = alpha.to_f64();
            map2::<f64, f64>(out, a, b, move |a, b| a + alpha * b);
        }
        ComputeType::I64 => {
            let alpha = alpha.to_i64();
            map2::<i64, i64>(out, a, b, move |a, b| a.wrapping_add(alpha.wrapping_mul(b)));
        }
    }
}

/// Kernels of two inputs whose result is a truth.
macro_rules! compare {
    ($($name:ident: |$a:ident, $b:ident| $result:expr;)*) => {$(
        pub(crate) fn $name(compute: ComputeType, out: &Tensor, a: Operand<'_>, b: Operand<'_>) {
            match compute {
                ComputeType::F32 => map2::<f32, Truth>(out, a, b, |$a, $b| ($result).into()),
                ComputeType::F64 => map2::<f64, Truth>(out, a, b, |$a, $b| ($result).into()),
                ComputeType::I64 => map2::<i64, Truth>(out, a, b, |$a, $b| ($result).into()),
            }
        }
    )*};
}

compare! {
    eq: |a, b| a == b;
    ne: |a, b| a != b;
    lt: |a, b| a < b;
    le: |a, b| a <= b;
    gt: |a, b| a > b;
    ge: |a, b| a >= b;
}

/// Kernels of two truths.
macro_rules! logic {
    ($($name:ident: |$a:ident, $b:ident| $result:expr;)*) => {$(
        pub(crate) fn $name(_: ComputeType, out: &Tensor, a: Operand<'_>, b: Operand<'_>) {
            map2::<Truth, Truth>(out, a, b, |$a, $b| Truth($result));
        }
    )*};
}

logic! {
    logical_and: |a, b| a.0 & b.0;
    logical_or: |a, b| a.0 | b.0;
    logical_xor: |a, b| a.0 ^ b.0;
}

/// Kernels of one input whose result is a truth.
macro_rules! test {
    ($($name:ident: float |$x:ident| $float:expr, int |$n:ident| $int:expr;)*) => {$(
        pub(crate) fn $name(compute: ComputeType, out: &Tensor, x: Operand<'_>) {
            match compute {
                ComputeType::F32 => map1::<f32, Truth>(out, x, |$x| ($float).into()),
                ComputeType::F64 => map1::<f64, Truth>(out, x, |$x| ($float).into()),
                ComputeType::I64 => map1::<i64, Truth>(out, x, |$n| ($int).into()),
            }
        }
    )*};
}

test! {
    isnan: float |x| x.is_nan(), int |_n| false;
    isinf: float |x| x.is_infinite(), int |_n| false;
    isfinite: float |x| Real::is_finite(x), int |_n| true;
    logical_not: float |x| x == 0.0, int |n| n == 0;
}

/// Kernels of three inputs.
macro_rules! ternary {
    ($($name:ident: float |$a:ident, $b:ident, $c:ident| $float:expr, int |$l:ident, $m:ident, $n:ident| $int:expr;)*) => {$(
        pub(crate) fn $name(compute: ComputeType, out: &Tensor, inputs: [Operand<'_>; 3]) {
            match compute {
                ComputeType::F32 => map3::<f32, f32>(out, inputs, |$a, $b, $c| $float),
                ComputeType::F64 => map3::<f64, f64>(out, inputs, |$a, $b, $c| $float),
                ComputeType::I64 => map3::<i64, i64>(out, inputs, |$l, $m, $n| $int),
            }
        }
    )*};
}

ternary! {
    r#where: float |c, a, b| if c != 0.0 { a } else { b }, int |c, a, b| if c != 0 { a } else { b };
    clamp: float |x, low, high| Real::minimum(Real::maximum(x, low), high), int |x, low, high| x.max(low).min(high);
    // Near the end it is computed from the end, so that a weight of 1 gives it exactly.
    lerp: float |a, b, w| if w.abs() < 0.5 { a + w * (b - a) } else { b - (b - a) * (1.0 - w) }, int |a, _b, _w| a;
}

/// `a + value * b * c`.
pub(crate) fn addcmul(compute: ComputeType, out: &Tensor, inputs: [Operand<'_>; 3], value: crate::Scalar) {
    match compute {
        ComputeType::F32 => {
            let value = value.to_f64() as f32;
            map3::<f32, f32>(out, inputs, move |a, b, c| a + value * b * c);
        }
        ComputeType::F64 => {
            let value = value.to_f64();
            map3::<f64, f64>(out, inputs, move |a, b, c| a + value * b * c);
        }
        ComputeType::I64 => {
            let value = value.to_i64();
            map3::<i64, i64>(out, inputs, move |a, b, c| a.wrapping_add(value.wrapping_mul(b).wrapping_mul(c)));
        }
    }
}

/// `a + value * b / c`.
pub(crate) fn addcdiv(compute: ComputeType, out: &Tensor, inputs: [Operand<'_>; 3], value: crate::Scalar) {
    match compute {
        ComputeType::F32 => {
            let value = value.to_f64() as f32;
            map3::<f32, f32>(out, inputs, move |a, b, c| a + value * (b / c));
        }
        _ => {
            let value = value.to_f64();
            map3::<f64, f64>(out, inputs, move |a, b, c| a + value * (b / c));
        }
    }
}

/// The same number everywhere.
pub(crate) fn fill(out: &Tensor, value: crate::Scalar) {
    let value = Operand::Scalar(value);
    match out.dtype().compute() {
        ComputeType::F32 => map1::<f32, f32>(out, value, |x| x),
        ComputeType::F64 => map1::<f64, f64>(out, value, |x| x),
        ComputeType::I64 => map1::<i64, i64>(out, value, |x| x),
    }
}
