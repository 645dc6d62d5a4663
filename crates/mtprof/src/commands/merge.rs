//! `mtprof merge`: the traces of several ranks in one file.

use crate::OK;
use crate::commands::waits;
use crate::console::Console;
use crate::error::Error;
use crate::rank_files::{RankFile, Reading};
use clap::Args;
use mindtorch_analysis::ranks::{Aligner, Alignment, Anchors, ClockSource, Stragglers, stragglers};
use mindtorch_profiler::{MergedChromeTrace, RankLabel, Trace, write_file};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Merge the traces of ranks into one, with a process for each rank and their clocks aligned.
///
/// Clocks are aligned by the ends of the collectives that ranks share, else by the beginnings of their steps, else not at all;
/// the answer says which, and how far apart the times still are. No duration is changed. Ranks that others wait for are named.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The traces of the ranks, compressed or not, or directories that have them.
    #[arg(required = true)]
    ranks: Vec<PathBuf>,
    /// The file to write; compressed if its name ends in .gz.
    #[arg(long, short)]
    output: PathBuf,
}

/// What was merged.
#[derive(Debug, Serialize)]
struct Merged {
    output: PathBuf,
    ranks: Vec<MergedRank>,
    stragglers: Stragglers,
}

#[derive(Debug, Serialize)]
struct MergedRank {
    file: PathBuf,
    host: Option<String>,
    pid: u32,
    events: usize,
    #[serde(flatten)]
    alignment: Alignment,
}

impl Merge {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        let files = RankFile::find(&self.ranks)?;
        if let Some(file) = files.iter().find(|file| same_file(&file.path, &self.output)) {
            return Err(Error::Use(format!("{} is to be merged, and cannot be the output", file.path.display())));
        }
        // Reading may fail as well as writing, and then it is the reason that counts.
        let mut failed = None;
        let mut done = None;
        let reading = Reading::new(&files, console);
        let written = write_file(&self.output, |out| match self.write(&files, &reading, out) {
            Ok(merged) => {
                done = Some(merged);
                Ok(())
            }
            Err(Error::Output(error)) => Err(error),
            Err(error) => {
                failed = Some(error);
                Err(io::Error::other("a rank could not be read"))
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        written?;
        reading.finish(console);
        if let Some(merged) = done {
            console.answer(&merged, text)?;
        }
        Ok(OK)
    }

    /// Writes one rank while the next is read, so that two are in memory.
    fn write(&self, files: &[RankFile], reading: &Reading, out: &mut dyn Write) -> Result<Merged, Error> {
        thread::scope(|scope| {
            let (send, receive) = sync_channel::<Result<Trace, Error>>(0);
            scope.spawn(move || {
                for file in files {
                    if send.send(reading.load(file)).is_err() {
                        // Nobody listens any more: writing has failed.
                        return;
                    }
                }
            });
            let mut merged = MergedChromeTrace::new(out);
            let (mut aligner, mut anchors, mut ranks) = (Aligner::new(), Vec::new(), Vec::new());
            for (file, trace) in files.iter().zip(receive) {
                let trace = trace?;
                let of_rank = Anchors::of(&trace, file.rank);
                let alignment = aligner.align(&of_rank);
                let label = RankLabel { rank: file.rank, offset_ns: alignment.offset_ns, notes: &notes(&alignment)? };
                merged = merged.add(&trace, label)?;
                anchors.push(of_rank);
                ranks.push(MergedRank {
                    file: file.path.clone(),
                    host: trace.host_name().map(str::to_owned),
                    pid: trace.pid(),
                    events: trace.span_count() + trace.device_spans().len(),
                    alignment,
                });
            }
            merged.finish(&self.output.to_string_lossy())?;
            Ok(Merged { output: self.output.clone(), ranks, stragglers: stragglers(&anchors) })
        })
    }
}

fn same_file(one: &std::path::Path, other: &std::path::Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// What the file says of how its times were found.
fn notes(alignment: &Alignment) -> Result<[(String, String); 1], Error> {
    let json = serde_json::to_string(alignment).map_err(|error| Error::Output(error.into()))?;
    Ok([("clock".to_owned(), json)])
}

fn text(merged: &Merged) -> String {
    let mut text = String::new();
    // A String takes everything.
    let _ = writeln!(text, "{}: {} ranks", merged.output.display(), merged.ranks.len());
    let _ = writeln!(
        text,
        "{:>6}  {:>10}  {:>14}  {:>12}  {:>12}  {:<24}  file",
        "rank", "events", "clock moved", "apart by", "at most", "clocks compared by"
    );
    for row in &merged.ranks {
        let Alignment { rank, compared_by, offset_ns, shared, spread_ns, worst_ns, .. } = row.alignment;
        let by = match compared_by {
            ClockSource::Reference => "(the first)".to_owned(),
            ClockSource::Collectives => format!("{shared} collectives"),
            ClockSource::Steps => format!("{shared} steps"),
            ClockSource::WallClock => "nothing in common".to_owned(),
        };
        let _ = writeln!(
            text,
            "{rank:>6}  {:>10}  {:>14}  {:>12}  {:>12}  {by:<24}  {}",
            row.events,
            waits::time(offset_ns as f64),
            waits::time(spread_ns as f64),
            waits::time(worst_ns as f64),
            row.file.display()
        );
    }
    text.push('\n');
    text.push_str(&waits::text(&merged.stragglers));
    text
}
