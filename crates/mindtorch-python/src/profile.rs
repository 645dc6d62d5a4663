//! Sessions and what they recorded.

use crate::error::export_error;
use crate::rows::EventList;
use crate::view::TraceView;
use mindtorch_profiler::{Capture, Recording};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    process: u32,
}

enum State {
    Running(mindtorch_profiler::Session),
    /// Ended; nobody has asked for the trace yet.
    Ended(Recording),
    Built(Arc<TraceView>),
    /// The engine failed while it made the trace.
    Lost,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (*, cpu, device, first_step))]
    fn new(cpu: bool, device: bool, first_step: usize) -> Self {
        let mut activities = Capture::NONE;
        if cpu {
            activities |= Capture::CPU;
        }
        if device {
            activities |= Capture::DEVICE;
        }
        let session = mindtorch_profiler::Session::builder().activities(activities).first_step(first_step).start();
        Self {
            step: AtomicUsize::new(session.current_step()),
            state: Mutex::new(State::Running(session)),
            device,
            process: std::process::id(),
        }
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
            true
        };
        self.with_state(py, step).unwrap_or(false)
    }

    /// Ends the session, and says whether this call did. Takes the same time however much was recorded.
    fn finish(&self, py: Python<'_>) -> bool {
        self.wait_for_devices(py);
        let finish = |state: &mut State| match std::mem::replace(state, State::Lost) {
            State::Running(session) => {
                *state = State::Ended(session.finish());
                true
            }
            ended => {
                *state = ended;
                false
            }
        };
        self.with_state(py, finish).unwrap_or(false)
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The trace: made once, when it is first asked for, from what an ended session recorded.
    fn view(&mut self) -> Option<Arc<TraceView>> {
        match std::mem::replace(self, Self::Lost) {
            Self::Ended(recording) => {
                let view = Arc::new(TraceView::new(recording.into_trace()));
                *self = Self::Built(Arc::clone(&view));
                Some(view)
            }
            Self::Built(view) => {
                *self = Self::Built(Arc::clone(&view));
                Some(view)
            }
            Self::Running(session) => {
                let view = Arc::new(TraceView::new(session.snapshot()));
                *self = Self::Running(session);
                Some(view)
            }
            Self::Lost => None,
        }
    }
}

/// What a session recorded, ready to be looked at.
#[pyclass(frozen, module = "mindtorch_v2._core")]
pub(crate) struct Results {
    view: Arc<TraceView>,
}

#[pymethods]
impl Results {
    /// Every event, in the order of time.
    fn events(&self, py: Python<'_>) -> EventList {
        py.detach(|| EventList::of_events(&self.view))
    }

    /// The events by name, with sums and averages.
    fn key_averages(&self, py: Python<'_>) -> EventList {
        py.detach(|| EventList::of_averages(&self.view))
    }

    /// Writes a Chrome trace; compressed if the path ends in `.gz`.
    #[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
    fn export_chrome_trace(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.view.trace.export_chrome_trace(&path)).map_err(|error| export_error(py, error))
    }
}
