//! Random numbers: torch's distributions, drawn from a Mersenne Twister in the same order, so that a seed means the same numbers.

use super::real::Real;
use super::simd::vectorized;
use super::twister::Twister;
use std::f64::consts::TAU;

/// Normal numbers are made by so many at once, where there are so many.
const NORMALS: usize = 16;
/// Ranges of integers from here on take two words.
const LONG: u64 = 1 << 28;

/// A floating-point number that is drawn uniformly.
pub(crate) trait Uniform: Real {
    /// Fills with numbers from 0 to less than 1, all multiples of the same power of 2.
    fn unit(twister: &mut Twister, out: &mut [Self], map: impl Fn(Self) -> Self);
}

impl Uniform for f32 {
    fn unit(twister: &mut Twister, out: &mut [f32], map: impl Fn(f32) -> f32) {
        twister.fill(
            out,
            #[inline(always)]
            |[word]| map((word & 0xff_ffff) as f32 * (1.0 / (1 << 24) as f32)),
        );
    }
}

impl Uniform for f64 {
    fn unit(twister: &mut Twister, out: &mut [f64], map: impl Fn(f64) -> f64) {
        twister.fill(
            out,
            #[inline(always)]
            |words| map(unit(words)),
        );
    }
}

#[inline(always)]
fn long([high, low]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[inline(always)]
fn unit(words: [u32; 2]) -> f64 {
    const BITS: u64 = 1 << 53;
    (long(words) % BITS) as f64 * (1.0 / BITS as f64)
}

/// A source of random numbers.
#[derive(Clone)]
pub(crate) struct Random {
    pub(crate) twister: Twister,
    /// Normal numbers come in pairs: the one that was not asked for yet.
    pub(crate) normal: Option<f64>,
}

impl Random {
    /// The source that a seed stands for: its lower 32 bits.
    pub(crate) fn new(seed: u64) -> Self {
        Self { twister: Twister::new(seed as u32), normal: None }
    }

    /// Uniform numbers from `low` to less than `high`.
    pub(crate) fn uniform<T: Uniform>(&mut self, out: &mut [T], low: T, high: T) {
        let range = high - low;
        T::unit(
            &mut self.twister,
            out,
            #[inline(always)]
            |number| number.mul_add(range, low),
        );
    }

    /// Normal numbers.
    pub(crate) fn normal<T: Uniform>(&mut self, out: &mut [T], mean: f64, std: f64) {
        if out.len() < NORMALS {
            return out.iter_mut().for_each(|out| *out = T::from_f64(self.next_normal() * std + mean));
        }
        T::unit(
            &mut self.twister,
            out,
            #[inline(always)]
            |number| number,
        );
        self.normals(out, mean, std);
    }

    /// Normal numbers as torch draws them for types of 16 bits, which it makes of `f32`.
    pub(crate) fn normal_for_half(&mut self, out: &mut [f32], mean: f64, std: f64) {
        if out.len() < NORMALS {
            return self.normal(out, mean, std);
        }
        let whole = out.len() / NORMALS * NORMALS;
        f32::unit(
            &mut self.twister,
            &mut out[..whole],
            #[inline(always)]
            |number| number,
        );
        self.normals(out, mean, std);
    }

    /// Turns uniform numbers into normal ones; the last ones, if they are not a whole group, with the ones before them into new ones.
    fn normals<T: Uniform>(&mut self, out: &mut [T], mean: f64, std: f64) {
        let (mean, std) = (T::from_f64(mean), T::from_f64(std));
        let (groups, rest) = out.as_chunks_mut::<NORMALS>();
        vectorized(
            #[inline(always)]
            || {
                for group in groups {
                    box_muller(group, mean, std);
                }
            },
        );
        if !rest.is_empty() {
            let last = out.last_chunk_mut::<NORMALS>().expect("there is a whole group");
            T::unit(
                &mut self.twister,
                last,
                #[inline(always)]
                |number| number,
            );
            vectorized(
                #[inline(always)]
                || box_muller(last, mean, std),
            );
        }
    }

    fn next_normal(&mut self) -> f64 {
        self.normal.take().unwrap_or_else(|| {
            let (angle, radius) = (TAU * self.next_unit(), (-2.0 * (-self.next_unit()).ln_1p()).sqrt());
            self.normal = Some(radius * angle.sin());
            radius * angle.cos()
        })
    }

    fn next_unit(&mut self) -> f64 {
        unit([self.twister.word(), self.twister.word()])
    }

    /// Integers from `low` on, `range` of them, or all that there are if `range` is 0.
    pub(crate) fn integers(&mut self, out: &mut [i64], low: i64, range: u64) {
        if range == 0 {
            self.twister.fill(
                out,
                #[inline(always)]
                |words| long(words) as i64,
            );
        } else if range >= LONG {
            self.twister.fill(
                out,
                #[inline(always)]
                |words| low.wrapping_add_unsigned(long(words) % range),
            );
        } else {
            let range = range as u32;
            self.twister.fill(
                out,
                #[inline(always)]
                |[word]| low.wrapping_add_unsigned(u64::from(word % range)),
            );
        }
    }

    /// 1 with probability `p`, else 0.
    pub(crate) fn bernoulli(&mut self, out: &mut [u8], p: f64) {
        self.twister.fill(
            out,
            #[inline(always)]
            |words| u8::from(unit(words) < p),
        );
    }

    /// Exponential numbers with the rate `lambda`.
    pub(crate) fn exponential<T: Real>(&mut self, out: &mut [T], lambda: f64) {
        self.twister.fill(
            out,
            #[inline(always)]
            |words| T::from_f64(-Real::ln_1p(-unit(words)) / lambda),
        );
    }

    /// The numbers from 0 on, in random order.
    pub(crate) fn permutation(&mut self, out: &mut [i64]) {
        out.iter_mut().zip(0..).for_each(|(out, index)| *out = index);
        let len = out.len();
        for index in 0..len.saturating_sub(1) {
            let left = (len - index) as u64;
            let word = if len as u64 >= u64::from(u32::MAX / 20) {
                long([self.twister.word(), self.twister.word()])
            } else {
                u64::from(self.twister.word())
            };
            out.swap(index, index + (word % left) as usize);
        }
    }
}

#[inline(always)]
fn box_muller<T: Real>(group: &mut [T; NORMALS], mean: T, std: T) {
    let (first, second) = group.split_at_mut(NORMALS / 2);
    for (first, second) in first.iter_mut().zip(second) {
        let radius = (T::from_f64(-2.0) * (T::ONE - *first).ln()).sqrt();
        let angle = T::from_f64(TAU) * *second;
        (*first, *second) = (radius * angle.cos_small() * std + mean, radius * angle.sin_small() * std + mean);
    }
}
