//! `mtprof convert`: a trace in another format.

use crate::OK;
use crate::commands::dataset;
use crate::console::Console;
use crate::error::Error;
use crate::input;
use crate::output::{Details, Format};
use clap::Args;
use mindtorch_profiler::{StackMetric, Trace};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The name of standard output.
const STDOUT: &str = "-";
const NEEDS_FORMAT: &str = "standard output has no name that says the format: say it with --to, such as --to chrome";

/// Write a trace in another format, which the end of the name says
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// A trace; `-` is standard input. Of a directory with the traces of ranks, --to parquet makes a data set
    #[arg(value_name = "IN")]
    input: PathBuf,
    #[command(flatten)]
    target: Target,
}

/// Where a trace goes, for commands that write one.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The file to write; .gz at its end compresses. `-` is standard output, and needs --to
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// The format, whatever the name is
    #[arg(long, value_name = "FORMAT")]
    to: Option<Format>,
    /// The time of folded stacks and flame graphs
    #[arg(long, default_value = StackMetric::NAMES[0])]
    metric: StackMetric,
    /// The device of a memory timeline, such as cpu or cuda:0 [default: the first accelerator that has memory events]
    #[arg(long)]
    device: Option<String>,
}

/// What was written.
#[derive(Serialize)]
struct Written {
    output: String,
    events: usize,
    bytes: Option<u64>,
}

impl Convert {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        if self.input.is_dir() {
            return self.target.write_dataset(&self.input, console);
        }
        let format = self.target.format()?;
        let trace = input::load(&self.input, console)?;
        self.target.write(&trace, format, console)
    }
}

impl Target {
    /// Writes the ranks of a directory as a data set.
    fn write_dataset(&self, ranks: &Path, console: &mut Console<'_>) -> Result<u8, Error> {
        if self.to != Some(Format::Parquet) {
            let ranks = ranks.display();
            let why =
                format!("{ranks} is a directory: the ranks in it can be written as a data set, with --to parquet");
            return Err(Error::Use(why));
        }
        dataset::run(ranks, &self.output, console)
    }

    /// The format to write: to be asked for before anything is read.
    pub(crate) fn format(&self) -> Result<Format, Error> {
        match self.to {
            Some(format) => Ok(format),
            None if self.output == Path::new(STDOUT) => Err(Error::Use(NEEDS_FORMAT.to_owned())),
            None => Format::of(&self.output),
        }
    }

    /// Writes the trace and says so.
    pub(crate) fn write(&self, trace: &Trace, format: Format, console: &mut Console<'_>) -> Result<u8, Error> {
        let details = Details { metric: self.metric, device: self.device.as_deref() };
        if self.output == Path::new(STDOUT) {
            // The path of a closed standard output may lead to `/dev/null`, which takes everything.
            console.check_output()?;
            format.write(trace, Path::new("/dev/stdout"), &details)?;
            return Ok(OK);
        }
        format.write(trace, &self.output, &details)?;
        // What is no file has no length.
        let about = self.output.metadata().ok().filter(std::fs::Metadata::is_file);
        let events = trace.event_order().events().len();
        let written =
            Written { output: self.output.display().to_string(), events, bytes: about.map(|about| about.len()) };
        console.answer(&written, |Written { output, events, .. }| format!("{events} events written to {output}\n"))?;
        Ok(OK)
    }
}
