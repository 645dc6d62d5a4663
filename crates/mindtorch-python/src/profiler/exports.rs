//! The files that are made of a trace.

use super::filter::GivenFilter;
use super::results::{Results, stack_metric};
use super::target::Target;
use mindtorch_report::Report;
use pyo3::prelude::*;

#[pymethods]
impl Results {
    /// How large a Chrome trace of it would be, about.
    #[pyo3(signature = (*, filter = None))]
    fn chrome_trace_bytes(&self, py: Python<'_>, filter: Option<GivenFilter>) -> PyResult<u64> {
        let filter = filter.map(GivenFilter::filter).transpose()?;
        Ok(py.detach(|| {
            let chrome = self.view.trace.chrome_trace();
            filter.iter().fold(chrome, |chrome, filter| chrome.filter(filter)).estimated_bytes()
        }))
    }

    /// Writes a Chrome trace; a path is compressed if it ends in `.gz`. The metadata's values are JSON texts, as are the
    /// properties of devices.
    #[pyo3(signature = (target, *, metadata = Vec::new(), trace_id = String::new(), device_properties = String::new(),
        with_modules = false, filter = None))]
    #[expect(clippy::needless_pass_by_value, clippy::too_many_arguments, reason = "they are converted from keywords")]
    fn export_chrome_trace(
        &self,
        py: Python<'_>,
        target: Target,
        metadata: Vec<(String, String)>,
        trace_id: String,
        device_properties: String,
        with_modules: bool,
        filter: Option<GivenFilter>,
    ) -> PyResult<()> {
        let filter = filter.map(GivenFilter::filter).transpose()?;
        let trace = &self.view.trace;
        let mut chrome = trace.chrome_trace().trace_id(&trace_id).metadata_json(&metadata).with_modules(with_modules);
        if !device_properties.is_empty() {
            chrome = chrome.device_properties_json(&device_properties);
        }
        if let Some(filter) = &filter {
            chrome = chrome.filter(filter);
        }
        target.fill(py, |path| chrome.clone().export(path), |out| chrome.write(out))
    }

    /// Writes a trace in Perfetto's own format; see `export_chrome_trace`.
    #[pyo3(signature = (target, *, metadata = Vec::new(), trace_id = String::new(), device_properties = String::new(),
        with_modules = false, filter = None))]
    #[expect(clippy::needless_pass_by_value, clippy::too_many_arguments, reason = "they are converted from keywords")]
    fn export_perfetto_trace(
        &self,
        py: Python<'_>,
        target: Target,
        mut metadata: Vec<(String, String)>,
        trace_id: String,
        device_properties: String,
        with_modules: bool,
        filter: Option<GivenFilter>,
    ) -> PyResult<()> {
        let filter = filter.map(GivenFilter::filter).transpose()?;
        if !device_properties.is_empty() {
            metadata.push(("deviceProperties".to_owned(), device_properties));
        }
        if with_modules {
            metadata.push(("with_modules".to_owned(), "1".to_owned()));
        }
        let mut perfetto = self.view.trace.perfetto_trace().trace_id(&trace_id).metadata_json(&metadata);
        if let Some(filter) = &filter {
            perfetto = perfetto.filter(filter);
        }
        target.fill(py, |path| perfetto.clone().export(path), |out| perfetto.write(out))
    }

    /// Writes folded stacks.
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    pub(super) fn export_stacks(&self, py: Python<'_>, target: Target, metric: &str) -> PyResult<()> {
        let metric = stack_metric(py, metric)?;
        let trace = &self.view.trace;
        target.fill(py, |path| trace.export_stacks(path, metric), |out| trace.write_stacks(out, metric))
    }

    /// Writes the spans of every thread for speedscope.
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_speedscope(&self, py: Python<'_>, target: Target) -> PyResult<()> {
        let trace = &self.view.trace;
        target.fill(py, |path| trace.export_speedscope(path), |out| trace.write_speedscope(out, "trace"))
    }

    /// Draws a flame graph.
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_flame_graph(&self, py: Python<'_>, target: Target, metric: &str) -> PyResult<()> {
        let metric = stack_metric(py, metric)?;
        let trace = &self.view.trace;
        target.fill(py, |path| trace.export_flame_graph(path, metric), |out| trace.write_flame_graph(out, metric))
    }

    /// Writes a page that shows where time and memory went.
    #[pyo3(signature = (target, *, title))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_report(&self, py: Python<'_>, target: Target, title: &str) -> PyResult<()> {
        let report = Report::new().trace(title, &self.view.trace);
        target.fill(py, |path| report.export(path), |out| report.write(out))
    }
}
