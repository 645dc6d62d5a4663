//! Reductions: sums, products, extremes, truth and norms along a dimension.

use super::fold::Fold;
use super::line::Axis;
use super::number::Number;
use super::real::Real;

/// Sums, pairwise. Integers wrap.
pub(crate) fn sum<T: Number>(input: &[T], axis: Axis, out: &mut [T]) {
    Fold::new(
        T::ZERO,
        #[inline(always)]
        |number| number,
        T::plus,
    )
    .run(input, axis, out);
}

/// Products. Integers wrap.
pub(crate) fn prod<T: Number>(input: &[T], axis: Axis, out: &mut [T]) {
    Fold::new(
        T::ONE,
        #[inline(always)]
        |number| number,
        T::times,
    )
    .run(input, axis, out);
}

/// Arithmetic means: NaN where there is nothing.
pub(crate) fn mean<T: Number + Real>(input: &[T], axis: Axis, out: &mut [T]) {
    sum(input, axis, out);
    let len = T::from_f64(axis.len as f64);
    for out in out {
        *out = *out / len;
    }
}

/// The greatest numbers, or NaN where there is one; the lowest number where there is nothing.
pub(crate) fn max<T: Number>(input: &[T], axis: Axis, out: &mut [T]) {
    Fold::new(
        T::LOWEST,
        #[inline(always)]
        |number| number,
        T::maximum,
    )
    .run(input, axis, out);
}

/// The least numbers, or NaN where there is one; the highest number where there is nothing.
pub(crate) fn min<T: Number>(input: &[T], axis: Axis, out: &mut [T]) {
    Fold::new(
        T::HIGHEST,
        #[inline(always)]
        |number| number,
        T::minimum,
    )
    .run(input, axis, out);
}

/// 1 where a byte is not 0, else 0.
pub(crate) fn any(input: &[u8], axis: Axis, out: &mut [u8]) {
    Fold::new(
        0,
        #[inline(always)]
        |byte| byte,
        #[inline(always)]
        |left: u8, right: u8| left | right,
    )
    .run(input, axis, out);
    for out in out {
        *out = u8::from(*out != 0);
    }
}

/// 1 where no byte is 0, else 0.
pub(crate) fn all(input: &[u8], axis: Axis, out: &mut [u8]) {
    Fold::new(
        1,
        #[inline(always)]
        |byte| u8::from(byte != 0),
        #[inline(always)]
        |left: u8, right: u8| left & right,
    )
    .run(input, axis, out);
}

/// How many bytes are not 0.
pub(crate) fn count_nonzero(input: &[u8], axis: Axis, out: &mut [i64]) {
    Fold::new(
        0,
        #[inline(always)]
        |byte| i64::from(byte != 0),
        i64::plus,
    )
    .run(input, axis, out);
}

/// The `p`-norms: with 0 the count of what is not 0, with infinity the greatest magnitude, with its negative the least.
pub(crate) fn norm<T: Real>(input: &[T], axis: Axis, p: f64, out: &mut [T]) {
    let plus = |left: T, right: T| left + right;
    if p == 2.0 {
        Fold::new(
            T::ZERO,
            #[inline(always)]
            |number| number * number,
            plus,
        )
        .run(input, axis, out);
        out.iter_mut().for_each(|out| *out = out.sqrt());
    } else if p == 1.0 {
        Fold::new(T::ZERO, T::abs, plus).run(input, axis, out);
    } else if p == 0.0 {
        let is_nonzero = |number| if number == T::ZERO { T::ZERO } else { T::ONE };
        Fold::new(T::ZERO, is_nonzero, plus).run(input, axis, out);
    } else if p == f64::INFINITY {
        let maximum = |left: T, right: T| if right > left || right.is_nan() { right } else { left };
        Fold::new(T::ZERO, T::abs, maximum).run(input, axis, out);
    } else if p == f64::NEG_INFINITY {
        let minimum = |left: T, right: T| if right < left || right.is_nan() { right } else { left };
        Fold::new(T::INFINITY, T::abs, minimum).run(input, axis, out);
    } else {
        let (power, root) = (T::from_f64(p), T::from_f64(1.0 / p));
        Fold::new(
            T::ZERO,
            #[inline(always)]
            |number: T| number.abs().powf(power),
            plus,
        )
        .run(input, axis, out);
        out.iter_mut().for_each(|out| *out = out.powf(root));
    }
}
