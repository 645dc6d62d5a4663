//! What a tensor is: its shape, type and place, and its numbers as Python's.

use super::types::PyDevice;
use super::{PyDType, PyTensor, device_of, dtype_object, dtype_of, make_subclass, unwrap, wrap};
use crate::error::raise;
use crate::profiler::without_lock;
use mindtorch::{DType, Device, Scalar, ops};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

static SIZE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Sizes, as `torch.Size`.
pub(crate) fn size<'py>(py: Python<'py>, sizes: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let class = SIZE.import(py, "mindtorch_v2._size", "Size")?;
    class.call1((PyTuple::new(py, sizes)?,))
}

/// A number of a tensor, as Python has it.
pub(crate) fn number<'py>(py: Python<'py>, scalar: Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match scalar {
        Scalar::Bool(value) => pyo3::types::PyBool::new(py, value).to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Float(value) => value.into_pyobject(py)?.into_any(),
    })
}

#[pymethods]
impl PyTensor {
    /// `Tensor(data)` shares memory with a tensor; `Tensor(sizes...)` and `Tensor(list)` make one of floats.
    #[new]
    #[pyo3(signature = (*args, device=None))]
    fn new_(args: &Bound<'_, PyTuple>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let device = device.map(device_of).transpose()?.unwrap_or(Device::Cpu);
        let dtype = mindtorch::default_dtype();
        if args.len() == 1 {
            let first = args.get_item(0)?;
            if let Ok(tensor) = first.cast::<Self>() {
                return Ok(Self::new(ops::detach(&unwrap(tensor)).map_err(raise)?));
            }
            if first.extract::<i64>().is_err() {
                return Ok(Self::new(super::from_python(&first, Some(dtype), Some(device))?));
            }
        }
        let sizes: Vec<usize> = args.extract().or_else(|_| args.iter().map(|size| size.extract()).collect())?;
        let sizes = if args.is_empty() { vec![0] } else { sizes };
        Ok(Self::new(ops::empty(&sizes, dtype, device).map_err(raise)?))
    }

    /// An object of a subclass that shares memory with `data`.
    #[staticmethod]
    #[pyo3(signature = (cls, data, require_grad=false))]
    fn _make_subclass<'py>(
        cls: &Bound<'py, PyType>,
        data: &Bound<'py, Self>,
        require_grad: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        make_subclass(cls, &unwrap(data), require_grad)
    }

    #[getter]
    fn shape<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        size(slf.py(), slf.get().get(slf.py()).shape())
    }

    #[pyo3(signature = (dim=None))]
    fn size<'py>(slf: &Bound<'py, Self>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = slf.get().get(slf.py());
        match dim {
            None => size(slf.py(), tensor.shape()),
            Some(dim) => Ok(pick(tensor.shape(), dim)?.into_pyobject(slf.py())?.into_any()),
        }
    }

    #[pyo3(signature = (dim=None))]
    fn stride<'py>(slf: &Bound<'py, Self>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = slf.get().get(slf.py());
        match dim {
            None => Ok(PyTuple::new(slf.py(), tensor.strides())?.into_any()),
            Some(dim) => Ok(pick(tensor.strides(), dim)?.into_pyobject(slf.py())?.into_any()),
        }
    }

    fn storage_offset(slf: &Bound<'_, Self>) -> usize {
        slf.get().get(slf.py()).offset()
    }

    #[getter]
    fn ndim(slf: &Bound<'_, Self>) -> usize {
        slf.get().get(slf.py()).ndim()
    }

    fn dim(slf: &Bound<'_, Self>) -> usize {
        slf.get().get(slf.py()).ndim()
    }

    fn numel(slf: &Bound<'_, Self>) -> usize {
        slf.get().get(slf.py()).numel()
    }

    fn nelement(slf: &Bound<'_, Self>) -> usize {
        slf.get().get(slf.py()).numel()
    }

    fn element_size(slf: &Bound<'_, Self>) -> usize {
        slf.get().get(slf.py()).dtype().size()
    }

    #[getter]
    fn itemsize(slf: &Bound<'_, Self>) -> usize {
        slf.get().get(slf.py()).dtype().size()
    }

    #[getter]
    fn nbytes(slf: &Bound<'_, Self>) -> usize {
        let tensor = slf.get().get(slf.py());
        tensor.numel() * tensor.dtype().size()
    }

    /// Where its first number is.
    fn data_ptr(slf: &Bound<'_, Self>) -> usize {
        let tensor = slf.get().get(slf.py());
        if tensor.numel() == 0 {
            return 0;
        }
        tensor.storage().data().addr().get() + tensor.offset() * tensor.dtype().size()
    }

    #[getter]
    fn dtype<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDType>> {
        dtype_object(slf.py(), slf.get().get(slf.py()).dtype())
    }

    #[getter(device)]
    fn place(slf: &Bound<'_, Self>) -> PyDevice {
        PyDevice::new(slf.get().get(slf.py()).device())
    }

    #[getter]
    fn is_npu(slf: &Bound<'_, Self>) -> bool {
        slf.get().get(slf.py()).device() != Device::Cpu
    }

    #[getter]
    fn is_cuda(slf: &Bound<'_, Self>) -> bool {
        slf.get().get(slf.py()).device() != Device::Cpu
    }

    #[getter]
    fn is_cpu(slf: &Bound<'_, Self>) -> bool {
        slf.get().get(slf.py()).device() == Device::Cpu
    }

    /// The number of its accelerator, -1 on the host.
    fn get_device(slf: &Bound<'_, Self>) -> i32 {
        match slf.get().get(slf.py()).device() {
            Device::Cpu => -1,
            Device::Npu(index) => i32::from(index),
        }
    }

    fn is_contiguous(slf: &Bound<'_, Self>) -> bool {
        slf.get().get(slf.py()).is_contiguous()
    }

    fn is_floating_point(slf: &Bound<'_, Self>) -> bool {
        slf.get().get(slf.py()).dtype().is_float()
    }

    fn is_complex(_slf: &Bound<'_, Self>) -> bool {
        false
    }

    /// The type's name, or the tensor in another type.
    #[pyo3(signature = (dtype=None))]
    fn r#type<'py>(slf: &Bound<'py, Self>, dtype: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = unwrap(slf);
        let Some(dtype) = dtype else { return Ok(tensor.type_name().into_pyobject(slf.py())?.into_any()) };
        let dtype = match dtype_of(dtype) {
            Some(dtype) => dtype,
            None => type_by_name(&dtype.str()?.to_string_lossy())?,
        };
        wrap(slf.py(), without_lock(slf.py(), || ops::to_dtype(&tensor, dtype)).map_err(raise)?)
    }

    fn type_as<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (tensor, other) = (unwrap(slf), unwrap(other));
        let result = without_lock(slf.py(), || ops::to(&tensor, Some(other.dtype()), Some(other.device()), false));
        wrap(slf.py(), result.map_err(raise)?)
    }

    /// The tensor with another type or on another device: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`.
    #[pyo3(signature = (*args, **kwargs))]
    fn to<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (mut dtype, mut device, mut copy) = (None, None, false);
        let mut flags = 0;
        for arg in args {
            if let Ok(other) = arg.cast::<Self>() {
                let other = unwrap(other);
                (dtype, device) = (Some(other.dtype()), Some(other.device()));
            } else if let Some(given) = dtype_of(&arg) {
                dtype = Some(given);
            } else if let Ok(flag) = arg.extract::<bool>() {
                // non_blocking, then copy.
                copy |= flags == 1 && flag;
                flags += 1;
            } else if !arg.is_none() {
                device = Some(device_of(&arg)?);
            }
        }
        for (name, value) in kwargs.into_iter().flatten() {
            match name.extract::<String>()?.as_str() {
                "dtype" if !value.is_none() => {
                    dtype = Some(dtype_of(&value).ok_or_else(|| {
                        PyTypeError::new_err(format!(
                            "to(): argument 'dtype' must be torch.dtype, not {}",
                            value.get_type()
                        ))
                    })?);
                }
                "device" if !value.is_none() => device = Some(device_of(&value)?),
                "copy" => copy = value.extract()?,
                "other" => {
                    let other = unwrap(value.cast::<Self>()?);
                    (dtype, device) = (Some(other.dtype()), Some(other.device()));
                }
                "dtype" | "device" | "non_blocking" | "memory_format" => {}
                name => return Err(PyTypeError::new_err(format!("to() got an unexpected keyword argument '{name}'"))),
            }
        }
        let tensor = unwrap(slf);
        wrap(slf.py(), without_lock(slf.py(), || ops::to(&tensor, dtype, device, copy)).map_err(raise)?)
    }

    fn cpu<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = unwrap(slf);
        wrap(slf.py(), without_lock(slf.py(), || ops::to(&tensor, None, Some(Device::Cpu), false)).map_err(raise)?)
    }

    #[pyo3(signature = (device=None, non_blocking=false))]
    fn npu<'py>(
        slf: &Bound<'py, Self>,
        device: Option<&Bound<'py, PyAny>>,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = non_blocking;
        let device = match device {
            Some(device) => device_of(device)?,
            None => Device::Npu(mindtorch::npu::current_device()),
        };
        let tensor = unwrap(slf);
        wrap(slf.py(), without_lock(slf.py(), || ops::to(&tensor, None, Some(device), false)).map_err(raise)?)
    }

    #[pyo3(signature = (device=None, non_blocking=false))]
    fn cuda<'py>(
        slf: &Bound<'py, Self>,
        device: Option<&Bound<'py, PyAny>>,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::npu(slf, device, non_blocking)
    }

    /// Its only number.
    fn item<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = unwrap(slf);
        let item = if tensor.device() == Device::Cpu {
            ops::item(&tensor)
        } else {
            without_lock(slf.py(), || ops::item(&tensor))
        };
        number(slf.py(), item.map_err(raise)?)
    }

    /// Its numbers in lists, one inside the other.
    fn tolist<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = unwrap(slf);
        let numbers = without_lock(slf.py(), || ops::items(&tensor)).map_err(raise)?;
        nested(slf.py(), tensor.shape(), &numbers)
    }

    /// The same numbers, seen with the dimensions in reverse.
    #[getter(T)]
    fn transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        wrap(slf.py(), ops::numpy_t(&unwrap(slf)).map_err(raise)?)
    }

    /// Matrices with their dimensions exchanged.
    #[getter(mT)]
    fn matrix_transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = unwrap(slf);
        if tensor.ndim() < 2 {
            return Err(PyRuntimeError::new_err(format!(
                "tensor.mT is only supported on matrices or batches of matrices. Got {}-D tensor.",
                tensor.ndim()
            )));
        }
        wrap(slf.py(), ops::matrix_t(&tensor).map_err(raise)?)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.py().import("mindtorch_v2._tensor_str")?.call_method1("tensor_repr", (slf,))?.extract()
    }

    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        if unwrap(slf).ndim() == 0 && !spec.is_empty() {
            return Self::item(slf)?.call_method1("__format__", (spec,));
        }
        slf.str().map(Bound::into_any)?.call_method1("__format__", (spec,))
    }
}

fn pick(dims: &[usize], dim: i64) -> PyResult<usize> {
    let count = dims.len() as i64;
    let index = if dim < 0 { dim + count } else { dim };
    usize::try_from(index).ok().and_then(|index| dims.get(index)).copied().ok_or_else(|| {
        pyo3::exceptions::PyIndexError::new_err(format!(
            "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
            -count.max(1),
            count.max(1) - 1
        ))
    })
}

fn nested<'py>(py: Python<'py>, shape: &[usize], numbers: &[Scalar]) -> PyResult<Bound<'py, PyAny>> {
    let Some((&size, rest)) = shape.split_first() else { return number(py, numbers[0]) };
    let each: usize = rest.iter().product();
    let parts = (0..size).map(|index| nested(py, rest, &numbers[index * each..(index + 1) * each]));
    Ok(PyList::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

fn type_by_name(name: &str) -> PyResult<DType> {
    let scalar = name.trim_start_matches("torch.").trim_end_matches("Tensor");
    DType::ALL
        .into_iter()
        .find(|dtype| dtype.scalar_type() == scalar || dtype.name() == scalar)
        .ok_or_else(|| PyTypeError::new_err(format!("invalid type: '{name}'")))
}
