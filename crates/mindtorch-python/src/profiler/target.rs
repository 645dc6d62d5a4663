//! Where an export goes: to a path, or to a file that the program has open.

use crate::error::export_error;
use mindtorch_profiler::{Error, set_interruption, write_file};
use pyo3::exceptions::PyBlockingIOError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};
use std::cell::Cell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

thread_local! {
    /// What a signal's handler raised while this thread waited for a pipe.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Lets Python's signal handlers end an export that waits for a pipe, by raising an exception.
pub(super) fn register() {
    set_interruption(|| {
        let raised = Python::try_attach(|py| py.check_signals().err()).flatten();
        let is_interrupted = raised.is_some();
        RAISED.set(raised);
        is_interrupted
    });
}

/// Writes to a path, without the interpreter lock.
pub(super) fn export(py: Python<'_>, write: impl FnOnce() -> Result<(), Error> + Send) -> PyResult<()> {
    py.detach(write).map_err(|error| raised().unwrap_or_else(|| export_error(py, error)))
}

/// What a signal's handler raised, if that ended a wait of this thread's.
pub(crate) fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// Writes pieces of bytes to a file as exports do: it appears whole or not at all, and is compressed if it ends in `.gz`.
#[pyfunction]
#[pyo3(name = "_write_file")]
#[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
pub(crate) fn write_pieces(py: Python<'_>, path: PathBuf, pieces: Bound<'_, PyAny>) -> PyResult<()> {
    let pieces = pieces.try_iter()?.unbind();
    let mut raised = None;
    let written = export(py, || {
        write_file(&path, |out| {
            let next = || Python::attach(|py| next_bytes(pieces.bind(py)));
            loop {
                match next() {
                    Ok(Some(bytes)) => out.write_all(&bytes)?,
                    Ok(None) => return out.flush(),
                    Err(error) => {
                        raised = Some(error);
                        return Err(io::Error::other("the pieces raised an exception"));
                    }
                }
            }
        })
    });
    raised.map_or(written, Err)
}

/// So much of what an iterator gives that it is worth to be written; None at its end.
fn next_bytes(pieces: &Bound<'_, PyIterator>) -> PyResult<Option<Vec<u8>>> {
    const ENOUGH: usize = 1 << 16;
    let mut bytes = Vec::new();
    for piece in pieces {
        bytes.extend_from_slice(piece?.cast::<PyBytes>()?.as_bytes());
        if bytes.len() >= ENOUGH {
            break;
        }
    }
    Ok((!bytes.is_empty()).then_some(bytes))
}

/// What an export was given to write to.
pub(super) enum Target {
    Path(PathBuf),
    /// It has a method `write` that takes bytes.
    File(Py<PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for Target {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // A path may have a method of this name, which writes a file anew at each call.
        if given.hasattr("write")? && !given.hasattr("__fspath__")? {
            Ok(Self::File(given.to_owned().unbind()))
        } else {
            given.extract().map(Self::Path)
        }
    }
}

impl Target {
    /// Writes to it, without the interpreter lock: `to_path` is for a path, and `to_file` for anything else.
    pub(super) fn fill(
        &self,
        py: Python<'_>,
        to_path: impl FnOnce(&Path) -> Result<(), Error> + Send,
        to_file: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send,
    ) -> PyResult<()> {
        match self {
            Self::Path(path) => export(py, || to_path(path)),
            Self::File(file) => {
                let (written, raised) = py.detach(|| {
                    let mut file = OpenFile { file, raised: None };
                    (to_file(&mut file).and_then(|()| file.flush()), file.raised)
                });
                let Err(error) = written else { return Ok(()) };
                // What Python raised says more than that writing failed.
                Err(raised.unwrap_or_else(|| match error.downcast::<Error>() {
                    Ok(error) => export_error(py, error),
                    Err(error) => error.into(),
                }))
            }
        }
    }
}

/// A Python file, as Rust writes to one.
struct OpenFile<'a> {
    file: &'a Py<PyAny>,
    /// After an exception nothing more is written: buffers write what they hold when they are dropped, and a file that was
    /// interrupted would block once more.
    raised: Option<PyErr>,
}

impl OpenFile<'_> {
    fn call<T>(&mut self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        let failed = || io::Error::other("the file raised an exception");
        if self.raised.is_some() {
            return Err(failed());
        }
        Python::attach(|py| {
            // After a short write, which a signal may have caused. The interpreter does not look between two calls from here.
            py.check_signals()?;
            call(self.file.bind(py))
        })
        .map_err(|error| {
            self.raised = Some(error);
            failed()
        })
    }
}

impl Write for OpenFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.call(|file| {
            let written = file.call_method1("write", (PyBytes::new(file.py(), bytes),))?;
            if !written.is_none() {
                return written.extract::<usize>();
            }
            // A raw file has taken nothing: it is not to be waited for. Any other that does not say has taken everything.
            if file.is_instance(&file.py().import("io")?.getattr("RawIOBase")?)? {
                return Err(PyBlockingIOError::new_err("write could not complete without blocking"));
            }
            Ok(bytes.len())
        })?;
        Ok(written.min(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call(|file| if file.hasattr("flush")? { file.call_method0("flush").map(drop) } else { Ok(()) })
    }
}
