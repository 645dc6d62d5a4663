//! What devices did, and when they had nothing to do.

use super::evidence::{Evidence, Largest};
use super::host::{Sum, by_time};
use super::{Fact, Finding, Time};
use mindtorch_profiler::{DeviceKind, DeviceSpanRef, Trace};
use std::collections::{BTreeMap, HashMap};

const NAMES: usize = 3;
const LEAST_PERCENT: u64 = 5;
const SHORT_NS: u64 = 10_000;
const MANY: u64 = 100;

/// Whether a device did it: waits and annotations are no work.
fn is_work(work: &DeviceSpanRef<'_>) -> bool {
    !matches!(work.kind(), DeviceKind::Sync | DeviceKind::Annotation)
}

/// When a device had nothing to do.
struct Gap {
    start_ns: u64,
    end_ns: u64,
    /// The row of the work that ended it.
    next: usize,
}

/// For each device, the time between its first and its last work in which no stream of it worked.
pub(super) fn idle(trace: &Trace) -> Vec<Finding> {
    let mut devices: BTreeMap<u16, Vec<(u64, u64, usize)>> = BTreeMap::new();
    for (row, work) in trace.device_spans().enumerate().filter(|(_, work)| is_work(work)) {
        devices.entry(work.device()).or_default().push((work.start_ns(), work.end_ns(), row));
    }
    let found = devices.into_iter().filter_map(|(device, mut work)| {
        work.sort_unstable();
        let (first, mut busy_until) = (work.first()?.0, work.first()?.1);
        let (mut idle_ns, mut gaps) = (0, 0);
        let mut longest = Largest::new(Evidence::MOST);
        for &(start, end, row) in &work {
            if start > busy_until {
                idle_ns += start - busy_until;
                gaps += 1;
                longest.offer(start - busy_until, Gap { start_ns: busy_until, end_ns: start, next: row });
            }
            busy_until = busy_until.max(end);
        }
        let device = format!("{} {device}", trace.accelerator());
        let fact = Fact::IdleDevice { device, idle_ns, of_ns: busy_until - first, gaps };
        (gaps > 0)
            .then(|| Finding { fact, evidence: longest.into_vec().iter().map(|gap| of_gap(trace, gap)).collect() })
    });
    found.collect()
}

/// What the thread that launched the next work was in, in the middle of the gap.
fn of_gap(trace: &Trace, gap: &Gap) -> Evidence {
    let middle = gap.start_ns.midpoint(gap.end_ns);
    let work = trace.device_span(gap.next);
    let thread = work.and_then(|work| work.launched_by()).map(|span| span.thread().number);
    let is_around = |span: &mindtorch_profiler::SpanRef<'_>| {
        span.start_ns() <= middle && middle < span.end_ns() && Some(span.thread().number) == thread
    };
    // Of those around the middle of a gap, the last to begin is the innermost.
    let meanwhile = match trace.spans().rfind(is_around) {
        Some(span) => format!("; the thread that launched it was in {}", span.name()),
        None => String::new(),
    };
    let next = work.map_or("", |work| work.name());
    let label = format!("{} before {next}{meanwhile}", Time(gap.end_ns - gap.start_ns));
    Evidence::of_time(label, gap.start_ns, gap.end_ns)
}

fn sums(trace: &Trace, is_wanted: impl Fn(&DeviceSpanRef<'_>) -> bool) -> Vec<(&str, Sum<usize>)> {
    let mut sums: HashMap<&str, Sum<usize>> = HashMap::new();
    for (row, work) in trace.device_spans().enumerate().filter(|(_, work)| is_wanted(work)) {
        sums.entry(work.name()).or_default().add(work.duration_ns(), row);
    }
    by_time(sums)
}

fn places(trace: &Trace, rows: Largest<usize>) -> Vec<Evidence> {
    let place = |row| Some(Evidence::of_work(row, &trace.device_span(row)?));
    rows.into_vec().into_iter().filter_map(place).collect()
}

/// What devices spent most time with.
pub(super) fn device_times(trace: &Trace) -> Vec<Finding> {
    let sums = sums(trace, is_work);
    let of_ns: u64 = sums.iter().map(|(_, sum)| sum.total_ns).sum();
    let told = sums.into_iter().take(NAMES).filter(|(_, sum)| sum.total_ns * 100 >= of_ns * LEAST_PERCENT);
    told.map(|(name, sum)| Finding {
        fact: Fact::DeviceTime { name: name.to_owned(), count: sum.count, total_ns: sum.total_ns, of_ns },
        evidence: places(trace, sum.longest),
    })
    .collect()
}

/// Devices' work, if most of it is short.
pub(super) fn short_kernels(trace: &Trace) -> Option<Finding> {
    let of = trace.device_spans().filter(is_work).count() as u64;
    let mut short = sums(trace, |work| is_work(work) && work.duration_ns() < SHORT_NS);
    let count: u64 = short.iter().map(|(_, sum)| sum.count).sum();
    if count < MANY || count * 2 < of {
        return None;
    }
    let total_ns = short.iter().map(|(_, sum)| sum.total_ns).sum();
    short.sort_by_key(|(name, sum)| (std::cmp::Reverse(sum.count), *name));
    let evidence = short.into_iter().take(Evidence::MOST).filter_map(|(name, sum)| {
        let label = format!("{name}: {} of them", sum.count);
        Some(Evidence { label, ..places(trace, sum.longest).into_iter().next()? })
    });
    let fact = Fact::ShortKernels { count, of, below_ns: SHORT_NS, total_ns };
    Some(Finding { fact, evidence: evidence.collect() })
}

/// Copies from and to devices, by what they are called.
pub(super) fn copies(trace: &Trace) -> Vec<Finding> {
    let mut moved: HashMap<&str, u64> = HashMap::new();
    for work in trace.device_spans().filter(|work| work.kind() == DeviceKind::Copy) {
        *moved.entry(work.name()).or_default() += work.bytes();
    }
    let sums = sums(trace, |work| work.kind() == DeviceKind::Copy).into_iter().take(NAMES);
    sums.map(|(name, sum)| Finding {
        fact: Fact::Copies { name: name.to_owned(), count: sum.count, total_ns: sum.total_ns, bytes: moved[name] },
        evidence: places(trace, sum.longest),
    })
    .collect()
}
