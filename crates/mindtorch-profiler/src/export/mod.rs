//! Exporting: traces as files that other programs read. Pure functions over a trace, which can be exported any number of
//! times.

#[cfg(feature = "arrow")]
mod arrow;
mod chrome;
#[cfg(feature = "arrow")]
mod columns;
#[cfg(feature = "arrow")]
mod data_frame;
mod digits;
mod draft;
mod file;
#[cfg(feature = "flame-graph")]
mod flame_graph;
mod folded;
mod frame;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod path_tree;
mod patience;
mod perfetto;
mod speedscope;
mod timeline;

#[cfg(feature = "arrow")]
pub use arrow::{ArrowArray, ArrowArrayStream, ArrowSchema};
pub use chrome::{ChromeTrace, MergedChromeTrace, RankLabel};
#[cfg(feature = "arrow")]
pub use data_frame::DataFrame;
pub use folded::StackMetric;
pub use frame::parts as frame_parts;
pub(crate) use json::push_text;
pub use patience::{open_patiently, set_interruption};
pub use perfetto::PerfettoTrace;
pub use timeline::TimelineForm;

use crate::error::Error;
use crate::trace::Trace;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file with what `content` writes, as exports do: see [`Trace::export_chrome_trace`].
///
/// # Errors
/// When `content` fails, or the system refuses the file. What was there before is then still there.
pub fn write_file(path: impl AsRef<Path>, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    file::write(path.as_ref(), content)
}

impl Trace {
    /// Writes the trace as a Chrome trace, which Perfetto and `chrome://tracing` show; compressed if the path ends in
    /// `.gz`.
    ///
    /// A file appears whole or not at all: it is written beside the target and put in its place at the end. A link is
    /// followed, an existing file keeps its permissions, a new one has those that the umask leaves, and what is not a regular
    /// file (`/dev/stdout`, a pipe) is written to directly. Takes about 60 ns an event without compression.
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("trace.json.gz");
    /// use mindtorch_profiler::{Session, record_function};
    /// let session = Session::start();
    /// {
    ///     let _span = record_function!("work");
    /// }
    /// session.stop().export_chrome_trace(&path)?;
    /// # Ok::<(), mindtorch_profiler::Error>(())
    /// ```
    pub fn export_chrome_trace(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.chrome_trace().export(path)
    }

    /// Writes the Chrome trace to `out`. `trace_name` is what the file says its name is.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_chrome_trace(&self, out: impl Write, trace_name: &str) -> io::Result<()> {
        self.chrome_trace().name(trace_name).write(out)
    }

    /// The Chrome trace, to say more about it before it is written.
    pub fn chrome_trace(&self) -> ChromeTrace<'_> {
        ChromeTrace::new(self)
    }

    /// Writes the trace in Perfetto's own format, which has what a Chrome trace has in a fifth of the size or less, for
    /// <https://ui.perfetto.dev> and its tools; compressed if the path ends in `.gz`. Its usual suffix is `.pftrace`. The file is
    /// treated as by [`Trace::export_chrome_trace`].
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("trace.pftrace");
    /// use mindtorch_profiler::{Session, record_function};
    /// let session = Session::start();
    /// {
    ///     let _span = record_function!("work");
    /// }
    /// session.stop().export_perfetto_trace(&path)?;
    /// # Ok::<(), mindtorch_profiler::Error>(())
    /// ```
    pub fn export_perfetto_trace(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.perfetto_trace().export(path)
    }

    /// The trace in Perfetto's own format, to say more about it before it is written.
    pub fn perfetto_trace(&self) -> PerfettoTrace<'_> {
        PerfettoTrace::new(self)
    }

    /// Writes the trace as folded stacks, the input of flame graph programs; see [`Trace::write_stacks`]. The file is
    /// treated as by [`Trace::export_chrome_trace`].
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    pub fn export_stacks(&self, path: impl AsRef<Path>, metric: StackMetric) -> Result<(), Error> {
        file::write(path.as_ref(), |out| self.write_stacks(out, metric))
    }

    /// Writes folded stacks to `out`: one line for each distinct stack, its frames from the outermost joined by `;`, a
    /// space, and microseconds. In a frame, blanks and `;` become `_`.
    ///
    /// A span's frames are those of the source stack that was captured with it. One without has the frames of the span
    /// around it and its own name, so that a program that captures no stacks gets the nesting of its spans. Stacks that
    /// took no time are left out; those that took some have at least 1. What is nested more than 1000 deep counts as what
    /// is around it at that depth.
    ///
    /// # Errors
    /// When `out` fails.
    ///
    /// ```
    /// use mindtorch_profiler::{ManualClock, Name, Recorder, Session, SpanArgs, SpanKind, StackMetric};
    /// let clock = ManualClock::starting_at(1);
    /// let recorder = Recorder::with_manual_clock(&clock);
    /// let session = Session::builder().on(&recorder).start();
    /// let mut thread = recorder.thread(1, None);
    /// let outer = thread.begin(&SpanArgs::new(SpanKind::Annotation, Name::new("outer"))).unwrap();
    /// clock.advance(5_000);
    /// let inner = thread.begin(&SpanArgs::new(SpanKind::Annotation, Name::new("inner"))).unwrap();
    /// clock.advance(2_000);
    /// thread.end(inner);
    /// thread.end(outer);
    /// let mut lines = Vec::new();
    /// session.stop().write_stacks(&mut lines, StackMetric::SelfCpuTime)?;
    /// assert_eq!(lines, b"outer 5\nouter;inner 2\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_stacks(&self, mut out: impl Write, metric: StackMetric) -> io::Result<()> {
        folded::write(self, metric, &mut out)
    }

    /// Writes the trace for <https://www.speedscope.app>; see [`Trace::write_speedscope`]. The file is treated as by
    /// [`Trace::export_chrome_trace`].
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    pub fn export_speedscope(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        file::write(path, |out| self.write_speedscope(out, &name))
    }

    /// Writes the trace in speedscope's own format to `out`: every thread and every stream of a device as a profile, in
    /// nanoseconds, and what source stacks took, if they were captured. `name` is what the file says its name is.
    ///
    /// Spans of a thread that overlap without nesting are in further profiles, each with its own times.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_speedscope(&self, mut out: impl Write, name: &str) -> io::Result<()> {
        speedscope::write(self, name, &mut out)
    }

    /// Draws the stacks of [`Trace::write_stacks`] as a flame graph: an SVG picture, which a browser shows, zooms and
    /// searches. Where functions of an interpreted language were recorded, their operators and scopes are among them. The file is treated as by [`Trace::export_chrome_trace`].
    ///
    /// # Errors
    /// [`Error::NothingToDraw`] if nothing took time by this metric, and when the system refuses the file. What was there
    /// before is then still there.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("flames.svg");
    /// use mindtorch_profiler::{Session, StackMetric, record_function};
    /// let session = Session::start();
    /// drop(record_function!("work"));
    /// session.stop().export_flame_graph(&path, StackMetric::SelfCpuTime)?;
    /// # Ok::<(), mindtorch_profiler::Error>(())
    /// ```
    #[cfg(feature = "flame-graph")]
    pub fn export_flame_graph(&self, path: impl AsRef<Path>, metric: StackMetric) -> Result<(), Error> {
        let graph = flame_graph::FlameGraph::of(self, metric).ok_or(Error::NothingToDraw { metric })?;
        file::write(path.as_ref(), |out| graph.write(out))
    }

    /// Writes the picture of [`Trace::export_flame_graph`] to `out`.
    ///
    /// # Errors
    /// When `out` fails, and with [`Error::NothingToDraw`] in it if nothing took time by this metric.
    #[cfg(feature = "flame-graph")]
    pub fn write_flame_graph(&self, mut out: impl Write, metric: StackMetric) -> io::Result<()> {
        let nothing = || io::Error::other(Error::NothingToDraw { metric });
        flame_graph::FlameGraph::of(self, metric).ok_or_else(nothing)?.write(&mut out)
    }
}
