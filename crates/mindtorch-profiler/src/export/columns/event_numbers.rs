//! The integers that events have, in the order of [`FIELDS`]. Times are nanoseconds since the start of the trace, memory is
//! in bytes.

use super::{Field, Kind};
use crate::capture::Capture;
use crate::recorder::Device;
use crate::trace::{DeviceKind, Trace, TraceEvent};

pub(super) const FIELDS: [Field; 25] = [
    Field::new("start_ns", Kind::Int),
    Field::new("end_ns", Kind::Int),
    Field::new("duration_ns", Kind::Int),
    // Without what it contains.
    Field::new("self_duration_ns", Kind::Int),
    Field::new("step", Kind::Int),
    // The system's number of the thread, or the device's of the stream.
    Field::new("thread_id", Kind::Int),
    // The number of the thread in the order of their first events; `forward_thread` is one of these.
    Field::nullable("thread", Kind::Int),
    Field::nullable("device_index", Kind::Int),
    // The row of the event around it, if that is in the table.
    Field::nullable("parent", Kind::Int),
    Field::new("correlation_id", Kind::Int),
    // For device work: the `correlation_id` of the operator whose work it is.
    Field::nullable("linked_correlation_id", Kind::Int),
    Field::nullable("sequence_number", Kind::Int),
    Field::nullable("forward_thread", Kind::Int),
    Field::nullable("flops", Kind::Int),
    Field::nullable("device_time_ns", Kind::Int),
    Field::nullable("self_device_time_ns", Kind::Int),
    Field::nullable("cpu_memory_usage", Kind::Int),
    Field::nullable("self_cpu_memory_usage", Kind::Int),
    Field::nullable("device_memory_usage", Kind::Int),
    Field::nullable("self_device_memory_usage", Kind::Int),
    // What was in use on the event's device.
    Field::nullable("memory_allocated_before", Kind::Int),
    Field::nullable("memory_allocated_after", Kind::Int),
    // What a copy moved.
    Field::nullable("bytes", Kind::Int),
    Field::nullable("caller_line", Kind::Int),
    Field::nullable("module_id", Kind::Int),
];

type Numbers = [Option<i64>; FIELDS.len()];

/// What is needed to tell the numbers of an event.
pub(super) struct EventNumbers {
    has_device_times: bool,
    has_flops: bool,
    has_memory: bool,
}

impl EventNumbers {
    pub(super) fn of(trace: &Trace) -> Self {
        let captures = |flag| trace.capture().contains(flag);
        Self {
            has_device_times: captures(Capture::DEVICE),
            has_flops: captures(Capture::FLOPS),
            has_memory: captures(Capture::MEMORY),
        }
    }

    /// Where an event was, or had its memory.
    pub(super) fn device(trace: &Trace, event: TraceEvent) -> Device {
        match event {
            TraceEvent::Span(row) => trace.spans.device_of(row as usize),
            TraceEvent::Device(row) => Device::Npu(trace.device[row as usize].device),
            TraceEvent::Memory(row) => trace.memory[row as usize].device,
        }
    }

    /// The numbers of an event, which has this row around it.
    pub(super) fn of_event(&self, trace: &Trace, event: TraceEvent, parent: Option<u32>) -> Numbers {
        let device = Self::device(trace, event);
        let (start, end) = trace.time_range(event);
        let usage = self.has_memory.then(|| trace.memory_usage().around(device, start, end));
        let of = match event {
            TraceEvent::Span(row) => self.of_span(trace, row as usize),
            TraceEvent::Device(row) => of_device(trace, row as usize),
            TraceEvent::Memory(row) => of_memory(trace, row as usize),
        };
        let device_ns = of.device_ns.filter(|_| self.has_device_times);
        let memory = of.memory.filter(|_| self.has_memory);
        let time = |ns: u64| Some(ns.cast_signed());
        [
            time(start),
            time(end),
            time(end - start),
            time(of.self_ns),
            Some(trace.step_at(start) as i64),
            Some(of.thread_id.cast_signed()),
            of.thread.map(i64::from),
            if let Device::Npu(number) = device { Some(i64::from(number)) } else { None },
            parent.map(i64::from),
            Some(of.correlation as i64),
            of.linked_to.map(|row| row as i64 + 1),
            of.sequence.map(u64::cast_signed),
            of.forward_thread.map(i64::from),
            of.flops.map(u64::cast_signed),
            device_ns.and_then(|(total, _)| time(total)),
            device_ns.and_then(|(_, own)| time(own)),
            memory.map(|memory| memory[0]),
            memory.map(|memory| memory[1]),
            memory.map(|memory| memory[2]),
            memory.map(|memory| memory[3]),
            usage.map(|(before, _)| before),
            usage.map(|(_, after)| after),
            of.bytes.map(u64::cast_signed),
            of.caller_line.map(i64::from),
            of.module.map(i64::from),
        ]
    }

    fn of_span(&self, trace: &Trace, row: usize) -> OfEvent {
        let spans = &trace.spans;
        let thread = &trace.threads[trace.thread_of(row)];
        let detail = spans.details.get(row);
        let own = |amount: &dyn Fn(usize) -> u64| trace.with_repeated(row).map(amount).sum();
        let own_bytes = |amount: &dyn Fn(usize) -> i64| trace.with_repeated(row).map(amount).sum();
        OfEvent {
            self_ns: own(&|row| spans.self_ns.get(row)),
            thread_id: thread.os_id,
            thread: Some(thread.number),
            correlation: row + 1,
            linked_to: None,
            sequence: detail.and_then(|detail| detail.sequence()),
            forward_thread: detail.map(|detail| detail.forward_thread).filter(|&thread| thread != 0),
            flops: self.has_flops.then(|| detail.map_or(0, |detail| detail.flops)),
            device_ns: Some((spans.device_ns.total.get(row), own(&|row| spans.device_ns.own.get(row)))),
            memory: Some([
                spans.cpu_memory.total.get(row),
                own_bytes(&|row| spans.cpu_memory.own.get(row)),
                spans.device_memory.total.get(row),
                own_bytes(&|row| spans.device_memory.own.get(row)),
            ]),
            bytes: None,
            caller_line: Some(spans.line.get(row)).filter(|&line| line != 0),
            module: spans.module.get(row).checked_sub(1),
        }
    }
}

/// What the numbers of an event are made of, beside what every event has.
#[derive(Default)]
struct OfEvent {
    self_ns: u64,
    thread_id: u64,
    thread: Option<u32>,
    correlation: usize,
    /// The row of the operator whose work it is.
    linked_to: Option<usize>,
    sequence: Option<u64>,
    forward_thread: Option<u32>,
    flops: Option<u64>,
    /// Total and own.
    device_ns: Option<(u64, u64)>,
    /// Of the host, total and own, and of devices.
    memory: Option<[i64; 4]>,
    bytes: Option<u64>,
    caller_line: Option<u32>,
    module: Option<u32>,
}

fn of_device(trace: &Trace, row: usize) -> OfEvent {
    let work = &trace.device[row];
    let ns = work.end - work.start;
    OfEvent {
        self_ns: ns,
        thread_id: u64::from(work.stream),
        correlation: trace.spans.len() + row + 1,
        linked_to: work.launcher().map(|launch| trace.spans.owner_of_launch(launch as usize)),
        device_ns: Some((ns, ns)),
        bytes: (work.kind == DeviceKind::Copy || work.bytes != 0).then_some(work.bytes),
        ..OfEvent::default()
    }
}

fn of_memory(trace: &Trace, row: usize) -> OfEvent {
    let memory = &trace.memory[row];
    let thread = &trace.threads[memory.thread];
    let bytes = memory.bytes;
    OfEvent {
        thread_id: thread.os_id,
        thread: Some(thread.number),
        correlation: trace.spans.len() + trace.device.len() + row + 1,
        memory: Some(if memory.device == Device::Cpu { [bytes, bytes, 0, 0] } else { [0, 0, bytes, bytes] }),
        ..OfEvent::default()
    }
}
