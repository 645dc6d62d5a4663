//! `FunctionEventAvg`: the sums of one group of events. Times are in microseconds, as in torch.

use crate::view::micros;
use mindtorch_profiler::{Average, Averages};
use pyo3::prelude::*;
use std::sync::Arc;

/// The sums and averages of the events that share a name.
#[pyclass(frozen, module = "mindtorch_v2._core")]
pub(crate) struct FunctionEventAvg {
    averages: Arc<Averages>,
    at: usize,
}

impl FunctionEventAvg {
    pub(crate) fn new(averages: &Arc<Averages>, at: usize) -> Self {
        Self { averages: Arc::clone(averages), at }
    }

    pub(crate) fn is_of(&self, averages: &Arc<Averages>) -> bool {
        Arc::ptr_eq(&self.averages, averages)
    }

    fn row(&self) -> &Average {
        &self.averages.rows()[self.at]
    }
}

#[pymethods]
impl FunctionEventAvg {
    #[getter]
    fn key(&self) -> &str {
        &self.row().key
    }

    #[getter]
    fn count(&self) -> u64 {
        self.row().count
    }

    #[getter]
    fn cpu_time_total(&self) -> f64 {
        micros(self.row().cpu_total_ns)
    }

    #[getter]
    fn self_cpu_time_total(&self) -> f64 {
        micros(self.row().self_cpu_ns)
    }

    #[getter]
    fn cpu_time(&self) -> f64 {
        self.row().cpu_mean_ns() / 1000.0
    }

    #[getter]
    fn device_time_total(&self) -> f64 {
        micros(self.row().device_total_ns)
    }

    #[getter]
    fn self_device_time_total(&self) -> f64 {
        micros(self.row().self_device_ns)
    }

    #[getter]
    fn device_time(&self) -> f64 {
        self.row().device_mean_ns() / 1000.0
    }

    #[getter]
    fn cpu_memory_usage(&self) -> i64 {
        self.row().cpu_memory
    }

    #[getter]
    fn self_cpu_memory_usage(&self) -> i64 {
        self.row().self_cpu_memory
    }

    #[getter]
    fn device_memory_usage(&self) -> i64 {
        self.row().device_memory
    }

    #[getter]
    fn self_device_memory_usage(&self) -> i64 {
        self.row().self_device_memory
    }

    #[getter]
    fn flops(&self) -> u64 {
        self.row().flops
    }

    #[getter]
    fn is_async(&self) -> bool {
        self.row().is_async
    }

    #[getter]
    fn is_user_annotation(&self) -> bool {
        self.row().is_annotation
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().is_of(&self.averages) && other.get().at == self.at)
    }

    fn __hash__(&self) -> u64 {
        (Arc::as_ptr(&self.averages).addr() as u64).wrapping_add(self.at as u64)
    }

    fn __repr__(&self) -> String {
        let row = self.row();
        format!(
            "<FunctionEventAvg key={} count={} self_cpu_time_total={:.3}us cpu_time_total={:.3}us>",
            row.key,
            row.count,
            self.self_cpu_time_total(),
            self.cpu_time_total(),
        )
    }
}
