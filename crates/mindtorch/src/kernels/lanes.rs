//! Sums and maxima in many lanes at once.
//!
//! Floating-point sums may not be reordered by the compiler, so that a plain loop would wait for each addition. Here many
//! partial results grow side by side, which is also what keeps rounding errors small.

use super::real::Real;
use std::hint::black_box;

/// How many partial results there are: some registers full, whatever their width.
const LANES: usize = 32;
/// How many there are for the rest, when there are not enough numbers for all lanes.
const FEW: usize = 8;

/// What takes whole cache lines, so that it is not slow to read what was just written.
#[repr(align(64))]
struct Aligned<T>(T);

/// The lanes, of which the compiler knows nothing any more. Otherwise it arranges the registers for the joining of the lanes,
/// and not for the loop before.
#[inline(always)]
pub(super) fn opaque<T>(lanes: T) -> T {
    black_box(Aligned(lanes)).0
}

/// The result of `step` for all of `numbers`, begun with `start` in each lane, the lanes joined with `join`.
#[inline(always)]
pub(crate) fn fold<T: Copy, A: Copy>(numbers: &[T], start: A, step: impl Fn(A, T) -> A, join: impl Fn(A, A) -> A) -> A {
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = step(lanes[lane], chunk[lane]);
        }
    }
    let (chunks, rest) = rest.as_chunks::<FEW>();
    let mut few = narrow(opaque(lanes), &join);
    for chunk in chunks {
        for lane in 0..FEW {
            few[lane] = step(few[lane], chunk[lane]);
        }
    }
    rest.iter().fold(join_few(opaque(few), &join), |result, &number| step(result, number))
}

/// `M` sums over `N` slices at once: `step` adds the numbers at one index of all slices to the sums so far. The slices may
/// come in several segments, which are summed up as if they were one.
#[inline(always)]
pub(crate) fn sums<'a, T: Real, const N: usize, const M: usize>(
    segments: impl IntoIterator<Item = [&'a [T]; N]>,
    step: impl Fn([T; M], [T; N]) -> [T; M],
) -> [T; M] {
    let (mut lanes, mut few, mut last) = ([[T::ZERO; LANES]; M], [[T::ZERO; FEW]; M], [T::ZERO; M]);
    for slices in segments {
        let length = slices[0].len();
        debug_assert!(slices.iter().all(|slice| slice.len() == length));
        let chunks = slices.map(|slice| slice.as_chunks::<LANES>().0);
        for chunk in 0..length / LANES {
            add_chunk(&mut lanes, chunks.map(|chunks| &chunks[chunk]), &step);
        }
        let rest = slices.map(|slice| &slice[length - length % LANES..]);
        let chunks = rest.map(|slice| slice.as_chunks::<FEW>().0);
        for chunk in 0..length % LANES / FEW {
            add_chunk(&mut few, chunks.map(|chunks| &chunks[chunk]), &step);
        }
        for index in length - length % FEW..length {
            last = step(last, slices.map(|slice| slice[index]));
        }
    }
    let add = |a: T, b: T| a + b;
    for (few, lanes) in few.iter_mut().zip(opaque(lanes)) {
        for (few, lane) in few.iter_mut().zip(narrow(lanes, &add)) {
            *few += lane;
        }
    }
    let few = opaque(few);
    std::array::from_fn(|sum| join_few(few[sum], &add) + last[sum])
}

#[inline(always)]
fn add_chunk<T: Real, const N: usize, const M: usize, const L: usize>(
    lanes: &mut [[T; L]; M],
    chunks: [&[T; L]; N],
    step: &impl Fn([T; M], [T; N]) -> [T; M],
) {
    for lane in 0..L {
        let sums = step(std::array::from_fn(|sum| lanes[sum][lane]), chunks.map(|chunk| chunk[lane]));
        for (lanes, sum) in lanes.iter_mut().zip(sums) {
            lanes[lane] = sum;
        }
    }
}

/// All lanes joined to few.
#[inline(always)]
fn narrow<A: Copy>(lanes: [A; LANES], join: &impl Fn(A, A) -> A) -> [A; FEW] {
    let half: [A; 16] = std::array::from_fn(|lane| join(lanes[lane], lanes[lane + 16]));
    std::array::from_fn(|lane| join(half[lane], half[lane + 8]))
}

#[inline(always)]
fn join_few<A: Copy>(lanes: [A; FEW], join: &impl Fn(A, A) -> A) -> A {
    let half: [A; 4] = std::array::from_fn(|lane| join(lanes[lane], lanes[lane + 4]));
    join(join(half[0], half[2]), join(half[1], half[3]))
}

#[inline(always)]
pub(crate) fn sum<T: Real>(numbers: &[T]) -> T {
    fold(numbers, T::ZERO, |sum, x| sum + x, |a, b| a + b)
}

/// The largest of the numbers that are not NaN; negative infinity if there are none.
#[inline(always)]
pub(crate) fn max<T: Real>(numbers: &[T]) -> T {
    let larger = |a: T, b: T| if b > a { b } else { a };
    fold(numbers, T::NEG_INFINITY, larger, larger)
}

#[inline(always)]
pub(crate) fn dot<T: Real>(first: &[T], second: &[T]) -> T {
    let [dot] = sums([[first, second]], |[sum], [a, b]| [a.mul_add(b, sum)]);
    dot
}

/// The mean of the numbers and their mean squared distance from it.
#[inline(always)]
pub(crate) fn moments<T: Real>(numbers: &[T]) -> (T, T) {
    let scale = T::ONE / T::from_usize(numbers.len());
    let mean = sum(numbers) * scale;
    let square = |sum: T, x: T| (x - mean).mul_add(x - mean, sum);
    (mean, fold(numbers, T::ZERO, square, |a, b| a + b) * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_counts_once() {
        for length in [0, 1, 31, 32, 33, 64, 100] {
            let numbers: Vec<f64> = (0..length).map(f64::from).collect();
            assert_eq!(sum(&numbers), numbers.iter().sum());
            assert_eq!(dot(&numbers, &numbers), numbers.iter().map(|x| x * x).sum());
            assert_eq!(max(&numbers), numbers.last().copied().unwrap_or(f64::NEG_INFINITY));
        }
    }

    #[test]
    fn several_sums_grow_together() {
        let (a, b): (Vec<f64>, Vec<f64>) = (0..77).map(|index| (f64::from(index), f64::from(index % 5))).unzip();
        let step = |[both, first]: [f64; 2], [a, b]: [f64; 2]| [both + a * b, first + a];
        assert_eq!(sums([[&a[..], &b[..]]], step), [a.iter().zip(&b).map(|(a, b)| a * b).sum(), a.iter().sum()]);
        let segments = a.chunks(45).zip(b.chunks(45)).map(|(a, b)| [a, b]);
        assert_eq!(sums(segments, step), sums([[&a[..], &b[..]]], step));
    }

    #[test]
    fn moments_are_mean_and_variance() {
        assert_eq!(moments(&[1.0, 2.0, 3.0, 4.0]), (2.5, 1.25));
        assert!(moments::<f32>(&[]).0.is_nan());
    }

    #[test]
    fn the_largest_is_found_in_every_place() {
        for place in 0..70 {
            let mut numbers = vec![-3.0f32; 70];
            numbers[place] = 2.0;
            assert_eq!(max(&numbers), 2.0);
        }
    }
}
