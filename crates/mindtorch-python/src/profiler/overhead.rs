//! What recording costs a Python program.

use super::record_function::RecordFunction;
use crate::error::raise;
use crate::tracer;
use mindtorch_profiler::{Calibration, Capture, EventCost, Overhead};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::Mutex;

/// What was measured, by what is collected.
static KNOWN: Mutex<Vec<(Capture, Overhead)>> = Mutex::new(Vec::new());

/// What an event costs while `capture` is collected. It takes some milliseconds the first time.
pub(super) fn overhead(py: Python<'_>, capture: Capture) -> PyResult<Overhead> {
    let known = || KNOWN.try_lock().ok()?.iter().find(|(of, _)| *of == capture).map(|(_, overhead)| *overhead);
    if let Some(known) = known() {
        return Ok(known);
    }
    let measured = py.detach(|| {
        // On a thread of its own, which is in no function: those that are running here may be such that nothing in them is
        // recorded.
        let thread = std::thread::spawn(move || Python::attach(|py| measure(py, capture)));
        thread
            .join()
            .map_err(|_| PyRuntimeError::new_err("measuring what recording costs failed by an internal error"))?
    })?;
    // Who cannot have the list at once goes without: in a forked child nobody may be there to give it back.
    if let Ok(mut known) = KNOWN.try_lock() {
        known.push((capture, measured));
    }
    Ok(measured)
}

fn measure(py: Python<'_>, capture: Capture) -> PyResult<Overhead> {
    let calibration = Calibration::new(capture);
    let mut overhead = mindtorch::profiler_overhead(&calibration).map_err(raise)?;
    overhead.annotation = RecordFunction::cost(py, &calibration)?;
    if capture.contains(Capture::FUNCTIONS) {
        overhead.function = cost_of_a_function(py, &calibration)?;
    }
    Ok(overhead)
}

/// What tracing a call of a Python function costs.
fn cost_of_a_function(py: Python<'_>, calibration: &Calibration) -> PyResult<EventCost> {
    let function = py.eval(c"lambda: None", None, None)?;
    let call = || drop(function.call0());
    let untraced = calibration.sample(call);
    tracer::start(py)?;
    let traced = calibration.sample(call);
    drop(tracer::stop(py));
    Ok(traced.cost_beyond(untraced))
}
