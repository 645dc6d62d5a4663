//! Elementary functions of `f32` without branches, so that loops over them become vector instructions.
//!
//! Each reduces its argument to a short interval and evaluates a minimax polynomial there. The results are within 2 ulp,
//! of NaN, infinities, zeros and denormals too.

use super::real::{clamp, polynomial};

const LN_2_HIGH: f32 = std::f32::consts::LN_2;
const LN_2_LOW: f32 = -1.9046542e-9;
const PI_HIGH: f32 = std::f32::consts::PI;
const PI_MIDDLE: f32 = -8.742278e-8;
const PI_LOW: f32 = -3.430249e-15;

/// Added to a number below 2^22, it leaves the nearest integer in the lowest bits.
const ROUNDER: f32 = 12_582_912.0;

/// Beyond it the reduction of [`sin_small`] and [`cos_small`] loses digits.
pub(super) const TRIG_LIMIT: f32 = 10_000.0;

/// 2 to the power of the integer from -126 to 127 that is in the lowest bits of `shifted`.
#[inline(always)]
fn power_of_two(shifted: f32) -> f32 {
    f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0f32.to_bits()))
}

/// `e^r - 1` where `x = n ln 2 + r` and `r` is at most half of `ln 2`, or hardly more.
#[inline(always)]
fn exp_fraction(x: f32, n: f32) -> f32 {
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let tail = polynomial(r, [0.5, 0.16666543, 0.04166645, 0.008366553, 0.0013936227]);
    (r * r).mul_add(tail, r)
}

#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // The lowest bits hold n, twice biased as exponents are: once for each of the two factors below.
    const BIASED: f32 = ROUNDER + 254.0;
    let x = clamp(x, -105.0, 89.0);
    let shifted = x.mul_add(std::f32::consts::LOG2_E, BIASED);
    let fraction = exp_fraction(x, shifted - BIASED);
    // 2^n is two factors, because alone it may be beyond the range where the result is not.
    let bits = shifted.to_bits();
    let half = bits >> 1;
    let (first, second) = (f32::from_bits(half << 23), f32::from_bits((bits - half) << 23));
    fraction.mul_add(first, first) * second
}

#[inline(always)]
pub(super) fn exp_m1(x: f32) -> f32 {
    let clamped = clamp(x, -18.0, 89.0);
    let shifted = clamped.mul_add(std::f32::consts::LOG2_E, ROUNDER);
    let fraction = exp_fraction(clamped, shifted - ROUNDER);
    let half_scale = power_of_two(shifted - 1.0);
    let result = 2.0 * fraction.mul_add(half_scale, half_scale - 0.5);
    if x == 0.0 { x } else { result }
}

/// `k` and `ln(m)` where `x = 2^k m` and `m` is between the roots of 1/2 and 2. For other than positive finite `x`, they
/// are what makes `k` times something positive plus `ln(m)` the right limit.
#[inline(always)]
fn ln_parts(x: f32) -> (f32, f32) {
    // Denormal numbers times 2^23. One choice, and arithmetic from there on: with two of them the compiler would compute
    // everything for both cases.
    let surplus = if x < f32::MIN_POSITIVE { 8_388_607.0 } else { 0.0 };
    let bits = x.mul_add(surplus, x).to_bits().cast_signed();
    let exponent = bits.wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits().cast_signed()) >> 23;
    let mantissa = f32::from_bits(bits.wrapping_sub(exponent << 23).cast_unsigned());
    let k = surplus.mul_add(-23.0 / 8_388_607.0, exponent as f32);
    let k = if x == 0.0 { f32::NEG_INFINITY } else { k };
    let k = if x < f32::INFINITY { k } else { x };
    let f = if x < 0.0 { f32::NAN } else { mantissa - 1.0 };
    let tail = polynomial(
        f,
        [-0.49999988, 0.33333313, -0.2500159, 0.20002766, -0.1660964, 0.14167091, -0.13223095, 0.12988317, -0.07771864],
    );
    (k, (f * f).mul_add(tail, f))
}

#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    let (k, y) = ln_parts(x);
    k.mul_add(LN_2_HIGH, y)
}

#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    const LOG2_E_LOW: f32 = 1.925963e-8;
    let (k, y) = ln_parts(x);
    k + y.mul_add(std::f32::consts::LOG2_E, y * LOG2_E_LOW)
}

#[inline(always)]
pub(super) fn log10(x: f32) -> f32 {
    const LOG10_2_HIGH: f32 = 0.30102998;
    const LOG10_2_LOW: f32 = 1.5481333e-8;
    let (k, y) = ln_parts(x);
    k.mul_add(LOG10_2_HIGH, y.mul_add(std::f32::consts::LOG10_E, k * LOG10_2_LOW))
}

#[inline(always)]
pub(super) fn ln_1p(x: f32) -> f32 {
    let sum = 1.0 + x;
    // What the addition rounded away, as a part of the sum; nothing at the limits.
    let lost = if x < 1.0 { x - (sum - 1.0) } else { 1.0 - (sum - x) };
    let lost = if lost.abs() > 0.0 { lost / sum } else { 0.0 };
    let (k, y) = ln_parts(sum);
    if x == 0.0 { x } else { k.mul_add(LN_2_HIGH, y + lost) }
}

#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let doubled = 2.0 * if size > 10.0 { 10.0 } else { size };
    let shifted = doubled.mul_add(std::f32::consts::LOG2_E, ROUNDER);
    let fraction = exp_fraction(doubled, shifted - ROUNDER);
    let scale = power_of_two(shifted);
    let grown = fraction.mul_add(scale, scale - 1.0);
    (grown / (grown + 2.0)).copysign(x)
}

#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let size = x.abs();
    let near = polynomial(x * x, [0.12837915, -0.37612522, 0.11282153, -0.026779728, 0.0050134347, -0.000609861]);
    // Farther out the complement is 2^q, and has no more to give than the last digits.
    let far = if size > 4.0 { 4.0 } else { size };
    let q =
        polynomial(far, [-0.0002568063, -1.6269953, -0.9190894, -0.15008771, 0.03213544, -0.0044072587, 0.00028434818]);
    let shifted = q + ROUNDER;
    let mantissa = exp2_fraction(q - (shifted - ROUNDER));
    let far = mantissa.mul_add(-power_of_two(shifted), 1.0).copysign(x);
    if size < 0.9 { x.mul_add(near, x) } else { far }
}

/// `x` times the normal distribution function of `x`, whose two tails are one function of the size of `x`: nothing cancels.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    /// From here on the tail is 0 for all that it can be added to.
    const END: f32 = 13.0;
    let size = x.abs();
    // The tail is 2^q, where q is a parabola, and what hardly changes farther out.
    let near = if size > 6.0 { 6.0 } else { size };
    let within = if size > END { END } else { size };
    let rest = polynomial(
        near,
        [
            -1.0,
            -1.1511241,
            0.26233137,
            -0.053062312,
            0.007798714,
            -0.0006291519,
            -8.734186e-6,
            6.6383086e-6,
            -4.110336e-7,
        ],
    );
    let q = (within * (-0.5 * std::f32::consts::LOG2_E)).mul_add(within, rest);
    let shifted = q + ROUNDER;
    let mantissa = exp2_fraction(q - (shifted - ROUNDER));
    let tail = if size > END { 0.0 } else { mantissa * power_of_two(shifted) };
    let positive = if x > 0.0 { x } else { 0.0 };
    within.mul_add(-tail, positive)
}

/// `2^r`, where `r` is at most one half.
#[inline(always)]
fn exp2_fraction(r: f32) -> f32 {
    polynomial(r, [1.0, 0.69314724, 0.24022235, 0.055502743, 0.009671856, 0.0013416925])
}

/// `sin(r)` with the sign of (-1)^n, where `r` is at most half of pi and `shifted` is `n + ROUNDER`.
#[inline(always)]
fn alternating_sin(r: f32, shifted: f32) -> f32 {
    let squared = r * r;
    let tail = polynomial(squared, [-0.16666661, 0.008333104, -0.00019812096, 2.6108628e-6]);
    let sine = (squared * r).mul_add(tail, r);
    f32::from_bits(sine.to_bits() ^ (shifted.to_bits() << 31))
}

/// The sine of a number within [`TRIG_LIMIT`].
#[inline(always)]
pub(super) fn sin_small(x: f32) -> f32 {
    let shifted = x.mul_add(std::f32::consts::FRAC_1_PI, ROUNDER);
    let n = shifted - ROUNDER;
    let r = n.mul_add(-PI_LOW, n.mul_add(-PI_MIDDLE, n.mul_add(-PI_HIGH, x)));
    let result = alternating_sin(r, shifted);
    if x == 0.0 { x } else { result }
}

/// The cosine of a number within [`TRIG_LIMIT`].
#[inline(always)]
pub(super) fn cos_small(x: f32) -> f32 {
    // cos(x) is the sine of x + pi/2, so that its zeros are where the reduced argument is small, and exact.
    let shifted = (x.mul_add(std::f32::consts::FRAC_1_PI, 0.5)) + ROUNDER;
    let n = shifted - ROUNDER - 0.5;
    let r = n.mul_add(-PI_LOW, n.mul_add(-PI_MIDDLE, n.mul_add(-PI_HIGH, x)));
    alternating_sin(r, shifted)
}

#[inline(always)]
pub(super) fn powf(x: f32, y: f32) -> f32 {
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    // In f64 the logarithm has digits to spare for the largest exponents.
    let size = f64::from(x.abs());
    let bits = size.to_bits();
    let shifted_bits = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd).wrapping_add(0x3ff0_0000_0000_0000);
    let exponent = f64::from_bits((shifted_bits >> 52) | ROUNDER.to_bits()) - ROUNDER - 1023.0;
    let mantissa_bits = bits.wrapping_sub((shifted_bits >> 52).wrapping_sub(1023) << 52);
    let mantissa = f64::from_bits(mantissa_bits);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let squared = s * s;
    let tail = polynomial(squared, [0.9617966792514586, 0.5770828359228747, 0.4117074227852409, 0.3401978556745858]);
    let log = (s * squared).mul_add(tail, s.mul_add(2.0 * std::f64::consts::LOG2_E, exponent));
    let log = if size < f64::INFINITY { log } else { size };
    let log = if size == 0.0 { f64::NEG_INFINITY } else { log };

    let power = clamp(log * f64::from(y), -200.0, 200.0);
    let shifted = power + ROUNDER;
    let r = power - (shifted - ROUNDER);
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let fraction =
        polynomial(r, [std::f64::consts::LN_2, 0.24022652, 0.055503584, 0.009617902, 0.0013391477, 0.00015503915]);
    let result = (scale * r).mul_add(fraction, scale) as f32;

    let whole = y.trunc() == y;
    let odd = whole && (0.5 * y).trunc() != 0.5 * y;
    let result = if x.is_sign_negative() && odd { -result } else { result };
    let result = if x < 0.0 && x > f32::NEG_INFINITY && !whole { f32::NAN } else { result };
    let result = if x == -1.0 && y.is_infinite() { 1.0 } else { result };
    if x == 1.0 || y == 0.0 { 1.0 } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far `got` is from `wanted`, in units of the last place of `wanted` as an `f32`.
    fn ulps(got: f32, wanted: f64) -> f64 {
        let rounded = wanted as f32;
        if got == rounded || (got.is_nan() && rounded.is_nan()) {
            return 0.0;
        }
        let size = rounded.abs().max(f32::MIN_POSITIVE);
        let unit = f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size);
        (f64::from(got) - wanted).abs() / unit
    }

    /// Numbers of every size between the bounds, and the bounds.
    fn samples(low: f32, high: f32) -> impl Iterator<Item = f32> {
        let steps = (0..=20_000).map(move |step| low + (high - low) * (step as f32 / 20_000.0));
        let sizes = (0..2000).map(|step| 2f32.powf(-149.0 + 277.0 * (step as f32 / 2000.0)));
        steps.chain(sizes.flat_map(|size| [size, -size])).filter(move |x| (low..=high).contains(x))
    }

    fn check(name: &str, low: f32, high: f32, limit: f64, ours: fn(f32) -> f32, wanted: fn(f64) -> f64) {
        for x in samples(low, high).chain([f32::NAN]) {
            let (got, wanted) = (ours(x), wanted(f64::from(x)));
            let error = ulps(got, wanted);
            assert!(error <= limit, "{name}({x:e}) = {got:e}, not {wanted:e}: {error} ulp");
        }
    }

    #[test]
    fn functions_agree_with_double_precision() {
        let all = f32::INFINITY;
        check("exp", -120.0, 100.0, 1.5, exp, f64::exp);
        check("exp_m1", -120.0, 100.0, 1.5, exp_m1, f64::exp_m1);
        check("ln", -1.0, 3e38, 1.0, ln, f64::ln);
        check("ln", -1.0, 10.0, 1.0, ln, f64::ln);
        check("log2", 0.0, 10.0, 2.0, log2, f64::log2);
        check("log10", 0.0, 10.0, 2.0, log10, f64::log10);
        check("ln_1p", -2.0, 10.0, 2.0, ln_1p, f64::ln_1p);
        check("ln_1p", -2.0, 3e38, 2.0, ln_1p, f64::ln_1p);
        check("tanh", -20.0, 20.0, 2.0, tanh, f64::tanh);
        check("sigmoid", -80.0, 120.0, 2.5, sigmoid, |x| 1.0 / (1.0 + (-x).exp()));
        check("erf", -6.0, 6.0, 1.5, erf, super::super::math_f64::erf);
        check("sin", -10_000.0, 10_000.0, 2.0, sin_small, f64::sin);
        check("sin", -10.0, 10.0, 2.0, sin_small, f64::sin);
        check("cos", -10_000.0, 10_000.0, 2.0, cos_small, f64::cos);
        check("cos", -10.0, 10.0, 2.0, cos_small, f64::cos);
        for step in -6000..=6000i16 {
            let x = f32::from(step) / 1000.0;
            let wanted = super::super::math_f64::gelu(f64::from(x));
            let error = (f64::from(gelu(x)) - wanted).abs();
            let relative = if x.abs() < 4.0 { 1e-5 } else { 1e-3 };
            assert!(error <= 4e-7_f64.min(relative * wanted.abs()), "gelu({x}) = {}", gelu(x));
        }
        assert!(gelu(f32::INFINITY) == f32::INFINITY && gelu(f32::NEG_INFINITY) == 0.0 && gelu(f32::NAN).is_nan());
        for x in [all, -all, 0.0, -0.0] {
            for (name, ours, wanted) in [
                ("exp", exp as fn(f32) -> f32, f32::exp as fn(f32) -> f32),
                ("exp_m1", exp_m1, f32::exp_m1),
                ("ln", ln, f32::ln),
                ("log2", log2, f32::log2),
                ("log10", log10, f32::log10),
                ("ln_1p", ln_1p, f32::ln_1p),
                ("tanh", tanh, f32::tanh),
            ] {
                let (got, wanted) = (ours(x), wanted(x));
                let same = got.to_bits() == wanted.to_bits() || (got.is_nan() && wanted.is_nan());
                assert!(same, "{name}({x}) = {got}, not {wanted}");
            }
        }
    }

    #[test]
    fn powers_of_two_have_whole_logarithms() {
        assert!((-149..128).all(|power| log2(2f64.powi(power) as f32) == power as f32));
    }

    #[test]
    fn powers_agree_with_double_precision() {
        let special = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0, 1.0, -1.0, 1e-40, -3.0, 3e38];
        let sizes = (0..60).map(|step| 2f32.powf(-140.0 + 4.4 * step as f32));
        let bases: Vec<f32> = sizes.chain((0..60).map(|step| 0.9 + 0.003 * step as f32)).chain(special).collect();
        let exponents = (-40..=40).map(|step| 0.5 * step as f32).chain(special).chain([1e-3, 1e3, 1e4, 1e5, 1e6 + 1.0]);
        for y in exponents {
            for &x in &bases {
                let (got, wanted) = (powf(x, y), f64::from(x).powf(f64::from(y)));
                let error = ulps(got, wanted);
                assert!(error <= 1.0, "{x:e}^{y:e} = {got:e}, not {wanted:e}: {error} ulp");
                assert!(got.is_nan() || got.is_sign_negative() == wanted.is_sign_negative(), "{x:e}^{y:e} = {got:e}");
            }
        }
    }
}
