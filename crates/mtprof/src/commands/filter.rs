//! `mtprof filter`: a part of a trace.

use super::convert::Target;
use crate::console::Console;
use crate::duration::{parse_duration, parse_range};
use crate::error::Error;
use crate::input;
use clap::Args;
use clap::builder::PossibleValuesParser;
use mindtorch_profiler::{EventKind, Filter as Wanted};
use std::ops::Range;
use std::path::PathBuf;

/// Write a part of a trace: what fits all of the options, any of the values of each
#[derive(Debug, Args)]
#[command(after_help = "Durations are numbers with a unit: 100us, 2.5ms, 1s, 80ns. Without one they are microseconds.")]
pub(crate) struct Filter {
    /// A trace; `-` is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    #[command(flatten)]
    target: Target,
    /// Events with this name; * is any text and ? any character
    #[arg(long, value_name = "PATTERN")]
    name: Vec<String>,
    /// Events that took at least so long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    min_duration: Option<u64>,
    /// What was going on between two times since the start, either of which may be left out: 10ms..25ms
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range)]
    time: Option<Range<u64>>,
    /// Events of this thread, by name with * and ?, or by the operating system's number; device work is of the thread that
    /// launched it
    #[arg(long, value_name = "THREAD")]
    thread: Vec<String>,
    /// Spans that are nested at most so deep; 1 are those that no other contains
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_depth: Option<u32>,
    /// Events of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(EventKind::ALL.map(EventKind::name)))]
    kind: Vec<String>,
}

impl Filter {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        let format = self.target.format()?;
        let trace = input::load(&self.input, console)?.filtered(&self.wanted());
        if trace.event_order().events().is_empty() {
            console.note(&format!("no event of {} is like that", self.input.display()));
        }
        self.target.write(&trace, format, console)
    }

    fn wanted(&self) -> Wanted {
        let kinds: Vec<EventKind> =
            EventKind::ALL.into_iter().filter(|kind| self.kind.iter().any(|name| name == kind.name())).collect();
        let mut wanted = Wanted::new().kinds(&kinds).min_duration_ns(self.min_duration.unwrap_or(0));
        wanted = self.name.iter().fold(wanted, |wanted, name| wanted.name(name));
        wanted = self.thread.iter().fold(wanted, |wanted, thread| wanted.thread(thread));
        if let Some(time) = &self.time {
            wanted = wanted.time_range_ns(time.clone());
        }
        self.max_depth.into_iter().fold(wanted, |wanted, depth| wanted.max_depth(depth as usize))
    }
}
