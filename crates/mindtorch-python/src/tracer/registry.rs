//! Who traces: the sessions that asked for it, and the tracers of all threads.
//!
//! Sessions start and stop on any threads. What they change here is changed in one go, with the interpreter lock held and
//! no Python code run in between: all that may run some, such as an import, is done before, and all that may free objects,
//! after.

use super::hook::{self, ThreadStarter, ThreadTracer};
use super::interpreter::{self, GilCell, Hook, Thread, ThreadId};
use super::modules;
use super::names::{self, Places};
use pyo3::prelude::*;
use pyo3::types::PyModule;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the run that is on, or 0. A run is from the first session's start to the last one's stop.
static RUN: AtomicU64 = AtomicU64::new(0);

struct Registry {
    sessions: usize,
    /// The process that the sessions are of: a forked child has none.
    process: u32,
    last_run: u64,
    tracers: HashMap<ThreadId, Py<ThreadTracer>>,
    new_threads: Option<NewThreads>,
}

static REGISTRY: GilCell<Option<Registry>> = GilCell::new(None);

fn with<R>(py: Python<'_>, work: impl FnOnce(&mut Registry) -> R) -> Option<R> {
    REGISTRY.with(py, |registry| {
        work(registry.get_or_insert_with(|| Registry {
            sessions: 0,
            process: std::process::id(),
            last_run: 0,
            tracers: HashMap::new(),
            new_threads: None,
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
/// What Python raises when it is asked for the folders of modules.
pub(crate) fn start(py: Python<'_>) -> PyResult<()> {
    let places = Places::find(py)?;
    let threading = py.import("threading")?;
    interpreter::find_slots(py, &Hook::new(&Bound::new(py, ThreadTracer::new(0))?))?;
    let (is_first, of_parent) = with(py, |registry| {
        let of_parent = (!registry.is_of_this_process()).then(|| {
            (registry.process, registry.sessions) = (std::process::id(), 0);
            (std::mem::take(&mut registry.tracers), registry.new_threads.take())
        });
        registry.sessions += 1;
        (registry.sessions == 1, of_parent)
    })
    .unzip();
    let old = (is_first == Some(true)).then(|| begin_run(py, places, threading));
    trace_all_threads(py);
    if let Some(tracer) = tracer(py, Thread::current(py).id()) {
        tracer.get().catch_up(py);
    }
    drop((of_parent, old));
    Ok(())
}

/// What threads were in the middle of when the tracer stopped. Keep it until the session is over: a session that ends
/// while a call goes on shows it cut off, and one that sees it ended by another thread takes it for something else.
pub(crate) struct Stopped(Vec<Py<ThreadTracer>>);

impl Drop for Stopped {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            Python::try_attach(|py| self.0.iter().for_each(|tracer| tracer.get().end_all(py)));
        }
    }
}

/// Ends the tracing for a session. After the last one no thread has our hook, unless the interpreter is one that lets a
/// thread change only its own: then others lose it at their next event.
pub(crate) fn stop(py: Python<'_>) -> Stopped {
    let ended = with(py, |registry| {
        if !registry.is_of_this_process() || registry.sessions == 0 {
            return None;
        }
        registry.sessions -= 1;
        (registry.sessions == 0).then(|| (std::mem::take(&mut registry.tracers), registry.new_threads.take()))
    });
    let Some((tracers, new_threads)) = ended.flatten() else { return Stopped(Vec::new()) };
    RUN.store(0, Ordering::Relaxed);
    let current = Thread::current(py).id();
    for (id, tracer) in &tracers {
        hook::untrace(py, *id, tracer.bind(py));
        if *id == current {
            tracer.get().end_all(py);
        }
    }
    if let Some(new_threads) = &new_threads {
        new_threads.unhook(py);
    }
    drop((names::stop(py), modules::reset(py), new_threads));
    Stopped(tracers.into_values().collect())
}

fn begin_run(py: Python<'_>, places: Places, threading: Bound<'_, PyModule>) -> impl Sized {
    names::start(py, places);
    let modules = modules::reset(py);
    let new_threads = NewThreads::hook(threading).ok();
    let old = with(py, |registry| {
        registry.last_run += 1;
        RUN.store(registry.last_run, Ordering::Relaxed);
        std::mem::replace(&mut registry.new_threads, new_threads)
    });
    (modules, old)
}

/// Traces the threads that are not traced yet.
pub(super) fn trace_all_threads(py: Python<'_>) {
    let Some(run) = current_run() else { return };
    forget_ended_threads(py);
    let untraced = Thread::all(py).into_iter().filter(|thread| !hook::is_traced(*thread, run));
    let untraced: Vec<ThreadId> = untraced.map(Thread::id).collect();
    for id in untraced {
        hook::trace(py, id, run);
    }
}

/// Not each time, since a program may have many threads.
fn forget_ended_threads(py: Python<'_>) {
    let threads = Thread::all(py);
    let ended = with(py, |registry| {
        if registry.tracers.len() <= 2 * threads.len() {
            return Vec::new();
        }
        let alive: HashSet<ThreadId> = threads.into_iter().map(Thread::id).collect();
        registry.tracers.extract_if(|id, _| !alive.contains(id)).collect()
    });
    drop(ended);
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

/// The hook that threads will have which start from now on.
struct NewThreads {
    threading: Py<PyModule>,
    starter: Py<ThreadStarter>,
}

impl NewThreads {
    /// What `threading.setprofile` sets. The function itself would do too, but it is Python code.
    const HOOK: &str = "_profile_hook";

    fn hook(threading: Bound<'_, PyModule>) -> PyResult<Self> {
        let py = threading.py();
        let mut previous = threading.getattr(Self::HOOK)?;
        if let Ok(ours) = previous.cast::<ThreadStarter>() {
            previous = ours.get().previous.as_ref().map_or_else(|| py.None(), |hook| hook.clone_ref(py)).into_bound(py);
        }
        let previous = (!previous.is_none()).then(|| previous.unbind());
        let starter = Bound::new(py, ThreadStarter { previous })?;
        threading.setattr(Self::HOOK, &starter)?;
        Ok(Self { threading: threading.unbind(), starter: starter.unbind() })
    }

    fn unhook(&self, py: Python<'_>) {
        let threading = self.threading.bind(py);
        // What the program has put there itself stays.
        if threading.getattr(Self::HOOK).is_ok_and(|hook| hook.is(&self.starter)) {
            // It fails only where the module is not itself any more, as when the interpreter ends.
            let _ = threading.setattr(Self::HOOK, &self.starter.get().previous);
        }
    }
}
