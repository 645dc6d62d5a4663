//! Sums and maxima in many lanes at once.
//!
//! Floating-point sums may not be reordered by the compiler, so that a plain loop would wait for each addition. Here many
//! partial results grow side by side, which is also what keeps rounding errors small. They are joined behind a
//! `black_box`: otherwise the compiler arranges the registers for the joining, and not for the loop.

use super::real::Real;
use std::hint::black_box;

/// How many partial results there are: some registers full, whatever their width.
const LANES: usize = 32;
/// How many there are for the rest, when there are not enough numbers for all lanes.
const FEW: usize = 8;

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
    let mut few = narrow(black_box(lanes), &join);
    for chunk in chunks {
        for lane in 0..FEW {
            few[lane] = step(few[lane], chunk[lane]);
        }
    }
    rest.iter().fold(join_few(black_box(few), &join), |result, &number| step(result, number))
}

/// [`fold`] for pairs of numbers.
#[inline(always)]
pub(crate) fn fold2<T: Copy, A: Copy>(
    (first, second): (&[T], &[T]),
    start: A,
    step: impl Fn(A, T, T) -> A,
    join: impl Fn(A, A) -> A,
) -> A {
    debug_assert_eq!(first.len(), second.len());
    let ((chunks1, rest1), (chunks2, rest2)) = (first.as_chunks::<LANES>(), second.as_chunks::<LANES>());
    let mut lanes = [start; LANES];
    for (chunk1, chunk2) in chunks1.iter().zip(chunks2) {
        for lane in 0..LANES {
            lanes[lane] = step(lanes[lane], chunk1[lane], chunk2[lane]);
        }
    }
    let ((chunks1, rest1), (chunks2, rest2)) = (rest1.as_chunks::<FEW>(), rest2.as_chunks::<FEW>());
    let mut few = narrow(black_box(lanes), &join);
    for (chunk1, chunk2) in chunks1.iter().zip(chunks2) {
        for lane in 0..FEW {
            few[lane] = step(few[lane], chunk1[lane], chunk2[lane]);
        }
    }
    rest1
        .iter()
        .zip(rest2)
        .fold(join_few(black_box(few), &join), |result, (&first, &second)| step(result, first, second))
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
    fold2((first, second), T::ZERO, |sum, a, b| a.mul_add(b, sum), |a, b| a + b)
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
    fn the_largest_is_found_in_every_place() {
        for place in 0..70 {
            let mut numbers = vec![-3.0f32; 70];
            numbers[place] = 2.0;
            assert_eq!(max(&numbers), 2.0);
        }
    }
}
