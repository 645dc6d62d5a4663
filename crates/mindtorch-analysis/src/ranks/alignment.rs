//! Clocks: how far a rank's is from that of the others.
//!
//! Nobody leaves a collective before the last has come, so it ends at nearly the same time everywhere. The clocks of two ranks
//! differ by the median of what they say of the ends of those that they share. Without collectives, the beginnings of steps do
//! the same, less exactly. Without either, the clocks are taken at their word.
//!
//! A rank's times are all moved by the same amount, so that no length changes. What a clock runs faster or slower than another
//! stays in the times, and is told as drift.

use super::anchors::Anchors;
use super::collectives::CollectiveKey;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// With fewer, a drift would be made of noise.
const LEAST_FOR_DRIFT: usize = 6;
/// So many times the spread has to be lost or gained for a drift.
const LEAST_DRIFT: f64 = 2.0;

/// What clocks were compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockSource {
    /// By nothing: others are compared with it.
    Reference,
    /// By the ends of collectives.
    Collectives,
    /// By the beginnings of steps.
    Steps,
    /// By nothing: there is nothing in common, so the clock counts as it is.
    WallClock,
}

/// How a rank's times become those of the first rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alignment {
    /// The rank.
    pub rank: u32,
    /// What the clocks were compared by.
    pub compared_by: ClockSource,
    /// What is to be added to its times.
    pub offset_ns: i64,
    /// How many collectives or steps were compared.
    pub shared: usize,
    /// How far apart the compared times still are: half of them are at most this far.
    pub spread_ns: u64,
    /// How far apart they are at most.
    pub worst_ns: u64,
    /// How much faster than that of the others the rank's clock runs, in millionths, if enough was compared to tell it from
    /// chance.
    pub drift_ppm: Option<f64>,
}

/// Compares ranks with those before them, one after another.
///
/// A rank need not share anything with the first if it does with another one that came before: groups that are rows and columns of
/// a grid are connected in the order of ranks.
#[derive(Debug, Default)]
pub struct Aligner {
    has_reference: bool,
    /// When collectives ended, and steps began, by the clock of the first rank.
    ends: FxHashMap<CollectiveKey, i64>,
    begins: FxHashMap<u64, i64>,
}

impl Aligner {
    /// One that has seen no rank.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares a rank with those before it.
    pub fn align(&mut self, rank: &Anchors) -> Alignment {
        let ends = rank.collectives.iter().map(|one| (&one.key, rank.epoch_ns(one.end_ns)));
        let begins = rank.steps.iter().map(|step| (step.number, rank.epoch_ns(step.start_ns)));
        let shared = |known: Option<&i64>, at: i64| Some(Shared { at, behind: known?.saturating_sub(at) });
        let by_collectives: Vec<Shared> = ends.clone().filter_map(|(key, at)| shared(self.ends.get(key), at)).collect();
        let by_steps: Vec<Shared> =
            begins.clone().filter_map(|(number, at)| shared(self.begins.get(&number), at)).collect();
        let alignment = if !self.has_reference {
            Alignment::without(rank.rank, ClockSource::Reference)
        } else if !by_collectives.is_empty() {
            Alignment::from(rank.rank, ClockSource::Collectives, by_collectives)
        } else if !by_steps.is_empty() {
            Alignment::from(rank.rank, ClockSource::Steps, by_steps)
        } else {
            Alignment::without(rank.rank, ClockSource::WallClock)
        };
        self.has_reference = true;
        let moved = |at: i64| at.saturating_add(alignment.offset_ns);
        for (key, at) in ends {
            self.ends.entry(key.clone()).or_insert(moved(at));
        }
        for (number, at) in begins {
            self.begins.entry(number).or_insert(moved(at));
        }
        alignment
    }
}

/// A moment that the rank and one before it know.
#[derive(Clone, Copy, Debug)]
struct Shared {
    /// When, by the rank's own clock.
    at: i64,
    /// How much later the other clock says it was.
    behind: i64,
}

impl Alignment {
    fn without(rank: u32, compared_by: ClockSource) -> Self {
        Self { rank, compared_by, offset_ns: 0, shared: 0, spread_ns: 0, worst_ns: 0, drift_ppm: None }
    }

    fn from(rank: u32, compared_by: ClockSource, mut shared: Vec<Shared>) -> Self {
        shared.sort_unstable_by_key(|shared| shared.at);
        let offset_ns = median(shared.iter().map(|shared| shared.behind));
        let left = |shared: &Shared| shared.behind.abs_diff(offset_ns);
        let spread = median(shared.iter().map(|shared| left(shared).try_into().unwrap_or(i64::MAX)));
        Self {
            rank,
            compared_by,
            offset_ns,
            shared: shared.len(),
            spread_ns: spread.unsigned_abs(),
            worst_ns: shared.iter().map(left).max().unwrap_or(0),
            drift_ppm: drift_ppm(&shared, spread),
        }
    }
}

/// By how much the differences grow, from the first third to the last: medians, so that a few late ones count for nothing.
fn drift_ppm(shared: &[Shared], spread: i64) -> Option<f64> {
    if shared.len() < LEAST_FOR_DRIFT {
        return None;
    }
    let third = shared.len() / 3;
    let (first, last) = (&shared[..third], &shared[shared.len() - third..]);
    let of = |part: &[Shared], what: fn(&Shared) -> i64| median(part.iter().map(what)) as f64;
    let passed = of(last, |shared| shared.at) - of(first, |shared| shared.at);
    // A clock that is ever less behind runs fast.
    let gained = of(first, |shared| shared.behind) - of(last, |shared| shared.behind);
    (passed > 0.0 && gained.abs() > LEAST_DRIFT * spread as f64).then(|| gained / passed * 1e6)
}

/// The one in the middle, the lower of two. There is at least one.
fn median(values: impl Iterator<Item = i64>) -> i64 {
    let mut values: Vec<i64> = values.collect();
    let middle = values.len().saturating_sub(1) / 2;
    *values.select_nth_unstable(middle).1
}
