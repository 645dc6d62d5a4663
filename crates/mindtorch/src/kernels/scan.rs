//! Running sums and products along a dimension.

use super::line::{Axis, GRAIN};
use super::number::Number;
use super::parallel::for_rows;
use super::simd::vectorized;

/// The columns that are scanned together: what they have come to fits in the first cache.
const TILE: usize = 512;

/// A number whose running totals are kept in another, wider one.
pub(crate) trait Scan: Number {
    /// What totals are kept in.
    type Total: Number;
    /// The number as a total.
    fn widen(self) -> Self::Total;
    /// The total as a number.
    fn narrow(total: Self::Total) -> Self;
}

macro_rules! scan {
    ($($number:ty => $total:ty),*) => {$(
        impl Scan for $number {
            type Total = $total;

            #[inline(always)]
            fn widen(self) -> $total {
                self as $total
            }

            #[inline(always)]
            fn narrow(total: $total) -> Self {
                total as $number
            }
        }
    )*};
}

scan!(f32 => f64, f64 => f64, i64 => i64);

/// Sums of each number and all before it. Integers wrap.
pub(crate) fn cumsum<T: Scan>(input: &[T], axis: Axis, out: &mut [T]) {
    run(input, axis, T::Total::ZERO, T::Total::plus, out);
}

/// Products of each number and all before it. Integers wrap.
pub(crate) fn cumprod<T: Scan>(input: &[T], axis: Axis, out: &mut [T]) {
    run(input, axis, T::Total::ONE, T::Total::times, out);
}

fn run<T: Scan>(
    input: &[T],
    axis: Axis,
    identity: T::Total,
    combine: impl Fn(T::Total, T::Total) -> T::Total + Copy + Sync,
    out: &mut [T],
) {
    debug_assert_eq!(input.len(), axis.numbers());
    debug_assert_eq!(out.len(), axis.numbers());
    if input.is_empty() {
        return;
    }
    for_rows(out, axis.block(), GRAIN.div_ceil(axis.block()), |first, out| {
        let input = &input[first * axis.block()..][..out.len()];
        vectorized(
            #[inline(always)]
            || {
                if axis.inner == 1 {
                    rows(input, axis.len, identity, combine, out);
                } else {
                    for (block, out) in input.chunks_exact(axis.block()).zip(out.chunks_exact_mut(axis.block())) {
                        columns(block, axis.inner, identity, combine, out);
                    }
                }
            },
        );
    });
}

#[inline(always)]
fn rows<T: Scan>(
    input: &[T],
    len: usize,
    identity: T::Total,
    combine: impl Fn(T::Total, T::Total) -> T::Total + Copy,
    out: &mut [T],
) {
    let fours = input.chunks_exact(4 * len);
    let mut fours_out = out.chunks_exact_mut(4 * len);
    let rest = fours.remainder();
    for (four, out) in fours.zip(&mut fours_out) {
        let (a, b, c, d) = (&four[..len], &four[len..2 * len], &four[2 * len..3 * len], &four[3 * len..4 * len]);
        let (left, right) = out.split_at_mut(2 * len);
        let ((a_out, b_out), (c_out, d_out)) = (left.split_at_mut(len), right.split_at_mut(len));
        let mut totals = [identity; 4];
        for column in 0..len {
            totals[0] = combine(totals[0], a[column].widen());
            totals[1] = combine(totals[1], b[column].widen());
            totals[2] = combine(totals[2], c[column].widen());
            totals[3] = combine(totals[3], d[column].widen());
            a_out[column] = T::narrow(totals[0]);
            b_out[column] = T::narrow(totals[1]);
            c_out[column] = T::narrow(totals[2]);
            d_out[column] = T::narrow(totals[3]);
        }
    }
    for (row, out) in rest.chunks_exact(len).zip(fours_out.into_remainder().chunks_exact_mut(len)) {
        let mut total = identity;
        for (&number, out) in row.iter().zip(out) {
            total = combine(total, number.widen());
            *out = T::narrow(total);
        }
    }
}

#[inline(always)]
fn columns<T: Scan>(
    block: &[T],
    inner: usize,
    identity: T::Total,
    combine: impl Fn(T::Total, T::Total) -> T::Total + Copy,
    out: &mut [T],
) {
    for first in (0..inner).step_by(TILE) {
        let width = TILE.min(inner - first);
        let mut totals = [identity; TILE];
        for (row, out) in block.chunks_exact(inner).zip(out.chunks_exact_mut(inner)) {
            let columns = row[first..first + width].iter().zip(&mut out[first..first + width]);
            for ((&number, out), total) in columns.zip(&mut totals[..width]) {
                *total = combine(*total, number.widen());
                *out = T::narrow(*total);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::line::samples::{column, normal_numbers, samples, whole_numbers};

    #[test]
    fn every_number_is_added_to_what_was_before() {
        for axis in samples() {
            let (integers, floats) = (whole_numbers(axis.numbers(), 0), normal_numbers(axis.numbers()));
            let (mut sums, mut float_sums) = (vec![-1; axis.numbers()], vec![-1.0; axis.numbers()]);
            cumsum(&integers, axis, &mut sums);
            cumsum(&floats, axis, &mut float_sums);
            let mut products = vec![-1; axis.numbers()];
            cumprod(&integers, axis, &mut products);
            for (outer, inner) in axis.columns() {
                let (mut sum, mut product, mut float_sum) = (0i64, 1i64, 0.0f64);
                let rows = column(&integers, axis, outer, inner).into_iter().zip(column(&floats, axis, outer, inner));
                for (index, (integer, float)) in rows.enumerate() {
                    let place = (outer * axis.len + index) * axis.inner + inner;
                    sum = sum.wrapping_add(integer);
                    product = product.wrapping_mul(integer);
                    float_sum += f64::from(float);
                    assert_eq!((sums[place], products[place]), (sum, product), "{axis:?}");
                    assert_eq!(float_sums[place], float_sum as f32, "{axis:?}");
                }
            }
        }
    }

    #[test]
    fn nan_stays() {
        let mut out = [0.0f64; 4];
        cumprod(&[2.0, f64::NAN, 0.0, 1.0], Axis::whole(4), &mut out);
        assert!(out[0] == 2.0 && out[1..].iter().all(|number| number.is_nan()));
        cumsum(&[1.0, f64::INFINITY, 1.0, f64::NEG_INFINITY], Axis::whole(4), &mut out);
        assert!(out[..3] == [1.0, f64::INFINITY, f64::INFINITY] && out[3].is_nan());
    }
}
