//! Budgets: what a program may take, and whether a trace shows that it took more.

mod amount;
mod check;

pub use amount::{Bytes, Nanoseconds, Part};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a program may take. Read from TOML; every limit may be left out.
///
/// ```
/// use mindtorch_analysis::Budget;
/// let budget: Budget = r#"
///     [step]
///     median = "12 ms"
///     [op."aten::*mm"]
///     self_per_step = "3 ms"
/// "#.parse()?;
/// assert!("[step]\nmedain = \"12 ms\"".parse::<Budget>().is_err());
/// # Ok::<(), mindtorch_analysis::BudgetError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// How long steps may take.
    pub step: StepBudget,
    /// What operators may take, by their names, in which `*` stands for any text and `?` for any character. What several have
    /// that a name stands for is added up.
    pub op: BTreeMap<String, OpBudget>,
    /// What may be in use at most, by device: `cpu`, `npu:0`, `cuda:0`.
    pub memory: BTreeMap<String, MemoryBudget>,
    /// How little devices may have to do.
    pub idle: IdleBudget,
    /// How many events there may be.
    pub events: EventBudget,
}

/// How long steps may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StepBudget {
    /// The median step.
    pub median: Option<Nanoseconds>,
    /// The step that one in twenty exceeds.
    pub p95: Option<Nanoseconds>,
}

/// What operators of a name may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpBudget {
    /// Time of their own in the median step.
    pub self_per_step: Option<Nanoseconds>,
    /// Time in the median step.
    pub total_per_step: Option<Nanoseconds>,
    /// Time of the device work that they launch, in the median step.
    pub device_per_step: Option<Nanoseconds>,
    /// Time of one call of its own, on average.
    pub self_per_call: Option<Nanoseconds>,
    /// Time of one call, on average.
    pub total_per_call: Option<Nanoseconds>,
    /// Calls in the median step.
    pub count_per_step: Option<f64>,
}

/// What may be in use on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryBudget {
    /// At most.
    pub peak: Option<Bytes>,
}

/// How little devices may have to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IdleBudget {
    /// The part of its time, from its first work to its last, in which one of them does nothing.
    pub device: Option<Part>,
}

/// How many events a trace may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventBudget {
    /// Spans of threads and work of devices.
    pub count: Option<u64>,
}

/// Why a text is no budget. It names the line and the key.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BudgetError(#[from] toml::de::Error);

impl std::str::FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        Ok(toml::from_str(text)?)
    }
}

/// A limit, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// What is limited: `step median`.
    pub what: String,
    /// What was measured: nanoseconds, bytes, parts of 1, or a count. None if the trace does not say.
    pub measured: Option<f64>,
    /// What is allowed.
    pub allowed: f64,
    /// Whether it is more than that, or not known.
    pub exceeded: bool,
    /// All of it in one line.
    pub text: String,
}
