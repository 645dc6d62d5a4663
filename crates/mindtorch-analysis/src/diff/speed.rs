//! How fast the machine was, as far as it shows in what all keys have in common.
//!
//! A neighbour on the same core, a lower clock, a throttled host make everything slower at once, for seconds or for as long as
//! a recording lasts. That is no change of the program. In each block of steps, the median over keys of how far they are from
//! their usual times says how slow the machine was then. A key is compared as if it had been as fast all the time; how much
//! the machine's speed matters to it is learned from how both move within each side.

use super::samples::Samples;
use crate::budget::Part;
use crate::statistics::median;
use serde::Serialize;

/// Fewer keys than these have little in common that would not be their own.
const FEWEST: usize = 5;
/// More add nothing.
const MOST: usize = 32;
/// How far speeds move at least, within a side, for what is learned from it to count for as much as what is assumed without.
const USUAL_NOISE: f64 = 0.01;

/// Blocks in which something took twice as long, or half, say nothing of speeds. In logarithms.
const FAR: f64 = std::f64::consts::LN_2;

/// What all keys have in common between the sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// How much longer everything took in B, as a part of what it took in A.
    pub change: f64,
    /// How many keys say so.
    pub keys: usize,
    /// Whether changes are told without it: as if the machine had been as fast for both.
    pub is_taken_out: bool,
}

impl Speed {
    /// What it took in B, beside A: `14.8 % less time for everything`.
    pub fn words(&self) -> String {
        let than_in_a = if self.change < 0.0 { "less" } else { "more" };
        format!("{} {than_in_a} time for everything", Part(self.change.abs()))
    }
}

/// The keys that say how fast the machine was.
#[derive(Debug)]
pub(super) struct Speeds {
    /// For each of them its number, and its logarithmic distance from its usual time in every block.
    references: Vec<(usize, Samples)>,
    common: Option<Samples>,
}

impl Speeds {
    /// By the largest of these keys that are in all steps.
    pub(super) fn of(keys: &[Samples]) -> Self {
        let mut levels: Vec<(usize, f64)> = keys
            .iter()
            .enumerate()
            .filter(|(_, samples)| samples.sides().into_iter().flatten().flatten().all(|&value| value > 0.0))
            .map(|(key, samples)| (key, samples.level()))
            .filter(|&(_, level)| level > 0.0)
            .collect();
        levels.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        levels.truncate(MOST);
        if levels.len() < FEWEST {
            levels.clear();
        }
        let distance = |&(key, level): &(usize, f64)| {
            let samples = &keys[key];
            (key, samples.zip(samples, |value, _| (value / level).ln()))
        };
        let mut speeds = Self { references: levels.iter().map(distance).collect(), common: None };
        speeds.common = speeds.without(None);
        speeds
    }

    /// The speed that keys other than this one show.
    fn without(&self, key: Option<usize>) -> Option<Samples> {
        let others: Vec<&Samples> =
            self.references.iter().filter(|(other, _)| Some(*other) != key).map(|(_, samples)| samples).collect();
        let first = others.first()?;
        let at = |side: usize, recording: usize, block: usize| {
            let values: Vec<f64> = others.iter().map(|other| other.sides()[side][recording][block]).collect();
            median(&values)
        };
        let side = |side: usize| {
            let recordings = first.sides()[side].iter().enumerate();
            recordings.map(|(r, blocks)| (0..blocks.len()).map(|block| at(side, r, block)).collect()).collect()
        };
        Some(Samples { a: side(0), b: side(1) })
    }

    /// The samples of this key, or of none of them, as if the machine had been as fast all the time.
    pub(super) fn adjusted(&self, key: Option<usize>, samples: &Samples) -> Samples {
        let is_reference = self.references.iter().any(|(other, _)| Some(*other) == key);
        let own = if is_reference { self.without(key) } else { None };
        let Some(speed) = own.as_ref().or(self.common.as_ref()) else { return samples.clone() };
        let weight = sensitivity(speed, samples);
        samples.zip(speed, |value, slowness| value * (-weight * slowness).exp())
    }

    /// What they say of the two sides.
    pub(super) fn between(&self, is_taken_out: bool) -> Option<Speed> {
        let common = self.common.as_ref()?;
        let [a, b] = common.sides().map(|side| median(&side.iter().flatten().copied().collect::<Vec<_>>()));
        Some(Speed { change: (b - a).exp_m1(), keys: self.references.len(), is_taken_out })
    }
}

/// How much slower the key is, in logarithms, where the machine is slower: 1 is as much. By least squares within each side,
/// without what lies far off; as much as the machine where speeds hardly move.
fn sensitivity(speed: &Samples, samples: &Samples) -> f64 {
    let (mut products, mut squares, mut count) = (0.0, 0.0, 0.0);
    for (speeds, values) in speed.sides().into_iter().zip(samples.sides()) {
        let speeds: Vec<f64> = speeds.iter().flatten().copied().collect();
        let values: Vec<f64> = values.iter().flatten().map(|value| value.max(f64::MIN_POSITIVE).ln()).collect();
        let (middle, usual) = (median(&speeds), median(&values));
        for (x, y) in speeds.iter().map(|x| x - middle).zip(values.iter().map(|y| y - usual)) {
            if x.abs() <= FAR && y.abs() <= FAR {
                products += x * y;
                squares += x * x;
                count += 1.0;
            }
        }
    }
    let assumed = count * USUAL_NOISE * USUAL_NOISE;
    if assumed == 0.0 { 1.0 } else { ((products + assumed) / (squares + assumed)).clamp(0.0, 2.0) }
}
