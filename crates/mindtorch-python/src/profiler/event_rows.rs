//! `EventRows`: what the list of events is made of, row by row.

use super::average_rows::AverageRows;
use super::data_frame::PyDataFrame;
use super::event_values::{attribute, key_value, keys};
use super::results::{Groups, Results};
use super::table::{Columns, options};
use super::target::Target;
use super::view::{Event, TraceView, micros};
use mindtorch_profiler::{Capture, DataFrame, EventOrder};
use pyo3::exceptions::{PyAttributeError, PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::Arc;

/// The events of a recording, in the order in which torch lists them.
#[pyclass(frozen, sequence, module = "mindtorch_v2._core")]
pub(crate) struct EventRows {
    view: Arc<TraceView>,
}

impl EventRows {
    pub(super) fn new(view: &Arc<TraceView>) -> Self {
        Self { view: Arc::clone(view) }
    }

    /// It is found when it is first asked for, since averages need none; without the interpreter lock.
    fn order(&self, py: Python<'_>) -> &Arc<EventOrder> {
        self.view.known_order().unwrap_or_else(|| py.detach(|| self.view.event_order()))
    }

    fn event(&self, py: Python<'_>, index: usize) -> PyResult<Event> {
        let events = self.order(py).events();
        let none = || PyIndexError::new_err(format!("there are {} events, none at {index}", events.len()));
        events.get(index).copied().ok_or_else(none)
    }
}

#[pymethods]
impl EventRows {
    fn __len__(&self, py: Python<'_>) -> usize {
        match self.view.known_order() {
            Some(order) => order.events().len(),
            None => py.detach(|| self.view.trace.event_count()),
        }
    }

    /// Two lists of one recording have the same rows.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| Arc::ptr_eq(&other.get().view, &self.view))
    }

    fn __hash__(&self) -> usize {
        Arc::as_ptr(&self.view).addr()
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

    /// An attribute of the event at a place, in torch's words and units.
    fn attribute<'py>(&self, py: Python<'py>, index: usize, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = attribute(py, &self.view, self.event(py, index)?, name)?;
        value.ok_or_else(|| PyAttributeError::new_err(format!("'FunctionEvent' object has no attribute '{name}'")))
    }

    /// The place of the event that contains the one at a place.
    fn parent(&self, py: Python<'_>, index: usize) -> PyResult<Option<u32>> {
        self.event(py, index)?;
        Ok(self.view.parent(index))
    }

    /// The places of the events that the one at a place contains directly.
    fn children<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyList>> {
        self.event(py, index)?;
        PyList::new(py, self.view.children(index))
    }

    /// The keys of the event at a place.
    fn keys<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, keys(&self.view, self.event(py, index)?))
    }

    /// What the event at a place has for a key.
    fn value<'py>(&self, py: Python<'py>, index: usize, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let event = self.event(py, index)?;
        let value = if keys(&self.view, event).contains(&key) { key_value(py, &self.view, event, key)? } else { None };
        value.ok_or_else(|| PyKeyError::new_err(key.to_owned()))
    }

    /// The sum of all self times on the host, in microseconds.
    #[getter]
    fn self_cpu_time_total(&self, py: Python<'_>) -> f64 {
        micros(py.detach(|| self.view.trace.spans().map(|span| span.self_ns()).sum()))
    }

    #[pyo3(signature = (*, by_shape, stack_depth, by_overload, python_functions, subtract_overhead = false))]
    fn key_averages(
        &self,
        py: Python<'_>,
        by_shape: bool,
        stack_depth: usize,
        by_overload: bool,
        python_functions: bool,
        subtract_overhead: bool,
    ) -> PyResult<AverageRows> {
        let groups = Groups { by_shape, stack_depth, by_overload, python_functions };
        let overhead = if subtract_overhead { Some(self.view.overhead(py)?) } else { None };
        Ok(py.detach(|| AverageRows::new(&self.view, groups, overhead)))
    }

    /// Writes folded stacks.
    fn export_stacks(&self, py: Python<'_>, target: Target, metric: &str) -> PyResult<()> {
        Results { view: Arc::clone(&self.view) }.export_stacks(py, target, metric)
    }

    /// The events as a table of columns: all, or those in some places.
    #[pyo3(signature = (places = None))]
    fn data_frame(&self, py: Python<'_>, places: Option<Vec<u32>>) -> PyDataFrame {
        let (trace, order) = (Arc::clone(&self.view.trace), Arc::clone(self.order(py)));
        PyDataFrame(py.detach(|| DataFrame::of_ordered_events(trace, order, places)))
    }

    /// The table, as text.
    #[pyo3(signature = (**columns))]
    fn table(&self, py: Python<'_>, columns: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        let options = options(&Columns::of(columns)?)?;
        Ok(py.detach(|| self.view.trace.events().table(&options)))
    }
}
