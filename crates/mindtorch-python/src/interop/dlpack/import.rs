//! Arrays of others, taken.

use super::abi::{Array, Managed, Place, Unversioned, VERSION, Versioned};
use crate::error::raise;
use crate::interop::foreign::{Layout, share};
use crate::profiler::without_lock;
use crate::tensor::{device_of, wrap};
use mindtorch::{Device, Tensor, ops};
use pyo3::exceptions::{PyAssertionError, PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::ptr::NonNull;

/// An array that was taken, and is given back when this is dropped.
struct Borrowed<M: Managed>(NonNull<M>);

// SAFETY: the protocol lets the deleter be called from any thread.
unsafe impl<M: Managed> Send for Borrowed<M> {}
// SAFETY: nothing can be done with a shared one.
unsafe impl<M: Managed> Sync for Borrowed<M> {}

impl<M: Managed> Drop for Borrowed<M> {
    fn drop(&mut self) {
        // SAFETY: the structure is valid until its deleter is called, and this is the only call.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter() {
                deleter(self.0.as_ptr());
            }
        }
    }
}

/// The tensor in a capsule that has this name. `None` if it has another, as one has that was used before.
fn take<M: Managed>(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<Tensor>> {
    if !capsule.is_valid_checked(Some(M::NAME)) {
        return Ok(None);
    }
    let managed = capsule.pointer_checked(Some(M::NAME))?.cast::<M>();
    // SAFETY: a capsule of this name points to such a structure, which is valid until its deleter is called.
    let (version, array) = unsafe { (managed.as_ref().version(), managed.as_ref().array()) };
    if version.major != VERSION.major {
        return Err(PyBufferError::new_err(format!(
            "from_dlpack: the array has version {}.{} of DLPack, and only 1.x is understood",
            version.major, version.minor
        )));
    }
    // SAFETY: the array is the producer's, and as the protocol says.
    let layout = unsafe { layout(array)? };
    let data = array.data.cast::<u8>().wrapping_add(array.byte_offset as usize);
    // From here on the array is this side's to give back; before, it is the capsule's.
    // SAFETY: the interpreter lock is held, the capsule is valid, and the name lives for ever.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    share(data, &layout, Box::new(Borrowed(managed))).map(Some)
}

/// # Safety
/// The pointers of the array are valid, as the protocol says.
unsafe fn layout(array: &Array) -> PyResult<Layout> {
    if array.place.kind != Place::CPU.kind {
        return Err(PyBufferError::new_err(format!(
            "from_dlpack: the array is on a device of type {}, and only arrays in host memory (type 1) can be shared. Copy \
             it to the host first.",
            array.place.kind
        )));
    }
    let dtype = array.dtype.dtype().ok_or_else(|| {
        let super::abi::Type { code, bits, lanes } = array.dtype;
        PyBufferError::new_err(format!("from_dlpack: no dtype for type code {code} with {bits} bits and {lanes} lanes"))
    })?;
    let ndim = usize::try_from(array.ndim).map_err(|_| PyValueError::new_err("from_dlpack: ndim is negative"))?;
    let dims = |pointer: *mut i64| match NonNull::new(pointer) {
        // SAFETY: as the caller says, each pointer is to `ndim` numbers, or null.
        Some(pointer) if ndim > 0 => unsafe { std::slice::from_raw_parts(pointer.as_ptr(), ndim) },
        _ => &[],
    };
    let unsigned = |dims: &[i64], what: &str| {
        let dims = dims.iter().map(|&dim| usize::try_from(dim)).collect::<Result<Vec<_>, _>>();
        dims.map_err(|_| {
            PyValueError::new_err(format!("from_dlpack: negative {what} are not supported. Copy the array first."))
        })
    };
    let shape = unsigned(dims(array.shape), "sizes")?;
    if shape.len() != ndim {
        return Err(PyValueError::new_err("from_dlpack: the array has dimensions without sizes"));
    }
    if array.strides.is_null() {
        return Layout::contiguous(dtype, shape);
    }
    let strides = if shape.contains(&0) { vec![0; ndim] } else { unsigned(dims(array.strides), "strides")? };
    Ok(Layout { dtype, shape, strides })
}

fn of_capsule(capsule: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let invalid = || {
        PyRuntimeError::new_err(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might \
             have already constructed a tensor from it once.",
        )
    };
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| invalid())?;
    match take::<Versioned>(capsule)? {
        Some(tensor) => Ok(tensor),
        None => take::<Unversioned>(capsule)?.ok_or_else(invalid),
    }
}

/// Asks an object for its capsule; one that has not heard of versions, in the old way.
fn ask<'py>(object: &Bound<'py, PyAny>, copy: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(object.py());
    options.set_item("max_version", (VERSION.major, VERSION.minor))?;
    if copy == Some(false) {
        options.set_item("copy", false)?;
    }
    match object.call_method("__dlpack__", (), Some(&options)) {
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => object.call_method0("__dlpack__"),
        answer => answer,
    }
}

/// A tensor that shares the memory of another library's: a change to one is a change to the other.
#[pyfunction]
#[pyo3(signature = (ext_tensor, *, device=None, copy=None))]
pub(super) fn from_dlpack<'py>(
    py: Python<'py>,
    ext_tensor: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    if !ext_tensor.hasattr("__dlpack__")? {
        if device.is_some() || copy.is_some() {
            return Err(PyAssertionError::new_err(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule.",
            ));
        }
        return wrap(py, of_capsule(ext_tensor)?);
    }
    let device = device.map(device_of).transpose()?.unwrap_or(Device::Cpu);
    if device != Device::Cpu && copy == Some(false) {
        return Err(PyValueError::new_err(format!(
            "cannot move DLPack tensor from device cpu to {} without copying. Set copy=None or copy=True.",
            ops::device_name(device)
        )));
    }
    let tensor = of_capsule(&ask(ext_tensor, copy)?)?;
    wrap(py, without_lock(py, || ops::to(&tensor, None, Some(device), copy == Some(true))).map_err(raise)?)
}
