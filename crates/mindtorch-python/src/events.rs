//! `FunctionEvent`: one recorded event. Its attributes speak torch (microseconds), its keys `MindTorch`
//! (nanoseconds).

use crate::view::{TraceView, micros};
use mindtorch_profiler::{SpanKind, SpanRef};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};
use std::sync::Arc;

/// The keys that every event has.
const KEYS: [&str; 9] =
    ["name", "kind", "device_type", "start_ns", "end_ns", "duration_ns", "step", "thread_id", "correlation_id"];

/// One recorded operation or scope.
///
/// It has torch's attributes, with times in microseconds, and it is a mapping: `event["start_ns"]`, `dict(event)`.
#[pyclass(frozen, mapping, module = "mindtorch_v2._core")]
pub(crate) struct FunctionEvent {
    view: Arc<TraceView>,
    row: usize,
}

impl FunctionEvent {
    /// The event at a place of the list that is in the order of time. There is one.
    pub(crate) fn at(view: &Arc<TraceView>, place: usize) -> Self {
        Self { view: Arc::clone(view), row: view.rows_by_time()[place] as usize }
    }

    pub(crate) fn is_of(&self, view: &Arc<TraceView>) -> bool {
        Arc::ptr_eq(&self.view, view)
    }

    fn span(&self) -> SpanRef<'_> {
        self.view.trace.span(self.row).expect("a row that the trace gave")
    }

    fn same_view(&self, row: usize) -> Self {
        Self { view: Arc::clone(&self.view), row }
    }

    fn value<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let span = self.span();
        Ok(Some(match key {
            "name" => self.name().into_pyobject(py)?.into_any(),
            "kind" => kind(span.kind()).into_pyobject(py)?.into_any(),
            "device_type" => "CPU".into_pyobject(py)?.into_any(),
            "start_ns" => span.start_ns().into_pyobject(py)?.into_any(),
            "end_ns" => span.end_ns().into_pyobject(py)?.into_any(),
            "duration_ns" => span.duration_ns().into_pyobject(py)?.into_any(),
            "step" => span.step().into_pyobject(py)?.into_any(),
            "thread_id" => span.thread().os_id.into_pyobject(py)?.into_any(),
            "correlation_id" => self.id().into_pyobject(py)?.into_any(),
            _ => return Ok(None),
        }))
    }
}

fn kind(kind: SpanKind) -> &'static str {
    if kind == SpanKind::Annotation { "scope" } else { "op" }
}

#[pymethods]
impl FunctionEvent {
    /// The name; steps, `ProfilerStep#7`, are all `ProfilerStep*`.
    #[getter]
    fn name(&self) -> &str {
        self.span().key()
    }

    /// The name under which averages have it.
    #[getter]
    fn key(&self) -> &str {
        self.name()
    }

    /// The name as it was given.
    #[getter]
    fn trace_name(&self) -> &str {
        self.span().name()
    }

    /// The text that was given with the name, or None.
    #[getter]
    fn args(&self) -> Option<&str> {
        Some(self.span().note()).filter(|note| !note.is_empty())
    }

    /// A number of its own within the recording, from 1.
    #[getter]
    fn id(&self) -> usize {
        self.row + 1
    }

    /// The number of its thread, from 1, in the order in which threads first recorded something.
    #[getter]
    fn thread(&self) -> u32 {
        self.span().thread().number
    }

    /// When it began and ended, in microseconds since the recording began.
    #[getter]
    fn time_range(&self) -> Interval {
        let span = self.span();
        Interval { start: micros(span.start_ns()), end: micros(span.end_ns()) }
    }

    #[getter]
    fn count(&self) -> usize {
        1
    }

    #[getter]
    fn cpu_time(&self) -> f64 {
        self.cpu_time_total()
    }

    #[getter]
    fn cpu_time_total(&self) -> f64 {
        micros(self.span().duration_ns())
    }

    #[getter]
    fn self_cpu_time_total(&self) -> f64 {
        micros(self.span().self_ns())
    }

    /// The event that contains it, on its thread.
    #[getter]
    fn cpu_parent(&self) -> Option<Self> {
        self.span().parent().map(|parent| self.same_view(parent.row()))
    }

    /// The events that it contains directly.
    #[getter]
    fn cpu_children(&self, py: Python<'_>) -> Vec<Self> {
        self.view.children(py).of(self.row).map(|child| self.same_view(child)).collect()
    }

    /// Whether it ended on another thread than it began.
    #[getter]
    fn is_async(&self) -> bool {
        self.span().is_async()
    }

    #[getter]
    fn is_user_annotation(&self) -> bool {
        self.span().kind() == SpanKind::Annotation
    }

    /// Whether it had begun before the profiler did. If so, its start is the recording's.
    #[getter]
    fn is_cut_at_start(&self) -> bool {
        self.span().is_cut_at_start()
    }

    /// Whether it ended while the profiler ran. If not, its end is the recording's.
    #[getter]
    fn is_finished(&self) -> bool {
        self.span().is_finished()
    }

    /// Torch's number for what kind of event it is: 0 an operator, 1 a backward node, 7 a `record_function`.
    #[getter]
    fn scope(&self) -> u8 {
        match self.span().kind() {
            SpanKind::Annotation => 7,
            SpanKind::Backward => 1,
            SpanKind::Op | SpanKind::Runtime => 0,
        }
    }

    fn keys(&self) -> [&'static str; 9] {
        KEYS
    }

    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        KEYS.iter().filter_map(|key| self.value(py, key).transpose()).collect()
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        Ok(KEYS.into_iter().zip(self.values(py)?).collect())
    }

    #[pyo3(signature = (key, default = None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = key.extract::<&str>().ok().map(|key| self.value(py, key)).transpose()?.flatten();
        Ok(value.or(default))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.get(py, key, None)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> bool {
        key.extract::<&str>().is_ok_and(|key| KEYS.contains(&key))
    }

    fn __len__(&self) -> usize {
        KEYS.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyTuple::new(py, KEYS)?.try_iter()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().is_of(&self.view) && other.get().row == self.row)
    }

    fn __hash__(&self) -> u64 {
        (Arc::as_ptr(&self.view).addr() as u64).wrapping_add(self.row as u64)
    }

    fn __repr__(&self) -> String {
        let range = self.time_range();
        format!(
            "<FunctionEvent id={} name={} thread={} start_us={:.3} end_us={:.3}>",
            self.id(),
            self.name(),
            self.thread(),
            range.start,
            range.end
        )
    }
}

/// From when to when, in microseconds.
#[pyclass(frozen, get_all, eq, module = "mindtorch_v2._core")]
#[derive(PartialEq)]
pub(crate) struct Interval {
    start: f64,
    end: f64,
}

#[pymethods]
impl Interval {
    fn elapsed_us(&self) -> f64 {
        self.end - self.start
    }

    fn __repr__(&self) -> String {
        format!("Interval(start={:.3}, end={:.3})", self.start, self.end)
    }
}
