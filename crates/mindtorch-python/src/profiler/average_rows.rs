//! `AverageRows`: what a list of averages is made of, row by row.

use super::data_frame::PyDataFrame;
use super::event_rows::EventRows;
use super::event_values::scope;
use super::inputs::{self, DIMS};
use super::results::Groups;
use super::table::{Columns, options};
use super::view::{TraceView, micros};
use mindtorch_profiler::{Average, Averages, Capture, DataFrame, Overhead};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyAttributeError, PyIndexError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Events that share a name, and what else they were grouped by: sums and averages.
#[pyclass(frozen, sequence, module = "mindtorch_v2._core")]
pub(crate) struct AverageRows {
    view: Arc<TraceView>,
    averages: Arc<Averages>,
    is_by_shape: bool,
}

impl AverageRows {
    pub(super) fn new(view: &Arc<TraceView>, groups: Groups, overhead: Option<Overhead>) -> Self {
        let averages = Arc::new(match overhead {
            None => view.trace.averages(groups.into()),
            Some(overhead) => view.trace.averages_without(groups.into(), &overhead),
        });
        Self { view: Arc::clone(view), averages, is_by_shape: groups.by_shape }
    }

    fn row(&self, index: usize) -> PyResult<&Average> {
        let row = self.averages.rows().get(index);
        row.ok_or_else(|| PyIndexError::new_err(format!("there are {} averages, none at {index}", self.__len__())))
    }
}

#[pymethods]
impl AverageRows {
    fn __len__(&self) -> usize {
        self.averages.rows().len()
    }

    #[getter]
    fn profile_memory(&self) -> bool {
        self.view.captures(Capture::MEMORY)
    }

    #[getter]
    fn with_flops(&self) -> bool {
        self.view.captures(Capture::FLOPS)
    }

    #[getter]
    fn use_device(&self) -> Option<String> {
        self.view.device_name()
    }

    #[getter]
    fn self_cpu_time_total(&self) -> f64 {
        micros(self.averages.self_cpu_total_ns())
    }

    /// The profiler's own time that was taken off, in microseconds; None if it was not to be.
    #[getter]
    fn overhead_time_total(&self) -> Option<f64> {
        self.averages.overhead_ns().map(micros)
    }

    /// The events that were averaged.
    fn events(&self) -> EventRows {
        EventRows::new(&self.view)
    }

    /// An attribute of the average at a place, in torch's words and units.
    fn attribute<'py>(&self, py: Python<'py>, index: usize, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let row = self.row(index)?;
        match name {
            "key" => row.key.into_bound_py_any(py),
            "count" => row.count.into_bound_py_any(py),
            "node_id" => (-1).into_bound_py_any(py),
            "is_async" => row.is_async.into_bound_py_any(py),
            "is_remote" | "is_legacy" => false.into_bound_py_any(py),
            "use_device" => self.use_device().into_bound_py_any(py),
            "cpu_time_total" => micros(row.cpu_total_ns).into_bound_py_any(py),
            "self_cpu_time_total" => micros(row.self_cpu_ns).into_bound_py_any(py),
            "device_time_total" => micros(row.device_total_ns).into_bound_py_any(py),
            "self_device_time_total" => micros(row.self_device_ns).into_bound_py_any(py),
            "overhead_time_total" => micros(row.overhead_ns).into_bound_py_any(py),
            "self_overhead_time_total" => micros(row.self_overhead_ns).into_bound_py_any(py),
            // Torch has a text where the shapes were not asked for.
            "input_shapes" if !self.is_by_shape => "".into_bound_py_any(py),
            "input_shapes" => inputs::numbers(py, &row.inputs.decode(), DIMS, false)?.into_bound_py_any(py),
            "overload_name" => row.overload.into_bound_py_any(py),
            "stack" => {
                let frames: Vec<String> = row.stack.iter().map(|frame| frame.text().to_string()).collect();
                frames.into_bound_py_any(py)
            }
            "scope" => row.kind.map_or(0, |kind| scope(kind, row.is_script)).into_bound_py_any(py),
            "cpu_memory_usage" => row.cpu_memory.into_bound_py_any(py),
            "self_cpu_memory_usage" => row.self_cpu_memory.into_bound_py_any(py),
            "device_memory_usage" => row.device_memory.into_bound_py_any(py),
            "self_device_memory_usage" => row.self_device_memory.into_bound_py_any(py),
            "has_parent" => row.has_parent.into_bound_py_any(py),
            "device_type" => (if row.is_device() { self.view.device_type() } else { 0 }).into_bound_py_any(py),
            "is_user_annotation" => row.is_annotation().into_bound_py_any(py),
            "is_python_function" => (row.kind == Some(mindtorch_profiler::SpanKind::Function)).into_bound_py_any(py),
            "flops" => row.flops.into_bound_py_any(py),
            "first_event" => self.view.first_event(row).into_bound_py_any(py),
            _ => Err(PyAttributeError::new_err(format!("'FunctionEventAvg' object has no attribute '{name}'"))),
        }
    }

    /// The averages as a table of columns: all, or those in some places.
    #[pyo3(signature = (places = None))]
    fn data_frame(&self, places: Option<Vec<u32>>) -> PyDataFrame {
        PyDataFrame(DataFrame::of_averages(Arc::clone(&self.averages), places))
    }

    /// The table, as text.
    #[pyo3(signature = (**columns))]
    fn table(&self, py: Python<'_>, columns: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        let options = options(&Columns::of(columns)?)?;
        Ok(py.detach(|| self.averages.table(&options)))
    }
}
