//! A trace, with what Python asks of it: the order of events, who contains whom, numbers that are worked out once.

use super::overhead::overhead;
pub(super) use mindtorch_profiler::TraceEvent as Event;
use mindtorch_profiler::{Average, Capture, Device, DeviceSpanRef, EventOrder, MemoryRow, Overhead, SpanRef, Trace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::AddAssign;
use std::sync::{Arc, OnceLock};

/// A trace that events and averages share.
pub(crate) struct TraceView {
    pub(crate) trace: Arc<Trace>,
    order: OnceLock<Arc<EventOrder>>,
    children: OnceLock<Vec<Vec<u32>>>,
    flows: OnceLock<FxHashMap<u32, Flow>>,
    kernels: OnceLock<FxHashMap<u32, Vec<u32>>>,
}

/// An arrow that begins or ends at an event.
#[derive(Clone, Copy)]
pub(super) struct Flow {
    pub(super) id: u32,
    /// Torch's number for it: 1 from forward to backward, 2 from the host to a device.
    pub(super) kind: u8,
    pub(super) is_start: bool,
}

impl TraceView {
    pub(crate) fn new(trace: Trace) -> Self {
        Self {
            trace: Arc::new(trace),
            order: OnceLock::new(),
            children: OnceLock::new(),
            flows: OnceLock::new(),
            kernels: OnceLock::new(),
        }
    }

    pub(super) fn captures(&self, flag: Capture) -> bool {
        self.trace.capture().contains(flag)
    }

    /// What the device is called that was recorded beside the host, if one was.
    pub(super) fn device_name(&self) -> Option<String> {
        self.captures(Capture::DEVICE).then(|| self.trace.accelerator().to_lowercase())
    }

    /// Torch's number of the accelerator's type: one that is no CUDA device is `PrivateUse1`.
    pub(super) fn device_type(&self) -> u8 {
        if self.trace.accelerator() == "CUDA" { 1 } else { 20 }
    }

    /// What recording an event of it cost.
    pub(super) fn overhead(&self, py: Python<'_>) -> PyResult<Overhead> {
        if self.trace.is_of_file() {
            let message = "what recording cost is not known of a trace that was read from a file: ask the profiler, \
                           or Trace, that recorded it";
            return Err(PyValueError::new_err(message));
        }
        overhead(py, self.trace.capture())
    }

    /// What the list of events has at each place: by start, and of those that start together the longer first.
    pub(super) fn order(&self) -> &[Event] {
        self.event_order().events()
    }

    pub(super) fn event_order(&self) -> &Arc<EventOrder> {
        self.order.get_or_init(|| Arc::new(self.trace.event_order()))
    }

    /// The order, if someone has asked for it before.
    pub(super) fn known_order(&self) -> Option<&Arc<EventOrder>> {
        self.order.get()
    }

    pub(super) fn span(&self, row: u32) -> SpanRef<'_> {
        self.trace.span(row as usize).expect("a row that the trace gave")
    }

    pub(super) fn device(&self, row: u32) -> DeviceSpanRef<'_> {
        self.trace.device_span(row as usize).expect("a row that the trace gave")
    }

    pub(super) fn memory(&self, row: u32) -> &MemoryRow {
        &self.trace.memory()[row as usize]
    }

    /// The place of the first event of a group of averages.
    pub(super) fn first_event(&self, group: &Average) -> Option<usize> {
        let order = self.order();
        let first = order.partition_point(|event| self.trace.time_range(*event).0 < group.first_start_ns);
        let is_of_group = |event: &Event| match *event {
            Event::Span(row) => self.span(row).key() == &*group.key,
            Event::Device(row) => group.is_device() && self.device(row).name() == &*group.key,
            Event::Memory(_) => &*group.key == "[memory]",
        };
        order[first..].iter().position(is_of_group).map(|at| first + at)
    }

    pub(super) fn parent(&self, place: usize) -> Option<u32> {
        self.event_order().parent(&self.trace, place)
    }

    pub(super) fn children(&self, place: usize) -> &[u32] {
        let children = self.children.get_or_init(|| {
            let mut children = vec![Vec::new(); self.order().len()];
            for place in 0..children.len() {
                if let Some(parent) = self.parent(place) {
                    children[parent as usize].push(place as u32);
                }
            }
            children
        });
        &children[place]
    }

    /// The sum of an amount over a span and those that are one call with it.
    pub(super) fn with_repeated<T: AddAssign>(&self, row: u32, amount: impl Fn(SpanRef<'_>) -> T) -> T {
        let repeated = self.trace.repeated_operators();
        let mut sum = amount(self.span(row));
        if repeated.is_empty() {
            return sum;
        }
        // The one call that a span repeats is its only child, and so the next row.
        let mut next = row + 1;
        while repeated.binary_search(&next).is_ok()
            && self.span(next).parent().is_some_and(|p| p.row() + 1 == next as usize)
        {
            sum += amount(self.span(next));
            next += 1;
        }
        sum
    }

    pub(super) fn flow(&self, row: u32) -> Option<Flow> {
        let flows = self.flows.get_or_init(|| {
            let mut flows = FxHashMap::default();
            for (&(forward, backward), id) in self.trace.forward_links().iter().zip(1..) {
                // A node that runs again has the arrow of its first run.
                flows.entry(forward).or_insert(Flow { id, kind: 1, is_start: true });
                flows.entry(backward).or_insert(Flow { id, kind: 1, is_start: false });
            }
            for (work, id) in self.trace.device_spans().zip(1..) {
                if let Some(launcher) = work.launched_by() {
                    flows.insert(launcher.row() as u32, Flow { id, kind: 2, is_start: true });
                }
            }
            flows
        });
        flows.get(&row).copied()
    }

    /// The numbers of the function in a row, and of the one around it.
    pub(super) fn function_numbers(&self, row: u32) -> (u32, u32) {
        let functions = self.trace.innermost_functions();
        let around = self.span(row).parent().map_or(0, |parent| functions[parent.row()]);
        (functions[row as usize], around)
    }

    /// The device work that a span launched, itself or through calls of the device's runtime.
    pub(super) fn kernels(&self, row: u32) -> &[u32] {
        let kernels = self.kernels.get_or_init(|| {
            let mut kernels: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
            for (work, at) in self.trace.device_spans().zip(0..) {
                if let Some(owner) = work.operator() {
                    kernels.entry(owner.row() as u32).or_default().push(at);
                }
            }
            kernels
        });
        kernels.get(&row).map_or(&[], Vec::as_slice)
    }

    /// What was in use on a device, before and after.
    pub(super) fn usage(&self, device: Device, start_ns: u64, end_ns: u64) -> (i64, i64) {
        self.trace.memory_usage().around(device, start_ns, end_ns)
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 ns, which is 104 days")]
pub(crate) fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
