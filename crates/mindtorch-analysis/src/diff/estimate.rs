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
fn own_noise(samples: &Samples, base: f64, options: &DiffOptions) -> f64 {
    let sides = samples.sides();
    if sides.iter().any(|side| side.len() < SEVERAL) {
        let drift = |side| {
            let (earlier, later) = halves(side);
            shift(&earlier, &later, options.confidence).map_or(0.0, |moved| moved.estimate.abs() / base)
        };
        return sides.into_iter().map(drift).fold(0.0, f64::max);
    }
    let medians = sides.map(|side| side.iter().map(|blocks| median(blocks)).collect::<Vec<_>>());
    let squared_errors = medians.map(|medians| spread(&medians, median(&medians)).powi(2) / medians.len() as f64);
    ERRORS * squared_errors.iter().sum::<f64>().sqrt() / base
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
