//! Which interpreter this is.

#![expect(unsafe_code, reason = "the interpreter's number is asked of Python")]

use pyo3::exceptions::PyImportError;
use pyo3::{PyResult, ffi};

/// Refuses interpreters other than the main one.
pub(crate) fn check() -> PyResult<()> {
    // SAFETY: whoever calls has the interpreter lock, and so there is a current interpreter.
    let number = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if number == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err("mindtorch_v2 works in the main interpreter only, not in a subinterpreter"))
}
