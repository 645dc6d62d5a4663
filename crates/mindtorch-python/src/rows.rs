//! `EventList`: events or averages as a list whose items are made when they are touched.

use crate::averages::FunctionEventAvg;
use crate::error::unknown_sort_key;
use crate::events::FunctionEvent;
use crate::view::{TraceView, micros};
use mindtorch_profiler::{Averages, SortKey, TableOptions, TimeUnit};
use pyo3::exceptions::{PyAssertionError, PyIndexError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PySlice};
use std::sync::Arc;

/// A list of events, or of averages over them: indexed, sliced and iterated as a list is. It prints as a table.
#[pyclass(frozen, sequence, module = "mindtorch_v2._core")]
pub(crate) struct EventList(Rows);

#[derive(Clone)]
enum Rows {
    Events(Arc<TraceView>),
    Averages(Arc<Averages>),
}

impl EventList {
    pub(crate) fn of_events(view: &Arc<TraceView>) -> Self {
        // Sorted here, where the interpreter lock is not held.
        view.rows_by_time();
        Self(Rows::Events(Arc::clone(view)))
    }

    pub(crate) fn of_averages(view: &Arc<TraceView>) -> Self {
        Self(Rows::Averages(Arc::new(view.trace.key_averages())))
    }
}

impl Rows {
    fn len(&self) -> usize {
        match self {
            Self::Events(view) => view.trace.span_count(),
            Self::Averages(averages) => averages.rows().len(),
        }
    }

    /// The item at this place, if there is one.
    fn item<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        if at >= self.len() {
            return Ok(None);
        }
        Ok(Some(match self {
            Self::Events(view) => FunctionEvent::at(view, at).into_pyobject(py)?.into_any(),
            Self::Averages(averages) => FunctionEventAvg::new(averages, at).into_pyobject(py)?.into_any(),
        }))
    }

    fn items<'py>(&self, py: Python<'py>, places: impl Iterator<Item = usize>) -> PyResult<Bound<'py, PyList>> {
        let items = PyList::empty(py);
        for at in places {
            if let Some(item) = self.item(py, at)? {
                items.append(item)?;
            }
        }
        Ok(items)
    }

    fn table(&self, options: &TableOptions) -> String {
        match self {
            Self::Events(view) => view.trace.events().table(options),
            Self::Averages(averages) => averages.table(options),
        }
    }
}

#[pymethods]
impl EventList {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let slice = slice.indices(self.0.len().try_into()?)?;
            let place = |step: usize| (slice.start + step.cast_signed() * slice.step).cast_unsigned();
            return Ok(self.0.items(py, (0..slice.slicelength).map(place))?.into_any());
        }
        let index = list_index(index)?;
        let at = index.and_then(|index| if index < 0 { index.checked_add_unsigned(self.0.len()) } else { Some(index) });
        let at = at.and_then(|at| usize::try_from(at).ok());
        let item = at.map(|at| self.0.item(py, at)).transpose()?.flatten();
        item.ok_or_else(|| PyIndexError::new_err("list index out of range"))
    }

    fn __iter__(&self) -> EventListIterator {
        EventListIterator { rows: self.0.clone(), next: std::sync::atomic::AtomicUsize::new(0) }
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> bool {
        match &self.0 {
            Rows::Events(view) => item.cast::<FunctionEvent>().is_ok_and(|event| event.get().is_of(view)),
            Rows::Averages(averages) => {
                item.cast::<FunctionEventAvg>().is_ok_and(|average| average.get().is_of(averages))
            }
        }
    }

    fn __str__(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.table(&TableOptions::default()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.0.items(py, 0..self.0.len())?.repr()?.to_string())
    }

    /// The sum of all self times on the host, in microseconds.
    #[getter]
    fn self_cpu_time_total(&self, py: Python<'_>) -> f64 {
        micros(match &self.0 {
            Rows::Events(view) => py.detach(|| view.trace.spans().map(|span| span.self_ns()).sum()),
            Rows::Averages(averages) => averages.self_cpu_total_ns(),
        })
    }

    /// The events by name, with sums and averages.
    fn key_averages(&self, py: Python<'_>) -> PyResult<Self> {
        match &self.0 {
            Rows::Events(view) => Ok(py.detach(|| Self::of_averages(view))),
            Rows::Averages(_) => {
                Err(PyAssertionError::new_err("Expected tree to be built before calling key_averages"))
            }
        }
    }

    /// The table, as text.
    #[expect(clippy::too_many_arguments, reason = "torch's signature")]
    #[pyo3(signature = (sort_by = None, row_limit = Some(100), max_src_column_width = Some(75),
        max_name_column_width = Some(55), max_shapes_column_width = Some(80), header = None,
        top_level_events_only = false, time_unit = None),
        text_signature = "($self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, \
        max_shapes_column_width=80, header=None, top_level_events_only=False, time_unit=None)")]
    fn table(
        &self,
        py: Python<'_>,
        sort_by: Option<&str>,
        #[pyo3(from_py_with = row_limit)] row_limit: Option<usize>,
        max_src_column_width: Option<i64>,
        max_name_column_width: Option<i64>,
        max_shapes_column_width: Option<i64>,
        header: Option<String>,
        #[pyo3(from_py_with = PyAnyMethods::is_truthy)] top_level_events_only: bool,
        time_unit: Option<&str>,
    ) -> PyResult<String> {
        let sort_by = sort_by.map(str::parse::<SortKey>).transpose().map_err(|error| unknown_sort_key(&error))?;
        let width = |width: Option<i64>| width.map(|width| usize::try_from(width).unwrap_or(0));
        let options = TableOptions {
            sort_by,
            row_limit,
            max_name_column_width: width(max_name_column_width),
            max_src_column_width: width(max_src_column_width),
            max_shapes_column_width: width(max_shapes_column_width),
            header,
            top_level_events_only,
            time_unit: match time_unit {
                Some("s") => Some(TimeUnit::Seconds),
                Some("ms") => Some(TimeUnit::Milliseconds),
                Some("us") => Some(TimeUnit::Microseconds),
                _ => None,
            },
        };
        Ok(py.detach(|| self.0.table(&options)))
    }
}

/// The number that a list would take for this index, or the error that it would raise; None is out of any list's range.
fn list_index(index: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    if index.is_instance_of::<PyInt>() {
        return integer(index);
    }
    if !index.get_type().hasattr("__index__")? {
        let found = index.get_type().name()?;
        return Err(PyTypeError::new_err(format!("list indices must be integers or slices, not {found}")));
    }
    integer(&index.py().import("operator")?.call_method1("index", (index,))?)
}

/// A negative limit is no limit, nor is one that no list can reach.
fn row_limit(limit: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let limit = if limit.is_none() { None } else { integer(limit)? };
    Ok(limit.and_then(|limit| usize::try_from(limit).ok()))
}

/// The value of an integer; None if it is out of range.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    match value.extract::<isize>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => Ok(None),
        value => value.map(Some),
    }
}

/// Gives the items of an [`EventList`], one after the other.
#[pyclass(frozen, module = "mindtorch_v2._core")]
pub(crate) struct EventListIterator {
    rows: Rows,
    next: std::sync::atomic::AtomicUsize,
}

#[pymethods]
impl EventListIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.rows.item(py, self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    }
}
