//! `dtype`, `device` and `Generator`.

use crate::error::raise;
use mindtorch::{DType, Device, Generator};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The type of a tensor's numbers.
#[pyclass(name = "dtype", module = "mindtorch_v2", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PyDType(pub(crate) DType);

static DTYPES: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();

/// The object of a dtype: there is one of each.
pub(crate) fn dtype_object(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyDType>> {
    let all = DTYPES.get_or_try_init(py, || {
        DType::ALL.into_iter().map(|dtype| Py::new(py, PyDType(dtype))).collect::<PyResult<Vec<_>>>()
    })?;
    Ok(all[dtype as usize].bind(py).clone())
}

/// What Python gave for a dtype, which may be one of its own types.
pub(crate) fn dtype_of(value: &Bound<'_, PyAny>) -> Option<DType> {
    if let Ok(dtype) = value.cast::<PyDType>() {
        return Some(dtype.get().0);
    }
    let py = value.py();
    if value.is(py.get_type::<PyFloat>()) {
        return Some(mindtorch::default_dtype());
    }
    if value.is(py.get_type::<PyBool>()) {
        return Some(DType::Bool);
    }
    value.is(py.get_type::<PyInt>()).then_some(DType::Int64)
}

#[pymethods]
impl PyDType {
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_float()
    }

    #[getter]
    fn is_complex(&self) -> bool {
        false
    }

    #[getter]
    fn is_signed(&self) -> bool {
        !matches!(self.0, DType::Bool | DType::UInt8)
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    /// As a name of the package, so that copies and pickles of it are it.
    fn __reduce__(&self) -> &'static str {
        self.0.name()
    }
}

/// Where a tensor is.
#[pyclass(name = "device", module = "mindtorch_v2", frozen)]
pub(crate) struct PyDevice {
    pub(crate) device: Device,
    /// Whether the index was given.
    indexed: bool,
}

impl PyDevice {
    pub(crate) fn new(device: Device) -> Self {
        Self { device, indexed: device != Device::Cpu }
    }

    fn kind(&self) -> &'static str {
        if self.device == Device::Cpu { "cpu" } else { "npu" }
    }

    fn shown_index(&self) -> Option<u16> {
        match self.device {
            Device::Npu(index) if self.indexed => Some(index),
            Device::Cpu if self.indexed => Some(0),
            _ => None,
        }
    }
}

fn parse_device(text: &str) -> PyResult<PyDevice> {
    let invalid = || PyRuntimeError::new_err(format!("Invalid device string: '{text}'"));
    let (kind, index) = match text.split_once(':') {
        Some((kind, index)) => (kind, Some(index.parse::<u16>().map_err(|_| invalid())?)),
        None => (text, None),
    };
    match kind {
        "cpu" => Ok(PyDevice { device: Device::Cpu, indexed: index.is_some() }),
        // The accelerator goes by the name that programs have for theirs.
        "npu" | "cuda" => {
            let device = Device::Npu(index.unwrap_or_else(mindtorch::npu::current_device));
            Ok(PyDevice { device, indexed: index.is_some() })
        }
        _ => Err(PyRuntimeError::new_err(format!(
            "Expected one of cpu, npu, cuda device type at start of device string: {text}"
        ))),
    }
}

/// What Python gave for a device: an object, a text, or the number of an accelerator.
pub(crate) fn device_of(value: &Bound<'_, PyAny>) -> PyResult<Device> {
    if let Ok(device) = value.cast::<PyDevice>() {
        let device = device.get();
        return Ok(if device.indexed { device.device } else { parse_device(device.kind())?.device });
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(parse_device(&text.to_cow()?)?.device);
    }
    if let Ok(index) = value.extract::<u16>() {
        return Ok(Device::Npu(index));
    }
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("argument 'device' must be torch.device, not {name}")))
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (r#type, index=None))]
    fn py_new(r#type: &Bound<'_, PyAny>, index: Option<u16>) -> PyResult<Self> {
        if let Ok(device) = r#type.cast::<Self>() {
            return Ok(Self { device: device.get().device, indexed: device.get().indexed });
        }
        if let Ok(index) = r#type.extract::<u16>() {
            return Ok(Self { device: Device::Npu(index), indexed: true });
        }
        let text: String = r#type.extract()?;
        match index {
            Some(index) if !text.contains(':') => parse_device(&format!("{text}:{index}")),
            Some(_) => Err(PyRuntimeError::new_err(format!(
                "type (string) must not include an index because index was passed explicitly: {text}"
            ))),
            None => parse_device(&text),
        }
    }

    #[getter]
    fn r#type(&self) -> &'static str {
        self.kind()
    }

    #[getter]
    fn index(&self) -> Option<u16> {
        self.shown_index()
    }

    fn __repr__(&self) -> String {
        match self.shown_index() {
            Some(index) => format!("device(type='{}', index={index})", self.kind()),
            None => format!("device(type='{}')", self.kind()),
        }
    }

    fn __str__(&self) -> String {
        match self.shown_index() {
            Some(index) => format!("{}:{index}", self.kind()),
            None => self.kind().to_owned(),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| (self.kind(), self.shown_index()) == (other.get().kind(), other.get().shown_index()))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.kind(), self.shown_index()).hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().into_any(), (self.__str__(),)))
    }
}

/// A source of random numbers.
#[pyclass(name = "Generator", module = "mindtorch_v2", frozen)]
pub(crate) struct PyGenerator(pub(crate) Arc<Generator>);

pub(crate) fn generator_of(value: &Bound<'_, PyAny>) -> Option<Arc<Generator>> {
    Some(Arc::clone(&value.cast::<PyGenerator>().ok()?.get().0))
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        // Random numbers are drawn on the host and copied, so that both devices see the same.
        device.map(device_of).transpose()?;
        Ok(Self(Arc::new(Generator::new())))
    }

    /// Starts again, with the numbers that a seed stands for.
    fn manual_seed<'py>(slf: Bound<'py, Self>, seed: i128) -> Bound<'py, Self> {
        slf.get().0.manual_seed(seed as u64);
        slf
    }

    /// The seed that it was last started with.
    fn initial_seed(&self) -> u64 {
        self.0.initial_seed()
    }

    /// Starts again with a seed that cannot be foretold, and gives it.
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// Its state, for `set_state`.
    fn get_state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.0.get_state();
        let tensor = mindtorch::Tensor::from_slice(&state, &[state.len()]).map_err(raise)?;
        super::wrap(py, tensor)
    }

    /// Makes it what `get_state` saw.
    fn set_state(&self, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = match state.cast::<super::PyTensor>() {
            Ok(tensor) => super::unwrap(tensor).to_vec::<u8>().map_err(raise)?,
            Err(_) => state.cast::<PyBytes>()?.as_bytes().to_vec(),
        };
        self.0.set_state(&bytes).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice::new(Device::Cpu)
    }
}

/// The type that holds what two tensors of these types give.
#[pyfunction]
fn promote_types<'py>(
    py: Python<'py>,
    type1: &Bound<'py, PyDType>,
    type2: &Bound<'py, PyDType>,
) -> PyResult<Bound<'py, PyDType>> {
    dtype_object(py, type1.get().0.promote(type2.get().0))
}

/// The type of what an operation on both gives; each is a tensor or a number.
#[pyfunction]
fn result_type<'py>(
    py: Python<'py>,
    tensor1: &Bound<'py, PyAny>,
    tensor2: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDType>> {
    let mut tensors = Vec::new();
    let mut scalars = Vec::new();
    for value in [tensor1, tensor2] {
        match value.cast::<super::PyTensor>() {
            Ok(tensor) => tensors.push(super::unwrap(tensor)),
            Err(_) => scalars.push(crate::bindings::args::scalar(value)?.ok_or_else(|| {
                PyTypeError::new_err(format!("result_type(): expected Tensor or Number, not {}", value.get_type()))
            })?),
        }
    }
    let tensors = tensors.iter().map(mindtorch::ops::Operand::Tensor);
    let operands: Vec<_> = tensors.chain(scalars.into_iter().map(mindtorch::ops::Operand::Scalar)).collect();
    dtype_object(py, mindtorch::ops::result_type(&operands))
}

/// The type of floats that nobody gave a type.
#[pyfunction]
fn get_default_dtype(py: Python<'_>) -> PyResult<Bound<'_, PyDType>> {
    dtype_object(py, mindtorch::default_dtype())
}

/// Changes the type of floats that nobody gave a type.
#[pyfunction]
fn set_default_dtype(d: &Bound<'_, PyDType>) -> PyResult<()> {
    let dtype = d.get().0;
    if !dtype.is_float() {
        return Err(PyTypeError::new_err(format!(
            "only floating-point types are supported as the default type, but got {dtype}"
        )));
    }
    mindtorch::set_default_dtype(dtype);
    Ok(())
}

/// Adds the types, and a name for each dtype.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("OutOfMemoryError", py.get_type::<crate::error::OutOfMemoryError>())?;
    module.add("default_generator", PyGenerator(Generator::shared_default()))?;
    module.add_function(wrap_pyfunction!(promote_types, module)?)?;
    module.add_function(wrap_pyfunction!(result_type, module)?)?;
    module.add_function(wrap_pyfunction!(get_default_dtype, module)?)?;
    module.add_function(wrap_pyfunction!(set_default_dtype, module)?)?;
    for dtype in DType::ALL {
        module.add(dtype.name(), dtype_object(py, dtype)?)?;
    }
    let others = [
        ("float", DType::Float32),
        ("double", DType::Float64),
        ("half", DType::Float16),
        ("long", DType::Int64),
        ("int", DType::Int32),
        ("short", DType::Int16),
    ];
    for (name, dtype) in others {
        module.add(name, dtype_object(py, dtype)?)?;
    }
    Ok(())
}
