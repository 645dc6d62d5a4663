//! The command `mtprof`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(mtprof::main(std::env::args_os()))
}
