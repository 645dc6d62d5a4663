//! Chrome traces, in the dialect that torch writes and its tools read.
//!
//! An object with a head (what was recorded, where, with the user's metadata), the list `traceEvents`, one event a line,
//! and `traceName`. Spans come first, thread by thread in the order in which they began, each followed by the arrows
//! that touch it; then device work, what names the processes and threads, instants, and `Record Window End`. Times are
//! microseconds since `baseTimeNanoseconds`.

mod accelerator;
mod captured;
mod device;
mod estimate;
mod flows;
mod functions;
mod head;
mod instants;
mod labels;
mod merged;
mod metadata;
mod numbers;
mod spans;
mod steps;
#[cfg(test)]
mod tests;
mod texts;

use super::file;
use super::json::{JsonWriter, push_text};
use crate::capture::Capture;
use crate::error::Error;
use crate::trace::{Filter, MemoryUsage, Selection, Trace};
pub(super) use accelerator::Accelerator;
use captured::CapturedTexts;
use flows::Flows;
pub(super) use head::Rank;
pub(super) use labels::{host_name, program_name};
pub use merged::{MergedChromeTrace, RankLabel};
pub(super) use metadata::{Value as MetadataValue, distinct as distinct_metadata};
use numbers::Numbers;
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
pub(super) use steps::StepCursor;
use texts::Texts;

/// Torch counts from a multiple of this, so that times in microseconds are exact as 64-bit floats: a quarter of a year.
const BASE_SECONDS: u64 = 7_889_238;

/// A Chrome trace that is about to be written, from [`Trace::chrome_trace`].
///
/// What it does not say about itself is found out: the host's name, and that of the program.
///
/// ```
/// use mindtorch_profiler::Session;
/// let trace = Session::start().stop();
/// let mut json = Vec::new();
/// trace.chrome_trace().name("idle").host_name("node7").write(&mut json)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is written until `write` or `export`"]
pub struct ChromeTrace<'a> {
    trace: &'a Trace,
    name: Cow<'a, str>,
    host_name: Option<&'a str>,
    process_name: Option<&'a str>,
    trace_id: &'a str,
    metadata: &'a [(String, String)],
    device_properties: Option<&'a str>,
    with_modules: bool,
    rank: Option<Rank>,
    filter: Option<&'a Filter>,
    gzip: bool,
}

impl<'a> ChromeTrace<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self {
            trace,
            name: Cow::Borrowed(""),
            host_name: None,
            process_name: None,
            trace_id: "",
            metadata: &[],
            device_properties: None,
            with_modules: false,
            rank: None,
            filter: None,
            gzip: false,
        }
    }

    /// What the file says its name is.
    pub fn name(mut self, name: &'a str) -> Self {
        self.name = Cow::Borrowed(name);
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

    /// What else to say in the head of the file: keys and JSON texts. A text that is not JSON makes the file invalid.
    pub fn metadata_json(mut self, entries: &'a [(String, String)]) -> Self {
        self.metadata = entries;
        self
    }

    /// The devices of the machine, as the text of a JSON list. A text that is not JSON makes the file invalid.
    pub fn device_properties_json(mut self, list: &'a str) -> Self {
        self.device_properties = Some(list);
        self
    }

    /// Whether the hierarchy of modules was asked for.
    pub fn with_modules(mut self, on: bool) -> Self {
        self.with_modules = on;
        self
    }

    /// The number of this process among those that work together. What is not said is read from the environment variables
    /// `RANK` and `WORLD_SIZE`; a process without is rank 0 of 1. Metadata with the key `distributedInfo` says more.
    pub fn rank(mut self, rank: u64, world_size: u64) -> Self {
        self.rank = Some(Rank { rank, world_size });
        self
    }

    /// Writes only the events that the filter takes, with the numbers that they have in the whole trace, and arrows between
    /// them.
    pub fn filter(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Compresses what [`ChromeTrace::write`] writes. Files are compressed if their name says so.
    pub fn gzip(mut self, on: bool) -> Self {
        self.gzip = on;
        self
    }

    /// Writes the file at `path`, as [`Trace::export_chrome_trace`] does. Its name is the path, unless one was given.
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    pub fn export(mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        if self.name.is_empty() {
            self.name = Cow::Owned(path.to_string_lossy().into_owned());
        }
        file::write(path, |out| self.write_text(out))
    }

    /// Writes the text to `out`, in pieces of 64 KiB, or compressed ones if [`ChromeTrace::gzip`] says so. Takes some
    /// megabytes of memory, whatever the size of the trace.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        if self.gzip { file::compress(&mut out, |out| self.write_text(out)) } else { self.write_text(&mut out) }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = self.begin_alone(out);
        self.write_head(&mut writer.json);
        // Who reads a file of several ranks is to know whose the events are.
        let is_merged = !self.trace.ranks().is_empty();
        if is_merged {
            writer.write_labels(&self.name_of_process())?;
        }
        writer.write_spans()?;
        writer.write_device_spans()?;
        writer.write_window("");
        if !is_merged {
            writer.write_labels(&self.name_of_process())?;
        }
        writer.write_memory()?;
        writer.write_instants()?;
        writer.write_window_end(self.trace.header.duration_ns);
        let mut json = writer.json;
        json.raw("],\n\"traceName\":");
        json.text(&self.name);
        json.raw("}\n");
        json.finish()
    }

    fn begin_alone<'w>(&self, out: &'w mut dyn Write) -> ChromeWriter<'a, 'w> {
        let origin_ns = self.trace.header.start_epoch_ns - base_ns(self.trace);
        self.begin(JsonWriter::new(out), Numbers::alone(self.trace), origin_ns)
    }

    /// `origin_ns` is when the trace begins, in nanoseconds since the base of the file.
    fn begin<'w>(&self, json: JsonWriter<'w>, numbers: Numbers, origin_ns: u64) -> ChromeWriter<'a, 'w> {
        let trace = self.trace;
        let captures = |flag| trace.capture().contains(flag);
        ChromeWriter {
            trace,
            json,
            numbers,
            selection: trace.select(self.filter),
            accelerator: Accelerator::of(trace),
            texts: Texts::new(),
            captured: CapturedTexts::default(),
            flows: Flows::of(trace),
            steps: StepCursor::new(trace),
            usage: captures(Capture::MEMORY).then(|| trace.memory_usage()),
            usage_near: 0,
            captures_little: !trace.capture().intersects(Capture::MEMORY | Capture::SHAPES | Capture::STACK),
            shows_shapes: captures(Capture::SHAPES),
            shows_stacks: captures(Capture::STACK),
            origin_ns,
        }
    }
}

fn base_ns(trace: &Trace) -> u64 {
    let length = BASE_SECONDS * 1_000_000_000;
    trace.header.start_epoch_ns / length * length
}

/// The state of writing `traceEvents`. Every event ends in a comma but the last, which is always `Record Window End`.
struct ChromeWriter<'a, 'w> {
    trace: &'a Trace,
    json: JsonWriter<'w>,
    numbers: Numbers,
    selection: Selection<'a>,
    accelerator: Accelerator,
    texts: Texts,
    captured: CapturedTexts,
    flows: Flows<'a>,
    steps: StepCursor<'a>,
    /// If memory was collected.
    usage: Option<MemoryUsage<'a>>,
    /// Where the last amount was found.
    usage_near: usize,
    /// Neither shapes nor stacks nor memory.
    captures_little: bool,
    shows_shapes: bool,
    shows_stacks: bool,
    /// What is added to a time of the trace to make it one of the file.
    origin_ns: u64,
}

impl ChromeWriter<'_, '_> {
    /// The field `ts` for a time of the trace.
    fn time(&mut self, at_ns: u64) {
        self.json.raw(",\"ts\":");
        self.json.micros(self.origin_ns + at_ns);
    }

    /// The fields `pid` and `tid` of a thread of the trace.
    fn thread(&mut self, thread: usize) {
        self.place(self.numbers.process(thread), self.trace.threads[thread].os_id);
    }

    fn place(&mut self, pid: u32, tid: u64) {
        self.json.raw(",\"pid\":");
        self.json.number(pid.into());
        self.json.raw(",\"tid\":");
        self.json.number(tid);
    }

    /// The string literal for the name with this number in the trace.
    fn write_name(&mut self, name: u32) {
        let text = self.trace.name(name);
        self.json.bytes(self.texts.get([name, 0, 1, 0], |out| push_text(out, text)));
    }

    /// The fields `pid` and `tid` of a stream of a device.
    fn stream(&mut self, device: u16, stream: u32) {
        let (process, _) = self.numbers.device(self.trace, device);
        self.place(process, stream.into());
    }

    /// The window itself, for torch's tools. `whose` comes behind the name of its row.
    fn write_window(&mut self, whose: &str) {
        self.json.raw(concat!(
            "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",",
            "\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler",
        ));
        self.json.raw(whose);
        self.json.raw("\"");
        self.time(0);
        self.json.raw(",\"dur\":");
        self.json.micros(self.trace.header.duration_ns);
        self.json.raw(",\"args\":{\"Op count\":0}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\"");
        self.time(0);
        self.json.raw(concat!(
            ",\"pid\":\"Spans\",\"tid\":0,\"args\":{\"sort_index\":536870912}},\n",
            "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Iteration Start: PyTorch Profiler\",",
            "\"pid\":\"Traces\",\"tid\":\"Trace PyTorch Profiler\"",
        ));
        self.time(0);
        self.json.raw("},\n");
    }

    /// What comes last, behind an end of the window.
    fn write_window_end(&mut self, end_ns: u64) {
        self.json.raw("{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\"");
        // A reader adds `ts` and `dur` as floats, which may come out above an equal `ts`. No event may end after this
        // one, so it lies a microsecond behind them.
        self.time(end_ns + 1_000);
        self.json.raw("}\n");
    }
}
