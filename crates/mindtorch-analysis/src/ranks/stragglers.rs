//! Stragglers: the ranks that others wait for.
//!
//! Who comes last to a collective is in it for the shortest time; what the others take longer, they wait. That needs no clocks
//! to agree. What was waited for the last one of a collective counts for its rank: the mean over the others.
//!
//! Where ranks share no collective, nobody can be seen to wait. Then the last of a step is the rank that took longest for it,
//! and what counts is how much longer than the mean of the others.

use super::anchors::Anchors;
use super::collectives::CollectiveKey;
use serde::Serialize;
use std::collections::BTreeMap;

/// A rank stands out if it is last in so much of the steps ...
const LEAST_SHARE: f64 = 2.0 / 3.0;
/// ... and the others lose so much of a step by it.
const LEAST_LOSS: f64 = 0.01;

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StragglerSource {
    /// Who comes last to collectives.
    Collectives,
    /// Whose steps take longest.
    Steps,
}

/// Who is waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stragglers {
    /// What was looked at.
    pub by: StragglerSource,
    /// Steps that at least two ranks share.
    pub steps: usize,
    /// Collectives that at least two ranks share.
    pub collectives: usize,
    /// Every rank, in order.
    pub ranks: Vec<RankWaits>,
    /// The rank that stands out, if one does: it is last in two thirds of the steps (of the collectives, if there are no
    /// steps) and the others lose a hundredth of a step by it.
    pub straggler: Option<Straggler>,
    /// The last of each step, in order.
    pub last_of_steps: Vec<LastOfStep>,
}

/// What a rank has to do with waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RankWaits {
    /// The rank.
    pub rank: u32,
    /// In how many steps it was the one that others waited for longest.
    pub last_in_steps: usize,
    /// To how many collectives it came last.
    pub last_in_collectives: usize,
    /// How long others waited for it, in all.
    pub caused_ns: u64,
    /// How long it waited for others, in all.
    pub waited_ns: u64,
}

/// A rank that stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Straggler {
    /// The rank.
    pub rank: u32,
    /// In how many it was last ...
    pub last_in: usize,
    /// ... of so many steps, or collectives if there are no steps.
    pub of: usize,
    /// How long others waited for it in one of these, in the mean.
    pub caused_ns: u64,
}

/// Who was last in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LastOfStep {
    /// The step.
    pub step: u64,
    /// The rank.
    pub rank: u32,
    /// How long others waited for it.
    pub caused_ns: u64,
}

/// Who is waited for, of these ranks in any order.
pub fn stragglers(ranks: &[Anchors]) -> Stragglers {
    let mut count = Count::new(ranks);
    let collectives = count.collectives(ranks);
    let by = if collectives > 0 { StragglerSource::Collectives } else { StragglerSource::Steps };
    if by == StragglerSource::Steps {
        count.steps(ranks);
    }
    let last_of_steps = count.last_of_steps();
    for last in &last_of_steps {
        count.row(last.rank).last_in_steps += 1;
    }
    let steps = last_of_steps.len();
    let straggler = count.straggler(steps, collectives, median_step(ranks));
    Stragglers { by, steps, collectives, ranks: count.rows.into_values().collect(), straggler, last_of_steps }
}

/// How long a rank was in a collective, and the step in which it called it.
struct Took {
    rank: u32,
    ns: u64,
    step: Option<u64>,
}

/// What is known so far.
struct Count {
    rows: BTreeMap<u32, RankWaits>,
    /// How long others waited, by step and by the rank that they waited for.
    caused: BTreeMap<u64, BTreeMap<u32, u64>>,
}

impl Count {
    fn new(ranks: &[Anchors]) -> Self {
        let row = |rank: &Anchors| (rank.rank, RankWaits { rank: rank.rank, ..RankWaits::default() });
        Self { rows: ranks.iter().map(row).collect(), caused: BTreeMap::new() }
    }

    fn row(&mut self, rank: u32) -> &mut RankWaits {
        self.rows.entry(rank).or_insert_with(|| RankWaits { rank, ..RankWaits::default() })
    }

    /// Counts who came last to the collectives that ranks share, and returns how many these are.
    fn collectives(&mut self, ranks: &[Anchors]) -> usize {
        let mut by_key: BTreeMap<&CollectiveKey, Vec<Took>> = BTreeMap::new();
        for rank in ranks {
            for one in &rank.collectives {
                let took = Took { ns: one.duration_ns(), rank: rank.rank, step: one.step };
                by_key.entry(&one.key).or_default().push(took);
            }
        }
        let mut shared = 0;
        for took in by_key.into_values().filter(|took| took.len() > 1) {
            shared += 1;
            // Of several that took as long, the lowest rank, whatever the order in which they came.
            let Some(last) = took.iter().min_by_key(|took| (took.ns, took.rank)) else { continue };
            let waited: u64 = took.iter().map(|took| took.ns - last.ns).sum();
            for one in &took {
                self.row(one.rank).waited_ns += one.ns - last.ns;
            }
            self.row(last.rank).last_in_collectives += 1;
            let step = took.iter().filter_map(|took| Some((took.rank, took.step?))).min().map(|(_, step)| step);
            self.cause(last.rank, step, waited / (took.len() as u64 - 1));
        }
        shared
    }

    /// Counts whose steps took longest.
    fn steps(&mut self, ranks: &[Anchors]) {
        let mut by_number: BTreeMap<u64, Vec<(u64, u32)>> = BTreeMap::new();
        for rank in ranks {
            for step in &rank.steps {
                by_number.entry(step.number).or_default().push((step.duration_ns(), rank.rank));
            }
        }
        for (number, mut took) in by_number.into_iter().filter(|(_, took)| took.len() > 1) {
            took.sort_unstable_by_key(|&(took, rank)| (std::cmp::Reverse(took), rank));
            let (longest, last) = took[0];
            let others: u64 = took[1..].iter().map(|(took, _)| longest - took).sum();
            self.cause(last, Some(number), others / (took.len() as u64 - 1));
        }
    }

    fn cause(&mut self, rank: u32, step: Option<u64>, waited_ns: u64) {
        self.row(rank).caused_ns += waited_ns;
        if let Some(step) = step {
            *self.caused.entry(step).or_default().entry(rank).or_default() += waited_ns;
        }
    }

    fn last_of_steps(&self) -> Vec<LastOfStep> {
        let of_step = |(&step, caused): (&u64, &BTreeMap<u32, u64>)| {
            let (&rank, &caused_ns) =
                caused.iter().max_by_key(|&(&rank, &caused)| (caused, std::cmp::Reverse(rank)))?;
            Some(LastOfStep { step, rank, caused_ns })
        };
        self.caused.iter().filter_map(of_step).collect()
    }

    /// The rank that stands out.
    fn straggler(&self, steps: usize, collectives: usize, median_step_ns: u64) -> Option<Straggler> {
        let of = if steps > 0 { steps } else { collectives };
        let last_in = |row: &RankWaits| if steps > 0 { row.last_in_steps } else { row.last_in_collectives };
        let most = self.rows.values().max_by_key(|row| (last_in(row), row.caused_ns, std::cmp::Reverse(row.rank)))?;
        let caused_ns = most.caused_ns / (of as u64).max(1);
        let stands_out = last_in(most) as f64 >= LEAST_SHARE * of as f64
            && caused_ns as f64 >= LEAST_LOSS * median_step_ns as f64
            && caused_ns > 0;
        stands_out.then(|| Straggler { rank: most.rank, last_in: last_in(most), of, caused_ns })
    }
}

/// The length of the step in the middle, of all ranks; 0 without steps.
fn median_step(ranks: &[Anchors]) -> u64 {
    let mut lengths: Vec<u64> = ranks.iter().flat_map(|rank| &rank.steps).map(|step| step.duration_ns()).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}
