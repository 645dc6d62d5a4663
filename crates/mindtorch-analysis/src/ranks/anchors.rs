//! What of a rank's trace can be compared with other ranks.

use super::collectives::{Collective, collectives};
use crate::{Step, steps};
use mindtorch_profiler::Trace;

/// What a rank shares with others, without the rest of its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchors {
    /// Its number among those that work together.
    pub rank: u32,
    /// When its trace begins by its own clock, in nanoseconds since the Unix epoch.
    pub start_epoch_ns: u64,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Its collectives, in the order in which they began.
    pub collectives: Vec<Collective>,
}

impl Anchors {
    /// Those of the trace of a rank.
    pub fn of(trace: &Trace, rank: u32) -> Self {
        let steps = steps(trace);
        let collectives = collectives(trace, &steps);
        Self { rank, start_epoch_ns: trace.start_epoch_ns(), steps, collectives }
    }

    /// A time of the trace by the rank's own clock, in nanoseconds since the Unix epoch.
    pub(super) fn epoch_ns(&self, at_ns: u64) -> i64 {
        self.start_epoch_ns.saturating_add(at_ns).try_into().unwrap_or(i64::MAX)
    }
}
