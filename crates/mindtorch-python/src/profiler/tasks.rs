//! Which asyncio task is running: spans of tasks that take turns do not nest by time.

#![expect(unsafe_code, reason = "the interpreter is asked whether this thread has its lock")]

use mindtorch_profiler::{ContextInUse, set_context, set_context_source};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

unsafe extern "C" {
    /// Not among what pyo3 declares for the stable interface, but exported by every `CPython`.
    fn PyGILState_Check() -> std::ffi::c_int;
}

/// Lets spans find out which task they are part of.
pub(super) fn register() {
    set_context_source(|| {
        // SAFETY: it has no preconditions. Who does not have the lock is not made to wait for it.
        let has_lock = unsafe { PyGILState_Check() } == 1;
        if has_lock { Python::try_attach(running_task) } else { None }
    });
}

/// Runs an operation without the interpreter lock. Its spans cannot ask then which task they are part of: they are told.
#[inline]
pub(crate) fn without_lock<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    if ContextInUse::is_any() {
        set_context(running_task(py));
    }
    py.detach(work)
}

/// For a scope that is about to be opened: if a task is running, spans have to say whose they are until it is closed.
pub(super) fn scope_in_task(py: Python<'_>) -> Option<ContextInUse> {
    let task = running_task(py);
    if task == 0 && !ContextInUse::is_any() {
        return None;
    }
    set_context(task);
    (task != 0).then(ContextInUse::new)
}

/// A number of the task that is running on this thread; 0 if none is. Two tasks that are alive have different numbers.
#[cold]
fn running_task(py: Python<'_>) -> u32 {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let find = || -> PyResult<u32> {
        let modules = || PyResult::Ok(py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind());
        let modules = MODULES.get_or_try_init(py, modules)?.bind(py);
        // A program that has not imported it has no tasks.
        let Some(asyncio) = modules.get_item(intern!(py, "asyncio"))? else { return Ok(0) };
        if asyncio.call_method0(intern!(py, "_get_running_loop"))?.is_none() {
            return Ok(0);
        }
        let task = asyncio.call_method0(intern!(py, "current_task"))?;
        // Objects are at least 16 bytes apart.
        Ok(if task.is_none() { 0 } else { ((task.as_ptr().addr() >> 4) as u32).max(1) })
    };
    find().unwrap_or(0)
}
