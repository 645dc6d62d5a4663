//! Tensors, as Python has them.

mod autograd;
mod construct;
mod indexing;
mod operators;
mod properties;
mod types;

pub(crate) use construct::{from_python, register as register_construction};
pub(crate) use types::{
    PyDType, PyDevice, PyGenerator, device_of, dtype_object, dtype_of, generator_of, register as register_types,
};

use mindtorch::Tensor;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::cell::RefCell;
use std::sync::atomic::Ordering;

/// A tensor.
#[pyclass(name = "Tensor", module = "mindtorch_v2", subclass, frozen, weakref, dict)]
pub(crate) struct PyTensor(GilCell);

/// The tensor that an object stands for, which `x.data = y` replaces. Touched only with the interpreter lock held.
struct GilCell(RefCell<Tensor>);

// SAFETY: all access needs a `Python` token, so that threads take turns; this module is not for free-threaded Python.
#[expect(unsafe_code, reason = "the interpreter lock is the lock")]
unsafe impl Sync for GilCell {}

impl PyTensor {
    pub(crate) fn new(tensor: Tensor) -> Self {
        Self(GilCell(RefCell::new(tensor)))
    }

    /// The tensor.
    #[inline]
    pub(crate) fn get(&self, _py: Python<'_>) -> Tensor {
        self.0.0.borrow().clone()
    }

    /// Makes the object stand for another tensor.
    pub(crate) fn replace(&self, _py: Python<'_>, tensor: Tensor) {
        let old = self.0.0.replace(tensor);
        old.binding().store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

impl Drop for PyTensor {
    fn drop(&mut self) {
        // The object goes, and the tensor may live on: it must not be found there any more.
        self.0.0.get_mut().binding().store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// The object of a tensor: the one that it has, so that a tensor is itself wherever Python meets it, or a new one.
pub(crate) fn wrap(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let known: *mut ffi::PyObject = tensor.binding().load(Ordering::Relaxed).cast();
    if !known.is_null() {
        // SAFETY: an object takes itself out of its tensor when it goes, and that needs the lock, which is held; one that
        // is on its way has no references left.
        #[expect(unsafe_code, reason = "a tensor knows its object by address")]
        unsafe {
            if ffi::Py_REFCNT(known) > 0 {
                return Ok(Bound::from_borrowed_ptr(py, known));
            }
        }
    }
    let object = Bound::new(py, PyTensor::new(tensor))?;
    adopt(&object);
    Ok(object.into_any())
}

/// Lets the tensor know its object.
pub(crate) fn adopt(object: &Bound<'_, PyTensor>) {
    object.get().0.0.borrow().binding().store(object.as_ptr().cast(), Ordering::Relaxed);
}

/// The tensor of an object, which will be found by it.
#[inline]
pub(crate) fn unwrap(object: &Bound<'_, PyTensor>) -> Tensor {
    let tensor = object.get().get(object.py());
    if tensor.binding().load(Ordering::Relaxed).is_null() {
        tensor.binding().store(object.as_ptr().cast(), Ordering::Relaxed);
    }
    tensor
}

/// A tuple of tensors.
pub(crate) fn wrap_all<'py>(py: Python<'py>, tensors: Vec<Tensor>) -> PyResult<Bound<'py, PyTuple>> {
    let objects = tensors.into_iter().map(|tensor| wrap(py, tensor)).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, objects)
}

/// An object of a subclass, such as a parameter, that shares memory with `tensor`.
pub(crate) fn make_subclass<'py>(
    class: &Bound<'py, PyType>,
    tensor: &Tensor,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let alias = mindtorch::ops::detach(tensor).map_err(crate::error::raise)?;
    let object = py.get_type::<PyTensor>().getattr("__new__")?.call1((class, wrap(py, alias)?))?;
    let own = object.cast::<PyTensor>()?;
    unwrap(own).set_requires_grad(requires_grad).map_err(crate::error::raise)?;
    Ok(object)
}
