//! Sessions: recordings that are under way, or over.

use super::results::Results;
use super::unrecorded;
use super::view::TraceView;
use crate::error::export_error;
use crate::{cuda, torch_bridge, tracer};
use mindtorch::execution_trace::OpenNode;
use mindtorch_profiler::{Capture, Device, DeviceWork, Name, Recording, SpanKind, WhenFull, capture};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A recording, from its construction on: `profile` makes one for each start.
///
/// A forked child has a copy that is of no use: the thread that had the state when the process forked is not there to
/// let it go, and what was recorded is its parent's. So a child never touches the state.
#[pyclass(frozen, module = "mindtorch_v2._core")]
pub(crate) struct Session {
    state: Mutex<State>,
    /// The number of the step that it is in, or ended in. It changes only while the state is locked.
    step: AtomicUsize,
    /// Whether it records what accelerators do: then it waits for them, so that nothing they were asked to do is missing.
    device: bool,
    /// Whether it has asked for the tracer, and not yet given it back.
    traces_functions: AtomicBool,
    /// The step that it is in, for an execution trace: there it is a scope as any other.
    step_node: Mutex<Option<OpenNode>>,
    process: u32,
}

enum State {
    Running(mindtorch_profiler::Session),
    /// Ended; nobody has asked for the trace yet.
    Ended(Recording),
    /// With the recording if that is in files, which are there for as long as it is: the trace may still have to be written.
    Built(Arc<TraceView>, Option<Recording>),
    /// The engine failed while it made the trace.
    Lost,
}

#[pymethods]
impl Session {
    #[new]
    #[expect(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "each is a switch of torch's")]
    #[pyo3(signature = (*, cpu, device, record_shapes = false, profile_memory = false, with_stack = false,
        with_flops = false, overload_names = false, record_steps = false, first_step = 0, types = None, accelerator = None,
        max_bytes = None, when_full = "spill", spill_dir = None, spool_dir = None))]
    fn new(
        py: Python<'_>,
        cpu: bool,
        device: bool,
        record_shapes: bool,
        profile_memory: bool,
        with_stack: bool,
        with_flops: bool,
        overload_names: bool,
        record_steps: bool,
        first_step: usize,
        types: Option<Vec<String>>,
        accelerator: Option<&str>,
        max_bytes: Option<u64>,
        when_full: &str,
        spill_dir: Option<PathBuf>,
        spool_dir: Option<PathBuf>,
    ) -> PyResult<Self> {
        let _started = cuda::LetGoIfUnused;
        let mut activities = Capture::NONE;
        if cpu {
            activities |= Capture::CPU;
        }
        if device {
            activities |= Capture::DEVICE;
        }
        let keeps = |name: &str| types.as_ref().is_none_or(|types| types.iter().any(|kept| kept == name));
        let mut builder = mindtorch_profiler::Session::builder()
            .activities(activities)
            .record_shapes(record_shapes)
            .profile_memory(profile_memory)
            .hide_memory_events(!keeps("CPU_INSTANT_EVENT"))
            .with_stack(with_stack)
            .with_flops(with_flops)
            .overload_names(overload_names)
            .record_steps(record_steps && keeps("USER_ANNOTATION"))
            .first_step(first_step);
        if let Some(name) = accelerator {
            builder = builder.accelerator(name).annotate_devices(name == "CUDA" && keeps("GPU_USER_ANNOTATION"));
        }
        for (_, work) in WORK.into_iter().filter(|(name, _)| !keeps(name)) {
            builder = builder.without_work(work);
        }
        for (_, kinds) in TYPES.iter().filter(|(name, _)| !keeps(name)) {
            builder = kinds.iter().fold(builder, |builder, &kind| builder.without(kind));
        }
        if let Some(bytes) = max_bytes {
            builder = builder.max_bytes(bytes);
        }
        builder = builder.when_full(parse_when_full(when_full)?);
        if let Some(directory) = spill_dir {
            builder = builder.spill_dir(&directory).map_err(|error| export_error(py, error))?;
        }
        if let Some(directory) = spool_dir {
            builder = builder.spool_dir(&directory).map_err(|error| export_error(py, error))?;
        }
        if device {
            // What was asked of it before is not part of this recording.
            py.detach(mindtorch::npu::finish_all);
        }
        let scopes = if cpu { unrecorded::show_all(py) } else { Vec::new() };
        torch_bridge::prepare(profile_memory && cpu)?;
        let session = builder.open_scopes(scopes).memory_in_use(memory_in_use()).start();
        sync();
        // Within the window, so that the functions that are running now are in it.
        let traces_functions = with_stack && cpu && keeps("PYTHON_FUNCTION");
        if traces_functions {
            tracer::start(py)?;
        }
        let step_node = record_steps.then(|| step_node(session.current_step()));
        Ok(Self {
            step: AtomicUsize::new(session.current_step()),
            step_node: Mutex::new(step_node),
            state: Mutex::new(State::Running(session)),
            device,
            traces_functions: AtomicBool::new(traces_functions),
            process: std::process::id(),
        })
    }

    /// Whether it has not been finished.
    #[getter]
    fn is_running(&self, py: Python<'_>) -> bool {
        self.with_state(py, |state| matches!(state, State::Running(_))).unwrap_or(false)
    }

    /// The number of the step that it is in, or ended in.
    #[getter]
    fn step_num(&self) -> usize {
        self.step.load(Ordering::Relaxed)
    }

    /// Begins the next step. False if the session is over.
    fn step(&self, py: Python<'_>) -> bool {
        self.wait_for_devices(py);
        let step = |state: &mut State| {
            let State::Running(session) = state else { return false };
            session.step();
            self.step.store(session.current_step(), Ordering::Relaxed);
            if let Some(node) = &mut *self.lock_step_node() {
                // The last one ends before the next begins, which would else be a part of it.
                *node = OpenNode::none();
                *node = step_node(session.current_step());
            }
            true
        };
        self.with_state(py, step).unwrap_or(false)
    }

    /// Ends the session, and says whether this call did. Takes the same time however much was recorded.
    fn finish(&self, py: Python<'_>) -> bool {
        self.wait_for_devices(py);
        if self.traces_functions.load(Ordering::Relaxed) {
            // Before the functions around it do, or it would seem not to be within them.
            self.with_state(py, |state| {
                if let State::Running(session) = state {
                    session.end_steps();
                }
            });
        }
        // It holds the calls that are still running, which end when the window is closed.
        let _stopped = self.stop_tracing(py);
        let finish = |state: &mut State| match std::mem::replace(state, State::Lost) {
            State::Running(session) => {
                *state = State::Ended(session.finish());
                self.lock_step_node().take();
                sync();
                true
            }
            ended => {
                *state = ended;
                false
            }
        };
        self.with_state(py, finish).unwrap_or(false)
    }

    /// Whether it has taken the memory that it may take; how many events of which thread it dropped for that; why it ended, if it
    /// had to.
    fn fullness(&self, py: Python<'_>) -> (bool, Vec<(u32, u64)>, Option<String>) {
        let fullness = |state: &mut State| match state {
            State::Running(session) => (session.was_full(), session.losses()),
            State::Ended(recording) => (recording.was_full(), recording.losses()),
            State::Built(view, _) => (false, view.trace.losses().clone()),
            State::Lost => Default::default(),
        };
        let (was_full, losses) = self.with_state(py, fullness).unwrap_or_default();
        (was_full, losses.dropped, losses.stopped.map(|why| why.to_string()))
    }

    /// The directory of the files that it records to, and why not all of it is in them, if so. None if there are none.
    fn spool(&self, py: Python<'_>) -> Option<(PathBuf, Option<String>)> {
        let spool = |state: &mut State| {
            let State::Running(session) = state else { return None };
            Some((session.spool_path()?.to_owned(), session.spool_trouble()))
        };
        self.with_state(py, spool).flatten()
    }

    /// A warning if the directory to spill to is in memory.
    fn spill_trouble(&self, py: Python<'_>) -> Option<String> {
        let trouble = |state: &mut State| match state {
            State::Running(session) => session.spill_trouble(),
            State::Ended(_) | State::Built(..) | State::Lost => None,
        };
        self.with_state(py, trouble).flatten()
    }

    /// Stops or resumes the collection of activities. False if the session is over.
    fn toggle(&self, py: Python<'_>, enable: bool, cpu: bool, device: bool) -> bool {
        self.wait_for_devices(py);
        let mut activities = Capture::NONE;
        if cpu {
            activities |= Capture::CPU;
        }
        if device {
            activities |= Capture::DEVICE;
        }
        let toggle = |state: &mut State| {
            let State::Running(session) = state else { return false };
            if enable {
                session.resume(activities);
            } else {
                session.pause(activities);
            }
            sync();
            true
        };
        self.with_state(py, toggle).unwrap_or(false)
    }

    /// What was recorded; if the session is still running, so far.
    fn results(&self, py: Python<'_>) -> PyResult<Results> {
        if self.is_of_another_process() {
            let message = "this recording belongs to another process: it was started before a fork";
            return Err(PyRuntimeError::new_err(message));
        }
        let view = py.detach(|| self.lock().view());
        view.map(|view| Results { view })
            .ok_or_else(|| PyRuntimeError::new_err("the recording was lost by an internal error"))
    }
}

impl Session {
    fn stop_tracing(&self, py: Python<'_>) -> Option<impl Sized> {
        let stops = self.traces_functions.swap(false, Ordering::Relaxed) && !self.is_of_another_process();
        stops.then(|| tracer::stop(py))
    }

    fn wait_for_devices(&self, py: Python<'_>) {
        if self.device && !self.is_of_another_process() {
            py.detach(mindtorch::npu::finish_all);
        }
    }

    /// What `work` makes of the state; None in a forked child. If another thread has the state, which may be making a
    /// trace, the interpreter lock is released until it is free.
    fn with_state<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> T + Send) -> Option<T> {
        if self.is_of_another_process() {
            return None;
        }
        match self.state.try_lock() {
            Ok(mut state) => Some(work(&mut state)),
            Err(_) => Some(py.detach(|| work(&mut self.lock()))),
        }
    }

    fn is_of_another_process(&self) -> bool {
        self.process != std::process::id()
    }

    fn lock_step_node(&self) -> MutexGuard<'_, Option<OpenNode>> {
        self.step_node.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    /// One that nobody finished is over, and so is its tracing.
    fn drop(&mut self) {
        if *self.traces_functions.get_mut() {
            // None when the interpreter is shutting down, and its hooks with it.
            Python::try_attach(|py| {
                // It may be an exception on its way, such as an interrupt's, that nobody finished it for.
                let raised = PyErr::take(py);
                drop(self.stop_tracing(py));
                if let Some(raised) = raised {
                    raised.restore(py);
                }
            });
        }
        if let Ok(state) = self.state.get_mut()
            && matches!(state, State::Running(_))
        {
            *state = State::Lost;
            torch_bridge::sync();
        }
    }
}

fn parse_when_full(name: &str) -> PyResult<WhenFull> {
    match name {
        "spill" => Ok(WhenFull::Spill),
        "ring" => Ok(WhenFull::Ring),
        "stop" => Ok(WhenFull::Stop),
        _ => Err(PyValueError::new_err(format!("when_full should be one of 'spill', 'ring', 'stop', not {name:?}"))),
    }
}

/// A step, as a scope of the execution trace that is being made, if one is.
fn step_node(step: usize) -> OpenNode {
    if capture().contains(Capture::TENSORS) {
        OpenNode::scope(Name::new(&format!("ProfilerStep#{step}")), None)
    } else {
        OpenNode::none()
    }
}

/// What is in use on the host and on the accelerators.
fn memory_in_use() -> Vec<(Device, i64)> {
    let mut all = vec![(Device::Cpu, mindtorch::allocated_bytes())];
    if mindtorch::npu::is_initialized() {
        let accelerators = (0..mindtorch::npu::device_count().unwrap_or(0)).filter_map(|index| {
            let stats = mindtorch::npu::Npu::get(index).ok()?.memory_stats().ok()?;
            Some((Device::Npu(index), stats.allocated_bytes.all.current.cast_signed()))
        });
        all.extend(accelerators);
    }
    all
}

/// Whether any profiler of this process records.
#[pyfunction]
#[pyo3(name = "_is_recording")]
pub(crate) fn is_recording() -> bool {
    mindtorch_profiler::capture().intersects(Capture::ACTIVITIES)
}

/// Whether any profiler of this process records memory.
#[pyfunction]
#[pyo3(name = "_is_memory_recorded")]
pub(crate) fn is_memory_recorded() -> bool {
    mindtorch_profiler::capture().contains(Capture::MEMORY)
}

/// After what is recorded has changed.
fn sync() {
    torch_bridge::sync();
    cuda::sync();
}

/// Torch's names of devices' work that can be kept.
const WORK: [(&str, DeviceWork); 4] = [
    ("KERNEL", DeviceWork::Kernel),
    ("GPU_MEMCPY", DeviceWork::Copy),
    ("GPU_MEMSET", DeviceWork::Set),
    ("CUDA_SYNC", DeviceWork::Sync),
];

/// Torch's names of what can be kept, and the kinds of spans that they mean.
const TYPES: [(&str, &[SpanKind]); 4] = [
    ("CPU_OP", &[SpanKind::Op, SpanKind::Backward]),
    ("USER_ANNOTATION", &[SpanKind::Annotation]),
    ("PYTHON_FUNCTION", &[SpanKind::Function]),
    ("PRIVATEUSE1_RUNTIME", &[SpanKind::Runtime]),
];

impl State {
    /// The trace: made once, when it is first asked for, from what an ended session recorded.
    fn view(&mut self) -> Option<Arc<TraceView>> {
        match std::mem::replace(self, Self::Lost) {
            Self::Ended(recording) => {
                let (trace, recording) = match recording.spool_path() {
                    Some(_) => (recording.to_trace(), Some(recording)),
                    None => (recording.into_trace(), None),
                };
                let view = Arc::new(TraceView::new(trace));
                *self = Self::Built(Arc::clone(&view), recording);
                Some(view)
            }
            Self::Built(view, recording) => {
                *self = Self::Built(Arc::clone(&view), recording);
                Some(view)
            }
            Self::Running(session) => {
                cuda::catch_up();
                let view = Arc::new(TraceView::new(session.snapshot()));
                *self = Self::Running(session);
                Some(view)
            }
            Self::Lost => None,
        }
    }
}
