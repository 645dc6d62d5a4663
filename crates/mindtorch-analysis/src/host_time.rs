//! The time of the program's main thread: in operators, in calls of a device's runtime, and in neither.

use crate::intervals::{Interval, length, union};
use crate::recorded::Thread;
use mindtorch_profiler::{SpanKind, ThreadRow, Trace};
use serde::Serialize;

/// The time of a thread, from the beginning of its first span to the end of its last. The three parts add up to it.
#[derive(Clone, Debug, Serialize)]
pub struct HostTime {
    /// The thread.
    pub thread: Thread,
    /// From its first span's beginning to its last one's end.
    pub duration_ns: u64,
    /// In operators and backward nodes, with all that they contain.
    pub in_operators_ns: u64,
    /// In calls of a device's runtime that no operator made, such as those that wait for the device.
    pub in_runtime_ns: u64,
    /// In neither.
    pub elsewhere_ns: u64,
}

impl HostTime {
    /// The time of the main thread: see [`main_thread`]. None if the trace has no span of it.
    pub fn of_main_thread(trace: &Trace) -> Option<Self> {
        let thread = main_thread(trace)?;
        let spans = || trace.spans_of(thread);
        let start = spans().map(|span| span.start_ns()).min()?;
        let end = spans().map(|span| span.end_ns()).max()?;
        let times = |wanted: &[SpanKind]| -> Vec<Interval> {
            spans()
                .filter(|span| wanted.contains(&span.kind()) && !span.is_async())
                .map(|span| (span.start_ns(), span.end_ns()))
                .collect()
        };
        let operators = union(times(&[SpanKind::Op, SpanKind::Backward]));
        let in_operators_ns = length(&operators);
        let both = union([operators, times(&[SpanKind::Runtime])].concat());
        let in_runtime_ns = length(&both) - in_operators_ns;
        let duration_ns = end - start;
        let elsewhere_ns = duration_ns - in_operators_ns - in_runtime_ns;
        Some(Self { thread: Thread::of(thread), duration_ns, in_operators_ns, in_runtime_ns, elsewhere_ns })
    }
}

/// The thread that the program's steps are on; without steps, that with the process's number, as Linux numbers the first
/// thread; if there is no such, the first of the trace.
pub fn main_thread(trace: &Trace) -> Option<&ThreadRow> {
    let stepping = trace.spans().find(|span| span.name().starts_with("ProfilerStep#")).map(|span| span.thread());
    let first = || trace.threads().iter().find(|thread| thread.os_id == u64::from(trace.pid()));
    stepping.or_else(first).or_else(|| trace.threads().first())
}
