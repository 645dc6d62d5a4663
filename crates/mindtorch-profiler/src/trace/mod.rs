//! Traces: what a window becomes. Immutable, columnar, in the order of thread and beginning.

mod build;
mod columns;
mod contexts;
mod derived;
mod details;
mod device_annotations;
mod driver_calls;
mod evaluations;
mod event_order;
mod filter;
mod filtered;
mod joined;
mod launches;
mod links;
pub(crate) mod loaded;
mod names;
mod nanos;
mod nesting;
mod records;
mod recover;
mod repeated;
mod rows;
mod rows_by_time;
mod sites;
mod span;
mod taken_out;
mod timeline;
mod usage;

pub(crate) use build::TraceBuilder;
pub(crate) use columns::{SpanColumns, SpanFlags, Sparse};
pub(crate) use derived::Derived;
pub use event_order::{EventOrder, TraceEvent};
pub(crate) use filter::Selection;
pub use filter::{EventKind, Filter};
pub(crate) use links::Links;
pub(crate) use nanos::Nanos;
pub(crate) use nesting::Nesting;
pub use recover::Recovered;
pub use rows::{DeviceKind, MemoryRow, RankRow, ThreadRow};
pub(crate) use rows::{DeviceRow, InstantRow, MemoryNotes};
use rows_by_time::RowsByTime;
pub(crate) use span::key;
pub use span::{DeviceSpanRef, SpanRef};
pub(crate) use taken_out::{Recorded, TakenFrom, TakenOut};
pub(crate) use timeline::Sizes;
pub use timeline::{MemoryAction, MemoryBlock, MemoryCategory, MemoryEvent, MemoryPeak, MemoryTimeline};
pub use usage::MemoryUsage;

use crate::capture::Capture;
use crate::column::{Column, Store};
use crate::quiet::QuietDrop;
use crate::recorder::{Device, Losses};
use std::sync::Arc;

/// What a session saw.
///
/// Times are nanoseconds since [`Trace::start_epoch_ns`]. Spans that the window cuts are kept and say so
/// ([`SpanRef::is_cut_at_start`], [`SpanRef::is_finished`]).
///
/// ```
/// use mindtorch_profiler::{Session, record_function};
/// let session = Session::start();
/// {
///     let _outer = record_function!("outer");
///     let _inner = record_function!("inner");
/// }
/// let trace = session.stop();
/// let inner = trace.spans().find(|span| span.name() == "inner").unwrap();
/// assert_eq!(inner.parent().unwrap().name(), "outer");
/// ```
#[derive(Debug)]
pub struct Trace {
    pub(crate) header: Header,
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) threads: Vec<ThreadRow>,
    pub(crate) spans: SpanColumns,
    /// The rows of operators that are one call with the operator around them, in order.
    pub(crate) repeated: Column<u32>,
    pub(crate) device: Column<DeviceRow>,
    pub(crate) memory: Column<MemoryRow>,
    pub(crate) notes: MemoryNotes,
    /// What a filter took out of spans that are left, and how many of each, in the order of spans and of where it was.
    pub(crate) taken_out: Column<(TakenOut, u32)>,
    pub(crate) instants: Column<InstantRow>,
    /// In the order of time.
    pub(crate) steps: Vec<Step>,
    /// Where its columns are, and what is made of them.
    pub(crate) store: Store,
    pub(crate) derived: Derived,
    pub(crate) quiet: QuietDrop,
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.quiet.begin();
    }
}

/// A step of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) start: u64,
    pub(crate) number: usize,
}

#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) pid: u32,
    pub(crate) start_epoch_ns: u64,
    pub(crate) duration_ns: u64,
    pub(crate) capture: Capture,
    pub(crate) first_step: usize,
    pub(crate) is_running: bool,
    pub(crate) losses: Losses,
    /// What was in use on devices when it began, as far as the session was told.
    pub(crate) memory_in_use: Vec<(Device, i64)>,
    pub(crate) hides_memory_events: bool,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) origin: Origin,
}

/// The processes that a file of several has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merged {
    /// In order.
    pub(crate) ranks: Vec<RankRow>,
    /// Ranks have devices of the same numbers. By the number of a device in the trace: its rank, and its number there.
    pub(crate) devices: Vec<(u32, u16)>,
}

/// What the file says that a trace was read from. A trace that was recorded here has none of it but what the accelerator is
/// called, if the session was told: exports find it out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) host_name: Option<String>,
    pub(crate) process_name: Option<String>,
    pub(crate) trace_id: Option<String>,
    /// What the accelerator is called, `"CUDA"`; the engine's own is `"NPU"`.
    pub(crate) accelerator: Option<String>,
    /// A JSON list.
    pub(crate) device_properties: Option<String>,
    /// Other keys of the file's head and their JSON texts, `distributedInfo` among them.
    pub(crate) metadata_json: Vec<(String, String)>,
    /// Events of the file that a trace has no place for.
    pub(crate) skipped: u64,
    pub(crate) merged: Merged,
}

impl Origin {
    /// Whether the trace was read from a file.
    pub(crate) fn is_file(&self) -> bool {
        let said = [&self.host_name, &self.process_name, &self.trace_id, &self.device_properties];
        said.iter().any(|text| text.is_some()) || !self.metadata_json.is_empty()
    }
}

impl Trace {
    /// When the window began, in nanoseconds since the Unix epoch.
    pub fn start_epoch_ns(&self) -> u64 {
        self.header.start_epoch_ns
    }

    /// How long the window was.
    pub fn duration_ns(&self) -> u64 {
        self.header.duration_ns
    }

    /// What the session was asked to collect.
    pub fn capture(&self) -> Capture {
        self.header.capture
    }

    /// The process that was recorded.
    pub fn pid(&self) -> u32 {
        self.header.pid
    }

    /// What the accelerator is called: `"NPU"`, or what the session was told, or a file says that the trace was read from:
    /// `"CUDA"`.
    pub fn accelerator(&self) -> &str {
        self.header.origin.accelerator.as_deref().unwrap_or("NPU")
    }

    /// Whether it was read from a file, and not recorded in this process.
    pub fn is_of_file(&self) -> bool {
        self.header.origin.is_file()
    }

    /// Whether what else is known of a device's work has how quickly it moved memory, as a file may have it.
    pub(crate) fn says_bandwidth(&self, work: &DeviceRow) -> bool {
        work.extra.checked_sub(1).is_some_and(|extra| self.name(extra).contains("\"memory bandwidth (GB/s)\""))
    }

    /// Whether the session was still running, so that this is only what was recorded so far.
    pub fn is_running(&self) -> bool {
        self.header.is_running
    }

    /// How many events are not there that should be: [`Losses::events`] of [`Trace::losses`].
    pub fn lost_events(&self) -> u64 {
        self.header.losses.events()
    }

    /// What is not there that should be, and why.
    pub fn losses(&self) -> &Losses {
        &self.header.losses
    }

    /// Events of the file that the trace was read from which it has no place for: asynchronous ones, samples, objects, and
    /// those that lack what makes them events.
    pub fn skipped_events(&self) -> u64 {
        self.header.origin.skipped
    }

    /// The processes of a file that was merged from several, in order; none for a trace of one process.
    ///
    /// Threads say which they are of ([`ThreadRow::rank`]), devices by [`Trace::rank_of_device`]. What is asked of the trace
    /// as a whole is asked of all ranks together: averages add them up, and so does the memory of the host.
    pub fn ranks(&self) -> &[RankRow] {
        &self.header.origin.merged.ranks
    }

    /// The rank that a device of this trace belongs to, and its number there; none in a trace of one process.
    pub fn rank_of_device(&self, device: u16) -> Option<(u32, u16)> {
        self.header.origin.merged.devices.get(usize::from(device)).copied()
    }

    /// The machine that was recorded, if a file says so that the trace was read from.
    pub fn host_name(&self) -> Option<&str> {
        self.header.origin.host_name.as_deref()
    }

    /// What the head of the file says that the trace was read from, for a key that has no method of its own: the JSON text.
    ///
    /// ```
    /// use mindtorch_profiler::Trace;
    /// let trace = Trace::read(&br#"{"distributedInfo": {"rank": 3}, "traceEvents": []}"#[..])?;
    /// assert_eq!(trace.head_json("distributedInfo"), Some("{\"rank\": 3}"));
    /// # Ok::<(), mindtorch_profiler::Error>(())
    /// ```
    pub fn head_json(&self, key: &str) -> Option<&str> {
        let entries = &self.header.origin.metadata_json;
        entries.iter().find(|(known, _)| known == key).map(|(_, json)| json.as_str())
    }

    /// The threads that have events, in the order of their first event in the process.
    pub fn threads(&self) -> &[ThreadRow] {
        &self.threads
    }

    /// Spans in all.
    pub fn span_count(&self) -> usize {
        self.spans.len()
    }

    /// The spans, thread by thread, in the order in which they began.
    pub fn spans(&self) -> impl ExactSizeIterator<Item = SpanRef<'_>> + DoubleEndedIterator {
        (0..self.spans.len()).map(|row| SpanRef { trace: self, row })
    }

    /// The spans of one of its threads, in the order in which they began.
    pub fn spans_of(&self, thread: &ThreadRow) -> impl ExactSizeIterator<Item = SpanRef<'_>> + DoubleEndedIterator {
        thread.spans.clone().map(|row| SpanRef { trace: self, row })
    }

    /// The span in this row, which is below [`Trace::span_count`].
    pub fn span(&self, row: usize) -> Option<SpanRef<'_>> {
        (row < self.spans.len()).then_some(SpanRef { trace: self, row })
    }

    /// What devices did, in the order in which it was reported.
    pub fn device_spans(&self) -> impl ExactSizeIterator<Item = DeviceSpanRef<'_>> {
        self.device.iter().map(|row| DeviceSpanRef { trace: self, row })
    }

    /// The device work in this row of [`Trace::device_spans`].
    pub fn device_span(&self, row: usize) -> Option<DeviceSpanRef<'_>> {
        self.device.get(row).map(|row| DeviceSpanRef { trace: self, row })
    }

    /// Allocations and frees, thread by thread.
    pub fn memory(&self) -> &[MemoryRow] {
        &self.memory
    }

    /// Whether allocations are not to be shown as events of their own.
    pub fn hides_memory_events(&self) -> bool {
        self.header.hides_memory_events
    }

    /// Counter values: name, time and value.
    pub fn counters(&self) -> impl Iterator<Item = (&str, u64, f64)> {
        self.instants.iter().filter_map(|row| Some((self.name(row.name), row.at, row.value?)))
    }

    /// Marks: name and time.
    pub fn marks(&self) -> impl Iterator<Item = (&str, u64)> {
        self.thread_marks().map(|(_, name, at)| (name, at))
    }

    /// Marks, each with its thread: thread, name and time.
    pub fn thread_marks(&self) -> impl Iterator<Item = (&ThreadRow, &str, u64)> {
        let marks = self.instants.iter().filter(|row| row.value.is_none());
        marks.map(|row| (&self.threads[row.thread], self.name(row.name), row.at))
    }

    /// The rows of all spans in the order of time: by start, and of those that start together the longer first.
    pub fn rows_by_time(&self) -> impl Iterator<Item = u32> {
        RowsByTime::new(self)
    }

    /// Whether functions of an interpreted language are among the spans.
    pub fn has_functions(&self) -> bool {
        !self.spans.line.is_empty() || self.spans.kind.contains(&crate::recorder::SpanKind::Function)
    }

    /// The rows of operators that are one call of the program with the operator around them, in order: a composite that
    /// calls another overload of itself.
    pub fn repeated_operators(&self) -> &[u32] {
        &self.repeated
    }

    /// The bytes of memory that the trace's spans take.
    pub fn memory_held(&self) -> usize {
        self.spans.memory_bytes()
    }

    pub(crate) fn name(&self, name: u32) -> &str {
        &self.names[name as usize]
    }

    /// The number of the step in which something that began at `at` was recorded.
    pub fn step_at(&self, at: u64) -> usize {
        let step = self.steps.partition_point(|step| step.start <= at).saturating_sub(1);
        self.steps.get(step).map_or(self.header.first_step, |step| step.number)
    }

    pub(crate) fn thread_of(&self, row: usize) -> usize {
        self.threads.partition_point(|thread| thread.spans.end <= row)
    }
}
