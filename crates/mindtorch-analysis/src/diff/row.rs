//! The answers of a comparison.

use crate::recording::{Key, PerStep, Totals};
use crate::steps::Step;
use serde::Serialize;

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It takes longer, by more than the noise.
    Slower,
    /// It takes less, by more than the noise.
    Faster,
    /// It is in B only.
    Added,
    /// It is in A only.
    Removed,
    /// Nothing that could be told from noise, or nothing that matters.
    Unchanged,
    /// It is in too few steps, or there are too few, to tell a change from noise.
    Untested,
}

/// How the time that something takes in a step differs. `relative`, `interval` and `noise` are parts of the time in A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Nanoseconds in the median step of A, as they were measured.
    pub a_ns: f64,
    /// Nanoseconds in the median step of B.
    pub b_ns: f64,
    /// How much longer a step takes by it, in nanoseconds: Hodges and Lehmann's estimate, at equal speed of the machine.
    pub change_ns: f64,
    /// The same as a part of the time in A.
    pub relative: f64,
    /// Between what that lies, as far as steps differ.
    pub interval: [f64; 2],
    /// The chance of such a difference if nothing had changed: by Mann and Whitney's test, corrected for the number of keys.
    pub p_value: f64,
    /// What it has to exceed: what halves of one side differ by, or its recordings, as a part of the time on that side, and how
    /// far keys that did not change lie apart.
    pub noise: f64,
    /// What it says.
    pub verdict: Verdict,
}

/// What one side has of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// Of all its events, in all recordings.
    pub totals: Totals,
    /// How long one took on average, in nanoseconds.
    pub mean_ns: f64,
    /// In the median step, of the median recording.
    pub per_step: PerStep,
}

/// A key, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffRow {
    /// What is compared.
    pub key: Key,
    /// What became of it.
    pub verdict: Verdict,
    /// How much longer a step takes by it, in nanoseconds: on the host, or on the device if that is more. Where changes cannot
    /// be told from noise, the difference of totals per step, or of totals if there are no steps.
    pub effect_ns: f64,
    /// In A.
    pub a: Option<Side>,
    /// In B.
    pub b: Option<Side>,
    /// Its own time on the host.
    pub cpu: Option<Change>,
    /// The time of the device work that it launched itself, or is.
    pub device: Option<Change>,
}

/// A step, beside that of the same number. One step each way is no sample: it has no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepRow {
    /// Its number.
    pub number: u64,
    /// In A.
    pub a: Option<Step>,
    /// In B.
    pub b: Option<Step>,
}
