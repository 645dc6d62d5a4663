//! Scopes that were opened while nobody recorded. A session that begins while they are open shows them, from then on.

use super::record_function::RecordFunction;
use mindtorch_profiler::{OpenScope, os_thread_id};
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More than this many open scopes of a thread are not kept: a program that never closes any must not fill the memory.
const MOST: usize = 1000;

static THREADS: Mutex<Vec<Arc<ThreadScopes>>> = Mutex::new(Vec::new());

thread_local! {
    static HERE: RefCell<Arc<ThreadScopes>> = RefCell::new(ThreadScopes::new());
}

/// The scopes of a thread that are open, from the outermost.
struct ThreadScopes {
    os_thread: u64,
    process: u32,
    scopes: Mutex<Vec<Scope>>,
}

struct Scope {
    object: Py<RecordFunction>,
    /// Those of the sessions that show it.
    shown: SmallVec<[OpenScope; 1]>,
}

impl ThreadScopes {
    fn new() -> Arc<Self> {
        let new =
            Arc::new(Self { os_thread: os_thread_id(), process: std::process::id(), scopes: Mutex::new(Vec::new()) });
        let mut threads = lock(&THREADS);
        // Those whose thread is gone are known here alone.
        threads.retain(|thread| Arc::strong_count(thread) > 1);
        threads.push(Arc::clone(&new));
        new
    }

    /// Takes out the scope that this object opened last, and ends it.
    fn close(&self, object: *mut pyo3::ffi::PyObject) -> bool {
        let mut scopes = lock(&self.scopes);
        let Some(at) = scopes.iter().rposition(|scope| scope.object.as_ptr() == object) else { return false };
        let scope = scopes.remove(at);
        drop(scopes);
        scope.shown.iter().for_each(OpenScope::close);
        true
    }
}

/// Notes that a scope is open.
pub(super) fn open(scope: &Bound<'_, RecordFunction>) {
    // A thread that is being torn down keeps none.
    let _ = HERE.try_with(|here| {
        let mut here = here.borrow_mut();
        if here.process != std::process::id() {
            // The thread that forked: it has another number here, and what is open was opened by the parent.
            *here = ThreadScopes::new();
        }
        let mut scopes = lock(&here.scopes);
        if scopes.len() < MOST {
            scopes.push(Scope { object: scope.clone().unbind(), shown: SmallVec::new() });
        }
    });
}

/// Notes that a scope is closed: on this thread, or else on whichever opened it.
pub(super) fn close(scope: &Bound<'_, RecordFunction>) {
    let object = scope.as_ptr();
    if HERE.try_with(|here| Arc::clone(&here.borrow()).close(object)).unwrap_or(false) {
        return;
    }
    let threads = lock(&THREADS).clone();
    threads.iter().any(|thread| thread.close(object));
}

/// The scopes that are open now, on all threads, for a session that is about to begin.
pub(super) fn show_all(py: Python<'_>) -> Vec<OpenScope> {
    let threads = lock(&THREADS).clone();
    let mut shown = Vec::new();
    // A forked child has the lists of its parent's other threads, which it does not have.
    for thread in threads.iter().filter(|thread| thread.process == std::process::id()) {
        let objects: Vec<Py<RecordFunction>> =
            lock(&thread.scopes).iter().map(|scope| scope.object.clone_ref(py)).collect();
        // Not under the lock: this may run Python code.
        let opened: Vec<OpenScope> =
            objects.iter().map(|object| OpenScope::new(object.get().description(py), thread.os_thread)).collect();
        for (scope, opened) in lock(&thread.scopes).iter_mut().zip(&opened) {
            scope.shown.push(opened.clone());
        }
        shown.extend(opened);
    }
    shown
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
