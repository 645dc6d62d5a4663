//! Who traces: the sessions that asked for it, and the tracers of all threads.

use super::hook::{self, ThreadStarter, ThreadTracer};
use super::interpreter::{self, GilCell, Hook, Thread, ThreadId};
use super::{modules, names};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the run that is on, or 0. A run is from the first session's start to the last one's stop.
static RUN: AtomicU64 = AtomicU64::new(0);

struct Registry {
    sessions: usize,
    /// The process that the sessions are of: a forked child has none.
    process: u32,
    last_run: u64,
    tracers: HashMap<ThreadId, Py<ThreadTracer>>,
    starter: Option<Py<ThreadStarter>>,
    /// Tracers of the last run, of other threads than the one that ended it. What they have begun is not over: the session
    /// shows it as it is, cut off at its end. They go when the next run begins.
    left: Vec<Py<ThreadTracer>>,
}

static REGISTRY: GilCell<Option<Registry>> = GilCell::new(None);

fn with<R>(py: Python<'_>, work: impl FnOnce(&mut Registry) -> R) -> Option<R> {
    REGISTRY.with(py, |registry| {
        work(registry.get_or_insert_with(|| Registry {
            sessions: 0,
            process: std::process::id(),
            last_run: 0,
            tracers: HashMap::new(),
            starter: None,
            left: Vec::new(),
        }))
    })
}

impl Registry {
    fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }
}

/// Whether this is the run that is on: one relaxed load.
#[inline]
pub(super) fn is_run(run: u64) -> bool {
    RUN.load(Ordering::Relaxed) == run
}

/// The run that is on.
pub(super) fn current_run() -> Option<u64> {
    match RUN.load(Ordering::Relaxed) {
        0 => None,
        run => Some(run),
    }
}

/// Recording has ended. In a forked child, which has its parent's hooks, the tracer ends too.
pub(super) fn check_process(py: Python<'_>) {
    if with(py, |registry| registry.is_of_this_process()) == Some(false) {
        RUN.store(0, Ordering::Relaxed);
    }
}

/// Traces every thread, for one more session.
///
/// # Errors
/// What Python raises when it is asked for the folders of modules, or to hook new threads.
pub(crate) fn start(py: Python<'_>) -> PyResult<()> {
    let mut of_parent = None;
    let is_first = with(py, |registry| {
        if !registry.is_of_this_process() {
            of_parent = Some((std::mem::take(&mut registry.tracers), registry.starter.take()));
            (registry.process, registry.sessions) = (std::process::id(), 0);
        }
        registry.sessions += 1;
        registry.sessions == 1
    });
    drop(of_parent);
    if is_first == Some(true) {
        if let Err(error) = begin_run(py) {
            stop(py);
            return Err(error);
        }
    }
    trace_all_threads(py);
    if let Some(tracer) = tracer(py, Thread::current(py).id()) {
        tracer.get().catch_up(py);
    }
    Ok(())
}

/// Ends the tracing for a session. After the last one no thread has our hook, unless the interpreter is one that lets a
/// thread change only its own: then others lose it at their next event.
pub(crate) fn stop(py: Python<'_>) {
    let ended = with(py, |registry| {
        if !registry.is_of_this_process() || registry.sessions == 0 {
            return None;
        }
        registry.sessions -= 1;
        (registry.sessions == 0).then(|| (std::mem::take(&mut registry.tracers), registry.starter.take()))
    });
    let Some((tracers, starter)) = ended.flatten() else { return };
    RUN.store(0, Ordering::Relaxed);
    let current = Thread::current(py).id();
    for (id, tracer) in &tracers {
        hook::untrace(py, *id, tracer.bind(py));
        if *id == current {
            tracer.get().end_all(py);
        }
    }
    with(py, |registry| registry.left = tracers.into_values().collect());
    if let Some(starter) = starter {
        // It fails only where the module is not itself any more, as when the interpreter ends.
        let _ = unhook_new_threads(starter.bind(py));
    }
    names::stop(py);
    modules::reset(py);
}

fn begin_run(py: Python<'_>) -> PyResult<()> {
    interpreter::find_slots(py, &Hook::new(&Bound::new(py, ThreadTracer::new(0))?))?;
    names::start(py)?;
    modules::reset(py);
    let starter = hook_new_threads(py)?.unbind();
    let left = with(py, |registry| {
        registry.starter = Some(starter);
        registry.last_run += 1;
        RUN.store(registry.last_run, Ordering::Relaxed);
        std::mem::take(&mut registry.left)
    });
    drop(left);
    Ok(())
}

/// Traces the threads that are not traced yet.
pub(super) fn trace_all_threads(py: Python<'_>) {
    let Some(run) = current_run() else { return };
    let ids: Vec<ThreadId> = Thread::all(py).into_iter().map(Thread::id).collect();
    let of_ended = with(py, |registry| {
        let is_over = |id: &ThreadId| !ids.contains(id);
        let ended: Vec<ThreadId> = registry.tracers.keys().copied().filter(is_over).collect();
        ended.iter().filter_map(|id| registry.tracers.remove(id)).collect::<Vec<_>>()
    });
    drop(of_ended);
    for id in ids {
        hook::trace(py, id, run);
    }
}

/// The tracer of a thread.
pub(super) fn tracer(py: Python<'_>, id: ThreadId) -> Option<Py<ThreadTracer>> {
    with(py, |registry| registry.tracers.get(&id).map(|tracer| tracer.clone_ref(py)))?
}

/// Takes note of the tracer of a thread.
pub(super) fn remember(py: Python<'_>, id: ThreadId, tracer: &Py<ThreadTracer>) {
    let old = with(py, |registry| registry.tracers.insert(id, tracer.clone_ref(py)));
    drop(old);
}

/// Lets threads that start from now on begin with a hook of ours.
fn hook_new_threads(py: Python<'_>) -> PyResult<Bound<'_, ThreadStarter>> {
    let threading = py.import("threading")?;
    let previous = threading.call_method0("getprofile")?;
    let starter = Bound::new(py, ThreadStarter { previous: (!previous.is_none()).then(|| previous.unbind()) })?;
    threading.call_method1("setprofile", (&starter,))?;
    Ok(starter)
}

fn unhook_new_threads(starter: &Bound<'_, ThreadStarter>) -> PyResult<()> {
    let threading = starter.py().import("threading")?;
    // What the program has put there itself stays.
    if threading.call_method0("getprofile")?.is(starter) {
        threading.call_method1("setprofile", (&starter.get().previous,))?;
    }
    Ok(())
}
