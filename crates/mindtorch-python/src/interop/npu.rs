//! The accelerators and their memory, for `mindtorch_v2.npu`.

use crate::error::raise;
use crate::tensor::device_of;
use mindtorch::Device;
use mindtorch::npu::{self, MemoryStats, Npu, NpuError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(super) fn raise_npu(error: NpuError) -> PyErr {
    raise(error.into())
}

/// The number of the accelerator that is meant: the current one unless another is given.
fn index_of(device: Option<&Bound<'_, PyAny>>) -> PyResult<u16> {
    let index = match device.map(device_of).transpose()? {
        None => npu::current_device(),
        Some(Device::Npu(index)) => index,
        Some(Device::Cpu) => return Err(PyValueError::new_err("Expected a npu device, but got: cpu")),
    };
    let count = npu::device_count().map_err(raise_npu)?;
    if index < count { Ok(index) } else { Err(raise_npu(NpuError::NoSuchDevice { index, count })) }
}

pub(super) fn npu_of(device: Option<&Bound<'_, PyAny>>) -> PyResult<&'static Npu> {
    Npu::get(index_of(device)?).map_err(raise_npu)
}

/// How many accelerators there are.
#[pyfunction]
fn _npu_device_count() -> PyResult<u16> {
    npu::device_count().map_err(raise_npu)
}

/// Whether an accelerator was used by this process.
#[pyfunction]
fn _npu_is_initialized() -> bool {
    npu::is_initialized()
}

/// Starts an accelerator, if it has not been.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_init(device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    npu_of(device).map(drop)
}

/// The number of the accelerator that this thread uses.
#[pyfunction]
fn _npu_current_device() -> u16 {
    npu::current_device()
}

/// Makes this thread use an accelerator.
#[pyfunction]
fn _npu_set_device(device: &Bound<'_, PyAny>) -> PyResult<()> {
    npu::set_device(index_of(Some(device))?).map_err(raise_npu)
}

/// The number of an accelerator that is given in any way.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_index(device: Option<&Bound<'_, PyAny>>) -> PyResult<u16> {
    index_of(device)
}

/// Waits until an accelerator has done all that it was given.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_synchronize(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let npu = npu_of(device)?;
    py.detach(|| npu.synchronize()).map_err(raise_npu)
}

/// What the memory of an accelerator was used for, under torch's keys. All is 0 before its first use.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_memory_stats<'py>(py: Python<'py>, device: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyDict>> {
    let stats = match started(device)? {
        Some(npu) => npu.memory_stats().map_err(raise_npu)?,
        None => MemoryStats::default(),
    };
    let dict = PyDict::new(py);
    for (key, value) in stats.entries() {
        dict.set_item(key, value)?;
    }
    Ok(dict)
}

/// Makes the peaks of an accelerator's memory what is in use now.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_reset_peak_memory_stats(device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    started(device)?.map_or(Ok(()), Npu::reset_peak_memory_stats).map_err(raise_npu)
}

/// Makes the sums of an accelerator's memory start anew.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_reset_accumulated_memory_stats(device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    started(device)?.map_or(Ok(()), Npu::reset_accumulated_memory_stats).map_err(raise_npu)
}

/// The bytes of an accelerator's memory that are free, and all that there are.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_mem_get_info(device: Option<&Bound<'_, PyAny>>) -> PyResult<(u64, u64)> {
    npu_of(device)?.mem_get_info().map_err(raise_npu)
}

/// Gives the host back what the accelerators' caches hold and nobody uses.
#[pyfunction]
fn _npu_empty_cache(py: Python<'_>) -> PyResult<()> {
    if !npu::is_initialized() {
        return Ok(());
    }
    py.detach(|| (0..npu::device_count()?).try_for_each(|index| Npu::get(index)?.empty_cache())).map_err(raise_npu)
}

/// The accelerator, if one has been used: a question about memory is no reason to start it.
fn started(device: Option<&Bound<'_, PyAny>>) -> PyResult<Option<&'static Npu>> {
    if npu::is_initialized() { npu_of(device).map(Some) } else { Ok(None) }
}

/// What an accelerator is.
#[pyclass(name = "_NpuDeviceProperties", module = "mindtorch_v2.npu", frozen, get_all)]
struct Properties {
    name: &'static str,
    total_memory: u64,
}

#[pymethods]
impl Properties {
    fn __repr__(&self) -> String {
        format!("_NpuDeviceProperties(name='{}', total_memory={}MB)", self.name, self.total_memory >> 20)
    }
}

/// The name of an accelerator and the bytes of memory that it has.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_device_properties(device: Option<&Bound<'_, PyAny>>) -> PyResult<Properties> {
    let npu = npu_of(device)?;
    Ok(Properties { name: npu.name(), total_memory: npu.total_memory() })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Properties>()?;
    module.add_function(wrap_pyfunction!(_npu_device_count, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_is_initialized, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_init, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_current_device, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_set_device, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_index, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_synchronize, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_reset_peak_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_reset_accumulated_memory_stats, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_mem_get_info, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_empty_cache, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_device_properties, module)?)
}
