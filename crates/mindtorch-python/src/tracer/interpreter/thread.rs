//! The threads of the interpreter, and where each has its hook.

use super::event::{Hook, HookFunction};
use super::symbol;
use pyo3::ffi::{self, PyInterpreterState, PyObject, PyThreadState};
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

type SetThreadHook = unsafe extern "C" fn(*mut PyThreadState, Option<HookFunction>, *mut PyObject) -> c_int;

unsafe extern "C" {
    fn PyEval_SetProfile(hook: Option<HookFunction>, object: *mut PyObject);
    fn PyInterpreterState_ThreadHead(interpreter: *mut PyInterpreterState) -> *mut PyThreadState;
    fn PyThreadState_Next(thread: *mut PyThreadState) -> *mut PyThreadState;
}

/// Tells threads apart, also from those that are over.
pub(in crate::tracer) type ThreadId = i64;

/// A thread of the interpreter. Good while the interpreter lock is held and no Python code has run.
#[derive(Clone, Copy)]
pub(in crate::tracer) struct Thread<'py>(*mut PyThreadState, Python<'py>);

impl<'py> Thread<'py> {
    pub(in crate::tracer) fn current(py: Python<'py>) -> Self {
        // SAFETY: the lock is held, so there is a current thread.
        Self(unsafe { ffi::PyThreadState_Get() }, py)
    }

    /// All threads of this interpreter.
    pub(in crate::tracer) fn all(py: Python<'py>) -> Vec<Self> {
        let mut threads = Vec::new();
        // SAFETY: the list changes only while the lock is held by others, or by functions that are not called here.
        unsafe {
            let mut thread = PyInterpreterState_ThreadHead(ffi::PyInterpreterState_Get());
            while !thread.is_null() {
                threads.push(Self(thread, py));
                thread = PyThreadState_Next(thread);
            }
        }
        threads
    }

    pub(in crate::tracer) fn find(py: Python<'py>, id: ThreadId) -> Option<Self> {
        Self::all(py).into_iter().find(|thread| thread.id() == id)
    }

    pub(in crate::tracer) fn id(self) -> ThreadId {
        // SAFETY: the thread is alive.
        unsafe { ffi::PyThreadState_GetID(self.0) }
    }

    pub(in crate::tracer) fn is_current(self) -> bool {
        self.0 == Self::current(self.1).0
    }

    /// The hook that is in force. None too if the interpreter does not show it.
    pub(in crate::tracer) fn hook(self) -> Option<Hook<'py>> {
        let slots = SLOTS.get()?.as_ref()?;
        // SAFETY: the thread is alive, and the slots lie in what every version's thread state has; the first holds null or a
        // hook, the second null or an object.
        unsafe {
            let words = self.0.cast::<*mut c_void>();
            let function = std::mem::transmute::<*mut c_void, Option<HookFunction>>(*words.add(slots.function))?;
            let object = Bound::from_borrowed_ptr_or_opt(self.1, (*words.add(slots.object)).cast());
            Some(Hook { function, object })
        }
    }

    /// Puts a hook in force, or none. False if that cannot be done: the thread is another, and this version of the
    /// interpreter does not let one thread set another's.
    pub(in crate::tracer) fn set_hook(self, hook: Option<&Hook<'_>>) -> bool {
        static SET: OnceLock<Option<SetThreadHook>> = OnceLock::new();
        // SAFETY: a function of this name has this type, in all versions that have it.
        let set = *SET.get_or_init(|| unsafe {
            std::mem::transmute::<*mut c_void, Option<SetThreadHook>>(symbol(c"_PyEval_SetProfile"))
        });
        let function = hook.map(|hook| hook.function);
        let object = hook.map_or(std::ptr::null_mut(), Hook::object_ptr);
        match set {
            // SAFETY: the thread is alive and the lock is held. A failure is an audit hook's refusal.
            Some(set) if !self.is_current() => unsafe {
                let is_set = set(self.0, function, object) == 0;
                if !is_set {
                    ffi::PyErr_Clear();
                }
                is_set
            },
            // SAFETY: the lock is held. It reports a refusal itself.
            _ if self.is_current() => unsafe {
                PyEval_SetProfile(function, object);
                true
            },
            _ => false,
        }
    }
}

/// Where a thread's state has its hook: the number of the word with the function, and of that with its object.
struct Slots {
    function: usize,
    object: usize,
}

static SLOTS: OnceLock<Option<Slots>> = OnceLock::new();

/// Words at the beginning of a thread's state that every version has; the hook is among them.
const WORDS: usize = 32;

/// Finds out where threads have their hooks, by setting one on this thread and looking for it. The version's structures
/// would say so too, but this library is one for all versions.
pub(in crate::tracer) fn find_slots(py: Python<'_>, probe: &Hook<'_>) -> PyResult<()> {
    if SLOTS.get().is_some() {
        return Ok(());
    }
    // Also keeps the object of the user's hook alive.
    let object = py.import("sys")?.getattr("getprofile")?.call0()?;
    let thread = Thread::current(py);
    // SAFETY: a thread's state has this many words, which may be read while the lock is held.
    let words = || unsafe { std::ptr::read(thread.0.cast::<[*mut c_void; WORDS]>()) };
    let before = words();
    thread.set_hook(Some(probe));
    let after = words();
    let place = |pointer: *mut c_void| (0..WORDS).find(|&word| after[word] == pointer && before[word] != pointer);
    let slots = place(probe.function as *mut c_void).zip(place(probe.object_ptr().cast()));
    let slots = slots.map(|(function, object)| Slots { function, object });
    // SAFETY: the word held null or the function of the hook that was in force.
    let function = slots
        .as_ref()
        .and_then(|slots| unsafe { std::mem::transmute::<*mut c_void, Option<HookFunction>>(before[slots.function]) });
    let previous = function.map(|function| Hook { function, object: (!object.is_none()).then_some(object) });
    thread.set_hook(previous.as_ref());
    let _ = SLOTS.set(slots);
    Ok(())
}
