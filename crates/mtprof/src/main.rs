//! The command `mtprof`.

mod startup;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(mtprof::main(std::env::args_os(), startup::has_stdout()))
}
