//! Tensors of bytes, and bytes of tensors.

#![expect(unsafe_code, reason = "bytes are copied from and to tensors of any type, and buffers are known by address")]

use super::foreign::{Layout, share};
use crate::error::raise;
use crate::profiler::without_lock;
use crate::tensor::{PyTensor, dtype_of, unwrap, wrap};
use mindtorch::{DType, Device, Tensor, ops};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

// Part of the stable ABI since 3.2, whereas `PyObject_GetBuffer` is only since 3.11.
unsafe extern "C" {
    fn PyObject_AsReadBuffer(object: *mut ffi::PyObject, data: *mut *const c_void, len: *mut ffi::Py_ssize_t) -> c_int;
}

/// The bytes of an object with the buffer protocol, which stay where they are for as long as this lives.
pub(super) struct Buffer {
    /// While there is a view, its object may not be resized.
    _view: Py<PyMemoryView>,
    data: *mut u8,
    len: usize,
    is_read_only: bool,
}

// SAFETY: the address is only read here; who has it answers for what is done there.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let view = PyMemoryView::from(object).map_err(|error| match error.is_instance_of::<PyTypeError>(py) {
            true => PyValueError::new_err("object does not implement Python buffer protocol."),
            false => error,
        })?;
        let is_read_only = view.getattr("readonly")?.extract()?;
        let (mut data, mut len) = (std::ptr::null(), 0);
        // SAFETY: the interpreter lock is held, the view is an object, and both places may be written to.
        if unsafe { PyObject_AsReadBuffer(view.as_ptr(), &raw mut data, &raw mut len) } != 0 {
            drop(PyErr::take(py));
            return Err(PyRuntimeError::new_err(
                "could not retrieve a contiguous buffer from the given object (non-contiguous buffers are not supported)",
            ));
        }
        let len = usize::try_from(len).unwrap_or(0);
        Ok(Self { _view: view.unbind(), data: data.cast_mut().cast(), len, is_read_only })
    }

    pub(super) fn data(&self) -> *mut u8 {
        self.data
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    fn warn_if_read_only(&self, py: Python<'_>) -> PyResult<()> {
        static WARNED: AtomicBool = AtomicBool::new(false);
        if !self.is_read_only || WARNED.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let text = c"The given buffer is not writable, and MindTorch does not support non-writable tensors. This means you \
            can write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer \
            to protect its data or make it writable before converting it to a tensor. This type of warning will be \
            suppressed for the rest of this program.";
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)
    }
}

/// A tensor with one dimension in the memory of a buffer: a change to one is a change to the other.
#[pyfunction]
#[pyo3(signature = (buffer, *, dtype, count=-1, offset=0, requires_grad=false))]
fn frombuffer<'py>(
    py: Python<'py>,
    buffer: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
    count: isize,
    offset: isize,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = parse_dtype(dtype)?;
    let buffer = Buffer::of(buffer)?;
    let range = part(buffer.len, dtype.size(), count, offset)?;
    buffer.warn_if_read_only(py)?;
    let data = buffer.data.wrapping_add(range.start);
    let layout = Layout::contiguous(dtype, vec![range.len() / dtype.size()])?;
    let tensor = share(data, &layout, Box::new(buffer))?;
    tensor.set_requires_grad(requires_grad).map_err(raise)?;
    wrap(py, tensor)
}

/// The bytes of a buffer that are meant by a count of numbers and an offset in bytes.
fn part(len: usize, size: usize, count: isize, offset: isize) -> PyResult<std::ops::Range<usize>> {
    let wrong = |text: String| Err(PyValueError::new_err(text));
    if len == 0 || count == 0 {
        return wrong(format!("both buffer length ({len}) and count ({count}) must not be 0"));
    }
    let Some(start) = usize::try_from(offset).ok().filter(|&start| start < len) else {
        return wrong(format!(
            "offset ({offset} bytes) must be non-negative and no greater than buffer length ({len} bytes) minus 1"
        ));
    };
    // As in torch, any negative count means all that there is.
    let Ok(count) = usize::try_from(count) else {
        let rest = len - start;
        if !rest.is_multiple_of(size) {
            return wrong(format!(
                "buffer length ({rest} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
            ));
        }
        return Ok(start..len);
    };
    match count.checked_mul(size).and_then(|bytes| start.checked_add(bytes)).filter(|&end| end <= len) {
        Some(end) => Ok(start..end),
        None => wrong(format!(
            "requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual \
             buffer length ({len} bytes)"
        )),
    }
}

/// The bytes of a tensor's numbers, in the order of the dimensions.
pub(super) fn bytes_of<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyBytes>> {
    const { assert!(cfg!(target_endian = "little"), "stored tensors are little-endian") };
    let on_host = || ops::contiguous(&ops::to(&ops::detach(tensor)?, None, Some(Device::Cpu), false)?);
    let host = without_lock(py, on_host).map_err(raise)?;
    let size = host.dtype().size();
    let (start, len) = (host.storage().data(), host.numel() * size);
    PyBytes::new_with(py, len, |bytes| {
        if len > 0 {
            // SAFETY: a contiguous tensor on the host has `len` bytes from its offset on, and these are not in them.
            unsafe { std::ptr::copy_nonoverlapping(start.as_ptr().add(host.offset() * size), bytes.as_mut_ptr(), len) };
        }
        Ok(())
    })
}

/// A tensor of a copy of these bytes.
pub(super) fn tensor_of(
    buffer: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyAny>,
) -> PyResult<Tensor> {
    let (buffer, dtype, shape) = (Buffer::of(buffer)?, parse_dtype(dtype)?, shape.extract::<Vec<usize>>()?);
    let bytes = shape.iter().try_fold(dtype.size(), |bytes, &size| bytes.checked_mul(size));
    if bytes != Some(buffer.len) {
        return Err(PyValueError::new_err(format!(
            "{} bytes are not those of a tensor of {dtype} with shape {shape:?}",
            buffer.len
        )));
    }
    let tensor = ops::empty(&shape, dtype, Device::Cpu).map_err(raise)?;
    // SAFETY: the view keeps its bytes in place; a new tensor has as many, and nobody else knows of them.
    unsafe { std::ptr::copy_nonoverlapping(buffer.data, tensor.storage().data().as_ptr(), buffer.len) };
    Ok(tensor)
}

/// The bytes of a tensor on any device, little-endian, in the order of the dimensions.
#[pyfunction]
fn tensor_to_bytes<'py>(py: Python<'py>, tensor: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyBytes>> {
    bytes_of(py, &unwrap(tensor))
}

/// A tensor of a copy of the bytes that `tensor_to_bytes` gave.
#[pyfunction]
fn tensor_from_bytes<'py>(
    buffer: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    wrap(buffer.py(), tensor_of(buffer, dtype, shape)?)
}

fn parse_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<DType> {
    dtype_of(dtype).ok_or_else(|| match dtype.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("argument 'dtype' must be torch.dtype, not {name}")),
        Err(error) => error,
    })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(frombuffer, module)?)?;
    module.add_function(wrap_pyfunction!(tensor_to_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(tensor_from_bytes, module)?)
}
