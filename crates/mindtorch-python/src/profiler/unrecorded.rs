//! Scopes that were opened while nobody recorded. A session that begins while they are open shows them, from then on.
//!
//! Every scope of a program that is not being profiled passes here, so it is a few plain loads and stores: a thread has a list
//! that only it changes, and others only while they hold the interpreter lock, which it then does not.

#![expect(
    unsafe_code,
    reason = "the lists hold references that are counted by hand, and forks are noticed by a handler"
)]

use super::record_function::RecordFunction;
use mindtorch_profiler::{OpenScope, os_thread_id};
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

/// More than this many open scopes of a thread are counted, but not kept: a program that never closes any must not fill the
/// memory.
const MOST: usize = 1000;

static THREADS: Mutex<Vec<Arc<ThreadScopes>>> = Mutex::new(Vec::new());

/// The scopes that sessions show, with the object that has to be closed for each to end.
static SHOWN: Mutex<Vec<(Shown, OpenScope)>> = Mutex::new(Vec::new());
/// How many there are in `SHOWN`, to be read without the lock.
static SHOWN_COUNT: AtomicUsize = AtomicUsize::new(0);

/// How often this process came out of a fork. Asking for its number is a system call.
static FORKS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static HERE: Here = const { Here(Cell::new(None)) };
}

struct Here(Cell<Option<Arc<ThreadScopes>>>);

/// A scope of a thread, by its place in the thread's list.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shown {
    thread: *const ThreadScopes,
    place: usize,
}

// SAFETY: the pointer is compared, not followed.
unsafe impl Send for Shown {}

/// The scopes of a thread that are open, from the outermost.
struct ThreadScopes {
    os_thread: u64,
    forks: u32,
    /// Those that are kept and those that are not.
    count: AtomicUsize,
    objects: Box<[AtomicPtr<ffi::PyObject>]>,
}

impl ThreadScopes {
    #[cold]
    fn register() -> Arc<Self> {
        static WATCH: Once = Once::new();
        // SAFETY: the handler lives as long as the process, and does nothing but add to a number.
        WATCH.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(count_fork));
        });
        let objects = (0..MOST).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        let forks = FORKS.load(Ordering::Relaxed);
        let new = Arc::new(Self { os_thread: os_thread_id(), forks, count: AtomicUsize::new(0), objects });
        let mut threads = lock(&THREADS);
        // Those whose thread is gone are known here alone.
        let gone: Vec<_> = threads.extract_if(.., |thread| Arc::strong_count(thread) == 1).collect();
        threads.push(Arc::clone(&new));
        drop(threads);
        // Not under the lock: this may run Python code.
        drop(gone);
        new
    }

    fn kept(&self) -> usize {
        self.count.load(Ordering::Relaxed).min(MOST)
    }

    #[inline]
    fn open(&self, object: &Bound<'_, RecordFunction>) {
        let count = self.count.load(Ordering::Relaxed);
        if let Some(place) = self.objects.get(count) {
            place.store(object.clone().into_ptr(), Ordering::Relaxed);
        }
        self.count.store(count + 1, Ordering::Relaxed);
    }

    /// Takes out the scope that this object opened last, and ends it where it is shown.
    #[inline]
    fn close(&self, object: &Bound<'_, RecordFunction>) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        if count > MOST {
            // Most likely one that is not kept.
            self.count.store(count - 1, Ordering::Relaxed);
            return true;
        }
        let is_it = |place: &AtomicPtr<_>| place.load(Ordering::Relaxed) == object.as_ptr();
        let Some(at) = self.objects[..count].iter().rposition(is_it) else { return false };
        for place in at + 1..count {
            let later = self.objects[place].load(Ordering::Relaxed);
            self.objects[place - 1].store(later, Ordering::Relaxed);
        }
        self.count.store(count - 1, Ordering::Relaxed);
        if SHOWN_COUNT.load(Ordering::Relaxed) > 0 {
            self.end_shown(at);
        }
        // SAFETY: the reference that `open` put in the list, which is no longer there. The caller has another.
        unsafe { ffi::Py_DECREF(object.as_ptr()) };
        true
    }

    #[cold]
    fn end_shown(&self, closed: usize) {
        let mut all = lock(&SHOWN);
        all.retain_mut(|(shown, scope)| {
            let is_here = ptr::eq(shown.thread, self);
            if is_here && shown.place == closed {
                scope.close();
                return false;
            }
            // Those after it have moved.
            shown.place -= usize::from(is_here && shown.place > closed);
            true
        });
        SHOWN_COUNT.store(all.len(), Ordering::Relaxed);
    }
}

impl Drop for ThreadScopes {
    fn drop(&mut self) {
        // The thread is gone, and its scopes were never closed.
        let mut all = lock(&SHOWN);
        all.retain(|(shown, _)| !ptr::eq(shown.thread, self));
        SHOWN_COUNT.store(all.len(), Ordering::Relaxed);
        drop(all);
        let kept = &self.objects[..self.kept()];
        Python::try_attach(|py| {
            for place in kept {
                // SAFETY: the reference that `open` put in the list, which is going.
                drop(unsafe { Bound::from_owned_ptr(py, place.load(Ordering::Relaxed)) });
            }
        });
    }
}

/// Runs `work` with this thread's list. `None` for a thread that is being torn down.
#[inline]
fn with_here<T>(work: impl FnOnce(&ThreadScopes) -> T) -> Option<T> {
    HERE.try_with(|here| {
        let scopes = here.0.take();
        // In a forked child the thread has another number, and what is open was opened by the parent.
        let scopes = scopes.filter(|scopes| scopes.forks == FORKS.load(Ordering::Relaxed));
        let scopes = scopes.unwrap_or_else(ThreadScopes::register);
        let result = work(&scopes);
        here.0.set(Some(scopes));
        result
    })
    .ok()
}

/// Notes that a scope is open.
#[inline]
pub(super) fn open(scope: &Bound<'_, RecordFunction>) {
    with_here(|here| here.open(scope));
}

/// Notes that a scope is closed: on this thread, or else on whichever opened it.
#[inline]
pub(super) fn close(scope: &Bound<'_, RecordFunction>) {
    if with_here(|here| here.close(scope)) != Some(true) {
        close_elsewhere(scope);
    }
}

#[cold]
fn close_elsewhere(scope: &Bound<'_, RecordFunction>) {
    let threads = lock(&THREADS).clone();
    threads.iter().any(|thread| thread.close(scope));
}

/// The scopes that are open now, on all threads, for a session that is about to begin.
pub(super) fn show_all(py: Python<'_>) -> Vec<OpenScope> {
    let threads = lock(&THREADS).clone();
    let mut all = Vec::new();
    // A forked child has the lists of its parent's other threads, which it does not have.
    for thread in threads.iter().filter(|thread| thread.forks == FORKS.load(Ordering::Relaxed)) {
        let objects: Vec<Py<PyAny>> = thread.objects[..thread.kept()]
            .iter()
            // SAFETY: the list has a reference to each, and nobody can take it out: the interpreter lock is held here.
            .map(|place| unsafe { Bound::from_borrowed_ptr(py, place.load(Ordering::Relaxed)).unbind() })
            .collect();
        for (place, object) in objects.iter().enumerate() {
            let Ok(object) = object.bind(py).cast::<RecordFunction>() else { continue };
            // This may run Python code, during which the scope may be closed.
            let scope = OpenScope::new(object.get().description(py), thread.os_thread);
            let is_open = thread.objects[place].load(Ordering::Relaxed) == object.as_ptr() && place < thread.kept();
            if is_open {
                let mut shown = lock(&SHOWN);
                shown.push((Shown { thread: Arc::as_ptr(thread), place }, scope.clone()));
                SHOWN_COUNT.store(shown.len(), Ordering::Relaxed);
                all.push(scope);
            }
        }
    }
    all
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn count_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
