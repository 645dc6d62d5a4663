//! The report, until it is written.

use crate::contents::{Contents, FindingRow, Process, StepRow};
use crate::difference::Difference;
use crate::pack::{Counters, Events, Kind, Texts, category_names, memory_rows};
use crate::page;
use mindtorch_analysis::{findings, slow_steps, steps};
use mindtorch_profiler::{Error, Trace, write_file};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A page about one trace, about several of one run, or about the difference between two.
///
/// ```
/// use mindtorch_profiler::{Session, record_function};
/// use mindtorch_report::Report;
///
/// let session = Session::start();
/// drop(record_function!("work"));
/// let trace = session.stop();
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("report.html");
/// Report::new().title("My program").trace("main", &trace).export(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report<'a> {
    title: Option<String>,
    traces: Vec<(String, &'a Trace)>,
    is_diff: bool,
}

impl<'a> Report<'a> {
    /// A report of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A report of what changed from one trace to another, as [`mindtorch_analysis::Diff`] tells it. Each begins at its own
    /// beginning.
    pub fn diff(before: (&str, &'a Trace), after: (&str, &'a Trace)) -> Self {
        let report = Self::new().trace(before.0, before.1).trace(after.0, after.1);
        Self { is_diff: true, ..report }
    }

    /// What the page is called, if that is not what its traces are.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
    }

    /// Adds a trace: a process, or a rank. All are on one time axis, by their clocks, if those say that they ran at the same
    /// time; if not, each begins at its own beginning.
    #[must_use]
    pub fn trace(mut self, name: &str, trace: &'a Trace) -> Self {
        self.traces.push((name.to_owned(), trace));
        self
    }

    /// Writes the page; compressed if the path ends in `.gz`. The file is treated as by [`Trace::export_chrome_trace`].
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    pub fn export(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        write_file(path, |out| self.write(out))
    }

    /// Writes the page to `out`.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let (mut events, mut texts) = (Events::default(), Texts::default());
        let (mut processes, mut memory, mut counters) = (Vec::new(), Vec::new(), Counters::default());
        let (mut step_rows, mut finding_rows) = (Vec::new(), Vec::new());
        for (process, ((name, trace), offset_ns)) in self.traces.iter().zip(self.offsets()).enumerate() {
            let (placed, work) = events.add(process, trace, offset_ns, &mut texts);
            let steps = steps(trace);
            let slow = slow_steps(&steps);
            step_rows.extend(steps.into_iter().map(|step| StepRow::new(process, step, placed, slow.contains(&step))));
            finding_rows
                .extend(findings(trace).into_iter().map(|found| FindingRow::new(process, found, placed, &work)));
            memory.extend(memory_rows(process, trace, placed, &mut texts));
            counters.add(process, trace, placed);
            processes.push(Process {
                name: name.clone(),
                pid: trace.pid(),
                start_epoch_ns: trace.start_epoch_ns().to_string(),
                offset_ns,
                duration_ns: trace.duration_ns(),
                accelerator: trace.accelerator().to_owned(),
                lost_events: trace.lost_events(),
                skipped_events: trace.skipped_events(),
            });
        }
        let count = events.len();
        let (rows, levels, mut columns) = events.pack();
        let (counters, counter_columns) = counters.pack();
        columns.extend(counter_columns);
        let contents = Contents {
            title: self.heading(),
            difference: self.difference(),
            duration_ns: processes.iter().map(|process| process.offset_ns + process.duration_ns).max().unwrap_or(0),
            events: count,
            kinds: &Kind::LABELS,
            processes,
            rows,
            levels,
            names: texts.names,
            inputs: texts.inputs,
            frames: texts.frames,
            stacks: texts.stacks,
            steps: step_rows,
            findings: finding_rows,
            categories: category_names(),
            memory,
            counters,
        };
        page::write(&contents, &columns, &mut BufWriter::with_capacity(1 << 16, out))
    }

    fn difference(&self) -> Option<Difference> {
        match self.traces[..] {
            [(_, before), (_, after)] if self.is_diff => Some(Difference::between(before, after)),
            _ => None,
        }
    }

    fn heading(&self) -> String {
        let names = || self.traces.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        match &self.title {
            Some(title) => title.clone(),
            None if self.traces.is_empty() => "Report".to_owned(),
            None if self.is_diff => names().join(" → "),
            None if self.traces.len() > 4 => format!("{} and {} more", names()[0], self.traces.len() - 1),
            None => names().join(", "),
        }
    }

    /// What is added to the times of each trace.
    fn offsets(&self) -> Vec<u64> {
        let starts = || self.traces.iter().map(|(_, trace)| trace.start_epoch_ns());
        let ends = self.traces.iter().map(|(_, trace)| trace.start_epoch_ns() + trace.duration_ns());
        let ran_together = !self.is_diff && starts().max() < ends.min();
        let first = starts().min().unwrap_or(0);
        starts().map(|start| if ran_together { start - first } else { 0 }).collect()
    }
}
