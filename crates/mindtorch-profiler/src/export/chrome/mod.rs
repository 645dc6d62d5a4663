//! Chrome traces, in the dialect that torch writes and its tools read.
//!
//! An object with a head (what was recorded, where, with the user's metadata), the list `traceEvents`, one event a line,
//! and `traceName`. Spans come first, thread by thread in the order in which they began, each followed by the arrows
//! that touch it; then device work, what names the processes and threads, instants, and `Record Window End`. Times are
//! microseconds since `baseTimeNanoseconds`.

mod captured;
mod flows;
mod functions;
mod instants;
mod labels;
mod metadata;
mod names;
mod spans;
mod steps;

use super::json::JsonWriter;
use super::{file, holds_source_paths};
use crate::capture::Capture;
use crate::error::Error;
use crate::trace::{MemoryUsage, Trace};
use flows::Flows;
use metadata::Value;
use names::EscapedNames;
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

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
}

impl<'a> ChromeTrace<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self { trace, name: Cow::Borrowed(""), host_name: None, process_name: None, trace_id: "", metadata: &[] }
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

    /// Writes the file at `path`, as [`Trace::export_chrome_trace`] does. Its name is the path, unless one was given.
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    pub fn export(mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        if self.name.is_empty() {
            self.name = Cow::Owned(path.to_string_lossy().into_owned());
        }
        file::write(path, holds_source_paths(self.trace), |out| self.write(out))
    }

    /// Writes the text to `out`, in pieces of 64 KiB.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let mut writer = ChromeWriter::new(self.trace, &mut out);
        self.write_head(&mut writer);
        let process = self.process_name.map_or_else(labels::program_name, str::to_owned);
        writer.write_spans()?;
        writer.write_device_spans()?;
        writer.write_window();
        writer.write_labels(&process)?;
        writer.write_memory()?;
        writer.write_instants()?;
        writer.write_window_end();
        let mut json = writer.json;
        json.raw("],\n\"traceName\":");
        json.text(&self.name);
        json.raw("}\n");
        json.finish()
    }

    fn write_head(&self, writer: &mut ChromeWriter<'_, '_>) {
        let (header, json) = (&self.trace.header, &mut writer.json);
        json.raw("{\"schemaVersion\":1,\n\"deviceProperties\":[],\n");
        if !self.trace_id.is_empty() {
            json.raw("\"trace_id\":");
            json.text(self.trace_id);
            json.raw(",\n");
        }
        let switches = [
            ("profile_memory", Capture::MEMORY),
            ("with_stack", Capture::STACK),
            ("record_shapes", Capture::SHAPES),
            ("with_flops", Capture::FLOPS),
        ];
        for (key, _) in switches.iter().filter(|(_, flag)| header.capture.contains(*flag)) {
            json.text(key);
            json.raw(":1,\n");
        }
        for (key, value) in metadata::distinct(&header.metadata, self.metadata) {
            json.text(&key);
            json.raw(":");
            match value {
                Value::Text(text) => json.text(text),
                Value::Json(text) => json.raw(text),
            }
            json.raw(",\n");
        }
        if header.lost > 0 {
            json.raw("\"lost_events\":");
            json.int(header.lost);
            json.raw(",\n");
        }
        json.raw("\"host_name\":");
        json.text(&self.host_name.map_or_else(labels::host_name, str::to_owned));
        json.raw(",\n\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":");
        json.int(base_ns(self.trace));
        json.raw(",\n\"traceEvents\":[\n");
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
    names: EscapedNames,
    flows: Flows,
    /// If memory was collected.
    usage: Option<MemoryUsage>,
    /// What is added to a time of the trace to make it one of the file.
    origin_ns: u64,
    /// The events that were numbered so far.
    numbered: usize,
}

impl<'a, 'w> ChromeWriter<'a, 'w> {
    fn new(trace: &'a Trace, out: &'w mut dyn Write) -> Self {
        Self {
            trace,
            json: JsonWriter::new(out),
            names: EscapedNames::new(&trace.names),
            flows: Flows::of(trace),
            usage: trace.capture().contains(Capture::MEMORY).then(|| trace.memory_usage()),
            origin_ns: trace.header.start_epoch_ns - base_ns(trace),
            numbered: 0,
        }
    }

    /// The field `ts` for a time of the trace.
    fn time(&mut self, at_ns: u64) {
        self.json.raw(",\"ts\":");
        self.json.micros(self.origin_ns + at_ns);
    }

    /// The fields `pid` and `tid` of a thread of the trace.
    fn thread(&mut self, thread: usize) {
        self.place(self.trace.header.pid, self.trace.threads[thread].os_id);
    }

    fn place(&mut self, pid: u32, tid: u64) {
        self.json.raw(",\"pid\":");
        self.json.int(pid);
        self.json.raw(",\"tid\":");
        self.json.int(tid);
    }

    /// The argument `Ev Idx`: events are numbered in the order of the file.
    fn number(&mut self) {
        self.json.raw("\"Ev Idx\":");
        self.json.int(self.numbered);
        self.numbered += 1;
    }

    /// The window itself, for torch's tools.
    fn write_window(&mut self) {
        self.json.raw(concat!(
            "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",",
            "\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\"",
        ));
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

    fn write_window_end(&mut self) {
        self.json.raw("{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\"");
        // A reader adds `ts` and `dur` as floats, which may come out above an equal `ts`. No event may end after this
        // one, so it lies a microsecond behind them.
        self.time(self.trace.header.duration_ns + 1_000);
        self.json.raw("}\n");
    }
}
