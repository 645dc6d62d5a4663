//! What a session recorded, ready to be looked at.

use super::average_rows::AverageRows;
use super::event_rows::EventRows;
use super::view::TraceView;
use crate::error::export_error;
use mindtorch_profiler::{GroupBy, StackMetric, Trace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An immutable trace.
#[pyclass(frozen, module = "mindtorch_v2._core")]
pub(crate) struct Results {
    pub(super) view: Arc<TraceView>,
}

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
    /// When the recording began, in nanoseconds since the epoch.
    #[getter]
    fn start_ns(&self) -> u64 {
        self.view.trace.start_epoch_ns()
    }

    #[getter]
    fn duration_ns(&self) -> u64 {
        self.view.trace.duration_ns()
    }

    /// Spans, device work and memory outside of spans: how long the list of events is.
    #[getter]
    fn event_count(&self, py: Python<'_>) -> usize {
        py.detach(|| self.view.order().len())
    }

    /// Events that could not be recorded.
    #[getter]
    fn lost_events(&self) -> u64 {
        self.view.trace.lost_events()
    }

    /// Every event, in the order of time.
    fn events(&self, py: Python<'_>) -> EventRows {
        py.detach(|| EventRows::new(&self.view))
    }

    /// The events by name, with sums and averages.
    #[pyo3(signature = (*, by_shape, stack_depth, by_overload, python_functions))]
    fn key_averages(
        &self,
        py: Python<'_>,
        by_shape: bool,
        stack_depth: usize,
        by_overload: bool,
        python_functions: bool,
    ) -> AverageRows {
        let groups = Groups { by_shape, stack_depth, by_overload, python_functions };
        py.detach(|| AverageRows::new(&self.view, groups))
    }

    /// Writes a Chrome trace; compressed if the path ends in `.gz`. The metadata's values are JSON texts.
    #[pyo3(signature = (path, *, metadata = Vec::new(), trace_id = String::new()))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_chrome_trace(
        &self,
        py: Python<'_>,
        path: PathBuf,
        metadata: Vec<(String, String)>,
        trace_id: String,
    ) -> PyResult<()> {
        py.detach(|| self.view.trace.chrome_trace().trace_id(&trace_id).metadata_json(&metadata).export(&path))
            .map_err(|error| export_error(py, error))
    }

    /// Writes folded stacks.
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_stacks(&self, py: Python<'_>, path: PathBuf, metric: &str) -> PyResult<()> {
        write_stacks(py, &self.view, &path, metric)
    }

    /// Writes the trace for speedscope.
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_speedscope(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.view.trace.export_speedscope(&path)).map_err(|error| export_error(py, error))
    }

    /// Draws the stacks as an SVG picture.
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_flame_graph(&self, py: Python<'_>, path: PathBuf, metric: &str) -> PyResult<()> {
        let metric = stack_metric(py, metric)?;
        py.detach(|| self.view.trace.export_flame_graph(&path, metric)).map_err(|error| export_error(py, error))
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

pub(super) fn write_stacks(py: Python<'_>, view: &TraceView, path: &Path, metric: &str) -> PyResult<()> {
    let metric = stack_metric(py, metric)?;
    py.detach(|| view.trace.export_stacks(path, metric)).map_err(|error| export_error(py, error))
}

fn stack_metric(py: Python<'_>, name: &str) -> PyResult<StackMetric> {
    match name {
        "self_device_time_total" => Ok(StackMetric::SelfDeviceTime),
        name => name.parse().map_err(|error| export_error(py, error)),
    }
}
