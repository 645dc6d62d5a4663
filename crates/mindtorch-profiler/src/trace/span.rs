//! One span of a trace.

use super::Trace;
use super::details::DetailRow;
use super::rows::{DeviceKind, DeviceRow, ThreadRow};
use crate::inputs::Inputs;
use crate::names::Stack;
use crate::recorder::{Device, SpanKind};

/// A span of a thread: a row of a [`Trace`].
#[derive(Clone, Copy, Debug)]
pub struct SpanRef<'a> {
    pub(super) trace: &'a Trace,
    pub(super) row: usize,
}

impl<'a> SpanRef<'a> {
    /// The row in the trace.
    pub fn row(&self) -> usize {
        self.row
    }

    /// The name, exactly as it was given.
    pub fn name(&self) -> &'a str {
        self.trace.name(self.trace.spans.name[self.row])
    }

    /// The name by which it is grouped: that of all steps, `ProfilerStep#7`, is `ProfilerStep*`.
    pub fn key(&self) -> &'a str {
        key(self.name())
    }

    /// What it is.
    pub fn kind(&self) -> SpanKind {
        self.trace.spans.kind[self.row]
    }

    /// Torch's name of what it is, if that is not told by its kind: `"cuda_driver"`.
    pub fn category(&self) -> Option<&'a str> {
        self.trace.spans.category.get(self.row).checked_sub(1).map(|category| self.trace.name(category))
    }

    /// Whether it is a function of TorchScript.
    pub fn is_script(&self) -> bool {
        self.trace.spans.flags[self.row].is_script()
    }

    /// When it began, in nanoseconds since the start of the trace.
    pub fn start_ns(&self) -> u64 {
        self.trace.spans.start[self.row]
    }

    /// When it ended.
    pub fn end_ns(&self) -> u64 {
        self.trace.spans.end(self.row)
    }

    /// How long it took.
    pub fn duration_ns(&self) -> u64 {
        self.trace.spans.duration.get(self.row)
    }

    /// How long it took without what it contains. 0 for a span that was closed on another thread, since its own thread
    /// went on meanwhile.
    pub fn self_ns(&self) -> u64 {
        self.trace.spans.self_ns.get(self.row)
    }

    /// The span that contains it, on the same thread.
    pub fn parent(&self) -> Option<SpanRef<'a>> {
        self.trace.span(self.trace.spans.parent[self.row] as usize)
    }

    /// The thread that began it.
    pub fn thread(&self) -> &'a ThreadRow {
        &self.trace.threads[self.trace.thread_of(self.row)]
    }

    /// Where an operator worked, or had its memory; anything else is on the host.
    pub fn device(&self) -> Device {
        self.trace.spans.device_of(self.row)
    }

    /// Whether it had begun before the window did: its start is the window's.
    pub fn is_cut_at_start(&self) -> bool {
        self.trace.spans.flags[self.row].is_cut_at_start()
    }

    /// Whether it ended within the window. If not, its end is the window's.
    pub fn is_finished(&self) -> bool {
        !self.trace.spans.flags[self.row].is_cut_at_end()
    }

    /// Whether it ended on another thread than the one that began it.
    pub fn is_async(&self) -> bool {
        self.trace.spans.flags[self.row].is_closed_elsewhere()
    }

    /// The operator's inputs.
    pub fn inputs(&self) -> Inputs {
        Inputs(self.trace.spans.inputs.get(self.row))
    }

    /// Where in the source it began.
    pub fn stack(&self) -> Stack {
        Stack(self.trace.spans.stack.get(self.row))
    }

    /// For a function: the line that called it; 0 if that is not known.
    pub fn caller_line(&self) -> u32 {
        self.trace.spans.line.get(self.row)
    }

    /// For a call of a module: the number of the module among those of its class.
    pub fn module(&self) -> Option<u32> {
        self.trace.spans.module.get(self.row).checked_sub(1)
    }

    /// The profiler step in which it began.
    pub fn step(&self) -> usize {
        self.trace.step_at(self.start_ns())
    }

    /// The autograd sequence number.
    pub fn sequence(&self) -> Option<u64> {
        self.detail()?.sequence()
    }

    /// The number of the thread that ran the forward operator of a backward node; 0 is none.
    pub fn forward_thread(&self) -> u32 {
        self.detail().map_or(0, |detail| detail.forward_thread)
    }

    /// The floating-point operations that were reported for it.
    pub fn flops(&self) -> u64 {
        self.detail().map_or(0, |detail| detail.flops)
    }

    /// The text that was given with it, or `""`.
    pub fn note(&self) -> &'a str {
        self.detail().map_or("", |detail| self.trace.name(detail.note))
    }

    /// The operator's overload name, or `""`.
    pub fn overload(&self) -> &'a str {
        self.detail().map_or("", |detail| self.trace.name(detail.overload))
    }

    /// Host memory allocated less freed in it, with all that it contains.
    pub fn cpu_memory(&self) -> i64 {
        self.trace.spans.cpu_memory.total.get(self.row)
    }

    /// Host memory allocated less freed in it, without what it contains.
    pub fn self_cpu_memory(&self) -> i64 {
        self.trace.spans.cpu_memory.own.get(self.row)
    }

    /// Device memory allocated less freed in it, with all that it contains.
    pub fn device_memory(&self) -> i64 {
        self.trace.spans.device_memory.total.get(self.row)
    }

    /// Device memory allocated less freed in it, without what it contains.
    pub fn self_device_memory(&self) -> i64 {
        self.trace.spans.device_memory.own.get(self.row)
    }

    /// The time of the device work that it and all that it contains launched.
    pub fn device_ns(&self) -> u64 {
        self.trace.spans.device_ns.total.get(self.row)
    }

    /// The time of the device work that it launched itself.
    pub fn self_device_ns(&self) -> u64 {
        self.trace.spans.device_ns.own.get(self.row)
    }

    /// Arguments of a file that have no method of their own, as members of a JSON object; empty if there are none.
    pub fn extra_json(&self) -> &'a str {
        self.trace.spans.extra.get(self.row).checked_sub(1).map_or("", |extra| self.trace.name(extra))
    }

    fn detail(&self) -> Option<DetailRow> {
        self.trace.spans.details.get(self.row)
    }
}

/// The name by which spans of this name are grouped.
pub(crate) fn key(name: &str) -> &str {
    if name.starts_with("ProfilerStep#") { "ProfilerStep*" } else { name }
}

/// Work that a device did.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSpanRef<'a> {
    pub(super) trace: &'a Trace,
    pub(super) row: &'a DeviceRow,
}

impl<'a> DeviceSpanRef<'a> {
    /// The kernel's name.
    pub fn name(&self) -> &'a str {
        self.trace.name(self.row.name)
    }

    /// The number of the accelerator.
    pub fn device(&self) -> u16 {
        self.row.device
    }

    /// The stream that it ran on.
    pub fn stream(&self) -> u32 {
        self.row.stream
    }

    /// When it began, in nanoseconds since the start of the trace.
    pub fn start_ns(&self) -> u64 {
        self.row.start
    }

    /// When it ended.
    pub fn end_ns(&self) -> u64 {
        self.row.end
    }

    /// How long it took.
    pub fn duration_ns(&self) -> u64 {
        self.row.end - self.row.start
    }

    /// What kind of work it was.
    pub fn kind(&self) -> DeviceKind {
        self.row.kind
    }

    /// Bytes moved, for a copy.
    pub fn bytes(&self) -> u64 {
        self.row.bytes
    }

    /// Whether part of it lies outside the window.
    pub fn is_cut(&self) -> bool {
        self.row.is_cut
    }

    /// The profiler step in which it began.
    pub fn step(&self) -> usize {
        self.trace.step_at(self.row.start)
    }

    /// Arguments of a file that have no method of their own, as members of a JSON object; empty if there are none.
    pub fn extra_json(&self) -> &'a str {
        self.row.extra.checked_sub(1).map_or("", |extra| self.trace.name(extra))
    }

    /// The operator whose work it is: that which called the device's runtime.
    pub fn operator(&self) -> Option<SpanRef<'a>> {
        self.trace.span(self.trace.spans.owner_of_launch(self.row.launcher()? as usize))
    }

    /// The span that launched it.
    pub fn launched_by(&self) -> Option<SpanRef<'a>> {
        self.trace.span(self.row.launcher()? as usize)
    }
}
