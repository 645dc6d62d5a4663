//! The commands, one a file: its arguments, the call that answers, and the text of the answer.

mod check;
mod completions;
mod convert;
mod dataset;
mod diff;
mod filter;
mod man;
mod merge;
mod names;
mod ranks;
mod recover;
mod report;
mod summary;
mod view;
mod waits;

use crate::console::Console;
use crate::error::Error;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Report(report::ReportPage),
    Summary(summary::Summary),
    Diff(diff::DiffCommand),
    Check(check::Check),
    Convert(convert::Convert),
    Filter(filter::Filter),
    Recover(recover::Recover),
    View(view::View),
    Merge(merge::Merge),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Runs it and returns the exit status.
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        match self {
            Self::Report(command) => command.run(console),
            Self::Summary(command) => command.run(console),
            Self::Diff(command) => command.run(console),
            Self::Check(command) => command.run(console),
            Self::Convert(command) => command.run(console),
            Self::Filter(command) => command.run(console),
            Self::Recover(command) => command.run(console),
            Self::View(command) => command.run(console),
            Self::Merge(command) => command.run(console),
            Self::Completions(command) => command.run(console),
            Self::Man(command) => command.run(console),
        }
    }
}
