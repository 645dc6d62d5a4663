//! `x[...]` and `x[...] = y`.

use super::{PyTensor, from_python, unwrap, wrap};
use crate::bindings::args::scalar;
use crate::error::raise;
use crate::profiler::without_lock;
use mindtorch::{DType, Device, Scalar, Tensor, ops};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};

/// A part of an index.
enum Part<'py> {
    Int(i64),
    Slice(Bound<'py, PySlice>),
    Ellipsis,
    NewDim,
    /// A truth of Python's: all, or nothing, along a dimension of its own.
    Truth(bool),
    /// Integers, or truths for as many dimensions as the mask has.
    Tensor(Tensor),
}

impl Part<'_> {
    /// How many dimensions of the tensor it is about.
    fn dims(&self) -> usize {
        match self {
            Self::Int(_) | Self::Slice(_) => 1,
            Self::Ellipsis | Self::NewDim | Self::Truth(_) => 0,
            Self::Tensor(mask) if matches!(mask.dtype(), DType::Bool | DType::UInt8) => mask.ndim(),
            Self::Tensor(_) => 1,
        }
    }
}

fn parse<'py>(index: &Bound<'py, PyAny>, device: Device) -> PyResult<Vec<Part<'py>>> {
    match index.cast::<PyTuple>() {
        Ok(parts) => parts.iter().map(|part| parse_part(&part, device)).collect(),
        Err(_) => Ok(vec![parse_part(index, device)?]),
    }
}

fn parse_part<'py>(part: &Bound<'py, PyAny>, device: Device) -> PyResult<Part<'py>> {
    if let Ok(tensor) = part.cast::<PyTensor>() {
        let tensor = unwrap(tensor);
        if tensor.dtype().is_float() {
            return Err(PyIndexError::new_err("tensors used as indices must be long, int, byte or bool tensors"));
        }
        let is_mask = matches!(tensor.dtype(), DType::Bool | DType::UInt8);
        if tensor.ndim() == 0 && !is_mask {
            return Ok(Part::Int(ops::item(&tensor).map_err(raise)?.to_i64()));
        }
        if tensor.device() == device {
            return Ok(Part::Tensor(tensor));
        }
        return Ok(Part::Tensor(ops::to(&tensor, None, Some(device), false).map_err(raise)?));
    }
    if part.is_none() {
        return Ok(Part::NewDim);
    }
    if part.is_instance_of::<PyEllipsis>() {
        return Ok(Part::Ellipsis);
    }
    if let Ok(slice) = part.cast::<PySlice>() {
        return Ok(Part::Slice(slice.clone()));
    }
    if part.is_instance_of::<PyBool>() {
        return Ok(Part::Truth(part.extract()?));
    }
    if part.is_instance_of::<PyInt>() {
        return Ok(Part::Int(part.extract()?));
    }
    if part.is_instance_of::<PyList>() || part.is_instance_of::<PyTuple>() || part.hasattr("__array_interface__")? {
        let tensor = from_python(part, None, Some(device))?;
        let tensor = if tensor.numel() == 0 { ops::to_dtype(&tensor, DType::Int64).map_err(raise)? } else { tensor };
        if tensor.dtype().is_float() {
            return Err(PyIndexError::new_err("tensors used as indices must be long, int, byte or bool tensors"));
        }
        return Ok(Part::Tensor(tensor));
    }
    match part.call_method0("__index__") {
        Ok(int) => Ok(Part::Int(int.extract()?)),
        Err(_) => Err(PyIndexError::new_err(format!(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})",
            part.get_type().name()?
        ))),
    }
}

/// What an index comes to: a view, and tensors to look up in it by dimension.
struct Place {
    view: Tensor,
    lookups: Vec<Option<Tensor>>,
}

fn resolve(tensor: &Tensor, parts: &[Part<'_>]) -> PyResult<Place> {
    let named: usize = parts.iter().map(Part::dims).sum();
    if tensor.ndim() == 0 && matches!(parts, [Part::Int(_)]) {
        return Err(PyIndexError::new_err(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim \
             tensor to a number",
        ));
    }
    if named > tensor.ndim() {
        return Err(PyIndexError::new_err(format!("too many indices for tensor of dimension {}", tensor.ndim())));
    }
    if parts.iter().filter(|part| matches!(part, Part::Ellipsis)).count() > 1 {
        return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
    }
    let mut view = tensor.clone();
    let mut lookups: Vec<Option<Tensor>> = Vec::new();
    let mut dim = 0;
    // Dimensions that are gone: messages count all of the tensor's.
    let mut selected = 0;
    for part in parts {
        match part {
            Part::Int(index) => {
                let size = view.shape()[dim] as i64;
                if !(-size..size).contains(index) {
                    return Err(PyIndexError::new_err(format!(
                        "index {index} is out of bounds for dimension {} with size {size}",
                        dim + selected
                    )));
                }
                selected += 1;
                view = ops::select(&view, dim as i64, *index).map_err(raise)?;
            }
            Part::Slice(slice) => {
                let (start, stop, step) = bounds(slice)?;
                if (start, stop, step) != (None, None, 1) {
                    view = ops::slice(&view, dim as i64, start, stop, step).map_err(raise)?;
                }
                dim += 1;
            }
            Part::Ellipsis => dim += tensor.ndim() - named,
            Part::NewDim => {
                view = ops::unsqueeze(&view, dim as i64).map_err(raise)?;
                dim += 1;
            }
            Part::Truth(truth) => {
                view = ops::unsqueeze(&view, dim as i64).map_err(raise)?;
                put(&mut lookups, dim, ops::full(&[1], (*truth).into(), DType::Bool, tensor.device()).map_err(raise)?);
                dim += 1;
            }
            Part::Tensor(lookup) => {
                let is_mask = matches!(lookup.dtype(), DType::Bool | DType::UInt8);
                if is_mask && lookup.ndim() == 0 {
                    // All or nothing, along a dimension of its own.
                    view = ops::unsqueeze(&view, dim as i64).map_err(raise)?;
                    let mask = ops::unsqueeze(lookup, 0).map_err(raise)?;
                    put(&mut lookups, dim, mask);
                    dim += 1;
                    continue;
                }
                put(&mut lookups, dim, lookup.clone());
                dim += if is_mask { lookup.ndim() } else { 1 };
            }
        }
    }
    Ok(Place { view, lookups })
}

fn put(lookups: &mut Vec<Option<Tensor>>, dim: usize, lookup: Tensor) {
    lookups.resize(lookups.len().max(dim), None);
    lookups.push(Some(lookup));
}

fn bounds(slice: &Bound<'_, PySlice>) -> PyResult<(Option<i64>, Option<i64>, i64)> {
    let bound = |name: &str| -> PyResult<Option<i64>> {
        let value = slice.getattr(name)?;
        if value.is_none() {
            return Ok(None);
        }
        match value.extract::<i64>() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Ok(Some(value.call_method0("__index__")?.extract()?)),
        }
    };
    let step = bound("step")?.unwrap_or(1);
    if step <= 0 {
        return Err(PyValueError::new_err("step must be greater than zero"));
    }
    Ok((bound("start")?, bound("stop")?, step))
}

#[pymethods]
impl PyTensor {
    fn __getitem__<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let tensor = unwrap(slf);
        let place = resolve(&tensor, &parse(index, tensor.device())?)?;
        if place.lookups.is_empty() {
            // Never the tensor itself: what is changed about a view is not changed about its base.
            let view = if place.view.is_same(&tensor) { alias(&tensor)? } else { place.view };
            return wrap(py, view);
        }
        wrap(py, without_lock(py, || ops::index(&place.view, &place.lookups)).map_err(raise)?)
    }

    fn __setitem__<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let tensor = unwrap(slf);
        let mut parts = parse(index, tensor.device())?;
        let value = Value::of(value, &tensor)?;
        // A single truth is about the whole tensor: all of it, or nothing.
        if let [Part::Truth(truth)] = parts[..] {
            if !truth {
                return Ok(());
            }
            parts = vec![Part::NewDim];
        }
        let place = resolve(&tensor, &parts)?;
        if place.lookups.is_empty() {
            return match value {
                Value::Scalar(scalar) => ops::fill_(&place.view, scalar).map(drop),
                Value::Tensor(value) => {
                    without_lock(py, || ops::copy_(&place.view, &without_leading(&value, place.view.ndim())?).map(drop))
                }
            }
            .map_err(raise);
        }
        let value = match value {
            Value::Scalar(scalar) => ops::scalar_tensor(scalar, tensor.dtype(), tensor.device()).map_err(raise)?,
            Value::Tensor(value) => value,
        };
        without_lock(py, || ops::index_put_(&place.view, &place.lookups, &value, false)).map(drop).map_err(raise)
    }
}

fn alias(tensor: &Tensor) -> PyResult<Tensor> {
    let sizes: Vec<i64> = tensor.shape().iter().map(|&size| size as i64).collect();
    ops::expand(tensor, &sizes).map_err(raise)
}

/// What is assigned.
enum Value {
    Scalar(Scalar),
    Tensor(Tensor),
}

impl Value {
    fn of(value: &Bound<'_, PyAny>, target: &Tensor) -> PyResult<Self> {
        if let Ok(tensor) = value.cast::<PyTensor>() {
            return Ok(Self::Tensor(unwrap(tensor)));
        }
        if let Some(scalar) = scalar(value)? {
            return Ok(Self::Scalar(scalar));
        }
        let name = value.get_type().name()?;
        from_python(value, Some(target.dtype()), Some(target.device()))
            .map(Self::Tensor)
            .map_err(|_| PyTypeError::new_err(format!("can't assign a {name} to a {}", target.type_name())))
    }
}

/// A value may have more dimensions than the place it goes to, of size 1, in front.
fn without_leading(value: &Tensor, ndim: usize) -> mindtorch::Result<Tensor> {
    let extra = value.ndim().saturating_sub(ndim);
    if extra > 0 && value.shape()[..extra].iter().all(|&size| size == 1) {
        let sizes: Vec<i64> = value.shape()[extra..].iter().map(|&size| size as i64).collect();
        return ops::reshape(value, &sizes);
    }
    Ok(value.clone())
}
