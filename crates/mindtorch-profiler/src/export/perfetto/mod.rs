//! Perfetto's own format: a stream of protobuf packets, which says what a Chrome trace says in a fraction of the size.
//!
//! Each thread's spans are one sequence of packets ([`sequence`]), each stream's work another, in the order of time, on
//! a track of its own ([`tracks`]) or, where they overlap, several ([`lanes`]). Texts are written once a sequence
//! ([`interned`]), times are differences. Arguments are debug annotations with the names that they have in a Chrome trace.
//!
//! What can be told from elsewhere in the file is not written: `Ev Idx` where there is an `External id`, which is one
//! higher; `stack` beside `Call stack` and `input_shapes` beside `Input Dims`; a `Fwd thread id` or a `Record function id` of
//! 0; `Concrete Inputs` that are all empty; `Python thread`; `finished` of allocations; `device_type` and `step` where they are the same for the whole trace, and then the span of the window says them.

mod arrows;
mod captured;
mod device;
mod field;
mod instants;
mod interned;
mod json_value;
mod lanes;
mod proto;
mod sequence;
mod spans;
mod tracks;
mod window;
mod words;

use super::chrome::{Accelerator, Rank, StepCursor, program_name};
use super::file;
use crate::capture::Capture;
use crate::error::Error;
use crate::trace::{Filter, MemoryUsage, Selection, Trace};
use arrows::Arrows;
use proto::Output;
use sequence::Sequence;
use std::io::{self, Write};
use std::path::Path;
use tracks::Tracks;

/// A trace in Perfetto's own format that is about to be written, from [`Trace::perfetto_trace`].
///
/// What it does not say about itself is found out: the host's name, and that of the program.
///
/// ```
/// use mindtorch_profiler::{Filter, Session};
/// let trace = Session::start().stop();
/// let mut packets = Vec::new();
/// trace.perfetto_trace().filter(&Filter::new().min_duration_ns(1_000)).write(&mut packets)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is written until `write` or `export`"]
pub struct PerfettoTrace<'a> {
    trace: &'a Trace,
    filter: Option<&'a Filter>,
    host_name: Option<&'a str>,
    process_name: Option<&'a str>,
    trace_id: &'a str,
    metadata: &'a [(String, String)],
    device_properties: Option<&'a str>,
    with_modules: bool,
    rank: Option<Rank>,
}

impl<'a> PerfettoTrace<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self {
            trace,
            filter: None,
            host_name: None,
            process_name: None,
            trace_id: "",
            metadata: &[],
            device_properties: None,
            with_modules: false,
            rank: None,
        }
    }

    /// Writes only the events that the filter takes, with the numbers that they have in the whole trace, and arrows between
    /// them.
    pub fn filter(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// The machine that was recorded, if it is not this one.
    pub fn host_name(mut self, name: &'a str) -> Self {
        self.host_name = Some(name);
        self
    }

    /// What to call the process, if not by the program's file name.
    pub fn process_name(mut self, name: &'a str) -> Self {
        self.process_name = Some(name);
        self
    }

    /// What tells this recording from others; none if empty.
    pub fn trace_id(mut self, id: &'a str) -> Self {
        self.trace_id = id;
        self
    }

    /// What else to say of the recording: keys and JSON texts. A text that is not JSON is shown as it is.
    pub fn metadata_json(mut self, entries: &'a [(String, String)]) -> Self {
        self.metadata = entries;
        self
    }

    /// The devices of the machine, as the text of a JSON list.
    pub fn device_properties_json(mut self, list: &'a str) -> Self {
        self.device_properties = Some(list);
        self
    }

    /// Whether the hierarchy of modules was asked for.
    pub fn with_modules(mut self, on: bool) -> Self {
        self.with_modules = on;
        self
    }

    /// The number of this process among those that work together. What is not said is found as by
    /// [`ChromeTrace::rank`](super::ChromeTrace::rank).
    pub fn rank(mut self, rank: u64, world_size: u64) -> Self {
        self.rank = Some(Rank { rank, world_size });
        self
    }

    /// Writes the file at `path`, treated as by [`Trace::export_chrome_trace`].
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    pub fn export(self, path: impl AsRef<Path>) -> Result<(), Error> {
        file::write(path.as_ref(), |out| self.write(out))
    }

    /// Writes the packets to `out`, in pieces of 64 KiB.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let mut writer = PerfettoWriter::new(self.trace, self.filter, &mut out);
        writer.write_tracks(&self.name_of_process());
        writer.write_window(self);
        writer.write_spans()?;
        writer.write_device_spans()?;
        writer.write_memory()?;
        writer.write_instants()?;
        writer.out.finish()
    }

    fn name_of_process(&self) -> String {
        let origin = &self.trace.header.origin;
        let found = || if origin.is_file() { origin.process_name.clone() } else { program_name() };
        self.process_name.map(str::to_owned).or_else(found).unwrap_or_else(|| "process".to_owned())
    }
}

/// The state of writing.
struct PerfettoWriter<'a, 'w> {
    trace: &'a Trace,
    selection: Selection<'a>,
    out: Output<'w>,
    sequence: Sequence<'a>,
    tracks: Tracks,
    arrows: Arrows<'a>,
    accelerator: Accelerator,
    /// The keys of the arguments that tell its memory before and after an event, and the difference.
    device_memory_keys: [String; 3],
    /// If memory was collected.
    usage: Option<MemoryUsage<'a>>,
    /// Where what was asked for last is found in it.
    usage_near: usize,
    has_functions: bool,
    /// The functions that were numbered so far.
    functions: u32,
    /// Whether some work is on a device, so that every event says where it was.
    shows_devices: bool,
    /// Whether there is more than the first step.
    shows_steps: bool,
    steps: StepCursor<'a>,
    /// Whether spans have arguments that those of a plain trace have not.
    has_more_arguments: bool,
    /// The tracks of the thread or stream that is being written, by lane; 0 where there is none yet.
    lane_tracks: Vec<u64>,
}

impl<'a, 'w> PerfettoWriter<'a, 'w> {
    fn new(trace: &'a Trace, filter: Option<&Filter>, out: &'w mut dyn Write) -> Self {
        let (selection, spans) = (trace.select(filter), &trace.spans);
        let memory_key = |when: &str| format!("{}_memory_allocated_{when}", trace.accelerator().to_lowercase());
        let has_memory = trace.capture().contains(Capture::MEMORY);
        let shows_devices = !trace.device.is_empty() || !spans.device.is_empty();
        let shows_steps = trace.steps.iter().any(|step| step.number != trace.header.first_step);
        let has_captured = !spans.inputs.is_empty() || !spans.stack.is_empty() || !spans.extra.is_empty();
        Self {
            trace,
            selection,
            out: Output::new(out),
            sequence: Sequence::new(trace),
            tracks: Tracks::new(),
            arrows: Arrows::of(trace),
            accelerator: Accelerator::of(trace),
            device_memory_keys: ["before", "after", "delta"].map(memory_key),
            usage: has_memory.then(|| trace.memory_usage()),
            usage_near: 0,
            has_functions: trace.has_functions(),
            functions: 0,
            shows_devices,
            shows_steps,
            steps: StepCursor::new(trace),
            has_more_arguments: has_captured || has_memory || shows_devices || shows_steps,
            lane_tracks: Vec::new(),
        }
    }

    fn write_tracks(&mut self, process: &str) {
        self.sequence.start(&mut self.out.buffer, self.tracks.window);
        self.tracks.write_threads(&mut self.out.buffer, &self.sequence, self.trace, process);
        // What comes after the descriptions of threads in their sequence would be taken for the last one's.
        self.sequence.start(&mut self.out.buffer, self.tracks.window);
    }
}
