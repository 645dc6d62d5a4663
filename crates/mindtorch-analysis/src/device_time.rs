//! When devices worked, when they did not, and what the host did meanwhile.

use crate::host_time::main_thread;
use crate::intervals::{Interval, length, union};
use crate::recorded::Thread;
use mindtorch_profiler::{DeviceKind, DeviceSpanRef, ThreadRow, Trace};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The time of a device, from the beginning of its first work to the end of its last. Work is kernels, copies and sets of
/// memory, on any of its streams; waiting is none.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceTime {
    /// The number of the device.
    pub device: u16,
    /// How often it did something.
    pub count: usize,
    /// When its first work began, since the start of the trace.
    pub start_ns: u64,
    /// When its last work ended.
    pub end_ns: u64,
    /// For how long at least one kernel, copy or set ran.
    pub busy_ns: u64,
    /// For how long at least one kernel ran.
    pub compute_ns: u64,
    /// For how long nothing ran, from its first work to its last.
    pub idle_ns: u64,
    /// The longest times in which nothing ran; the longest first.
    pub gaps: Vec<Gap>,
}

/// A time in which a device did nothing, between two pieces of work.
#[derive(Clone, Debug, Serialize)]
pub struct Gap {
    /// When the work before it ended.
    pub start_ns: u64,
    /// When the work after it began.
    pub end_ns: u64,
    /// The work that ended it.
    pub ended_by: String,
    /// The thread that launched that work; if the trace does not say, the main thread.
    pub thread: Option<Thread>,
    /// What that thread did meanwhile: the time in each span without what the span contains, by name; the longest first.
    pub host: Vec<HostPart>,
}

/// A part of a thread's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostPart {
    /// The span's name; none for time in no span.
    pub name: Option<String>,
    /// How long.
    pub self_ns: u64,
}

impl DeviceTime {
    /// The time of each device that did anything, with at most so many gaps each.
    pub fn of_all(trace: &Trace, gaps: usize) -> Vec<Self> {
        let mut devices: Vec<u16> = work(trace).map(|work| work.device()).collect();
        devices.sort_unstable();
        devices.dedup();
        devices.into_iter().filter_map(|device| Self::of(trace, device, gaps)).collect()
    }

    fn of(trace: &Trace, device: u16, gaps: usize) -> Option<Self> {
        let work: Vec<_> = work(trace).filter(|work| work.device() == device).collect();
        let times = |work: &DeviceSpanRef<'_>| (work.start_ns(), work.end_ns());
        let busy = union(work.iter().map(times).collect());
        let compute = work.iter().filter(|work| work.kind() == DeviceKind::Kernel).map(times).collect();
        let (start_ns, end_ns) = (busy.first()?.0, busy.last()?.1);
        let busy_ns = length(&busy);
        Some(Self {
            device,
            count: work.len(),
            start_ns,
            end_ns,
            busy_ns,
            compute_ns: length(&union(compute)),
            idle_ns: end_ns - start_ns - busy_ns,
            gaps: longest_gaps(trace, &work, &busy, gaps),
        })
    }
}

/// What devices did. A wait is no work, and a scope only frames it.
pub(crate) fn work(trace: &Trace) -> impl Iterator<Item = DeviceSpanRef<'_>> {
    trace.device_spans().filter(|work| matches!(work.kind(), DeviceKind::Kernel | DeviceKind::Copy | DeviceKind::Set))
}

fn longest_gaps(trace: &Trace, work: &[DeviceSpanRef<'_>], busy: &[Interval], count: usize) -> Vec<Gap> {
    let mut gaps: Vec<Interval> = busy.windows(2).map(|pair| (pair[0].1, pair[1].0)).collect();
    gaps.sort_by_key(|&(start, end)| (Reverse(end - start), start));
    gaps.truncate(count);
    gaps.into_iter().map(|gap| describe(trace, work, gap)).collect()
}

fn describe(trace: &Trace, work: &[DeviceSpanRef<'_>], gap: Interval) -> Gap {
    let next = work.iter().find(|work| work.start_ns() == gap.1);
    let launcher = next.and_then(|next| next.launched_by()).map(|span| span.thread());
    let thread = launcher.or_else(|| main_thread(trace));
    Gap {
        start_ns: gap.0,
        end_ns: gap.1,
        ended_by: next.map_or_else(String::new, |next| next.name().to_owned()),
        thread: thread.map(Thread::of),
        host: thread.map_or_else(Vec::new, |thread| parts(trace, thread, gap)),
    }
}

/// What a thread did in a time. Of spans that are open at an instant, that which began last has it, whether or not they nest.
fn parts(trace: &Trace, thread: &ThreadRow, time: Interval) -> Vec<HostPart> {
    let mut times: HashMap<Option<&str>, u64> = HashMap::new();
    // The ends and names of spans that are open, in the order in which they began.
    let mut open: Vec<(u64, &str)> = Vec::new();
    let mut now = time.0;
    let during = trace.spans_of(thread).take_while(|span| span.start_ns() < time.1);
    for span in during.filter(|span| span.end_ns() > time.0 && !span.is_async()) {
        pass(&mut times, &mut open, &mut now, span.start_ns());
        open.push((span.end_ns(), span.key()));
    }
    pass(&mut times, &mut open, &mut now, time.1);
    let part = |(name, self_ns): (Option<&str>, u64)| HostPart { name: name.map(str::to_owned), self_ns };
    let mut parts: Vec<HostPart> = times.into_iter().map(part).collect();
    parts.sort_by(|one, other| other.self_ns.cmp(&one.self_ns).then_with(|| one.name.cmp(&other.name)));
    parts
}

/// Gives the time up to `until` to the spans that have it.
fn pass<'a>(times: &mut HashMap<Option<&'a str>, u64>, open: &mut Vec<(u64, &'a str)>, now: &mut u64, until: u64) {
    while *now < until {
        while open.pop_if(|(end, _)| *end <= *now).is_some() {}
        let last = open.last();
        let next = last.map_or(until, |&(end, _)| end.min(until));
        *times.entry(last.map(|&(_, name)| name)).or_default() += next - *now;
        *now = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"{"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 40, "args": {"External id": 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 30, "dur": 5,
         "args": {"correlation": 1}},
        {"ph": "X", "cat": "kernel", "name": "first", "pid": 0, "tid": 7, "ts": 10, "dur": 10,
         "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "gpu_memcpy", "name": "copy", "pid": 0, "tid": 8, "ts": 15, "dur": 10,
         "args": {"device": 0, "stream": 8}},
        {"ph": "X", "cat": "kernel", "name": "second", "pid": 0, "tid": 7, "ts": 55, "dur": 5,
         "args": {"device": 0, "stream": 7, "correlation": 1}}
    ]}"#;

    #[test]
    fn streams_count_once_and_gaps_say_what_the_host_did() {
        let trace = Trace::read(TRACE.as_bytes()).unwrap();
        let [device] = &DeviceTime::of_all(&trace, 3)[..] else { panic!("one device") };
        assert_eq!((device.count, device.start_ns, device.end_ns), (3, 10_000, 60_000));
        assert_eq!((device.busy_ns, device.compute_ns, device.idle_ns), (20_000, 15_000, 30_000));
        let [gap] = &device.gaps[..] else { panic!("one gap") };
        assert_eq!((gap.start_ns, gap.end_ns, gap.ended_by.as_str()), (25_000, 55_000, "second"));
        let part = |name: Option<&str>, us: u64| HostPart { name: name.map(str::to_owned), self_ns: us * 1000 };
        assert_eq!(gap.host, [part(None, 15), part(Some("aten::mm"), 10), part(Some("cudaLaunchKernel"), 5)]);
    }

    #[test]
    fn an_instant_is_of_the_span_that_began_last() {
        let trace = Trace::read(
            &br#"[{"ph": "X", "cat": "user_annotation", "name": "scope", "pid": 1, "tid": 1, "ts": 0, "dur": 60},
                  {"ph": "X", "cat": "python_function", "name": "overlaps", "pid": 1, "tid": 1, "ts": 50, "dur": 30},
                  {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 55, "dur": 10}]"#[..],
        )
        .unwrap();
        let part = |name: Option<&str>, us: u64| HostPart { name: name.map(str::to_owned), self_ns: us * 1000 };
        let parts = parts(&trace, &trace.threads()[0], (20_000, 100_000));
        assert_eq!(
            parts,
            [part(Some("scope"), 30), part(None, 20), part(Some("overlaps"), 20), part(Some("inner"), 10)]
        );
    }
}
