//! The command line as a library, so that `python -m mindtorch_v2.profiler` is the same command as `mtprof`.
//!
//! Exit status: 0 when all is well, 1 when the answer is no (a budget is exceeded, nothing could be recovered), 2 when there is
//! no answer: wrong arguments, files that cannot be read or written, or a standard output that is closed or full.

mod commands;
mod console;
mod duration;
mod error;
mod input;
mod output;
mod rank_files;
mod recordings;
mod server;
mod streams;

use clap::Parser;
use commands::Command;
use console::{Console, Terminals, Wishes};
pub use error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use streams::Output;

/// All is well.
pub const OK: u8 = 0;
/// The answer is no.
pub const NO: u8 = 1;
/// There is no answer: the question could not be asked, or the answer not be written.
pub const FAILED: u8 = 2;

/// Where the time and the memory went, from traces of PyTorch and of MindTorch.
#[derive(Debug, Parser)]
#[command(
    name = "mtprof",
    version,
    after_help = "Traces are Chrome traces that torch.profiler or MindTorch wrote, compressed with gzip or not; `-` is standard \
                  input.\n\nExit status: 0 when all is well, 1 when the answer is no (a budget is exceeded, nothing could be \
                  recovered), 2 when there is no answer (wrong arguments, files that cannot be read or written, a standard \
                  output that is closed or full)."
)]
pub(crate) struct Cli {
    /// Write the answer as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Show no notes and no progress
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Use what can be read of a trace that is cut off or broken
    #[arg(long, global = true)]
    partial: bool,
    #[command(subcommand)]
    command: Command,
}

/// Runs the command that `arguments` are, the first of which is the program's name, on this process's own streams, and
/// returns its exit status. Answers have colours and reading shows its progress where a terminal shows them.
///
/// `has_stdout` is false if standard output was closed when the process started. Descriptor 1 may be any file of the program
/// then, so nothing is written to it. Standard streams that are still closed are opened to `/dev/null` and stay open.
pub fn main(arguments: impl IntoIterator<Item = OsString>, has_stdout: bool) -> u8 {
    let mut out = Output::open(has_stdout);
    streams::reserve_standard_descriptors();
    run_on(arguments, &mut out, &mut io::stderr(), Terminals::of_process())
}

/// Runs the command that `arguments` are, the first of which is the program's name, and returns its exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    run_on(arguments, out, err, Terminals::default())
}

fn run_on(
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminals: Terminals,
) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(usage) if usage.use_stderr() => {
            let _ = write!(err, "{}", usage.render());
            return FAILED;
        }
        Err(help) => {
            let mut console = Console::new(out, err, Wishes::default(), terminals);
            let shown = console.answer(&help.render().to_string(), String::clone);
            return exit_status(shown.map(|()| OK), &mut console);
        }
    };
    let wishes = Wishes { json: cli.json, quiet: cli.quiet, partial: cli.partial };
    let mut console = Console::new(out, err, wishes, terminals);
    let result = cli.command.run(&mut console);
    exit_status(result, &mut console)
}

/// Reports an error and returns the exit status.
fn exit_status(result: Result<u8, Error>, console: &mut Console<'_>) -> u8 {
    match result {
        Ok(status) => status,
        // Whoever reads this has seen enough.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => OK,
        Err(error) => {
            console.complain(&error);
            FAILED
        }
    }
}
