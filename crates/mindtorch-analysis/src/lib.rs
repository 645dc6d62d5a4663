//! Answers from traces: what [`mindtorch_profiler::Trace`] says when it is asked the questions that people have.
//!
//! Everything here takes traces that are whole, recorded or read, and gives plain values that can be printed, written as JSON
//! or drawn. Nothing here reads files or prints.

mod averages;
mod budget;
mod device_time;
mod diff;
mod findings;
mod host_time;
mod intervals;
mod memory_peak;
mod ranking;
pub mod ranks;
mod recorded;
mod recording;
mod statistics;
mod step_times;
mod steps;
mod summary;

pub use averages::AverageRow;
pub use budget::{
    Budget, BudgetError, Bytes, Checked, EventBudget, IdleBudget, MemoryBudget, Nanoseconds, OpBudget, Part, StepBudget,
};
pub use device_time::{DeviceTime, Gap, HostPart};
pub use diff::{Change, Diff, DiffLine, DiffOptions, DiffRow, Headline, Side, Speed, StepRow, Verdict};
pub use findings::{Evidence, Fact, Finding, findings, slow_steps};
pub use host_time::{HostTime, main_thread};
pub use memory_peak::{MemoryPart, MemoryPeak, device_name};
pub use ranking::{Ranked, StackTime, kernels, operators_by_device_time, operators_by_host_time, stacks};
pub use recorded::{Recorded, Thread};
pub use recording::{By, Key, KeyKind, KeySamples, PerStep, Recording, Totals};
pub use step_times::StepTimes;
pub use steps::{Step, steps};
pub use summary::{Summary, SummaryOptions};
