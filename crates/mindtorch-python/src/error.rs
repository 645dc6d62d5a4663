//! The engine's errors, as Python's.

use mindtorch_profiler::{Error, UnknownSortKey};
use pyo3::exceptions::{PyAttributeError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;

pub(crate) fn unknown_sort_key(error: &UnknownSortKey) -> PyErr {
    PyAttributeError::new_err(error.to_string())
}

/// A refused file is the `OSError` that `open` would raise: of the right class, with its number and file name.
pub(crate) fn export_error(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::File { path, source, .. } => match source.raw_os_error() {
            Some(number) => os_error(py, number, path).unwrap_or_else(|error| error),
            None => PyOSError::new_err(format!("{source}: {}", path.display())),
        },
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

fn os_error(py: Python<'_>, number: i32, path: std::path::PathBuf) -> PyResult<PyErr> {
    let message = py.import("os")?.call_method1("strerror", (number,))?.unbind();
    Ok(PyOSError::new_err((number, message, path.into_os_string())))
}

pyo3::create_exception!(
    mindtorch_v2,
    OutOfMemoryError,
    PyRuntimeError,
    "An accelerator has no memory left for a tensor. Everything that was there is still there."
);

/// A mistake in the use of the runtime, as the exception that torch would raise.
pub(crate) fn raise(error: mindtorch::Error) -> PyErr {
    use mindtorch::ErrorKind;
    use pyo3::exceptions::{PyIndexError, PyNotImplementedError, PyTypeError, PyValueError};
    let message = error.to_string();
    match error.kind() {
        ErrorKind::Index => PyIndexError::new_err(message),
        ErrorKind::Type => PyTypeError::new_err(message),
        ErrorKind::Value => PyValueError::new_err(message),
        ErrorKind::NotImplemented => PyNotImplementedError::new_err(message),
        ErrorKind::OutOfMemory => OutOfMemoryError::new_err(message),
        ErrorKind::Foreign => match error.into_payload().map(|payload| payload.downcast::<PyErr>()) {
            Some(Ok(error)) => *error,
            _ => PyRuntimeError::new_err(message),
        },
        _ => PyRuntimeError::new_err(message),
    }
}

/// An exception of Python's on its way through the runtime.
pub(crate) fn carry(error: PyErr) -> mindtorch::Error {
    mindtorch::Error::foreign(error.to_string(), Box::new(error))
}
