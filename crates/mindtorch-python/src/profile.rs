//! Sessions and what they recorded.

use crate::error::export_error;
use crate::rows::EventList;
use crate::view::TraceView;
use mindtorch_profiler::{Capture, Recording};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A recording, from its construction on: `profile` makes one for each start.
#[pyclass(frozen, module = "mindtorch_v2._core")]
pub(crate) struct Session {
    state: Mutex<State>,
}

enum State {
    Running(mindtorch_profiler::Session),
    /// Ended; nobody has asked for the trace yet.
    Ended {
        recording: Recording,
        last_step: usize,
    },
    Built {
        view: Arc<TraceView>,
        last_step: usize,
    },
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
        Self { state: Mutex::new(State::Running(session)) }
    }

    /// Whether it has not been finished.
    #[getter]
    fn is_running(&self) -> bool {
        matches!(&*self.lock(), State::Running(_))
    }

    /// The number of the step that it is in, or ended in.
    #[getter]
    fn step_num(&self) -> usize {
        match &*self.lock() {
            State::Running(session) => session.current_step(),
            State::Ended { last_step, .. } | State::Built { last_step, .. } => *last_step,
            State::Lost => 0,
        }
    }

    /// Begins the next step. False if the session is over.
    fn step(&self) -> bool {
        match &*self.lock() {
            State::Running(session) => {
                session.step();
                true
            }
            _ => false,
        }
    }

    /// Ends the session, and says whether this call did. Takes the same time however much was recorded.
    fn finish(&self) -> bool {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Lost) {
            State::Running(session) => {
                let last_step = session.current_step();
                *state = State::Ended { recording: session.finish(), last_step };
                true
            }
            ended => {
                *state = ended;
                false
            }
        }
    }

    /// What was recorded; if the session is still running, so far.
    fn results(&self, py: Python<'_>) -> PyResult<Results> {
        let view = py.detach(|| self.view());
        view.map(|view| Results { view })
            .ok_or_else(|| PyRuntimeError::new_err("the recording was lost by an internal error"))
    }
}

impl Session {
    /// The trace: made once, when it is first asked for, from what an ended session recorded.
    fn view(&self) -> Option<Arc<TraceView>> {
        let mut state = self.lock();
        let view = match std::mem::replace(&mut *state, State::Lost) {
            State::Ended { recording, last_step } => {
                let view = Arc::new(TraceView::new(recording.into_trace()));
                *state = State::Built { view: Arc::clone(&view), last_step };
                view
            }
            State::Built { view, last_step } => {
                *state = State::Built { view: Arc::clone(&view), last_step };
                view
            }
            State::Running(session) => {
                let view = Arc::new(TraceView::new(session.snapshot()));
                *state = State::Running(session);
                view
            }
            State::Lost => return None,
        };
        Some(view)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
