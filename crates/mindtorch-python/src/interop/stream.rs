//! Streams and events of the accelerators.

use super::npu::{npu_of, raise_npu};
use crate::tensor::{PyDevice, PyTensor, unwrap};
use mindtorch::npu::{self, Event, Npu, PRIORITY_RANGE, StreamId};
use mindtorch::{Device, ops};
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;

/// A sequence of work on an accelerator: what is put into one stream runs in order, beside what is in others.
#[pyclass(name = "Stream", module = "mindtorch_v2.npu", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PyStream {
    device: u16,
    id: StreamId,
}

/// What a thread had chosen before it entered a stream.
struct Previous {
    entered: PyStream,
    device: u16,
    stream: StreamId,
}

thread_local! {
    static ENTERED: RefCell<Vec<Previous>> = const { RefCell::new(Vec::new()) };
}

impl PyStream {
    fn current(device: u16) -> Self {
        Self { device, id: npu::current_stream(device) }
    }

    fn npu(self) -> PyResult<&'static Npu> {
        Npu::get(self.device).map_err(raise_npu)
    }

    /// Makes this thread's work go here.
    fn choose(self) -> PyResult<()> {
        npu::set_device(self.device).and_then(|()| npu::set_current_stream(self.device, self.id)).map_err(raise_npu)
    }
}

#[pymethods]
impl PyStream {
    /// A stream on the device, or on the current one. Lower numbers of `priority` go first.
    #[new]
    #[pyo3(signature = (device=None, priority=0))]
    fn new(device: Option<&Bound<'_, PyAny>>, priority: i64) -> PyResult<Self> {
        let npu = npu_of(device)?;
        let priority = priority.clamp(i64::from(PRIORITY_RANGE.1), i64::from(PRIORITY_RANGE.0)) as i32;
        Ok(Self { device: npu.index(), id: npu.new_stream(priority) })
    }

    /// The lowest and the highest priority.
    #[staticmethod]
    fn priority_range() -> (i32, i32) {
        PRIORITY_RANGE
    }

    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice::new(Device::Npu(self.device))
    }

    #[getter]
    fn device_index(&self) -> u16 {
        self.device
    }

    #[getter]
    fn stream_id(&self) -> u16 {
        self.id.number()
    }

    #[getter]
    fn npu_stream(&self) -> u16 {
        self.id.number()
    }

    #[getter]
    fn priority(&self) -> i32 {
        self.id.priority()
    }

    /// Whether all work in the stream is done.
    fn query(&self) -> PyResult<bool> {
        self.npu()?.query_stream(self.id).map_err(raise_npu)
    }

    /// Waits until all work in the stream is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let npu = self.npu()?;
        py.detach(|| npu.synchronize_stream(self.id)).map_err(raise_npu)
    }

    /// Marks where the stream is now, in an event or in a new one.
    #[pyo3(signature = (event=None))]
    fn record_event<'py>(&self, py: Python<'py>, event: Option<Bound<'py, PyEvent>>) -> PyResult<Bound<'py, PyEvent>> {
        let event = event.map_or_else(|| Bound::new(py, PyEvent(Event::new(false))), Ok)?;
        event.get().record_on(py, *self)?;
        Ok(event)
    }

    /// Makes what is put into the stream from now on wait for an event.
    fn wait_event(&self, py: Python<'_>, event: &Bound<'_, PyEvent>) -> PyResult<()> {
        event.get().wait_on(py, *self)
    }

    /// Makes what is put into the stream from now on wait for what is in another.
    fn wait_stream(&self, py: Python<'_>, stream: &Bound<'_, Self>) -> PyResult<()> {
        let event = PyEvent(Event::new(false));
        event.record_on(py, *stream.get())?;
        event.wait_on(py, *self)
    }

    /// Makes this thread's work go to the stream until the block ends.
    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let entered = *slf.get();
        let previous = Previous { entered, device: npu::current_device(), stream: npu::current_stream(entered.device) };
        entered.choose()?;
        ENTERED.with_borrow_mut(|stack| stack.push(previous));
        Ok(slf.clone())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        // The last time that it was this one: blocks of generators may end in another order than they began.
        let previous = ENTERED.with_borrow_mut(|stack| {
            stack.iter().rposition(|previous| previous.entered == *self).map(|index| stack.remove(index))
        });
        let Some(previous) = previous else {
            return Err(PyRuntimeError::new_err("the stream was not entered on this thread"));
        };
        Self { device: self.device, id: previous.stream }.choose()?;
        npu::set_device(previous.device).map_err(raise_npu)
    }

    fn __repr__(&self) -> String {
        format!("<mindtorch_v2.npu.Stream device=npu:{} npu_stream={:#x}>", self.device, self.id.number())
    }
}

/// A mark in a stream, to wait for and to take times at.
#[pyclass(name = "Event", module = "mindtorch_v2.npu", frozen)]
pub(super) struct PyEvent(Event);

impl PyEvent {
    fn record_on(&self, py: Python<'_>, stream: PyStream) -> PyResult<()> {
        let npu = stream.npu()?;
        py.detach(|| self.0.record(npu, stream.id)).map_err(raise_npu)
    }

    fn wait_on(&self, py: Python<'_>, stream: PyStream) -> PyResult<()> {
        let npu = stream.npu()?;
        py.detach(|| self.0.wait(npu, stream.id)).map_err(raise_npu)
    }
}

/// The stream that is given, or the current one.
fn or_current(stream: Option<&Bound<'_, PyStream>>) -> PyStream {
    stream.map_or_else(|| PyStream::current(npu::current_device()), |stream| *stream.get())
}

#[pymethods]
impl PyEvent {
    /// An event that marks nothing yet. `blocking` is a wish that is always granted: whoever waits for long sleeps.
    #[new]
    #[pyo3(signature = (enable_timing=false, blocking=false, interprocess=false))]
    fn new(enable_timing: bool, blocking: bool, interprocess: bool) -> PyResult<Self> {
        let _ = blocking;
        if interprocess {
            return Err(PyNotImplementedError::new_err(
                "interprocess=True is not supported: an event belongs to its process. Send a message between processes \
                 after Event.synchronize() instead.",
            ));
        }
        Ok(Self(Event::new(enable_timing)))
    }

    /// Marks where a stream is now: the current one unless another is given.
    #[pyo3(signature = (stream=None))]
    fn record(&self, py: Python<'_>, stream: Option<&Bound<'_, PyStream>>) -> PyResult<()> {
        self.record_on(py, or_current(stream))
    }

    /// Makes what is put into a stream from now on wait for the event.
    #[pyo3(signature = (stream=None))]
    fn wait(&self, py: Python<'_>, stream: Option<&Bound<'_, PyStream>>) -> PyResult<()> {
        self.wait_on(py, or_current(stream))
    }

    /// Whether all that it marks is done.
    fn query(&self) -> PyResult<bool> {
        self.0.query().map_err(raise_npu)
    }

    /// Waits until all that it marks is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.synchronize()).map_err(raise_npu)
    }

    /// The milliseconds from this event to another.
    fn elapsed_time(&self, end_event: &Bound<'_, Self>) -> PyResult<f64> {
        self.0.elapsed_time(&end_event.get().0).map_err(raise_npu)
    }

    #[getter]
    fn enable_timing(&self) -> bool {
        self.0.has_timing()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        format!("<mindtorch_v2.npu.Event {:#x}>", slf.as_ptr().addr())
    }
}

/// The stream of a device that this thread's work goes to.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_current_stream(device: Option<&Bound<'_, PyAny>>) -> PyResult<PyStream> {
    Ok(PyStream::current(npu_of(device)?.index()))
}

/// The stream of a device that work goes to unless another is chosen.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn _npu_default_stream(device: Option<&Bound<'_, PyAny>>) -> PyResult<PyStream> {
    Ok(PyStream { device: npu_of(device)?.index(), id: StreamId::DEFAULT })
}

/// Makes this thread's work go to a stream.
#[pyfunction]
fn _npu_set_stream(stream: &Bound<'_, PyStream>) -> PyResult<()> {
    stream.get().choose()
}

#[pymethods]
impl PyTensor {
    /// Keeps the memory from being used again before a stream is done with it.
    fn record_stream(slf: &Bound<'_, Self>, stream: &Bound<'_, PyStream>) -> PyResult<()> {
        let tensor = unwrap(slf);
        let stream = stream.get();
        if tensor.device() != Device::Npu(stream.device) {
            return Err(PyRuntimeError::new_err(format!(
                "record_stream(): the tensor is on {}, and the stream on npu:{}",
                ops::device_name(tensor.device()),
                stream.device
            )));
        }
        tensor.storage().record_stream(stream.id);
        Ok(())
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyStream>()?;
    module.add_class::<PyEvent>()?;
    module.add_function(wrap_pyfunction!(_npu_current_stream, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_default_stream, module)?)?;
    module.add_function(wrap_pyfunction!(_npu_set_stream, module)?)
}
