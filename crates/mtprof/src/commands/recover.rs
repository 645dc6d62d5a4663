//! `mtprof recover`: what processes left that recorded to files.

use crate::console::Console;
use crate::error::Error;
use crate::output::{Details, Format};
use crate::{NO, OK};
use clap::Args;
use mindtorch_profiler::{Recovered, TableOptions, Trace};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Show or export what processes left in a directory that they recorded to
#[derive(Debug, Args)]
#[command(
    long_about = "Show what processes left in a directory that they recorded to, with profile(spool_dir=DIR), and what is missing of \
                  it. Exit status: 0 if something was recovered, 1 if not, 2 for wrong arguments."
)]
pub(crate) struct Recover {
    /// The `spool_dir`, or one recording's directory in it
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Write each recording to a file, in a format by its suffix, such as .json.gz; {pid} and {count} in the name become the
    /// number of the process and of the recording
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Rows of the tables that are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    rows: usize,
}

/// One recording.
#[derive(Serialize)]
struct Left {
    path: String,
    pid: u32,
    events: usize,
    duration_ns: u64,
    /// In words; none if everything is there.
    missing: Option<String>,
    /// The file that it was written to.
    written: Option<String>,
    #[serde(skip)]
    table: Option<String>,
}

impl Recover {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        match self.recover(console) {
            Ok(found) => {
                console.answer(&found, |found| text(found))?;
                Ok(OK)
            }
            Err(error @ Error::Output(_)) => Err(error),
            // Whatever stands in the way, nothing was recovered.
            Err(error) => {
                console.complain(&error);
                Ok(NO)
            }
        }
    }

    fn recover(&self, console: &mut Console<'_>) -> Result<Vec<Left>, Error> {
        let mut found = Vec::new();
        for recording in Trace::recover(&self.directory)? {
            match recording {
                Ok(recording) => found.push(recording),
                Err(error) => console.complain(&error.into()),
            }
        }
        if found.is_empty() {
            let name = self.directory.display();
            return Err(Error::Use(format!("there is no recording in '{name}' that can be read")));
        }
        let is_one_name = |name: &String| !name.contains("{pid}") && !name.contains("{count}");
        if found.len() > 1 && self.output.as_ref().is_some_and(is_one_name) {
            let count = found.len();
            return Err(Error::Use(format!(
                "there are {count} recordings: the name of the file needs {{count}} or {{pid}} in it"
            )));
        }
        found.iter().enumerate().map(|(place, recording)| self.show(recording, place + 1)).collect()
    }

    fn show(&self, recording: &Recovered, count: usize) -> Result<Left, Error> {
        let Recovered { path, pid, trace, damage, .. } = recording;
        let name = |output: &String| output.replace("{pid}", &pid.to_string()).replace("{count}", &count.to_string());
        let written = self.output.as_ref().map(name);
        if let Some(name) = &written {
            let path = Path::new(name);
            Format::of(path)?.write(trace, path, &Details::default())?;
        }
        let options = TableOptions { row_limit: Some(self.rows), ..TableOptions::default() };
        Ok(Left {
            path: path.display().to_string(),
            pid: *pid,
            events: trace.event_order().events().len(),
            duration_ns: trace.duration_ns(),
            missing: (!damage.is_none()).then(|| damage.to_string()),
            written,
            table: (self.rows > 0).then(|| trace.key_averages().table(&options)),
        })
    }
}

fn text(found: &[Left]) -> String {
    let mut text = String::new();
    for Left { path, pid, events, duration_ns, missing, written, table } in found {
        let seconds = *duration_ns as f64 / 1e9;
        // A String takes everything.
        let _ = writeln!(text, "{path}: process {pid}, {events} events in {seconds:.3} s");
        let _ = writeln!(text, "missing: {}", missing.as_deref().unwrap_or("nothing"));
        if let Some(table) = table {
            let _ = writeln!(text, "{table}");
        }
        if let Some(name) = written {
            let _ = writeln!(text, "written to {name}");
        }
    }
    text
}
