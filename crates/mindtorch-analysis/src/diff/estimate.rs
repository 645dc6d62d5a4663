//! One quantity compared.

use super::DiffOptions;
use super::samples::{Samples, halves, pooled};
use crate::statistics::{median, rank_test, shift, spread};

/// How a quantity differs, before it is known what others do. Relative to what it was on side A.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    /// The medians of the steps, as they were.
    pub(super) a_ns: f64,
    pub(super) b_ns: f64,
    /// The shift at equal speed.
    pub(super) change: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) p_value: f64,
    /// By how much it seems to change where it does not, by what is known of it alone.
    pub(super) own_noise: f64,
}

impl Estimate {
    /// `raw` is what was measured, `adjusted` the same at equal speed.
    pub(super) fn of(raw: &Samples, adjusted: &Samples, options: &DiffOptions) -> Option<Self> {
        let (a, b) = (pooled(&adjusted.a), pooled(&adjusted.b));
        let (shifted, base) = (shift(&a, &b, options.confidence)?, median(&a));
        if base <= 0.0 {
            return None;
        }
        let of_side = |side: &[Vec<f64>]| median(&side.iter().flatten().copied().collect::<Vec<_>>());
        Some(Self {
            a_ns: of_side(&raw.a),
            b_ns: of_side(&raw.b),
            change: shifted.estimate / base,
            low: shifted.low / base,
            high: shifted.high / base,
            p_value: rank_test(&a, &b),
            own_noise: own_noise(adjusted, base, options),
        })
    }
}

/// So many recordings a side show by themselves how far recordings of one program lie apart.
const SEVERAL: usize = 3;
/// So many standard errors are more than chance.
const ERRORS: f64 = 3.0;

/// Of few recordings, what the earlier half of a side differs by from the later. Of several, what their medians differ by.
/// Each as a part of what that side takes, if that is more than side A does: what takes many times as long varies by many times
/// as much, and that hides nothing.
fn own_noise(samples: &Samples, base: f64, options: &DiffOptions) -> f64 {
    let sides = samples.sides();
    if sides.iter().any(|side| side.len() < SEVERAL) {
        let drift = |side| {
            let (earlier, later) = halves(side);
            let moved = shift(&earlier, &later, options.confidence);
            moved.map_or(0.0, |moved| moved.estimate.abs() / median(&pooled(side)).max(base))
        };
        return sides.into_iter().map(drift).fold(0.0, f64::max);
    }
    let squared_errors = sides.map(|side| {
        let medians: Vec<f64> = side.iter().map(|blocks| median(blocks)).collect();
        let middle = median(&medians);
        (spread(&medians, middle) / middle.max(base)).powi(2) / medians.len() as f64
    });
    ERRORS * squared_errors.iter().sum::<f64>().sqrt()
}

/// Fewer estimates than these say nothing of how far estimates lie from each other.
const FEWEST: usize = 5;
/// So many of their spreads is where one lies that is unlike the others; more where there are few of them, whose spread is not
/// well known. Several recordings show a key's own noise besides.
const UNLIKE: f64 = 3.0;
const UNLIKE_IN_SEVERAL: f64 = 2.0;

/// By how much keys seem to change where none does: recordings of one program differ, by where things lie in memory and by
/// what else the machine does, and not in all keys alike. It shows in how far the changes of keys lie from each other, most of
/// which did not change.
pub(super) fn noise_between_recordings(changes: &[f64], recordings: usize) -> f64 {
    if changes.len() < FEWEST {
        return 0.0;
    }
    let unlike = if recordings < SEVERAL { UNLIKE } else { UNLIKE_IN_SEVERAL };
    unlike * (1.0 + 2.0 / (changes.len() as f64).sqrt()) * spread(changes, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording that takes about `level`, and `drift` times as much in its later half.
    fn blocks(level: f64, drift: f64) -> Vec<f64> {
        (0..24)
            .map(|block| level * (1.0 + 0.01 * f64::from(block % 5)) * if block < 12 { 1.0 } else { drift })
            .collect()
    }

    fn estimate(a: &[Vec<f64>], b: &[Vec<f64>]) -> Estimate {
        let samples = Samples { a: a.to_vec(), b: b.to_vec() };
        Estimate::of(&samples, &samples, &DiffOptions::default()).unwrap()
    }

    #[test]
    fn a_change_that_is_no_larger_than_the_drift_of_a_side_is_noise() {
        let small = estimate(&[blocks(100.0, 1.0)], &[blocks(100.0, 1.3)]);
        assert!(small.change > 0.1 && small.change < small.own_noise, "{small:?}");
    }

    #[test]
    fn what_takes_many_times_as_long_may_drift_by_as_much() {
        for recordings in [1, 3] {
            let b: Vec<Vec<f64>> = (0..recordings).map(|more| blocks(2000.0 * f64::from(1 + more), 4.0)).collect();
            let a = vec![blocks(100.0, 1.0); recordings as usize];
            let large = estimate(&a, &b);
            assert!(large.change > 10.0 && large.own_noise < large.change / 3.0, "{large:?}");
        }
    }

    #[test]
    fn what_takes_a_small_part_of_the_time_may_drift_within_it() {
        for recordings in [1, 3] {
            let b: Vec<Vec<f64>> = (0..recordings).map(|more| blocks(10.0 * f64::from(1 + more), 0.1)).collect();
            let a = vec![blocks(400.0, 1.0); recordings as usize];
            let large = estimate(&a, &b);
            assert!(large.change < -0.9 && large.own_noise < 0.1, "{large:?}");
        }
    }
}
