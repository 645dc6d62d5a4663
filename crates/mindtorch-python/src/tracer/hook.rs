//! The hook of a thread, and what puts it in force.

use super::calls::Calls;
use super::interpreter::{Frame, GilCell, Happening, Hook, HookFunction, HookObject, Thread, ThreadId};
use super::registry;
use pyo3::prelude::*;

/// Traces one thread. It is the object of the thread's profile hook, which is what `sys.getprofile()` gives; who takes it
/// from there and puts it back with `sys.setprofile()` gets what was there before.
#[pyclass(frozen, name = "_ThreadTracer", module = "mindtorch_v2._core")]
pub(super) struct ThreadTracer {
    /// Which run of the tracer it belongs to.
    run: u64,
    calls: Calls,
    /// The program's own hook, which goes on being called.
    previous: GilCell<Option<StoredHook>>,
}

struct StoredHook {
    function: HookFunction,
    object: Option<Py<PyAny>>,
}

#[pymethods]
impl ThreadTracer {
    fn __call__(&self, frame: &Bound<'_, PyAny>, event: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        resume(frame, event, value)
    }
}

impl ThreadTracer {
    pub(super) fn new(run: u64) -> Self {
        Self { run, calls: Calls::new(), previous: GilCell::new(None) }
    }

    fn previous<'py>(&self, py: Python<'py>) -> Option<Hook<'py>> {
        let stored = self.previous.with(py, |previous| {
            let previous = previous.as_ref()?;
            let object = previous.object.as_ref().map(|object| object.bind(py).clone());
            Some(Hook { function: previous.function, object })
        });
        stored.flatten()
    }

    fn set_previous(&self, py: Python<'_>, hook: Option<Hook<'_>>) {
        let stored = hook.map(|hook| StoredHook { function: hook.function, object: hook.object.map(Bound::unbind) });
        let old = self.previous.with(py, |previous| std::mem::replace(previous, stored));
        drop(old);
    }

    /// Ends what it has begun.
    pub(super) fn end_all(&self, py: Python<'_>) {
        self.calls.end_all(py);
    }

    /// Records the frames that are running.
    pub(super) fn catch_up(&self, py: Python<'_>) {
        self.calls.match_frames(py, Frame::current(py).as_ref());
    }
}

impl HookObject for ThreadTracer {
    #[inline]
    fn event(object: &Bound<'_, Self>, happening: &Happening<'_, '_>) -> PyResult<()> {
        let (this, py) = (object.get(), object.py());
        if !registry::is_run(this.run) {
            return leave(py, happening);
        }
        if this.calls.event(happening) {
            registry::trace_all_threads(py);
        }
        match this.previous(py) {
            None => Ok(()),
            Some(previous) => this.pass_on(py, &previous, happening),
        }
    }
}

impl ThreadTracer {
    /// Calls the program's own hook.
    fn pass_on(&self, py: Python<'_>, previous: &Hook<'_>, happening: &Happening<'_, '_>) -> PyResult<()> {
        let result = previous.call(happening);
        if result.is_err() && Thread::current(py).hook().is_none() {
            // A hook that fails is taken away, as ever. It was not the one in force: that is ours, which stays.
            self.set_previous(py, None);
            trace(py, Thread::current(py).id(), self.run);
        }
        result
    }
}

/// What threads that start later have for a hook until their first event.
#[pyclass(frozen, name = "_ThreadStarter", module = "mindtorch_v2._core")]
pub(super) struct ThreadStarter {
    /// What the program had asked new threads to have.
    pub(super) previous: Option<Py<PyAny>>,
}

#[pymethods]
impl ThreadStarter {
    fn __call__(&self, frame: &Bound<'_, PyAny>, event: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        resume(frame, event, value)
    }
}

/// Whether the tracer is in force on a thread.
pub(super) fn is_traced(thread: Thread<'_>, run: u64) -> bool {
    let hook = thread.hook();
    hook.as_ref().and_then(Hook::tracer::<ThreadTracer>).is_some_and(|tracer| tracer.get().run == run)
}

/// Puts the tracer in force on a thread, if there is such a thread.
pub(super) fn trace(py: Python<'_>, id: ThreadId, run: u64) -> Option<Py<ThreadTracer>> {
    let known = registry::tracer(py, id);
    // Before the thread is looked for: making an object may run any code, and the thread may end meanwhile.
    let tracer = match known {
        Some(tracer) => tracer.into_bound(py),
        None => Bound::new(py, ThreadTracer::new(run)).ok()?,
    };
    let thread = Thread::find(py, id)?;
    let current = thread.hook();
    let is_in_force = current.as_ref().and_then(Hook::tracer::<ThreadTracer>).is_some_and(|known| known.is(&tracer));
    if !is_in_force {
        tracer.get().set_previous(py, current.and_then(own_hook));
        let thread = Thread::find(py, id)?;
        if !thread.set_hook(Some(&Hook::new(&tracer))) {
            return None;
        }
    }
    let tracer = tracer.unbind();
    registry::remember(py, id, &tracer);
    Some(tracer)
}

/// Takes the tracer off a thread, and puts back what it had before.
pub(super) fn untrace(py: Python<'_>, id: ThreadId, tracer: &Bound<'_, ThreadTracer>) {
    let Some(thread) = Thread::find(py, id) else { return };
    // What the program has put there itself stays.
    let is_in_force =
        thread.hook().as_ref().and_then(Hook::tracer::<ThreadTracer>).is_some_and(|known| known.is(tracer));
    if is_in_force {
        thread.set_hook(tracer.get().previous(py).as_ref());
    }
}

/// The hook that the program itself has: behind one of ours, what was there before.
fn own_hook(mut hook: Hook<'_>) -> Option<Hook<'_>> {
    while let Some(object) = &hook.object {
        let py = object.py();
        if let Ok(tracer) = object.cast::<ThreadTracer>() {
            hook = tracer.get().previous(py)?;
        } else if let Ok(starter) = object.cast::<ThreadStarter>() {
            hook.object = Some(starter.get().previous.as_ref()?.bind(py).clone());
        } else {
            break;
        }
    }
    Some(hook)
}

/// The tracer is over, but this thread's hook is still there: it goes now.
#[cold]
fn leave(py: Python<'_>, happening: &Happening<'_, '_>) -> PyResult<()> {
    let thread = Thread::current(py);
    let previous = thread.hook().and_then(own_hook);
    thread.set_hook(previous.as_ref());
    previous.map_or(Ok(()), |previous| previous.call(happening))
}

/// An object of ours was called as a hook that is written in Python: by a thread that has just started, or where the
/// program has put it back with `sys.setprofile()`. From now on the thread is traced as others are.
fn resume(frame: &Bound<'_, PyAny>, event: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = frame.py();
    let Some(frame) = Frame::of_object(frame) else { return Ok(()) };
    let happening = Happening::of_words(&frame, event, value);
    let thread = Thread::current(py);
    match registry::current_run().and_then(|run| trace(py, thread.id(), run)) {
        Some(tracer) => ThreadTracer::event(tracer.bind(py), &happening),
        None => leave(py, &happening),
    }
}
