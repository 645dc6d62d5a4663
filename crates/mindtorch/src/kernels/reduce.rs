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
        *out /= len;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::line::samples::{column, normal_numbers, samples, whole_numbers};
    use std::fmt::Debug;

    /// Compares a reduction of every column with what `naive` makes of it.
    fn check<T: Copy, A: Copy + Default + Debug>(
        input: &[T],
        axis: Axis,
        reduce: impl Fn(&[T], Axis, &mut [A]),
        naive: impl Fn(&[T]) -> A,
        same: impl Fn(A, A) -> bool,
    ) {
        let mut out = vec![A::default(); axis.reduced()];
        reduce(input, axis, &mut out);
        for ((outer, inner), &found) in axis.columns().zip(&out) {
            let expected = naive(&column(input, axis, outer, inner));
            assert!(same(found, expected), "{axis:?}: {found:?} is not {expected:?}");
        }
    }

    fn exact<A: PartialEq + Copy>(found: A, expected: A) -> bool {
        found == expected
    }

    fn same_or_nan(found: f32, expected: f32) -> bool {
        found == expected || (found.is_nan() && expected.is_nan())
    }

    #[test]
    fn integers_are_reduced_exactly() {
        for axis in samples() {
            let input: Vec<i64> = whole_numbers(axis.numbers(), 0);
            check(&input, axis, sum, |column| column.iter().fold(0, |sum, &n| i64::wrapping_add(sum, n)), exact);
            check(&input, axis, prod, |column| column.iter().fold(1, |prod, &n| i64::wrapping_mul(prod, n)), exact);
            check(&input, axis, max, |column| column.iter().copied().max().unwrap_or(i64::MIN), exact);
            check(&input, axis, min, |column| column.iter().copied().min().unwrap_or(i64::MAX), exact);
        }
    }

    #[test]
    fn floats_are_added_pairwise() {
        for axis in samples() {
            let input = normal_numbers(axis.numbers());
            let total = |column: &[f32]| column.iter().map(|&n| f64::from(n)).sum::<f64>();
            let bound = 1e-6 * (axis.len as f64).sqrt() + 1e-6;
            let close = |found: f32, expected: f32| f64::from((found - expected).abs()) <= bound;
            check(&input, axis, sum, |column| total(column) as f32, close);
            if axis.len > 0 {
                check(&input, axis, mean, |column| (total(column) / axis.len as f64) as f32, close);
            }
        }
        let mut out = [0.0];
        sum(&vec![0.1f32; 1 << 20], Axis::whole(1 << 20), &mut out);
        assert!((out[0] - 104_857.6).abs() < 0.1, "{}", out[0]);
    }

    #[test]
    fn nothing_has_a_sum_but_no_mean() {
        let axis = Axis { outer: 2, len: 0, inner: 2 };
        let mut out = [5.0f32; 4];
        sum(&[], axis, &mut out);
        assert_eq!(out, [0.0; 4]);
        prod(&[], axis, &mut out);
        assert_eq!(out, [1.0; 4]);
        mean(&[], axis, &mut out);
        assert!(out.iter().all(|mean| mean.is_nan()));
        norm(&[], axis, 2.0, &mut out);
        assert_eq!(out, [0.0; 4]);
    }

    #[test]
    fn products_have_the_sign_of_their_factors() {
        for axis in samples() {
            let input: Vec<f32> =
                whole_numbers(axis.numbers(), 3).iter().map(|&n| [1.0, -1.0, 1.0][n as usize]).collect();
            check(&input, axis, prod, |column| column.iter().product(), exact);
        }
    }

    #[test]
    fn nan_is_an_extreme() {
        for axis in samples() {
            let special = |&n: &i64| if n == 0 { f32::NAN } else { n as f32 };
            let input: Vec<f32> = whole_numbers(axis.numbers(), 2000).iter().map(special).collect();
            let naive = |column: &[f32], start: f32, pick: fn(f32, f32) -> f32| {
                column.iter().fold(start, |best, &n| if best.is_nan() || n.is_nan() { f32::NAN } else { pick(best, n) })
            };
            check(&input, axis, max, |column| naive(column, f32::NEG_INFINITY, f32::max), same_or_nan);
            check(&input, axis, min, |column| naive(column, f32::INFINITY, f32::min), same_or_nan);
        }
    }

    #[test]
    fn bytes_are_true_if_they_are_not_0() {
        for axis in samples() {
            for range in [2, 1000] {
                let bytes = |zero: u8, other: u8| -> Vec<u8> {
                    whole_numbers(axis.numbers(), range).iter().map(|&n| if n == 0 { zero } else { other }).collect()
                };
                let (few, many) = (bytes(2, 0), bytes(0, 255));
                check(&few, axis, any, |column| u8::from(column.iter().any(|&byte| byte != 0)), exact);
                check(&many, axis, all, |column| u8::from(column.iter().all(|&byte| byte != 0)), exact);
                let count = |column: &[u8]| column.iter().filter(|&&byte| byte != 0).count() as i64;
                check(&many, axis, count_nonzero, count, exact);
            }
        }
    }

    #[test]
    fn norms_are_those_of_the_magnitudes() {
        for axis in samples() {
            let input = normal_numbers(axis.numbers());
            let close = |found: f32, expected: f32| found == expected || (found / expected - 1.0).abs() < 1e-5;
            for p in [1.0, 2.0, 3.0, 0.5] {
                let sum = |column: &[f32]| column.iter().map(|&n| f64::from(n).abs().powf(p)).sum::<f64>();
                check(&input, axis, |x, axis, out| norm(x, axis, p, out), |c| sum(c).powf(1.0 / p) as f32, close);
            }
            let magnitudes = |column: &[f32]| column.iter().map(|n| n.abs()).collect::<Vec<_>>();
            let most = |column: &[f32]| magnitudes(column).into_iter().fold(0.0, f32::max);
            let least = |column: &[f32]| magnitudes(column).into_iter().fold(f32::INFINITY, f32::min);
            check(&input, axis, |x, axis, out| norm(x, axis, f64::INFINITY, out), most, exact);
            check(&input, axis, |x, axis, out| norm(x, axis, f64::NEG_INFINITY, out), least, exact);
            check(&input, axis, |x, axis, out| norm(x, axis, 0.0, out), |column| column.len() as f32, exact);
        }
        let mut out = [0.0];
        norm(&[1.0, f64::NAN, -3.0], Axis::whole(3), f64::INFINITY, &mut out);
        assert!(out[0].is_nan());
    }
}
