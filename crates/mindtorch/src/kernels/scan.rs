//! Running sums and products along a dimension.

use super::line::{Axis, GRAIN};
use super::number::Number;
use super::parallel::for_rows;
use super::simd::vectorized;

/// The columns that are scanned together: what they have come to fits in the first cache.
const TILE: usize = 512;
/// The rows that are scanned together, because each addition waits for the one before it.
const TOGETHER: usize = 8;

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
