//! The command line: `python -m mindtorch_v2.profiler` is `mtprof`.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command that the arguments are, the first of which is the program's name, on the process's own streams, and
/// returns its exit status. `has_stdout` is false if Python found standard output closed when it started.
#[pyfunction(name = "_run_command")]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>, has_stdout: bool) -> u8 {
    py.detach(|| mtprof::main(arguments, has_stdout))
}
