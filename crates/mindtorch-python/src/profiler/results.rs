//! What a session recorded, ready to be looked at.

use super::event_rows::EventRows;
use super::filter::GivenFilter;
use super::view::TraceView;
use crate::error::export_error;
use mindtorch_profiler::{Error, EventCost, GroupBy, Recovered, StackMetric, Trace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// An immutable trace.
#[pyclass(frozen, module = "mindtorch_v2._core")]
pub(crate) struct Results {
    pub(super) view: Arc<TraceView>,
}

/// Why a file could not be read to its end, and at which byte.
type Problem = (String, u64);

/// What a process left, and what is missing of it.
type Left = (Option<(PathBuf, u32, Results, bool)>, String);

/// What recording an event costs, inside and outside of it, by kind.
type Costs = HashMap<&'static str, (u64, u64)>;

/// What events must share to be averaged together.
#[derive(Clone, Copy)]
pub(super) struct Groups {
    pub(super) by_shape: bool,
    pub(super) stack_depth: usize,
    pub(super) by_overload: bool,
    pub(super) python_functions: bool,
}

impl From<Groups> for GroupBy {
    fn from(groups: Groups) -> Self {
        Self {
            shapes: groups.by_shape,
            stack_depth: groups.stack_depth,
            overload: groups.by_overload,
            functions: groups.python_functions,
            ..Self::default()
        }
    }
}

#[pymethods]
impl Results {
    /// Reads a file. Gives the trace, or of a broken file what could be read, with the reason and the byte.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Option<Self>, Option<Problem>)> {
        let results = |trace| Self { view: Arc::new(TraceView::new(trace)) };
        match py.detach(|| Trace::load(&path)) {
            Ok(trace) => Ok((Some(results(trace)), None)),
            Err(Error::Load(error)) => {
                let problem = (error.to_string(), error.offset());
                Ok((error.into_partial().map(results), Some(problem)))
            }
            Err(error) => Err(export_error(py, error)),
        }
    }

    /// What processes left in a directory that they recorded to: where, whose, what, and what is missing; or only why it
    /// cannot be read.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn recover(py: Python<'_>, directory: PathBuf) -> PyResult<Vec<Left>> {
        let all = py.detach(|| Trace::recover(&directory)).map_err(|error| export_error(py, error))?;
        let left = |found: Result<Recovered, Error>| match found {
            Ok(found) => {
                let results = Self { view: Arc::new(TraceView::new(found.trace)) };
                (Some((found.path, found.pid, results, found.damage.is_none())), found.damage.to_string())
            }
            Err(error) => (None, error.to_string()),
        };
        Ok(all.into_iter().map(left).collect())
    }

    /// When the recording began, in nanoseconds since the epoch.
    #[getter]
    fn start_ns(&self) -> u64 {
        self.view.trace.start_epoch_ns()
    }

    #[getter]
    fn duration_ns(&self) -> u64 {
        self.view.trace.duration_ns()
    }

    /// Events that could not be recorded.
    #[getter]
    fn lost_events(&self) -> u64 {
        self.view.trace.lost_events()
    }

    /// What recording an event of each kind cost, inside and outside of it, and all of them together, in nanoseconds.
    fn overhead(&self, py: Python<'_>) -> PyResult<(Costs, u64)> {
        let overhead = self.view.overhead(py)?;
        let total = py.detach(|| overhead.total_ns(&self.view.trace));
        let cost = |cost: EventCost| (cost.inner_ns, cost.outer_ns);
        let costs = [
            ("op", cost(overhead.op)),
            ("backward", cost(overhead.backward)),
            ("annotation", cost(overhead.annotation)),
            ("runtime", cost(overhead.runtime)),
            ("python_function", cost(overhead.function)),
            ("memory", (0, overhead.memory_ns)),
            ("memory_use", (0, overhead.memory_use_ns)),
        ];
        Ok((HashMap::from(costs), total))
    }

    /// Every event, in the order of time.
    fn events(&self) -> EventRows {
        EventRows::new(&self.view)
    }

    /// A small timeline, as an SVG picture.
    fn sketch(&self, py: Python<'_>) -> String {
        py.detach(|| mindtorch_report::sketch(&self.view.trace))
    }

    /// What a filter takes of it.
    fn filtered(&self, py: Python<'_>, filter: Option<GivenFilter>) -> PyResult<Self> {
        let filter = filter.map(GivenFilter::filter).transpose()?.unwrap_or_default();
        Ok(Self { view: Arc::new(py.detach(|| TraceView::new(self.view.trace.filtered(&filter)))) })
    }

    /// Several recordings as one, in the order of time, on the first one's clock.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn joined(py: Python<'_>, parts: Vec<Bound<'_, Self>>) -> PyResult<Self> {
        let views: Vec<Arc<TraceView>> = parts.iter().map(|part| Arc::clone(&part.get().view)).collect();
        let joined = py.detach(|| {
            let traces: Vec<&Trace> = views.iter().map(|view| &*view.trace).collect();
            Trace::joined(&traces).map(TraceView::new)
        });
        let view = joined.ok_or_else(|| PyValueError::new_err("there is nothing to join"))?;
        Ok(Self { view: Arc::new(view) })
    }
}

/// The engine's metric for one of torch's names, or for that of the device's time.
pub(super) fn stack_metric(py: Python<'_>, name: &str) -> PyResult<StackMetric> {
    match name {
        "self_device_time_total" => Ok(StackMetric::SelfDeviceTime),
        name => name.parse().map_err(|error| export_error(py, error)),
    }
}
