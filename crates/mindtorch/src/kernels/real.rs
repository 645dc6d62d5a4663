//! The numbers that kernels compute with: `f32` and `f64`, under one trait.
//!
//! Everything here is inlined and free of branches where it says nothing else, so that a loop over it, inside
//! [`vectorized`](super::simd::vectorized), becomes vector instructions.

use super::{math_f32, math_f64};
use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A floating-point number that kernels compute with.
pub(crate) trait Real:
    Copy
    + Debug
    + Default
    + Display
    + PartialOrd
    + Send
    + Sync
    + Sum
    + Add<Output = Self>
    + AddAssign
    + Div<Output = Self>
    + DivAssign
    + Mul<Output = Self>
    + MulAssign
    + Neg<Output = Self>
    + Sub<Output = Self>
    + SubAssign
    + 'static
{
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    const NEG_INFINITY: Self;
    const NAN: Self;
    /// How large the arguments of [`sin_small`](Self::sin_small) and [`cos_small`](Self::cos_small) may be.
    const TRIG_LIMIT: Self;

    fn from_f64(value: f64) -> Self;
    fn from_usize(value: usize) -> Self;
    fn to_f64(self) -> f64;

    fn is_nan(self) -> bool;
    fn is_finite(self) -> bool;
    fn abs(self) -> Self;
    fn mul_add(self, factor: Self, summand: Self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn round_ties_even(self) -> Self;

    fn exp(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn ln_1p(self) -> Self;
    fn tanh(self) -> Self;
    fn sigmoid(self) -> Self;
    fn erf(self) -> Self;
    /// `self` times the normal distribution function of `self`.
    fn gelu(self) -> Self;
    /// Of an argument within [`TRIG_LIMIT`](Self::TRIG_LIMIT); NaN stays.
    fn sin_small(self) -> Self;
    /// Of an argument within [`TRIG_LIMIT`](Self::TRIG_LIMIT); NaN stays.
    fn cos_small(self) -> Self;
    /// Without branches for `f32` only.
    fn powf(self, exponent: Self) -> Self;

    // The standard library's, one number at a time.
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn atan2(self, other: Self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn exp2(self) -> Self;

    /// The larger of two numbers, NaN if one of them is.
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        let larger = if self > other { self } else { other };
        if self.is_nan() { self } else { larger }
    }

    /// The smaller of two numbers, NaN if one of them is.
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        let smaller = if self < other { self } else { other };
        if self.is_nan() { self } else { smaller }
    }

    #[inline(always)]
    fn rsqrt(self) -> Self {
        Self::ONE / self.sqrt()
    }
}

macro_rules! forward {
    ($type:ident: $($name:ident($($argument:ident),*))*) => {
        $(
            #[inline(always)]
            fn $name(self, $($argument: Self),*) -> Self {
                <$type>::$name(self, $($argument),*)
            }
        )*
    };
}

macro_rules! forward_to {
    ($module:ident: $($name:ident($($argument:ident),*))*) => {
        $(
            #[inline(always)]
            fn $name(self, $($argument: Self),*) -> Self {
                $module::$name(self, $($argument),*)
            }
        )*
    };
}

macro_rules! real {
    ($type:ident, $module:ident) => {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
        const INFINITY: Self = $type::INFINITY;
        const NEG_INFINITY: Self = $type::NEG_INFINITY;
        const NAN: Self = $type::NAN;
        const TRIG_LIMIT: Self = $module::TRIG_LIMIT;

        #[inline(always)]
        fn from_usize(value: usize) -> Self {
            value as Self
        }

        #[inline(always)]
        fn is_nan(self) -> bool {
            self.is_nan()
        }

        #[inline(always)]
        fn is_finite(self) -> bool {
            self.is_finite()
        }

        forward! { $type:
            abs() mul_add(factor, summand) sqrt() floor() ceil() trunc() round_ties_even()
            sin() cos() tan() asin() acos() atan() atan2(other) sinh() cosh() exp2()
        }
        forward_to! { $module: exp() exp_m1() ln() log2() log10() ln_1p() tanh() sigmoid() erf() gelu() sin_small() cos_small() }
    };
}

impl Real for f32 {
    real! { f32, math_f32 }
    forward_to! { math_f32: powf(exponent) }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    real! { f64, math_f64 }
    forward! { f64: powf(exponent) }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

/// The sum of the coefficients, each times the power of `x` that is its index.
#[inline(always)]
pub(super) fn polynomial<T: Real, const N: usize>(x: T, coefficients: [T; N]) -> T {
    let mut sum = coefficients[N - 1];
    let mut power = N - 1;
    while power > 0 {
        power -= 1;
        sum = sum.mul_add(x, coefficients[power]);
    }
    sum
}

/// `x`, but at least `low` and at most `high`; NaN stays.
#[inline(always)]
pub(super) fn clamp<T: Real>(x: T, low: T, high: T) -> T {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// The sines of all numbers: vector instructions where all of a block are small enough, the standard library elsewhere.
#[inline(always)]
pub(crate) fn sin_all<T: Real>(input: &[T], output: &mut [T]) {
    map_small(input, output, T::sin_small, T::sin);
}

/// The cosines of all numbers; see [`sin_all`].
#[inline(always)]
pub(crate) fn cos_all<T: Real>(input: &[T], output: &mut [T]) {
    map_small(input, output, T::cos_small, T::cos);
}

#[inline(always)]
fn map_small<T: Real>(input: &[T], output: &mut [T], small: impl Fn(T) -> T, any: impl Fn(T) -> T) {
    const BLOCK: usize = 512;
    for (input, output) in input.chunks(BLOCK).zip(output.chunks_mut(BLOCK)) {
        let large = input.iter().fold(false, |large, x| large | (x.abs() > T::TRIG_LIMIT));
        if large {
            for (y, &x) in output.iter_mut().zip(input) {
                *y = any(x);
            }
        } else {
            for (y, &x) in output.iter_mut().zip(input) {
                *y = small(x);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_and_the_smaller_keep_nan() {
        let nan = f32::NAN;
        assert!(Real::maximum(nan, 1.0).is_nan() && Real::maximum(1.0, nan).is_nan());
        assert!(Real::minimum(nan, 1.0).is_nan() && Real::minimum(1.0, nan).is_nan());
        assert_eq!((Real::maximum(1.0f64, 2.0), Real::minimum(1.0f64, 2.0)), (2.0, 1.0));
        assert_eq!(Real::maximum(f32::INFINITY, f32::NEG_INFINITY), f32::INFINITY);
    }

    #[test]
    fn large_angles_are_reduced_exactly() {
        let input: Vec<f32> = (0..2000u16).map(|step| 1.0e4f32.powf(f32::from(step) / 250.0) - 1.0).collect();
        let mut output = vec![0.0; input.len()];
        sin_all(&input, &mut output);
        assert!(input.iter().zip(&output).all(|(x, y)| (f64::from(*x).sin() - f64::from(*y)).abs() < 2e-7));
        cos_all(&input, &mut output);
        assert!(input.iter().zip(&output).all(|(x, y)| (f64::from(*x).cos() - f64::from(*y)).abs() < 2e-7));
    }
}
