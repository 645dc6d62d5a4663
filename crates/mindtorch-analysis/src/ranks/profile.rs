//! A rank at a glance: what its summary says, in a line.

use crate::{DeviceTime, HostTime, MemoryPeak, Step, StepTimes, operators_by_device_time, operators_by_host_time};
use mindtorch_profiler::Trace;
use serde::Serialize;

/// What a rank did, in short.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankProfile {
    /// Its number among those that work together.
    pub rank: u32,
    /// The machine that it ran on, if the trace says it.
    pub host: Option<String>,
    /// Its process.
    pub pid: u32,
    /// Spans of threads, and pieces of device work.
    pub events: usize,
    /// How many steps are whole.
    pub steps: usize,
    /// How long half of them took at most.
    pub median_step_ns: Option<f64>,
    /// How long devices worked, each from its first work to its last. If there is no device work: how long the main thread was in
    /// operators and in calls of a device's runtime.
    pub busy_ns: u64,
    /// The rest of that time.
    pub idle_ns: u64,
    /// The operator that took most, without what it called.
    pub top: Option<TopOperator>,
    /// The most memory that was in use, of devices whose memory was recorded.
    pub memory_peaks: Vec<DevicePeak>,
}

/// The operator that took most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopOperator {
    /// What it is called.
    pub name: String,
    /// How long its calls took, without what they called: of the device's time if there is any, else of the host's.
    pub self_ns: u64,
    /// How much that is of all operators' time.
    pub share: f64,
}

/// The most memory that was in use on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DevicePeak {
    /// `cpu`, `cuda:0`.
    pub device: String,
    /// Bytes.
    pub bytes: u64,
}

impl RankProfile {
    /// That of a rank's trace, whose steps these are.
    pub fn of(trace: &Trace, rank: u32, steps: &[Step]) -> Self {
        let (busy_ns, idle_ns) = busy_and_idle(trace);
        let peak = |peak: MemoryPeak| DevicePeak { device: peak.device, bytes: peak.bytes };
        Self {
            rank,
            host: trace.host_name().map(str::to_owned),
            pid: trace.pid(),
            events: trace.span_count() + trace.device_spans().len(),
            steps: steps.len(),
            median_step_ns: StepTimes::of(steps).map(|times| times.median_ns),
            busy_ns,
            idle_ns,
            top: top_operator(trace),
            memory_peaks: MemoryPeak::of_all(trace, 0).into_iter().map(peak).collect(),
        }
    }

    /// The most memory that was in use on any device; on the host if there is no other.
    pub fn memory_peak(&self) -> Option<&DevicePeak> {
        let on_device = self.memory_peaks.iter().filter(|peak| peak.device != "cpu").max_by_key(|peak| peak.bytes);
        on_device.or(self.memory_peaks.first())
    }
}

fn busy_and_idle(trace: &Trace) -> (u64, u64) {
    let devices = DeviceTime::of_all(trace, 0);
    if devices.is_empty() {
        let main = HostTime::of_main_thread(trace);
        return main.map_or((0, 0), |main| (main.in_operators_ns + main.in_runtime_ns, main.elsewhere_ns));
    }
    let sum = |of: fn(&DeviceTime) -> u64| devices.iter().map(of).sum();
    (sum(|device| device.busy_ns), sum(|device| device.idle_ns))
}

fn top_operator(trace: &Trace) -> Option<TopOperator> {
    let averages = trace.key_averages();
    let by_device = operators_by_device_time(trace, &averages, 1);
    let top = by_device.into_iter().next().or_else(|| operators_by_host_time(&averages, 1).into_iter().next())?;
    Some(TopOperator { name: top.name, self_ns: top.self_ns, share: top.share })
}
