//! PyTorch beside us: what is recorded is asked of it, too.

use mindtorch_bridge::{Bridge, SeenOp, VERSIONS_WITHOUT_SHIM, canary};
use mindtorch_profiler::Input;
use pyo3::exceptions::{PyImportError, PyRuntimeError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The version of PyTorch that is recorded, if it is.
#[pyfunction]
#[pyo3(name = "_torch_bridge")]
pub(crate) fn torch_bridge() -> Option<&'static str> {
    Bridge::get().map(Bridge::torch)
}

/// Loads the library that was built for this version of PyTorch. Nothing is recorded with it before [`trust_torch_bridge`].
#[pyfunction]
#[pyo3(name = "_load_torch_bridge")]
#[expect(clippy::needless_pass_by_value, reason = "Python gives it away")]
pub(crate) fn load_torch_bridge(path: PathBuf, torch: &str) -> PyResult<()> {
    Bridge::load(&path, torch).map(drop).map_err(|error| PyImportError::new_err(error.to_string()))
}

/// Records PyTorch with the library that was loaded, from now on.
#[pyfunction]
#[pyo3(name = "_trust_torch_bridge")]
pub(crate) fn trust_torch_bridge() {
    if let Some(bridge) = Bridge::loaded() {
        bridge.trust();
    }
}

/// Observes PyTorch without a library, through functions that PyTorch's own exports. Nothing is recorded before
/// [`trust_torch_bridge`].
#[pyfunction]
#[pyo3(name = "_observe_torch_by_name")]
#[expect(clippy::needless_pass_by_value, reason = "Python gives it away")]
pub(crate) fn observe_torch_by_name(library: PathBuf, torch: &str) -> PyResult<()> {
    Bridge::without_shim(&library, torch).map(drop).map_err(|error| PyImportError::new_err(error.to_string()))
}

/// The minor versions of PyTorch that can be observed without a library on this machine.
#[pyfunction]
#[pyo3(name = "_torch_versions_by_name")]
pub(crate) fn torch_versions_by_name() -> &'static [&'static str] {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) { VERSIONS_WITHOUT_SHIM } else { &[] }
}

/// The name of an operator; the type, the sizes and the strides of each of its inputs; the number of its scope; and the
/// positions of its begin and its end among all begins and ends.
type Seen = (String, Vec<(String, Vec<i64>, Vec<i64>)>, u64, usize, Option<usize>);

/// Runs `run`, and returns the operators that it calls, as the bridge delivers them.
#[pyfunction]
#[pyo3(name = "_torch_canary")]
pub(crate) fn torch_canary(run: &Bound<'_, PyAny>) -> PyResult<Vec<Seen>> {
    let bridge = Bridge::loaded().ok_or_else(|| PyRuntimeError::new_err("there is no bridge to PyTorch"))?;
    let (outcome, seen) = bridge.observed(|| canary(|| run.call0().map(drop)));
    outcome?;
    let describe_op =
        |SeenOp { name, inputs, scope, begin, end }| (name, inputs.iter().map(describe).collect(), scope, begin, end);
    Ok(seen.into_iter().map(describe_op).collect())
}

fn describe(input: &Input) -> (String, Vec<i64>, Vec<i64>) {
    match input {
        Input::Tensor { dtype, dims, strides } => (dtype.to_string(), dims.clone(), strides.clone()),
        Input::TensorList(_) => ("TensorList".to_owned(), Vec::new(), Vec::new()),
        Input::Value { dtype, text } => (format!("{dtype} {text}"), Vec::new(), Vec::new()),
    }
}

/// Before a session starts: says what it will want to know of PyTorch.
pub(crate) fn prepare(memory: bool) -> PyResult<()> {
    let Some(bridge) = Bridge::get() else { return Ok(()) };
    if memory && !bridge.ask_for_memory() {
        return Err(PyRuntimeError::new_err(
            "another profiler, such as torch.profiler's, records this thread, and PyTorch reports memory to one only: stop it \
             first, or record without profile_memory",
        ));
    }
    Ok(())
}

/// Makes room for PyTorch's own profiler on this thread, until `_sync_torch_bridge`.
#[pyfunction]
#[pyo3(name = "_give_way_to_torch")]
pub(crate) fn give_way_to_torch(even_with_memory: bool) {
    if let Some(bridge) = Bridge::get() {
        bridge.give_way(even_with_memory);
    }
}

/// After what is recorded has changed, or who else records.
#[pyfunction]
#[pyo3(name = "_sync_torch_bridge")]
pub(crate) fn sync() {
    if let Some(bridge) = Bridge::get() {
        bridge.sync();
    }
}
