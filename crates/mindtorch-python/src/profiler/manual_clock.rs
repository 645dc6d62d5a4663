//! A clock that tests move, in place of the system's.

use mindtorch_profiler::{ManualClock, Recorder};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A clock that moves only when it is told to.
#[pyclass(frozen, name = "_ManualClock", module = "mindtorch_v2._core")]
pub(crate) struct PyManualClock(ManualClock);

#[pymethods]
impl PyManualClock {
    /// Moves the clock forward.
    fn advance(&self, by_ns: u64) {
        self.0.advance(by_ns);
    }

    /// Returns the nanoseconds since the epoch at which the clock stands. Does not move it.
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }
}

/// Makes this process record by a clock that the caller moves and that also moves by `step_ns` after each reading, for tests.
/// Nothing may have been recorded before.
#[pyfunction]
#[pyo3(name = "_use_manual_clock")]
pub(crate) fn use_manual_clock(step_ns: u64) -> PyResult<PyManualClock> {
    let clock = ManualClock::starting_at(1_800_000_000_000_000_000).with_step(step_ns);
    if !Recorder::use_manual_clock(&clock) {
        return Err(PyRuntimeError::new_err("the recorder of this process is already in use: choose its clock first"));
    }
    Ok(PyManualClock(clock))
}
