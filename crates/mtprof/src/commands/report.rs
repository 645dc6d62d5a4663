//! `mtprof report`: a page that shows where time and memory went.

use crate::OK;
use crate::console::Console;
use crate::error::Error;
use crate::input;
use clap::Args;
use mindtorch_profiler::Trace;
use mindtorch_report::Report;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Write a page that shows where time and memory went
///
/// Several traces are processes, or ranks, of one run, on one time axis. The page is one file, and needs no network.
#[derive(Debug, Args)]
pub(crate) struct ReportPage {
    /// Traces; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where the page goes
    #[arg(long, short, default_value = "report.html")]
    output: PathBuf,
    /// Show what changed from the first trace to the second
    #[arg(long)]
    diff: bool,
    /// What the page is called, if that is not what its files are
    #[arg(long)]
    title: Option<String>,
}

#[derive(Debug, Serialize)]
struct Written<'a> {
    page: &'a Path,
}

impl ReportPage {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        let traces = Traces::load(&self.files, console)?;
        traces.report(self.diff, self.title.as_deref())?.export(&self.output)?;
        console.answer(&Written { page: &self.output }, |written| format!("{}\n", written.page.display()))?;
        Ok(OK)
    }
}

/// The traces of a page, with what they are called in it.
#[derive(Debug)]
pub(super) struct Traces(Vec<(String, Trace)>);

impl Traces {
    pub(super) fn load(files: &[PathBuf], console: &mut Console<'_>) -> Result<Self, Error> {
        let load = |(name, file): (String, &PathBuf)| Ok((name, input::load(file, console)?));
        names(files).into_iter().zip(files).map(load).collect::<Result<_, Error>>().map(Self)
    }

    pub(super) fn report(&self, diff: bool, title: Option<&str>) -> Result<Report<'_>, Error> {
        let report = match &self.0[..] {
            [before, after] if diff => Report::diff((&before.0, &before.1), (&after.0, &after.1)),
            traces if diff => {
                let text =
                    format!("--diff compares two traces, not {}: give the one before and the one after", traces.len());
                return Err(Error::Use(text));
            }
            traces => traces.iter().fold(Report::new(), |report, (name, trace)| report.trace(name, trace)),
        };
        Ok(title.into_iter().fold(report, Report::title))
    }
}

/// File names without what says what kind of file they are; whole paths, if that makes two of them equal.
fn names(files: &[PathBuf]) -> Vec<String> {
    let short = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        [".json", ".trace", ".pt"]
            .iter()
            .fold(name, |name, suffix| name.strip_suffix(suffix).unwrap_or(name))
            .to_owned()
    };
    let names: Vec<String> = files.iter().map(short).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == names.len() { names } else { files.iter().map(|file| file.display().to_string()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_differ() {
        let names = |files: &[&str]| names(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(names(&["a/rank0.pt.trace.json.gz", "b/rank1.json"]), ["rank0", "rank1"]);
        assert_eq!(names(&["a/trace.json", "b/trace.json"]), ["a/trace.json", "b/trace.json"]);
    }
}
