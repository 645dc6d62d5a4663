//! The memory timeline, as Python asks for it.

use super::results::Results;
use super::target::export;
use crate::tensor::{PyDevice, PyTensor, device_of, unwrap};
use mindtorch_profiler::{Device, MemoryAction, MemoryRole, TimelineForm};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet, PyTuple};
use rustc_hash::FxHashSet;
use std::path::PathBuf;

/// An event of a timeline: nanoseconds since the epoch, or -1; torch's number of the action; the number of the block; its
/// address; how often it had changed; its bytes; the categories before and after.
type EventTuple = (i64, u8, u32, u64, u32, u64, u8, u8);

#[pymethods]
impl Results {
    /// The names of the devices of whose memory anything is known.
    fn memory_devices(&self, py: Python<'_>) -> Vec<String> {
        let name = |device| match device {
            Device::Cpu => "cpu".to_owned(),
            Device::Npu(index) => format!("npu:{index}"),
        };
        py.detach(|| self.view.trace.memory_devices()).into_iter().map(name).collect()
    }

    /// What happened to blocks of a device's memory, in the order of time.
    fn memory_events(&self, py: Python<'_>, device: &Bound<'_, PyDevice>) -> PyResult<Vec<EventTuple>> {
        let device = device_of(device.as_any())?;
        Ok(py.detach(|| {
            let timeline = self.view.trace.memory_timeline(device);
            let start = self.view.trace.start_epoch_ns();
            let mut is_beginning = true;
            let event = |event: &mindtorch_profiler::MemoryEvent| {
                is_beginning &= event.action == MemoryAction::Preexisting;
                let at = if is_beginning { -1 } else { (start + event.at_ns).cast_signed() };
                let block = &timeline.blocks()[event.block as usize];
                let (action, version) = (event.action as u8, event.version);
                let (before, after) = (event.before as u8, event.after as u8);
                (at, action, event.block, block.address, version, block.bytes, before, after)
            };
            timeline.events().iter().map(event).collect()
        }))
    }

    /// Writes the timeline of a device's memory, in a form (`"plain"`, `"raw"`, `"html"`) or that which the name asks for.
    #[pyo3(signature = (path, device, *, form = None, title = None))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_memory_timeline(
        &self,
        py: Python<'_>,
        path: PathBuf,
        device: &Bound<'_, PyDevice>,
        form: Option<&str>,
        title: Option<String>,
    ) -> PyResult<()> {
        let device = device_of(device.as_any())?;
        let form = match form {
            None => None,
            Some("plain") => Some(TimelineForm::Plain),
            Some("raw") => Some(TimelineForm::Raw),
            Some("html") => Some(TimelineForm::Page { title: title.as_deref() }),
            Some(other) => return Err(PyValueError::new_err(format!("there is no form {other:?}"))),
        };
        export(py, || {
            let timeline = self.view.trace.memory_timeline(device);
            match form {
                Some(form) => timeline.export_as(&path, form),
                None => timeline.export(&path),
            }
        })
    }
}

/// Says that a tensor is part of a model.
#[pyfunction]
#[pyo3(name = "_note_parameter")]
pub(crate) fn note_parameter(tensor: &Bound<'_, PyTensor>) {
    unwrap(tensor).storage().keep_as(MemoryRole::Parameter);
}

/// Says that an optimiser remembers the tensors in `state`, however deep in it they are.
#[pyfunction]
#[pyo3(name = "_note_optimizer_state")]
pub(crate) fn note_optimizer_state(state: &Bound<'_, PyAny>) -> PyResult<()> {
    note_state(state, 0, &mut FxHashSet::default())
}

/// `seen` has the addresses of what was looked at: a state may contain itself, or one thing many times.
fn note_state(value: &Bound<'_, PyAny>, depth: usize, seen: &mut FxHashSet<usize>) -> PyResult<()> {
    /// Deeper than any state is.
    const DEEPEST: usize = 16;
    if let Ok(tensor) = value.cast::<PyTensor>() {
        unwrap(tensor).storage().keep_as(MemoryRole::OptimizerState);
        return Ok(());
    }
    let is_list =
        value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() || value.is_instance_of::<PySet>();
    let is_dict = value.is_instance_of::<PyDict>();
    if depth == DEEPEST || !(is_list || is_dict) || !seen.insert(value.as_ptr().addr()) {
        return Ok(());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return dict.values().iter().try_for_each(|item| note_state(&item, depth + 1, seen));
    }
    value.try_iter()?.try_for_each(|item| note_state(&item?, depth + 1, seen))
}
