//! Speedscope's own format: <https://www.speedscope.app/file-format-schema.json>.
//!
//! The frames are the names of the trace. Every thread and every stream of a device is a profile of the type `evented`: spans
//! open and close in the order of time, in whole nanoseconds since the start of the trace. A profile is a stack at each
//! instant, so spans that overlap without nesting, as tasks do that take turns, are in further profiles of their thread:
//! every span has exactly its own times. If source stacks were captured, what they took is a profile of the type `sampled`.

use super::folded::StackMetric;
use super::frame;
use super::json::JsonWriter;
use super::path_tree::{Frames, PathTree};
use crate::capture::Capture;
use crate::trace::Trace;
use std::cmp::Reverse;
use std::io::{self, Write};

/// So many profiles of a thread are shared by its spans; what overlaps more often has profiles of its own, or many spans that
/// are open at once would each be looked at for every profile.
const MOST_SHARED: usize = 256;

/// A span, as it is written.
#[derive(Default)]
struct Span {
    start: u64,
    end: u64,
    /// The number of its name.
    frame: u32,
}

pub(super) fn write(trace: &Trace, name: &str, out: &mut dyn Write) -> io::Result<()> {
    let stacks = stacks_of(trace);
    let mut writer = SpeedscopeWriter { trace, json: JsonWriter::new(out), profiles: 0 };
    writer.json.raw(concat!(
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n",
        "\"exporter\":\"mindtorch-profiler@",
        env!("CARGO_PKG_VERSION"),
        "\",\n\"name\":"
    ));
    writer.json.text(name);
    writer.json.raw(",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
    let mut separator = "\n";
    let of_stacks = stacks.iter().flat_map(|(_, tree)| tree.frames());
    for text in trace.names.iter().map(|name| &**name).chain(of_stacks) {
        writer.json.raw(separator);
        writer.write_frame(text)?;
        separator = ",\n";
    }
    writer.json.raw("\n]},\n\"profiles\":[");
    writer.write_threads()?;
    writer.write_streams()?;
    let mut first_frame = trace.names.len();
    for (metric, tree) in &stacks {
        writer.write_stacks(*metric, tree, first_frame)?;
        first_frame += tree.frames().len();
    }
    if writer.profiles == 0 {
        // The reader wants a profile to show.
        writer.write_profile("nothing was recorded", std::iter::empty(), |_| Span::default())?;
    }
    writer.json.raw("\n]}\n");
    writer.json.finish()
}

/// What source stacks took, by metrics for which they took anything.
fn stacks_of(trace: &Trace) -> Vec<(StackMetric, PathTree)> {
    if !trace.capture().contains(Capture::STACK) {
        return Vec::new();
    }
    let metrics = [StackMetric::SelfCpuTime, StackMetric::SelfDeviceTime].into_iter();
    metrics
        .map(|metric| (metric, PathTree::of(trace, metric, Frames::Source, str::to_owned)))
        .filter(|(_, tree)| tree.total_ns() > 0)
        .collect()
}

struct SpeedscopeWriter<'a, 'w> {
    trace: &'a Trace,
    json: JsonWriter<'w>,
    profiles: usize,
}

impl SpeedscopeWriter<'_, '_> {
    fn write_frame(&mut self, text: &str) -> io::Result<()> {
        let json = &mut self.json;
        json.raw("{\"name\":");
        if let Some((file, line, function)) = frame::parts(text) {
            json.text(function);
            json.raw(",\"file\":");
            json.text(file);
            // A number of digits need not be one that a reader can hold.
            if let Ok(line) = line.parse::<u32>() {
                json.raw(",\"line\":");
                json.int(line);
            }
        } else {
            json.text(text);
        }
        json.raw("}");
        json.checkpoint()
    }

    fn write_threads(&mut self) -> io::Result<()> {
        let trace = self.trace;
        for thread in trace.threads.iter().filter(|thread| !thread.spans.is_empty()) {
            let name = match &thread.name {
                Some(name) => format!("thread {} ({name})", thread.os_id),
                None => format!("thread {}", thread.os_id),
            };
            let spans = &trace.spans;
            let span = |row: u32| {
                let row = row as usize;
                Span { start: spans.start[row], end: spans.end(row), frame: spans.name[row] }
            };
            let rows = thread.spans.start as u32..thread.spans.end as u32;
            self.write_profiles(&name, rows, span)?;
        }
        Ok(())
    }

    fn write_streams(&mut self) -> io::Result<()> {
        let device = &self.trace.device;
        let mut rows: Vec<u32> = (0..device.len() as u32).collect();
        rows.sort_by_key(|&row| {
            let row = &device[row as usize];
            (row.device, row.stream, row.start, Reverse(row.end))
        });
        let place = |row: u32| (device[row as usize].device, device[row as usize].stream);
        for of_stream in rows.chunk_by(|&one, &other| place(one) == place(other)) {
            let (number, stream) = place(of_stream[0]);
            let name = format!("{} {number} stream {stream}", self.trace.accelerator());
            let span = |row: u32| {
                let row = &device[row as usize];
                Span { start: row.start, end: row.end, frame: row.name }
            };
            self.write_profiles(&name, of_stream.iter().copied(), span)?;
        }
        Ok(())
    }

    /// Writes spans, which come in the order of their starts, to as many profiles as it takes for them to nest.
    fn write_profiles(
        &mut self,
        name: &str,
        rows: impl Iterator<Item = u32>,
        span: impl Fn(u32) -> Span,
    ) -> io::Result<()> {
        let mut rest = self.write_profile(name, rows, &span)?;
        for number in 2..=MOST_SHARED {
            if rest.is_empty() {
                return Ok(());
            }
            rest = self.write_profile(&format!("{name}, overlapping {number}"), rest.into_iter(), &span)?;
        }
        for row in rest {
            let alone = self.write_profile(&format!("{name}, overlapping"), std::iter::once(row), &span)?;
            debug_assert!(alone.is_empty());
        }
        Ok(())
    }

    /// Writes the first span and all that nest with those before them. Returns the others.
    fn write_profile(
        &mut self,
        name: &str,
        rows: impl Iterator<Item = u32>,
        span: impl Fn(u32) -> Span,
    ) -> io::Result<Vec<u32>> {
        self.begin(name, "evented", self.trace.header.duration_ns);
        self.json.raw(",\n\"events\":[");
        let mut separator = "\n";
        let mut open: Vec<Span> = Vec::new();
        let mut rest = Vec::new();
        for row in rows {
            let next = span(row);
            while let Some(last) = open.pop_if(|last| last.end <= next.start) {
                self.write_event(&mut separator, 'C', last.frame, last.end);
            }
            if open.last().is_some_and(|last| last.end < next.end) {
                rest.push(row);
                continue;
            }
            self.write_event(&mut separator, 'O', next.frame, next.start);
            open.push(next);
            self.json.checkpoint()?;
        }
        for last in open.into_iter().rev() {
            self.write_event(&mut separator, 'C', last.frame, last.end);
            self.json.checkpoint()?;
        }
        self.json.raw("\n]}");
        Ok(rest)
    }

    fn write_event(&mut self, separator: &mut &str, kind: char, frame: u32, at: u64) {
        self.json.raw(separator);
        *separator = ",\n";
        self.json.raw(if kind == 'O' { "{\"type\":\"O\",\"frame\":" } else { "{\"type\":\"C\",\"frame\":" });
        self.json.int(frame);
        self.json.raw(",\"at\":");
        self.json.number(at);
        self.json.raw("}");
    }

    /// Writes what source stacks took. Their frames come behind `first_frame` others.
    fn write_stacks(&mut self, metric: StackMetric, tree: &PathTree, first_frame: usize) -> io::Result<()> {
        self.begin(&format!("stacks by {metric}"), "sampled", tree.total_ns());
        self.json.raw(",\n\"samples\":[");
        let json = &mut self.json;
        let mut separator = "\n";
        tree.visit(|path, ns| {
            if ns == 0 {
                return Ok(());
            }
            json.raw(separator);
            separator = ",\n";
            let mut before = "[";
            for &frame in path {
                json.raw(before);
                json.number((first_frame + frame as usize) as u64);
                before = ",";
            }
            json.raw("]");
            json.checkpoint()
        })?;
        json.raw("\n],\n\"weights\":[");
        separator = "\n";
        tree.visit(|_, ns| {
            if ns == 0 {
                return Ok(());
            }
            json.raw(separator);
            separator = ",\n";
            json.number(ns);
            json.checkpoint()
        })?;
        json.raw("\n]}");
        Ok(())
    }

    /// Begins a profile, up to what its type has.
    fn begin(&mut self, name: &str, kind: &str, end: u64) {
        self.json.raw(if self.profiles == 0 { "\n{\"type\":" } else { ",\n{\"type\":" });
        self.profiles += 1;
        self.json.text(kind);
        self.json.raw(",\"name\":");
        self.json.text(name);
        self.json.raw(",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
        self.json.number(end);
    }
}
