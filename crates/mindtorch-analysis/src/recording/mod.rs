//! Recordings: what a trace says of its keys, step by step, small enough to keep many of them.

mod collect;
mod key;
mod series;

pub use key::{By, Key, KeyKind};

use crate::steps::{Step, steps};
use mindtorch_profiler::Trace;
use serde::{Deserialize, Serialize};

/// As many parts as a recording's steps are put into. What is near in time is alike, so that steps are no independent samples;
/// the medians of parts are more nearly so, and what interrupts a step does not move them.
pub(crate) const BLOCKS: usize = 24;

/// What comparisons need to know of a trace: some kilobytes, however long it is.
///
/// Only steps that are whole count for what is said of steps; totals are of everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// By what its keys are told apart.
    pub by: By,
    /// How many steps it has whole.
    pub steps: usize,
    /// How long steps took: the medians of consecutive parts of them, in nanoseconds.
    pub step_ns: Vec<f64>,
    /// Its keys, in the order of names.
    pub keys: Vec<KeySamples>,
    /// The steps themselves; not kept with a baseline.
    #[serde(skip)]
    pub each_step: Vec<Step>,
}

/// What a recording says of one key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySamples {
    /// Which.
    pub key: Key,
    /// Of all its events.
    pub totals: Totals,
    /// In the median step.
    pub per_step: PerStep,
    /// Its own time on the host in a step: the medians of consecutive parts, in nanoseconds.
    pub cpu_ns: Vec<f64>,
    /// The time of the device work that it launched itself in a step, likewise; empty if there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_ns: Vec<f64>,
}

/// Sums over all events of a key. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// How many there are.
    pub count: u64,
    /// How long they took; where they contain each other, that counts once.
    pub total_ns: u64,
    /// The same without what they contain.
    pub self_cpu_ns: u64,
    /// How long the device work took that they launched themselves.
    pub self_device_ns: u64,
}

impl Totals {
    /// How long one took, on average.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total_ns as f64 / self.count as f64 }
    }
}

/// What the median step has of a key: 0 if it is in fewer than half of the steps. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerStep {
    /// How many events.
    pub count: f64,
    /// How long they took.
    pub total_ns: f64,
    /// The same without what they contain.
    pub self_cpu_ns: f64,
    /// How long the device work took that they launched themselves.
    pub self_device_ns: f64,
}

impl Recording {
    /// What `trace` says of its keys.
    pub fn of(trace: &Trace, by: By) -> Self {
        let each_step = steps(trace);
        let durations: Vec<f64> = each_step.iter().map(|step| step.duration_ns() as f64).collect();
        let keys = collect::keys(trace, &each_step, by);
        Self { by, steps: each_step.len(), step_ns: series::block_medians(&durations, BLOCKS), keys, each_step }
    }

    /// What it says of this key.
    pub fn key(&self, key: &Key) -> Option<&KeySamples> {
        self.keys.binary_search_by(|samples| samples.key.cmp(key)).ok().map(|at| &self.keys[at])
    }
}
