//! Traces of several processes in one file.
//!
//! The file is a Chrome trace in which every rank is a process, with a process behind it for each of its devices. Numbers that
//! tie events together are higher for each rank than for those before it. What the head of a file says of one trace is in
//! the list `ranks`, behind the events, with how far the rank's times were moved.

use super::head;
use super::labels::Group;
use super::numbers::{MOST_RANKS, Numbers};
use super::{BASE_SECONDS, ChromeTrace};
use crate::capture::Capture;
use crate::export::json::JsonWriter;
use crate::trace::Trace;
use std::io::{self, Write};

const DAY_NS: u64 = 86_400_000_000_000;

/// Another rank may begin so much before the first.
const LEEWAY_NS: u64 = 10 * DAY_NS;

/// Later times, in nanoseconds since the base of the file, are not exact as floats in microseconds.
const LATEST_NS: u64 = 1 << 53;

/// Which process a trace of [`MergedChromeTrace`] is.
#[derive(Clone, Copy, Debug, Default)]
pub struct RankLabel<'a> {
    /// Its number among those that work together.
    pub rank: u32,
    /// What is added to its times, all of them, so that they can be compared with those of the first.
    pub offset_ns: i64,
    /// What else to say of it in the list `ranks`: keys and JSON texts. A text that is not JSON makes the file invalid.
    pub notes: &'a [(String, String)],
}

/// A Chrome trace of several processes that is being written, one process after another, so that only one trace need be
/// in memory at a time.
///
/// Perfetto shows a process for each rank, and [`Trace::load`] keeps them apart ([`Trace::ranks`]).
///
/// ```
/// use mindtorch_profiler::{MergedChromeTrace, RankLabel, Session, Trace, record_function};
/// let record = || {
///     let session = Session::start();
///     drop(record_function!("work"));
///     session.stop()
/// };
/// let mut json = Vec::new();
/// let mut merged = MergedChromeTrace::new(&mut json);
/// for rank in 0..2 {
///     merged = merged.add(&record(), RankLabel { rank, ..RankLabel::default() })?;
/// }
/// merged.finish("two ranks")?;
/// let trace = Trace::read(&*json)?;
/// assert_eq!(trace.ranks().len(), 2);
/// assert_eq!(trace.threads()[1].rank, Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the file is not whole until `finish`"]
pub struct MergedChromeTrace<'w> {
    json: JsonWriter<'w>,
    /// What the file's times count from, once there is a trace.
    base_ns: Option<u64>,
    first_id: u64,
    first_thread: u32,
    /// When the last window ends, since the base.
    end_ns: u64,
    capture: Capture,
    /// The items of the list `ranks`.
    heads: Vec<u8>,
}

impl<'w> MergedChromeTrace<'w> {
    /// A file that is written to `out`, in pieces of 64 KiB.
    pub fn new(out: &'w mut dyn Write) -> Self {
        Self {
            json: JsonWriter::new(out),
            base_ns: None,
            first_id: 0,
            first_thread: 0,
            end_ns: 0,
            capture: Capture::NONE,
            heads: Vec::new(),
        }
    }

    /// Writes the trace of one process. Its times are those of its clock, moved by [`RankLabel::offset_ns`].
    ///
    /// # Errors
    /// When `out` fails; when the rank is beyond 42,948; and when the trace lies days before the first or months behind it:
    /// they are not of one run, or their clocks cannot be compared.
    pub fn add(mut self, trace: &Trace, label: RankLabel<'_>) -> io::Result<Self> {
        let RankLabel { rank, offset_ns, .. } = label;
        if rank > MOST_RANKS {
            return Err(refused(format!("rank {rank} is too high: a file has room for ranks up to {MOST_RANKS}")));
        }
        let start = i128::from(trace.header.start_epoch_ns) + i128::from(offset_ns);
        let origin_ns = self.origin(start, trace.header.duration_ns, rank)?;
        self.end_ns = self.end_ns.max(origin_ns + trace.header.duration_ns);
        self.capture |= trace.header.capture;
        let chrome = trace.chrome_trace();
        self.add_head(&chrome, label)?;

        let numbers = Numbers::of_rank(trace, rank, self.first_id, self.first_thread);
        let mut writer = chrome.begin(self.json, numbers, origin_ns);
        // First: who reads the file then knows whose the events are.
        writer.write_group(&Group { name: &chrome.name_of_rank(rank), rank: Some(rank) })?;
        writer.write_spans()?;
        writer.write_device_spans()?;
        writer.write_window(&format!(" rank {rank}"));
        writer.write_memory()?;
        writer.write_instants()?;
        self.json = writer.json;
        // More than any number that is counted from 1 in this trace: of spans and memory, of device work, of arrows.
        self.first_id += (trace.spans.len() + trace.memory.len() + trace.device.len()) as u64 + 1;
        let highest = trace.threads.iter().map(|thread| thread.number).max().unwrap_or(0);
        self.first_thread = self.first_thread.saturating_add(highest.max(trace.threads.len() as u32));
        Ok(self)
    }

    /// Writes the end. `name` is what the file says its name is.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn finish(mut self, name: &str) -> io::Result<()> {
        if self.base_ns.is_none() {
            self.begin(0);
        }
        let json = &mut self.json;
        json.raw("{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\",\"ts\":");
        // As in a file of one trace, nothing may end behind this.
        json.micros(self.end_ns + 1_000);
        json.raw("}\n],\n");
        head::write_switches(json, self.capture, false);
        json.raw("\"ranks\":[");
        json.bytes(&self.heads);
        json.raw("],\n\"traceName\":");
        json.text(name);
        json.raw("}\n");
        self.json.finish()
    }

    /// When a trace that starts at `start` begins, since the base of the file, which is that of the first trace.
    fn origin(&mut self, start: i128, duration: u64, rank: u32) -> io::Result<u64> {
        let base = self.base_ns.unwrap_or_else(|| {
            let length = BASE_SECONDS * 1_000_000_000;
            let earliest = u64::try_from(start).unwrap_or(0).saturating_sub(LEEWAY_NS);
            self.begin(earliest / length * length)
        });
        let since = u64::try_from(start - i128::from(base)).ok();
        since.filter(|since| since.saturating_add(duration) <= LATEST_NS).ok_or_else(|| {
            let days = (start - i128::from(base)) / i128::from(DAY_NS);
            refused(format!(
                "the times of rank {rank} are {days} days from those of the first: the files are not of one run, \
                 or their clocks cannot be compared"
            ))
        })
    }

    fn begin(&mut self, base_ns: u64) -> u64 {
        self.json.raw("{\"schemaVersion\":1,\n\"deviceProperties\":[],\n\"displayTimeUnit\":\"ms\",\n");
        self.json.raw("\"baseTimeNanoseconds\":");
        self.json.number(base_ns);
        self.json.raw(",\n\"traceEvents\":[\n");
        self.base_ns = Some(base_ns);
        base_ns
    }

    /// What the head of a file of its own would say.
    fn add_head(&mut self, chrome: &ChromeTrace<'_>, label: RankLabel<'_>) -> io::Result<()> {
        let header = &chrome.trace.header;
        if !self.heads.is_empty() {
            self.heads.push(b',');
        }
        let mut json = JsonWriter::new(&mut self.heads);
        json.raw("\n{\"rank\":");
        json.number(label.rank.into());
        json.raw(",\"pid\":");
        json.number(header.pid.into());
        json.raw(",\"offset_ns\":");
        json.int(label.offset_ns);
        json.raw(",\"start_epoch_ns\":");
        json.number(header.start_epoch_ns);
        json.raw(",\"duration_ns\":");
        json.number(header.duration_ns);
        for (key, value) in label.notes {
            json.raw(",");
            json.text(key);
            json.raw(":");
            json.raw(value);
        }
        json.raw(",\"head\":{");
        chrome.write_members(&mut json);
        json.raw("\"process_name\":");
        json.text(&chrome.name_of_process());
        json.raw("}}");
        json.finish()
    }
}

impl ChromeTrace<'_> {
    /// What to call a rank's process: its number first, so that rows are easy to find.
    fn name_of_rank(&self, rank: u32) -> String {
        let host = self.found_host_name().map_or_else(String::new, |host| format!("{host}, "));
        format!("rank {rank} ({host}pid {})", self.trace.header.pid)
    }
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
