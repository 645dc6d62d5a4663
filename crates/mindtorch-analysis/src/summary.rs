//! Where the time and the memory of one trace went, in one value.

use crate::averages::AverageRow;
use crate::device_time::DeviceTime;
use crate::host_time::HostTime;
use crate::memory_peak::MemoryPeak;
use crate::ranking::{self, Ranked, StackTime};
use crate::recorded::Recorded;
use crate::step_times::StepTimes;
use crate::steps::steps;
use mindtorch_profiler::{Averages, SortKey, Trace};
use serde::Serialize;

/// How much a summary says.
#[derive(Clone, Copy, Debug)]
pub struct SummaryOptions {
    /// How many groups of events there are at most.
    pub rows: usize,
    /// What they are sorted by.
    pub sort_by: SortKey,
    /// How many operators, kernels, stacks, gaps and allocators each list has at most.
    pub top: usize,
}

/// What a trace says on the whole.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// What was recorded.
    pub recorded: Recorded,
    /// How long steps took, if there are any.
    pub steps: Option<StepTimes>,
    /// Groups of events, as in torch's table.
    pub averages: Vec<AverageRow>,
    /// The operators that took most time on the host.
    pub operators_by_host_time: Vec<Ranked>,
    /// The operators that launched most device time.
    pub operators_by_device_time: Vec<Ranked>,
    /// What devices did for longest.
    pub kernels: Vec<Ranked>,
    /// The places of the source whose operators took most time on the host.
    pub stacks: Vec<StackTime>,
    /// When most memory was in use, by device.
    pub memory: Vec<MemoryPeak>,
    /// When devices worked.
    pub devices: Vec<DeviceTime>,
    /// The time of the main thread.
    pub main_thread: Option<HostTime>,
}

impl Summary {
    /// The summary of a trace; `averages` are the groups to show, and `by_name` those of all events by name alone.
    pub fn of(trace: &Trace, averages: &Averages, by_name: &Averages, options: &SummaryOptions) -> Self {
        let top = options.top;
        Self {
            recorded: Recorded::of(trace),
            steps: StepTimes::of(&steps(trace)),
            averages: AverageRow::first(averages, options.sort_by, options.rows),
            operators_by_host_time: ranking::operators_by_host_time(by_name, top),
            operators_by_device_time: ranking::operators_by_device_time(trace, by_name, top),
            kernels: ranking::kernels(trace, top),
            stacks: ranking::stacks(trace, by_name, top),
            memory: MemoryPeak::of_all(trace, top),
            devices: DeviceTime::of_all(trace, top),
            main_thread: HostTime::of_main_thread(trace),
        }
    }
}
