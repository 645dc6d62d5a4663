//! Lines of numbers turned into columns, in registers.

#![expect(unsafe_code, reason = "vector instructions are called, and numbers copied, through pointers")]

use super::vectors::Vectors;
use pulp::Simd;

/// Lines of contiguous numbers that begin `distance` numbers apart.
#[derive(Clone, Copy)]
pub(crate) struct Lines<T> {
    pub(crate) first: *const T,
    pub(crate) distance: usize,
    pub(crate) count: usize,
    /// Whether the lines that follow these will be needed soon, and are not in a cache.
    pub(crate) far: bool,
}

/// Makes `lines` the columns of rows that lie `to_row` numbers apart from `to` on, as many lines as a vector has numbers;
/// where there are fewer, the rest of the columns holds whatever numbers. Returns for how many of their first `len` numbers
/// that was done: no instruction set but AVX-512 is known here.
///
/// # Safety
/// `len` numbers of each line can be read, and a vector written to each of `len` rows.
#[inline(always)]
pub(crate) unsafe fn transpose<S: Simd, T: Vectors>(to: *mut T, to_row: usize, lines: Lines<T>, len: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        use std::any::TypeId;
        if TypeId::of::<S>() == TypeId::of::<pulp::x86::V4>() && TypeId::of::<T>() == TypeId::of::<f32>() {
            let lines =
                Lines { first: lines.first.cast(), distance: lines.distance, count: lines.count, far: lines.far };
            // SAFETY: the caller's promise; `S` is proof of AVX-512, and the numbers are `f32`.
            return unsafe { avx512::transpose(to.cast(), to_row, lines, len) };
        }
    }
    let _ = (to, to_row, lines, len);
    0
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::Lines;
    use std::arch::x86_64::*;

    /// [`super::transpose`], by fours.
    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(crate) unsafe fn transpose(to: *mut f32, to_row: usize, lines: Lines<f32>, len: usize) -> usize {
        let whole = len / 4 * 4;
        for k in (0..whole).step_by(4) {
            if lines.far && k % 16 == 0 {
                for i in 0..16 {
                    _mm_prefetch::<_MM_HINT_T0>(lines.first.wrapping_add((16 + i) * lines.distance + k).cast());
                }
            }
            // SAFETY: the caller's promise.
            unsafe { transpose_four(to.add(k * to_row), to_row, Lines { first: lines.first.add(k), ..lines }) };
        }
        whole
    }

    /// Makes four rows of the first four numbers of each of sixteen lines.
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn transpose_four(to: *mut f32, to_row: usize, lines: Lines<f32>) {
        // SAFETY: the caller's promise; lines beyond the last are the last.
        unsafe {
            let line = |index: usize| _mm_loadu_ps(lines.first.add(index.min(lines.count - 1) * lines.distance));
            // Quarter q of vector i is line 4 q + i, so that only numbers of the same quarter have to be exchanged.
            let quarters = |i: usize| {
                let vector = _mm512_castps128_ps512(line(i));
                let vector = _mm512_insertf32x4::<1>(vector, line(4 + i));
                let vector = _mm512_insertf32x4::<2>(vector, line(8 + i));
                _mm512_insertf32x4::<3>(vector, line(12 + i))
            };
            let (a, b, c, d) = (quarters(0), quarters(1), quarters(2), quarters(3));
            let (ab_low, ab_high) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let (cd_low, cd_high) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            let low = |ab, cd| _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
            let high = |ab, cd| _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
            _mm512_storeu_ps(to, low(ab_low, cd_low));
            _mm512_storeu_ps(to.add(to_row), high(ab_low, cd_low));
            _mm512_storeu_ps(to.add(2 * to_row), low(ab_high, cd_high));
            _mm512_storeu_ps(to.add(3 * to_row), high(ab_high, cd_high));
        }
    }
}
