//! Building a trace from events that come from a file, in any order.
//!
//! What a recorder knows when it records, a file tells only in part. Here the rest is found out as [`super::build`] does:
//! who is inside whom, whose time and memory it is, who launched what.

mod columns;
mod launches;
mod order;
mod pairs;
mod steps;
mod threads;

use super::columns::{SpanColumns, SpanFlags};
use super::details::DetailRow;
use super::links::take_forward_stacks;
use super::repeated::repeated_operators;
use super::rows::{DeviceKind, DeviceRow, MemoryNotes, ThreadRow};
use super::{Derived, Header, Origin, Trace};
use crate::capture::Capture;
use crate::column::{Column, Store};
use crate::quiet::QuietDrop;
use crate::recorder::{Device, Losses, SpanKind};
use columns::Columns;
use launches::{Launches, Places};
use order::Order;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Times further apart than this, some 146 years, are not those of one recording.
const FURTHEST: i128 = 1 << 62;

/// Loose events are referred to by place; this is none.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What a file says, before it is a trace. Times are nanoseconds since the file's base.
#[derive(Debug, Default)]
pub(crate) struct Loose {
    /// The first is empty.
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) threads: Vec<LooseThread>,
    pub(crate) spans: Vec<LooseSpan>,
    pub(crate) rest: Vec<RestOfSpan>,
    /// The ends of spans whose beginning and end are events of their own.
    pub(crate) pairs: Vec<PairEnd>,
    pub(crate) device: Vec<LooseDevice>,
    pub(crate) memory: Vec<LooseMemory>,
    pub(crate) instants: Vec<LooseInstant>,
    pub(crate) arrows: Vec<Arrow>,
    /// Times that are known to lie in a step.
    pub(crate) steps: Vec<(i64, usize)>,
    /// What was in use on a device at a time.
    pub(crate) memory_before: Vec<(Device, i64, i64)>,
    pub(crate) window: Option<(i64, u64)>,
    /// What the file says when recording stopped, if it does not tell its window.
    pub(crate) window_end: Option<i64>,
    /// Whether this profiler wrote the file, so that its order is that of the trace.
    pub(crate) is_ours: bool,
    pub(crate) pid: u32,
    pub(crate) base_ns: u64,
    pub(crate) capture: Capture,
    pub(crate) losses: Losses,
    pub(crate) origin: Origin,
}

#[derive(Debug, Default)]
pub(crate) struct LooseThread {
    pub(crate) os_id: u64,
    pub(crate) name: Option<String>,
    pub(crate) rank: Option<u32>,
    /// Its place among those that the file names, one higher; 0 is none.
    pub(crate) label: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LooseSpan {
    pub(crate) start: i64,
    pub(crate) duration: u64,
    /// The number by which device work refers to it; 0 is none.
    pub(crate) external: u64,
    pub(crate) name: u32,
    pub(crate) thread: u32,
    pub(crate) inputs: u32,
    pub(crate) stack: u32,
    /// The place in `rest`, one higher; 0 is none.
    pub(crate) rest: u32,
    pub(crate) kind: SpanKind,
    pub(crate) flags: SpanFlags,
}

/// What few spans have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RestOfSpan {
    pub(crate) sequence: Option<u64>,
    pub(crate) forward_thread: u32,
    pub(crate) flops: u64,
    pub(crate) note: u32,
    pub(crate) overload: u32,
    pub(crate) record_function: u32,
    pub(crate) line: u32,
    /// One higher, as are the next two.
    pub(crate) module: u32,
    pub(crate) category: u32,
    pub(crate) extra: u32,
    pub(crate) correlation: Option<u64>,
}

impl RestOfSpan {
    fn detail(&self) -> Option<DetailRow> {
        let has_detail = self.sequence.is_some()
            || self.forward_thread | self.note | self.overload | self.record_function != 0
            || self.flops != 0;
        has_detail.then(|| DetailRow {
            sequence_plus_one: self.sequence.map_or(0, |sequence| sequence.saturating_add(1)),
            flops: self.flops,
            forward_thread: self.forward_thread,
            note: self.note,
            overload: self.overload,
            record_function: self.record_function,
        })
    }
}

/// A beginning or an end that is an event of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairEnd {
    pub(crate) thread: u32,
    pub(crate) at: i64,
    /// The span that begins, or [`NOWHERE`] for an end.
    pub(crate) span: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LooseDevice {
    pub(crate) start: i64,
    pub(crate) duration: u64,
    pub(crate) name: u32,
    pub(crate) device: u16,
    pub(crate) stream: u32,
    pub(crate) kind: DeviceKind,
    pub(crate) is_cut: bool,
    pub(crate) bytes: u64,
    /// One higher; 0 is none.
    pub(crate) extra: u32,
    pub(crate) correlation: Option<u64>,
    pub(crate) external: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LooseMemory {
    pub(crate) at: i64,
    pub(crate) thread: u32,
    pub(crate) address: u64,
    pub(crate) bytes: i64,
    pub(crate) device: Device,
    pub(crate) allocated: i64,
    pub(crate) reserved: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LooseInstant {
    pub(crate) at: i64,
    pub(crate) thread: u32,
    pub(crate) name: u32,
    pub(crate) value: Option<f64>,
}

/// One end of an arrow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrow {
    pub(crate) id: u64,
    pub(crate) end: ArrowEnd,
    /// The span that it touches, if that is known from the order of the file.
    pub(crate) span: u32,
    pub(crate) thread: u32,
    pub(crate) at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrowEnd {
    /// At a forward operator.
    Forward,
    /// At a backward node.
    Backward,
    /// At a launch.
    Launch,
}

/// The events cannot be those of one recording: they are centuries apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooFarApart;

impl Loose {
    /// The trace of these events.
    pub(crate) fn build(mut self) -> Result<Trace, TooFarApart> {
        let (start, end) = self.window()?;
        self.join_pairs(end);
        let order = Order::of(&self);
        let clock = Clock { start };
        let mut columns = Columns::default();
        columns.spans.reserve(self.spans.len());
        let threads = columns.add_threads(&self, &order, clock);
        let memory = columns.memory;
        let mut spans = columns.spans;
        let device = self.device_rows(clock, &order, &threads, &mut spans);
        spans.spread_devices();
        spans.shrink();
        spans.cpu_memory.sum_up(&spans.parent, i64::saturating_add);
        spans.device_memory.sum_up(&spans.parent, i64::saturating_add);
        spans.device_ns.sum_up(&spans.parent, u64::saturating_add);
        if !columns.inherits_stack.is_empty() {
            take_forward_stacks(&mut spans, &threads, &columns.inherits_stack);
        }
        let repeated = repeated_operators(&spans);
        let (steps, memory_in_use) = (self.steps(clock), self.memory_in_use());
        let start_epoch_ns = i128::from(self.base_ns) + i128::from(start);
        Ok(Trace {
            header: Header {
                pid: self.pid,
                start_epoch_ns: start_epoch_ns.clamp(0, FURTHEST) as u64,
                duration_ns: clock.ns(end),
                capture: self.capture,
                first_step: steps.first().map_or(0, |step| step.number),
                is_running: false,
                losses: self.losses,
                memory_in_use,
                hides_memory_events: false,
                metadata: Vec::new(),
                origin: self.origin,
            },
            names: self.names,
            threads,
            spans,
            repeated,
            device,
            memory,
            notes: MemoryNotes::default(),
            taken_out: Column::new(),
            store: Store::default(),
            instants: columns.instants,
            steps,
            derived: Derived::default(),
            quiet: QuietDrop::default(),
        })
    }

    /// A window of the recording. A file of several processes has one for each.
    pub(crate) fn add_window(&mut self, start: i64, duration: u64) {
        let (before, length) = self.window.unwrap_or((start, duration));
        let (first, last) =
            (before.min(start), before.saturating_add_unsigned(length).max(start.saturating_add_unsigned(duration)));
        self.window = Some((first, last.abs_diff(first)));
    }

    /// When the trace begins and ends: what the file says, and wider if it has events outside.
    fn window(&self) -> Result<(i64, i64), TooFarApart> {
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        let mut add = |start: i64, duration: u64| {
            first = first.min(start);
            last = last.max(start.saturating_add_unsigned(duration));
        };
        self.spans.iter().for_each(|span| add(span.start, span.duration));
        self.pairs.iter().for_each(|pair| add(pair.at, 0));
        self.device.iter().for_each(|work| add(work.start, work.duration));
        self.memory.iter().for_each(|row| add(row.at, 0));
        self.instants.iter().for_each(|row| add(row.at, 0));
        match (self.window, self.window_end) {
            (Some((start, duration)), _) => add(start, duration),
            (None, Some(end)) => add(end, 0),
            (None, None) => {}
        }
        if first > last {
            return Ok((0, 0));
        }
        let length = i128::from(last) - i128::from(first);
        if length <= FURTHEST { Ok((first, last)) } else { Err(TooFarApart) }
    }

    /// What was in use when the trace begins, on devices that have no memory events to tell it.
    fn memory_in_use(&mut self) -> Vec<(Device, i64)> {
        let told: FxHashSet<Device> = self.memory.iter().map(|row| row.device).collect();
        let known = &mut self.memory_before;
        known.retain(|(device, _, bytes)| *bytes != 0 && !told.contains(device));
        known.sort_by_key(|&(device, at, _)| (device, at));
        known.dedup_by_key(|(device, _, _)| *device);
        known.iter().map(|&(device, _, bytes)| (device, bytes)).collect()
    }
}

/// Times of the file to times of the trace.
#[derive(Clone, Copy)]
struct Clock {
    start: i64,
}

impl Clock {
    /// The window is checked to be short enough.
    #[inline]
    fn ns(self, at: i64) -> u64 {
        at.wrapping_sub(self.start) as u64
    }
}

impl Loose {
    fn device_rows(
        &self,
        clock: Clock,
        order: &Order,
        threads: &[ThreadRow],
        spans: &mut SpanColumns,
    ) -> Column<DeviceRow> {
        let launches = Launches::of(self, &Places { order, clock, threads, spans });
        let row = |work: &LooseDevice| {
            let start = clock.ns(work.start);
            let launched_by = launches.launcher(work);
            if let Some(row) = launched_by.filter(|_| work.kind != DeviceKind::Annotation) {
                let owner = spans.owner_of_launch(row as usize);
                let own = spans.device_ns.own.entry(owner);
                *own = own.saturating_add(work.duration);
                spans.set_device(owner, work.device);
            }
            DeviceRow {
                start,
                end: start + work.duration,
                name: work.name,
                device: work.device,
                stream: work.stream,
                kind: work.kind,
                is_cut: work.is_cut,
                bytes: work.bytes,
                launched_by,
                extra: work.extra,
            }
        };
        self.device.iter().map(row).collect()
    }
}
