//! `record_function.__enter__` and `__exit__`, in C's calling conventions: a scope that nobody records costs little more than
//! the interpreter's own part of a `with`.

#![expect(unsafe_code, reason = "functions that Python calls directly take pointers")]

use super::record_function::RecordFunction;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::{CStr, c_int};
use std::panic::AssertUnwindSafe;

/// Adds both methods to the class.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<RecordFunction>();
    let enter = ffi::PyMethodDefPointer { PyCFunction: enter };
    add(&class, c"__enter__", enter, ffi::METH_NOARGS, c"__enter__($self)\n--\n\nBegin the span.")?;
    let exit = ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: exit };
    let doc = c"__exit__($self, exc_type, exc_value, traceback)\n--\n\nEnd the span.";
    add(&class, c"__exit__", exit, ffi::METH_FASTCALL | ffi::METH_KEYWORDS, doc)
}

fn add(
    class: &Bound<'_, PyType>,
    name: &'static CStr,
    function: ffi::PyMethodDefPointer,
    flags: c_int,
    doc: &'static CStr,
) -> PyResult<()> {
    // Python keeps a pointer to it for as long as it runs.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: function,
        ml_flags: flags,
        ml_doc: doc.as_ptr(),
    }));
    // SAFETY: the definition lives for ever, and its flags are those of the function's type; the class is a type.
    let method = unsafe {
        let descriptor = ffi::PyDescr_NewMethod(class.as_type_ptr(), definition);
        Bound::from_owned_ptr_or_err(class.py(), descriptor)?
    };
    class.setattr(name, method)
}

unsafe extern "C" fn enter(this: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the descriptor has checked that `this` is of the class that it was made for.
    unsafe {
        run(this, |scope| {
            RecordFunction::enter(scope);
            Ok(scope.clone().into_ptr())
        })
    }
}

/// What it is told of an exception it does not look at, by position or by name.
unsafe extern "C" fn exit(
    this: *mut ffi::PyObject,
    _: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as above; the names are null or a tuple.
    unsafe {
        run(this, |scope| {
            let given = count + if names.is_null() { 0 } else { ffi::PyTuple_Size(names) };
            if given != 3 {
                let message = format!("record_function.__exit__() takes exactly 3 arguments ({given} given)");
                return Err(PyTypeError::new_err(message));
            }
            RecordFunction::exit(scope)?;
            Ok(scope.py().None().into_ptr())
        })
    }
}

/// Runs `work`, and raises what went wrong in it.
///
/// # Safety
/// The interpreter lock is held, and `this` is a `record_function`.
#[inline(always)]
unsafe fn run(
    this: *mut ffi::PyObject,
    work: impl FnOnce(&Bound<'_, RecordFunction>) -> PyResult<*mut ffi::PyObject>,
) -> *mut ffi::PyObject {
    // SAFETY: the lock is held, as the caller says.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: as the caller says.
    let scope = unsafe { Borrowed::from_ptr(py, this).cast_unchecked::<RecordFunction>() };
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| work(&scope)));
    let error = match result {
        Ok(Ok(object)) => return object,
        Ok(Err(error)) => error,
        Err(_) => PyRuntimeError::new_err("record_function failed inside. Please report this."),
    };
    error.restore(py);
    std::ptr::null_mut()
}
