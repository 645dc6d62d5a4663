//! Elementary functions of `f64` without branches, so that loops over them become vector instructions.
//!
//! They are made like those of [`super::math_f32`], with longer polynomials, and are within 3 ulp.

use super::real::{clamp, polynomial};

const LN_2_HIGH: f64 = std::f64::consts::LN_2;
const LN_2_LOW: f64 = 2.3190468138462996e-17;
const PI_HIGH: f64 = std::f64::consts::PI;
const PI_MIDDLE: f64 = 1.2246467991473532e-16;
const PI_LOW: f64 = -2.9947698097183397e-33;

/// Added to a number below 2^51, it leaves the nearest integer in the lowest bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Beyond it the reduction of [`sin_small`] and [`cos_small`] loses digits.
pub(super) const TRIG_LIMIT: f64 = 100_000.0;

/// 2 to the power of the integer from -1022 to 1023 that is in the lowest bits of `shifted`.
#[inline(always)]
fn power_of_two(shifted: f64) -> f64 {
    f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0f64.to_bits()))
}

/// `e^r - 1` where `x = n ln 2 + r` and `r` is at most half of `ln 2`, or hardly more.
#[inline(always)]
fn exp_fraction(x: f64, n: f64) -> f64 {
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let tail = polynomial(
        r,
        [
            0.5000000000000006,
            0.16666666666666685,
            0.041666666666573336,
            0.008333333333315178,
            0.001388888893251635,
            0.0001984126990172853,
            2.4801504244971948e-5,
            2.7557229120727676e-6,
            2.76264173054797e-7,
            2.5114105613386316e-8,
        ],
    );
    (r * r).mul_add(tail, r)
}

#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    // The lowest bits hold n, twice biased as exponents are: once for each of the two factors below.
    const BIASED: f64 = ROUNDER + 2046.0;
    let x = clamp(x, -750.0, 710.0);
    let shifted = x.mul_add(std::f64::consts::LOG2_E, BIASED);
    let fraction = exp_fraction(x, shifted - BIASED);
    // 2^n is two factors, because alone it may be beyond the range where the result is not.
    let bits = shifted.to_bits();
    let half = bits >> 1;
    let (first, second) = (f64::from_bits(half << 52), f64::from_bits((bits - half) << 52));
    fraction.mul_add(first, first) * second
}

#[inline(always)]
pub(super) fn exp_m1(x: f64) -> f64 {
    let clamped = clamp(x, -40.0, 710.0);
    let shifted = clamped.mul_add(std::f64::consts::LOG2_E, ROUNDER);
    let fraction = exp_fraction(clamped, shifted - ROUNDER);
    let half_scale = power_of_two(shifted - 1.0);
    let result = 2.0 * fraction.mul_add(half_scale, half_scale - 0.5);
    if x == 0.0 { x } else { result }
}

/// `k` and `ln(m)` where `x = 2^k m` and `m` is between the roots of 1/2 and 2. For other than positive finite `x`, they
/// are what makes `k` times something positive plus `ln(m)` the right limit.
#[inline(always)]
fn ln_parts(x: f64) -> (f64, f64) {
    // Denormal numbers times 2^52. One choice, and arithmetic from there on: with two of them the compiler would compute
    // everything for both cases.
    let surplus = if x < f64::MIN_POSITIVE { 4_503_599_627_370_495.0 } else { 0.0 };
    let bits = x.mul_add(surplus, x).to_bits();
    let exponent = bits.wrapping_add(1.0f64.to_bits() - std::f64::consts::FRAC_1_SQRT_2.to_bits()) >> 52;
    let mantissa = f64::from_bits(bits.wrapping_sub(exponent << 52).wrapping_add(1.0f64.to_bits()));
    // There is no instruction for this conversion before AVX-512.
    let k = f64::from_bits(exponent | ROUNDER.to_bits()) - (ROUNDER + 1023.0);
    let k = surplus.mul_add(-52.0 / 4_503_599_627_370_495.0, k);
    let k = if x == 0.0 { f64::NEG_INFINITY } else { k };
    let k = if x < f64::INFINITY { k } else { x };
    let f = if x < 0.0 { f64::NAN } else { mantissa - 1.0 };
    let s = f / (2.0 + f);
    let squared = s * s;
    let tail = squared
        * polynomial(
            squared,
            [
                0.6666666666666734,
                0.3999999999941659,
                0.28571428742040983,
                0.22222198603148396,
                0.18183562992135777,
                0.1531408015313384,
                0.14795690049895338,
            ],
        );
    let half_square = 0.5 * f * f;
    (k, f - (half_square - s * (half_square + tail)))
}

#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    let (k, y) = ln_parts(x);
    k.mul_add(LN_2_HIGH, k.mul_add(LN_2_LOW, y))
}

#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    const LOG2_E_LOW: f64 = 2.0355273740931033e-17;
    let (k, y) = ln_parts(x);
    k + y.mul_add(std::f64::consts::LOG2_E, y * LOG2_E_LOW)
}

#[inline(always)]
pub(super) fn log10(x: f64) -> f64 {
    let (k, y) = ln_parts(x);
    k.mul_add(std::f64::consts::LOG10_2, y * std::f64::consts::LOG10_E)
}

#[inline(always)]
pub(super) fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    // What the addition rounded away, as a part of the sum; nothing at the limits.
    let lost = if x < 1.0 { x - (sum - 1.0) } else { 1.0 - (sum - x) };
    let lost = if lost.abs() > 0.0 { lost / sum } else { 0.0 };
    let (k, y) = ln_parts(sum);
    if x == 0.0 { x } else { k.mul_add(LN_2_HIGH, k.mul_add(LN_2_LOW, y) + lost) }
}

#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let size = x.abs();
    let doubled = 2.0 * if size > 20.0 { 20.0 } else { size };
    let shifted = doubled.mul_add(std::f64::consts::LOG2_E, ROUNDER);
    let fraction = exp_fraction(doubled, shifted - ROUNDER);
    let scale = power_of_two(shifted);
    let grown = fraction.mul_add(scale, scale - 1.0);
    (grown / (grown + 2.0)).copysign(x)
}

#[inline(always)]
pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

#[inline(always)]
pub(super) fn erf(x: f64) -> f64 {
    let size = x.abs();
    let near = polynomial(
        x * x,
        [
            0.1283791670955126,
            -0.37612638903183476,
            0.11283791670943442,
            -0.026866170643059944,
            0.005223977605984958,
            -0.000854832593117717,
            0.00012055293790796946,
            -1.4924718444986301e-5,
            1.64472246480651e-6,
            -1.6207119318333764e-7,
            1.371474836894786e-8,
            -7.786876301494117e-10,
        ],
    );
    // Farther out the complement is e^-q.
    let far = if size > 6.0 { 6.0 } else { size };
    let q = -polynomial(
        far,
        [
            1.8475506373595557e-7,
            1.128377278745624,
            0.6366287205229407,
            0.10274659482663948,
            -0.019076861182126103,
            -0.0002823650552858994,
            0.0017710758724451198,
            -0.0006429628655607064,
            4.604344528508015e-5,
            6.97033258038968e-5,
            -4.474969660277288e-5,
            1.641457977469822e-5,
            -4.299919537259606e-6,
            8.448022841779959e-7,
            -1.2476838718102925e-7,
            1.3514889021745682e-8,
            -1.0164506363752742e-9,
            4.748713140663769e-11,
            -1.0383516915072679e-12,
        ],
    );
    let shifted = q.mul_add(std::f64::consts::LOG2_E, ROUNDER);
    let fraction = exp_fraction(q, shifted - ROUNDER);
    let scale = power_of_two(shifted);
    let far = (1.0 - fraction.mul_add(scale, scale)).copysign(x);
    if size < 1.0 { x.mul_add(near, x) } else { far }
}

/// `sin(r)` with the sign of (-1)^n, where `r` is at most half of pi and `shifted` is `n + ROUNDER`.
#[inline(always)]
fn alternating_sin(r: f64, shifted: f64) -> f64 {
    let squared = r * r;
    let tail = polynomial(
        squared,
        [
            -0.16666666666666666,
            0.008333333333333212,
            -0.00019841269841215227,
            2.755731921211763e-6,
            -2.5052106958482994e-8,
            1.6058943826399106e-10,
            -7.64309429297401e-13,
            2.722214667038259e-15,
        ],
    );
    let sine = (squared * r).mul_add(tail, r);
    f64::from_bits(sine.to_bits() ^ (shifted.to_bits() << 63))
}

/// The sine of a number within [`TRIG_LIMIT`].
#[inline(always)]
pub(super) fn sin_small(x: f64) -> f64 {
    let shifted = x.mul_add(std::f64::consts::FRAC_1_PI, ROUNDER);
    let n = shifted - ROUNDER;
    let r = n.mul_add(-PI_LOW, n.mul_add(-PI_MIDDLE, n.mul_add(-PI_HIGH, x)));
    let result = alternating_sin(r, shifted);
    if x == 0.0 { x } else { result }
}

/// The cosine of a number within [`TRIG_LIMIT`].
#[inline(always)]
pub(super) fn cos_small(x: f64) -> f64 {
    // cos(x) is the sine of x + pi/2, so that its zeros are where the reduced argument is small, and exact.
    let shifted = x.mul_add(std::f64::consts::FRAC_1_PI, 0.5) + ROUNDER;
    let n = shifted - ROUNDER - 0.5;
    let r = n.mul_add(-PI_LOW, n.mul_add(-PI_MIDDLE, n.mul_add(-PI_HIGH, x)));
    alternating_sin(r, shifted)
}

/// `x` times the normal distribution function of `x`.
#[inline(always)]
pub(super) fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ulps(got: f64, wanted: f64) -> f64 {
        if got == wanted || (got.is_nan() && wanted.is_nan()) {
            return 0.0;
        }
        let size = wanted.abs().max(f64::MIN_POSITIVE);
        (got - wanted).abs() / (f64::from_bits(size.to_bits() + 1) - size)
    }

    fn check(name: &str, low: f64, high: f64, limit: f64, ours: fn(f64) -> f64, wanted: fn(f64) -> f64) {
        let steps = (0..=20_000).map(|step| low + (high - low) * (f64::from(step) / 20_000.0));
        let sizes = (0..2000).map(|step| 2f64.powf(-1074.0 + 2090.0 * (f64::from(step) / 2000.0)));
        let sizes = sizes.flat_map(|size| [size, -size]).filter(|x| (low..=high).contains(x));
        for x in steps.chain(sizes).chain([f64::NAN]) {
            let (got, wanted) = (ours(x), wanted(x));
            let error = ulps(got, wanted);
            assert!(error <= limit, "{name}({x:e}) = {got:e}, not {wanted:e}: {error} ulp");
        }
    }

    #[test]
    fn functions_agree_with_the_standard_library() {
        check("exp", -800.0, 720.0, 2.0, exp, f64::exp);
        check("exp_m1", -800.0, 720.0, 2.5, exp_m1, f64::exp_m1);
        check("exp_m1", -1.0, 1.0, 2.5, exp_m1, f64::exp_m1);
        check("ln", -1.0, 1e308, 2.0, ln, f64::ln);
        check("ln", -1.0, 10.0, 2.0, ln, f64::ln);
        check("log2", -1.0, 10.0, 2.0, log2, f64::log2);
        check("log10", -1.0, 10.0, 2.0, log10, f64::log10);
        check("ln_1p", -2.0, 10.0, 3.0, ln_1p, f64::ln_1p);
        check("ln_1p", -2.0, 1e308, 3.0, ln_1p, f64::ln_1p);
        check("tanh", -30.0, 30.0, 3.0, tanh, f64::tanh);
        check("sigmoid", -700.0, 100.0, 3.0, sigmoid, |x| 1.0 / (1.0 + (-x).exp()));
        check("sin", -100_000.0, 100_000.0, 2.0, sin_small, f64::sin);
        check("sin", -10.0, 10.0, 2.0, sin_small, f64::sin);
        check("cos", -100_000.0, 100_000.0, 2.0, cos_small, f64::cos);
        check("cos", -10.0, 10.0, 2.0, cos_small, f64::cos);
        for x in [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0] {
            for (name, ours, wanted) in [
                ("exp", exp as fn(f64) -> f64, f64::exp as fn(f64) -> f64),
                ("exp_m1", exp_m1, f64::exp_m1),
                ("ln", ln, f64::ln),
                ("log2", log2, f64::log2),
                ("log10", log10, f64::log10),
                ("ln_1p", ln_1p, f64::ln_1p),
                ("tanh", tanh, f64::tanh),
            ] {
                let (got, wanted) = (ours(x), wanted(x));
                let same = got.to_bits() == wanted.to_bits() || (got.is_nan() && wanted.is_nan());
                assert!(same, "{name}({x}) = {got}, not {wanted}");
            }
        }
    }

    #[test]
    fn the_error_function_agrees_with_its_table() {
        let table = [
            (0.0, 0.0),
            (1e-300, 1.1283791670955126e-300),
            (0.125, 0.1403162048013338),
            (0.5, 0.5204998778130465),
            (0.9375, 0.8151024010343998),
            (1.0, 0.8427007929497149),
            (1.0625, 0.8670582694349528),
            (1.5, 0.9661051464753108),
            (2.0, 0.9953222650189527),
            (3.0, 0.9999779095030014),
            (4.5, 0.9999999998033839),
            (5.75, 0.9999999999999996),
        ];
        for (x, wanted) in table {
            assert!(ulps(erf(x), wanted) <= 2.0 && ulps(erf(-x), -wanted) <= 2.0, "erf({x}) = {:e}", erf(x));
        }
        assert!(erf(f64::INFINITY) == 1.0 && erf(f64::NEG_INFINITY) == -1.0 && erf(f64::NAN).is_nan());
    }
}
