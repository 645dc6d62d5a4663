//! Tensors of what Python has: numbers, lists of them, arrays.

use super::{PyTensor, device_of, dtype_of, unwrap, wrap};
use crate::bindings::args::scalar;
use crate::error::raise;
use mindtorch::{DType, Device, Scalar, Tensor, ops};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

/// A copy of `data` as a tensor.
pub(crate) fn from_python(data: &Bound<'_, PyAny>, dtype: Option<DType>, device: Option<Device>) -> PyResult<Tensor> {
    if let Ok(tensor) = data.cast::<PyTensor>() {
        let tensor = ops::detach(&unwrap(tensor)).map_err(raise)?;
        return ops::to(&tensor, dtype, device, true).map_err(raise);
    }
    let host = if data.hasattr("__array_interface__")? && !is_sequence(data) {
        let array = crate::interop::from_array(data)?;
        ops::to(&array, dtype, None, true).map_err(raise)?
    } else {
        return of_numbers(data, dtype, device.unwrap_or(Device::Cpu));
    };
    match device {
        Some(device) => ops::to(&host, None, Some(device), false).map_err(raise),
        None => Ok(host),
    }
}

fn is_sequence(data: &Bound<'_, PyAny>) -> bool {
    data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>()
}

fn of_numbers(data: &Bound<'_, PyAny>, dtype: Option<DType>, device: Device) -> PyResult<Tensor> {
    let mut shape = Vec::new();
    let mut numbers = Vec::new();
    collect(data, 0, &mut shape, &mut numbers)?;
    let dtype = dtype.unwrap_or_else(|| inferred(&numbers));
    let integers: Option<Vec<i64>> = numbers.iter().map(exact).collect();
    let tensor = match integers {
        Some(integers) if !dtype.is_float() => ops::lift(&integers, &shape, dtype, device),
        _ => {
            let numbers: Vec<f64> = numbers.iter().map(|number| number.to_f64()).collect();
            ops::lift(&numbers, &shape, dtype, device)
        }
    };
    tensor.map_err(raise)
}

fn exact(number: &Scalar) -> Option<i64> {
    match number {
        Scalar::Float(_) => None,
        number => Some(number.to_i64()),
    }
}

/// Floats win over ints, ints over truths; of nothing, floats are made.
fn inferred(numbers: &[Scalar]) -> DType {
    let has = |wanted: fn(&Scalar) -> bool| numbers.iter().any(wanted);
    if numbers.is_empty() || has(|number| matches!(number, Scalar::Float(_))) {
        mindtorch::default_dtype()
    } else if has(|number| matches!(number, Scalar::Int(_))) {
        DType::Int64
    } else {
        DType::Bool
    }
}

/// How deep lists may be in each other.
const DEEPEST: usize = 64;

fn collect(data: &Bound<'_, PyAny>, depth: usize, shape: &mut Vec<usize>, numbers: &mut Vec<Scalar>) -> PyResult<()> {
    if let Ok(tensor) = data.cast::<PyTensor>() {
        let tensor = unwrap(tensor);
        if tensor.numel() == 1 {
            check_leaf(depth, shape)?;
            numbers.push(ops::item(&tensor).map_err(raise)?);
            return Ok(());
        }
        return Err(PyValueError::new_err("only one element tensors can be converted to Python scalars"));
    }
    if !is_sequence(data) {
        if let Some(number) = scalar(data)? {
            check_leaf(depth, shape)?;
            numbers.push(number);
            return Ok(());
        }
        if data.is_instance_of::<PyString>() || data.len().is_err() || data.try_iter().is_err() {
            let name = data.get_type().name()?;
            return Err(match depth {
                0 => PyTypeError::new_err(format!("new(): invalid data type '{name}'")),
                _ if data.is_instance_of::<PyString>() => {
                    PyValueError::new_err(format!("too many dimensions '{name}'"))
                }
                _ => PyRuntimeError::new_err(format!("Could not infer dtype of {name}")),
            });
        }
    }
    let length = data.len()?;
    if depth == DEEPEST {
        return Err(PyValueError::new_err(format!("too many dimensions: lists are more than {DEEPEST} deep")));
    }
    match shape.get(depth) {
        None if numbers.is_empty() => shape.push(length),
        None => return Err(PyTypeError::new_err("a number was expected where there is a sequence")),
        Some(&expected) if expected != length => {
            return Err(PyValueError::new_err(format!(
                "expected sequence of length {expected} at dim {depth} (got {length})"
            )));
        }
        Some(_) => {}
    }
    for item in data.try_iter()? {
        collect(&item?, depth + 1, shape, numbers)?;
    }
    Ok(())
}

fn check_leaf(depth: usize, shape: &[usize]) -> PyResult<()> {
    if depth < shape.len() {
        return Err(PyTypeError::new_err(format!(
            "a sequence of length {} was expected at dim {depth}, not a number",
            shape[depth]
        )));
    }
    Ok(())
}

/// A tensor with a copy of `data`.
#[pyfunction]
#[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false, pin_memory=false))]
fn tensor<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
    requires_grad: bool,
    pin_memory: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let _ = pin_memory;
    let tensor = from_python(data, parse_dtype(dtype)?, device.map(device_of).transpose()?)?;
    tensor.set_requires_grad(requires_grad).map_err(raise)?;
    wrap(py, tensor)
}

/// A tensor of `data`, sharing its memory where that can be.
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None))]
fn as_tensor<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (dtype, device) = (parse_dtype(dtype)?, device.map(device_of).transpose()?);
    let shared = match data.cast::<PyTensor>() {
        Ok(tensor) => unwrap(tensor),
        Err(_) if data.hasattr("__array_interface__")? => crate::interop::from_array(data)?,
        Err(_) => return wrap(py, from_python(data, dtype, device)?),
    };
    wrap(py, ops::to(&shared, dtype, device, false).map_err(raise)?)
}

fn parse_dtype(dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DType>> {
    match dtype {
        None => Ok(None),
        Some(dtype) => dtype_of(dtype).map(Some).ok_or_else(|| {
            PyTypeError::new_err(format!("argument 'dtype' must be torch.dtype, not {}", dtype.get_type()))
        }),
    }
}

/// Adds the functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(tensor, module)?)?;
    module.add_function(wrap_pyfunction!(as_tensor, module)?)
}
