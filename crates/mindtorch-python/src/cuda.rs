//! NVIDIA's GPUs, whose work is recorded beside PyTorch's.

use mindtorch_bridge::cuda;
use mindtorch_profiler::{Capture, capture};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Makes GPUs tell what they do, until nobody records. False if there are none. CUPTI may be one of these files.
#[pyfunction]
#[pyo3(name = "_start_cuda")]
#[expect(clippy::needless_pass_by_value, reason = "Python gives it away")]
pub(crate) fn start_cuda(py: Python<'_>, files: Vec<PathBuf>, waits: bool) -> PyResult<bool> {
    py.detach(|| cuda::start(&files, waits)).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Has all recorded that GPUs have done by now. Returns how much was lost since the last time.
#[pyfunction]
#[pyo3(name = "_flush_cuda")]
pub(crate) fn flush_cuda(py: Python<'_>) -> PyResult<u64> {
    py.detach(cuda::flush).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok(cuda::lost())
}

/// The versions of the driver and of CUPTI, once GPUs were recorded.
#[pyfunction]
#[pyo3(name = "_cuda_versions")]
pub(crate) fn cuda_versions() -> Option<(u32, u32)> {
    cuda::versions()
}

/// Lets GPUs go when it is dropped, if nobody records by then: a recording that was to start may have failed.
pub(crate) struct LetGoIfUnused;

impl Drop for LetGoIfUnused {
    fn drop(&mut self) {
        sync();
    }
}

/// Before what was recorded so far is looked at: what GPUs have told by then is in it.
pub(crate) fn catch_up() {
    // Who ends the recording is told what goes wrong.
    let _ = cuda::catch_up();
}

/// After what is recorded has changed. What goes wrong with the end is no matter of a recording that has ended.
pub(crate) fn sync() {
    if !capture().contains(Capture::DEVICE) {
        let _ = cuda::stop();
    }
}
