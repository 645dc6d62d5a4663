//! Execution traces, as Python sees them. What looks like torch's observer is made of one in Python.

use crate::profiler::raised;
use mindtorch::execution_trace::Trace;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::io;
use std::path::{Path, PathBuf};

/// An execution trace that is being written to a file. There is one at a time.
#[pyclass(frozen, module = "mindtorch_v2._core")]
pub(crate) struct ExecutionTrace {
    trace: Trace,
    path: PathBuf,
}

#[pymethods]
impl ExecutionTrace {
    /// Makes the file. None if there is another trace already.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf, time: &str, start_ms: u64) -> PyResult<Option<Self>> {
        let trace = py.detach(|| Trace::create(&path, time, start_ms));
        let trace = trace.map_err(|error| raised().unwrap_or_else(|| os_error(&error, &path)))?;
        Ok(trace.map(|trace| Self { trace, path }))
    }

    /// Begins to record, or goes on with it. False if the trace is closed.
    fn start(&self, py: Python<'_>) -> bool {
        py.detach(|| self.trace.start())
    }

    /// Pauses.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.trace.stop()).map_err(|error| os_error(&error, &self.path))
    }

    /// Ends the trace.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.trace.close()).map_err(|error| os_error(&error, &self.path))
    }

    /// Whether it has not been closed.
    #[getter]
    fn is_open(&self, py: Python<'_>) -> bool {
        py.detach(|| self.trace.is_open())
    }
}

/// Python makes the right subclass of the number.
fn os_error(error: &io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, text, path.as_os_str().to_owned()))
        }
        None => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}
