//! What a trace has, and what it lacks.

use mindtorch_profiler::{Capture, ThreadRow, Trace};
use serde::Serialize;

/// What was recorded.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// The process.
    pub pid: u32,
    /// When the recording began, in nanoseconds since the Unix epoch; 0 if that is not known.
    pub start_epoch_ns: u64,
    /// How long the recording is: of a file, from its first event to its last.
    pub duration_ns: u64,
    /// Spans of threads: operators, annotations, calls of runtimes, functions.
    pub spans: usize,
    /// What devices did.
    pub device_events: usize,
    /// Allocations and frees.
    pub memory_events: usize,
    /// Values of counters.
    pub counter_values: usize,
    /// Threads with events, in the order of their first.
    pub threads: Vec<Thread>,
    /// What the accelerator is called: `"CUDA"`.
    pub accelerator: String,
    /// The accelerators that did anything, by number.
    pub devices: Vec<u16>,
    /// What was recorded with operators: `"shapes"`, `"stacks"`, `"memory"`, `"flops"`.
    pub with: Vec<&'static str>,
    /// Events that should be there and are not.
    pub lost_events: u64,
    /// Why the recording ended before it was stopped, if it did.
    pub ended_early: Option<String>,
    /// Events of the file that a trace has no place for.
    pub skipped_events: u64,
}

/// A thread with events.
#[derive(Clone, Debug, Serialize)]
pub struct Thread {
    /// Its number in the trace.
    pub number: u32,
    /// The operating system's number.
    pub os_id: u64,
    /// Its name, if it has one.
    pub name: Option<String>,
}

impl Thread {
    pub(crate) fn of(thread: &ThreadRow) -> Self {
        Self { number: thread.number, os_id: thread.os_id, name: thread.name.clone() }
    }
}

impl Recorded {
    /// What this trace has.
    pub fn of(trace: &Trace) -> Self {
        let mut devices: Vec<u16> = trace.device_spans().map(|work| work.device()).collect();
        devices.sort_unstable();
        devices.dedup();
        let switches = [
            (Capture::SHAPES, "shapes"),
            (Capture::STACK, "stacks"),
            (Capture::MEMORY, "memory"),
            (Capture::FLOPS, "flops"),
        ];
        Self {
            pid: trace.pid(),
            start_epoch_ns: trace.start_epoch_ns(),
            duration_ns: trace.duration_ns(),
            spans: trace.span_count(),
            device_events: trace.device_spans().len(),
            memory_events: trace.memory().len(),
            counter_values: trace.counters().count(),
            threads: trace.threads().iter().map(Thread::of).collect(),
            accelerator: trace.accelerator().to_owned(),
            devices,
            with: switches.iter().filter(|(flag, _)| trace.capture().contains(*flag)).map(|(_, name)| *name).collect(),
            lost_events: trace.lost_events(),
            ended_early: trace.losses().stopped.as_deref().map(str::to_owned),
            skipped_events: trace.skipped_events(),
        }
    }
}
