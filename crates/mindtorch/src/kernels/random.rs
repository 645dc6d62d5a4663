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

#[cfg(test)]
mod tests {
    use super::*;

    // The numbers in these tests are those of torch 2.15 after `torch.manual_seed(42)`.
    fn drawn<T: Default + Clone>(len: usize, draw: impl FnOnce(&mut Random, &mut [T])) -> Vec<T> {
        let mut out = vec![T::default(); len];
        draw(&mut Random::new(42), &mut out);
        out
    }

    fn assert_close<T: Real>(found: &[T], expected: &[f64], bound: f64) {
        assert_eq!(found.len(), expected.len());
        let far = |(found, expected): (&T, &f64)| (found.to_f64() - expected).abs() > bound;
        assert!(!found.iter().zip(expected).any(far), "{found:?}");
    }

    #[test]
    fn uniform_numbers() {
        let floats = drawn(4, |random, out| random.uniform(out, 0.0f32, 1.0));
        assert_eq!(floats, [0.882_269_26, 0.915_003_96, 0.382_863_76, 0.959_305_64]);
        let doubles = drawn(3, |random, out| random.uniform(out, 0.0f64, 1.0));
        assert_eq!(doubles, [0.058_154_485_961_429_69, 0.062_910_167_424_577_56, 0.123_586_072_774_409_03]);
        let between = drawn(3, |random, out| random.uniform(out, -1.3f32, 2.1));
        assert_eq!(between, [1.699_715_4, 1.811_013_3, 0.001_736_776_9]);
    }

    #[test]
    fn a_long_way_into_the_numbers() {
        let mut random = Random::new(0);
        random.uniform(&mut vec![0.0f32; 100_003], 0.0, 1.0);
        let mut out = [0.0f32; 3];
        random.uniform(&mut out, 0.0, 1.0);
        assert_eq!(out, [0.102_203_19, 0.128_982_42, 0.109_384_42]);
    }

    #[test]
    fn many_normal_numbers() {
        let floats = drawn::<f32>(20, |random, out| random.normal(out, 0.0, 1.0));
        let expected = [
            1.926_915, 1.487_284, 0.900_717, -2.105_521, -0.758_131, 1.078_318, 0.800_801, 1.680_621, 0.355_860,
            -0.686_623, -0.493_356, 0.241_488, -0.231_624, 0.041_759, -0.251_575, 0.859_859, -0.309_727, -0.395_710,
            0.803_409, -0.621_595,
        ];
        assert_close(&floats, &expected, 1e-6);
        let doubles = drawn::<f64>(17, |random, out| random.normal(out, 0.0, 1.0));
        assert_close(&doubles[..2], &[0.299_556_287_750_263_7, 1.504_572_275_678_796], 1e-14);
        assert_close(&doubles[15..], &[0.855_215_961_472_287, 0.249_411_879_691_576_5], 1e-14);
        let half = drawn::<f32>(20, |random, out| random.normal_for_half(out, 0.0, 1.0));
        assert_close(&half[..6], &[1.926_76, 1.487_30, 0.900_88, -2.105_47, 1.642_58, -0.159_55], 2e-3);
        assert_close(&half[16..], &[-0.231_57, 0.041_75, -0.251_46, 0.859_86], 2e-3);
    }

    #[test]
    fn few_normal_numbers_come_in_pairs() {
        let mut random = Random::new(42);
        let (mut five, mut two, mut next) = ([0.0f32; 5], [0.0f32; 2], [0.0f32]);
        random.normal(&mut five, 0.0, 1.0);
        random.normal(&mut two, 0.0, 1.0);
        random.uniform(&mut next, 0.0, 1.0);
        assert_close(&five, &[0.336_690_37, 0.128_809_41, 0.234_462_37, 0.230_333_03, -1.122_856_38], 1e-7);
        assert_close(&two, &[-0.186_328_29, 2.208_201_41], 1e-6);
        assert_close(&next, &[0.885_442_91], 1e-7);
        let shifted = drawn::<f64>(3, |random, out| random.normal(out, 2.0, 3.0));
        assert_close(&shifted, &[3.010_071_063_151_576_4, 2.386_428_215_409_769, 2.703_387_090_084_595], 1e-14);
    }

    #[test]
    fn integers_of_one_word_or_two() {
        assert_eq!(drawn(5, |random, out| random.integers(out, -5, 100)), [37, 62, 71, 9, 21]);
        let long = drawn(3, |random, out| random.integers(out, 0, 1 << 40));
        assert_eq!(long, [441_507_790_259, 395_924_837_646, 458_615_280_711]);
        let all = drawn(2, |random, out| random.integers(out, i64::MIN, 0));
        assert_eq!(all, [6_909_045_637_428_952_499, -909_160_480_315_697_906]);
        let just_short = drawn(1, |random, out| random.integers(out, 0, LONG - 1));
        assert_eq!(just_short, [1_608_637_542 % (LONG as i64 - 1)]);
    }

    #[test]
    fn truths_and_exponential_numbers() {
        assert_eq!(drawn(12, |random, out| random.bernoulli(out, 0.3)), [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0]);
        assert_eq!(drawn(100, |random, out| random.bernoulli(out, 0.0)), [0; 100]);
        assert_eq!(drawn(100, |random, out| random.bernoulli(out, 1.0)), [1; 100]);
        let exponential = drawn::<f64>(3, |random, out| random.exponential(out, 2.0));
        assert_close(
            &exponential,
            &[0.029_957_007_845_401_07, 0.032_488_064_396_692_65, 0.065_958_389_992_045_29],
            1e-15,
        );
    }

    #[test]
    fn permutations() {
        assert_eq!(drawn(10, |random, out| random.permutation(out)), [2, 6, 1, 8, 4, 5, 0, 9, 3, 7]);
        assert_eq!(drawn(1, |random, out| random.permutation(out)), [0]);
        assert_eq!(drawn(0, |random, out| random.permutation(out)), []);
        let mut many = drawn(100_000, |random, out| random.permutation(out));
        many.sort_unstable();
        assert!(many.into_iter().eq(0..100_000));
    }
}
