//! `DataFrame`: events and averages for libraries of data frames, by Arrow's C interface.
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

#![expect(unsafe_code, reason = "the interface is C structures behind pointers")]

use super::target::export;
use mindtorch_profiler::{ArrowArrayStream, ArrowSchema, DataFrame};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, c_void};
use std::path::PathBuf;
use std::ptr::NonNull;

/// A table of columns, made of a recording when it is read.
#[pyclass(frozen, name = "DataFrame", module = "mindtorch_v2._core")]
pub(crate) struct PyDataFrame(pub(super) DataFrame);

#[pymethods]
impl PyDataFrame {
    /// A table without events.
    #[new]
    fn new() -> Self {
        Self(DataFrame::default())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The rows, in batches that are made when they are asked for. The types are what they are: those that are asked for are
    /// up to the reader, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        if let Some(schema) = requested_schema
            && !schema.cast::<PyCapsule>().is_ok_and(|capsule| capsule.is_valid_checked(Some(ArrowSchema::NAME)))
        {
            return Err(PyTypeError::new_err("requested_schema should be None or a capsule named 'arrow_schema'"));
        }
        capsule(py, self.0.arrow_stream())
    }

    /// The names and types of the columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule(py, self.0.arrow_schema())
    }

    /// Writes a Parquet file.
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        export(py, || self.0.export_parquet(&path))
    }
}

/// A structure that capsules hold.
trait Held {
    const NAME: &'static CStr;
}

impl Held for ArrowArrayStream {
    const NAME: &'static CStr = c"arrow_array_stream";
}

impl Held for ArrowSchema {
    const NAME: &'static CStr = c"arrow_schema";
}

fn capsule<T: Held>(py: Python<'_>, held: T) -> PyResult<Bound<'_, PyCapsule>> {
    let held = Box::into_raw(Box::new(held));
    // SAFETY: the pointer is a box's, which the destructor drops, or this if there is no capsule.
    unsafe {
        let pointer = NonNull::new_unchecked(held.cast::<c_void>());
        PyCapsule::new_with_pointer_and_destructor(py, pointer, T::NAME, Some(destroy::<T>))
            .inspect_err(|_| drop(Box::from_raw(held)))
    }
}

/// What Python calls when a capsule goes. A structure that a reader has moved elsewhere says so, and nothing is given back.
unsafe extern "C" fn destroy<T: Held>(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, with a capsule that `capsule` made, which nobody renames.
    unsafe {
        let held = ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr());
        if !held.is_null() {
            drop(Box::from_raw(held.cast::<T>()));
        }
    }
}
