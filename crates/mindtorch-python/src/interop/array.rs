//! Arrays of numpy's, and of others with its protocol, `__array_interface__`.
//!
//! The protocol is an attribute that says where the numbers are. It needs nothing of numpy's to be there at compile time,
//! and an array made through it keeps the object with the attribute alive.

use super::bytes::Buffer;
use super::foreign::{Layout, share};
use crate::error::raise;
use crate::tensor::{PyTensor, unwrap, wrap};
use mindtorch::autograd::mode::is_grad_enabled;
use mindtorch::{DType, Device, Tensor, ops};
use pyo3::exceptions::{PyImportError, PyRuntimeError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicBool, Ordering};

const NATIVE_ORDER: char = if cfg!(target_endian = "little") { '<' } else { '>' };

/// The kind and size of numbers, as the protocol writes them after the byte order.
fn code(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "b1",
        DType::UInt8 => "u1",
        DType::Int8 => "i1",
        DType::Int16 => "i2",
        DType::Int32 => "i4",
        DType::Int64 => "i8",
        DType::Float16 => "f2",
        DType::Float32 => "f4",
        DType::Float64 => "f8",
        DType::BFloat16 => return None,
    })
}

/// What an object says of its numbers.
struct Interface {
    data: *mut u8,
    is_read_only: bool,
    layout: Layout,
    /// Keeps the memory where it is.
    owner: (Py<PyAny>, Py<PyDict>, Option<Buffer>),
}

impl Interface {
    fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let dict = array.getattr("__array_interface__")?.cast_into::<PyDict>()?;
        let get = |key: &str| Ok::<_, PyErr>(dict.get_item(key)?.filter(|value| !value.is_none()));
        let required =
            |key: &str| get(key)?.ok_or_else(|| PyValueError::new_err(format!("__array_interface__ has no '{key}'")));
        if get("mask")?.is_some() {
            return Err(PyTypeError::new_err("can't convert an array with a mask. Fill its masked numbers first."));
        }
        let dtype = dtype_of_array(array, &required("typestr")?.extract::<String>()?)?;
        let shape: Vec<usize> = required("shape")?.extract()?;
        let layout = match get("strides")? {
            Some(strides) => {
                Layout { dtype, strides: in_numbers(&strides.extract::<Vec<isize>>()?, &shape, dtype)?, shape }
            }
            None => Layout::contiguous(dtype, shape)?,
        };
        let data = get("data")?;
        if let Some(Ok(pair)) = data.as_ref().map(|data| data.cast::<PyTuple>()) {
            let (address, is_read_only) = pair.extract::<(usize, bool)>()?;
            let data = std::ptr::with_exposed_provenance_mut(address);
            return Ok(Self { data, is_read_only, layout, owner: (array.clone().unbind(), dict.unbind(), None) });
        }
        let buffer = Buffer::of(data.as_ref().unwrap_or(array))?;
        let offset: usize = get("offset")?.map_or(Ok(0), |offset| offset.extract())?;
        let fits = offset.checked_add(layout.bytes()?).is_some_and(|end| end <= buffer.len());
        if !fits {
            return Err(PyValueError::new_err("__array_interface__ describes more numbers than its buffer has"));
        }
        let (data, is_read_only) = (buffer.data().wrapping_add(offset), buffer.is_read_only());
        Ok(Self { data, is_read_only, layout, owner: (array.clone().unbind(), dict.unbind(), Some(buffer)) })
    }

    fn into_tensor(self) -> PyResult<Tensor> {
        share(self.data, &self.layout, Box::new(self.owner))
    }
}

fn dtype_of_array(array: &Bound<'_, PyAny>, text: &str) -> PyResult<DType> {
    let (order, kind) = text.split_at_checked(1).unwrap_or_default();
    let Some(dtype) = DType::ALL.into_iter().find(|dtype| code(*dtype) == Some(kind)) else {
        let name = array
            .getattr("dtype")
            .and_then(|dtype| dtype.getattr("type")?.cast_into::<pyo3::types::PyType>()?.fully_qualified_name());
        return Err(PyTypeError::new_err(format!(
            "can't convert np.ndarray of type {}. The only supported types are: float64, float32, float16, int64, int32, \
             int16, int8, uint8, and bool.",
            name.map_or_else(|_| text.to_owned(), |name| name.to_string())
        )));
    };
    if dtype.size() > 1 && !order.starts_with(NATIVE_ORDER) {
        return Err(PyValueError::new_err(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is \
             currently not supported.",
        ));
    }
    Ok(dtype)
}

/// Strides in numbers, of strides in bytes.
fn in_numbers(strides: &[isize], shape: &[usize], dtype: DType) -> PyResult<Vec<usize>> {
    if strides.len() != shape.len() {
        return Err(PyValueError::new_err("__array_interface__ has more or fewer strides than sizes"));
    }
    let is_empty = shape.contains(&0);
    let convert = |&stride: &isize| match usize::try_from(stride) {
        Ok(bytes) if bytes % dtype.size() == 0 => Ok(bytes / dtype.size()),
        Err(_) if is_empty => Ok(0),
        Err(_) => Err(PyValueError::new_err(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not \
             currently supported. (You can probably work around this by making a copy of your array  with array.copy().) ",
        )),
        Ok(_) => Err(PyValueError::new_err(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the \
             memory.",
        )),
    };
    strides.iter().map(convert).collect()
}

/// A tensor in the memory of an array, to be read: nobody is warned if it may not be written to.
pub(crate) fn from_array(array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    Interface::of(array)?.into_tensor()
}

/// A tensor in the memory of an array. The first that may not be written to gives a warning.
pub(super) fn share_array(array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    static WARNED: AtomicBool = AtomicBool::new(false);
    let interface = Interface::of(array)?;
    if interface.is_read_only && !WARNED.swap(true, Ordering::Relaxed) {
        let text = c"The given NumPy array is not writable, and MindTorch does not support non-writable tensors. This \
            means writing to this tensor will result in undefined behavior. You may want to copy the array to protect its \
            data or make it writable before converting it to a tensor. This type of warning will be suppressed for the \
            rest of this program.";
        PyErr::warn(array.py(), &array.py().get_type::<PyUserWarning>(), text, 1)?;
    }
    interface.into_tensor()
}

fn numpy(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("numpy").map_err(|error| match error.is_instance_of::<PyImportError>(py) {
        true => PyRuntimeError::new_err("Numpy is not available"),
        false => error,
    })
}

/// A tensor that shares the memory of a numpy array: a change to one is a change to the other.
#[pyfunction]
fn from_numpy<'py>(py: Python<'py>, ndarray: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !ndarray.is_instance(&numpy(py)?.getattr("ndarray")?)? {
        let name = ndarray.get_type().fully_qualified_name()?;
        return Err(PyTypeError::new_err(format!("expected np.ndarray (got {name})")));
    }
    wrap(py, share_array(ndarray)?)
}

/// The memory of a tensor, as numpy finds it.
#[pyclass(module = "mindtorch_v2._core", frozen)]
struct TensorMemory {
    tensor: Tensor,
    code: &'static str,
}

#[pymethods]
impl TensorMemory {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (tensor, size) = (&self.tensor, self.tensor.dtype().size());
        let offset = if tensor.numel() == 0 { 0 } else { tensor.offset() * size };
        let strides = tensor.strides().iter().map(|stride| stride * size);
        let dict = PyDict::new(py);
        dict.set_item("version", 3)?;
        dict.set_item("typestr", format!("{}{}", if size == 1 { '|' } else { NATIVE_ORDER }, self.code))?;
        dict.set_item("shape", PyTuple::new(py, tensor.shape())?)?;
        dict.set_item("strides", PyTuple::new(py, strides)?)?;
        dict.set_item("data", (tensor.storage().data().as_ptr().expose_provenance() + offset, false))?;
        Ok(dict)
    }
}

#[pymethods]
impl PyTensor {
    /// A numpy array that shares the tensor's memory; with `force`, one of a copy if it cannot be shared.
    #[pyo3(signature = (*, force=false))]
    fn numpy<'py>(slf: &Bound<'py, Self>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let mut tensor = unwrap(slf);
        if force {
            let forced = py.detach(|| ops::to(&ops::detach(&tensor)?, None, Some(Device::Cpu), false));
            tensor = forced.map_err(raise)?;
        }
        if tensor.device() != Device::Cpu {
            return Err(PyTypeError::new_err(format!(
                "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
                ops::device_name(tensor.device())
            )));
        }
        if tensor.requires_grad() && is_grad_enabled() {
            return Err(PyRuntimeError::new_err(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
            ));
        }
        let code = code(tensor.dtype()).ok_or_else(|| {
            PyTypeError::new_err(format!("Got unsupported ScalarType {}", tensor.dtype().scalar_type()))
        })?;
        numpy(py)?.call_method1("asarray", (TensorMemory { tensor, code },))
    }

    /// The array that numpy's functions take for the tensor.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shared = Self::numpy(slf, false)?;
        let options = PyDict::new(slf.py());
        options.set_item("dtype", dtype)?;
        options.set_item("copy", copy)?;
        numpy(slf.py())?.call_method("array", (shared,), Some(&options))
    }

    /// The tensor that numpy's functions give for an array that they made of this one. Truths become bytes, as in torch.
    #[pyo3(signature = (array, context=None, return_scalar=false))]
    fn __array_wrap__<'py>(
        slf: &Bound<'py, Self>,
        array: &Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
        return_scalar: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (context, return_scalar);
        let tensor = share_array(array)?;
        let dtype = if tensor.dtype() == DType::Bool { DType::UInt8 } else { tensor.dtype() };
        wrap(slf.py(), ops::to_dtype(&tensor, dtype).map_err(raise)?)
    }

    /// Operators with an array on the left are a tensor's.
    #[classattr]
    fn __array_priority__() -> i64 {
        1000
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(from_numpy, module)?)
}
