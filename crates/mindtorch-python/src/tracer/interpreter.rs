//! What the tracer needs of the interpreter: frames, threads and their profile hooks.
//!
//! Most of it is not in the stable ABI, but every CPython since 3.10 exports it. What some versions lack is looked up when
//! the tracer first starts. The rest of the tracer is safe code on top of this.

#![expect(unsafe_code, reason = "the interpreter's threads and frames are known by pointers")]

use pyo3::PyClass;
use pyo3::ffi::{self, PyFrameObject, PyInterpreterState, PyObject, PyThreadState};
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;

/// A profile hook in C: it gets its object, the frame, what happened and the value or the function that it is about.
pub(super) type HookFunction = unsafe extern "C" fn(*mut PyObject, *mut PyFrameObject, c_int, *mut PyObject) -> c_int;

type SetThreadHook = unsafe extern "C" fn(*mut PyThreadState, Option<HookFunction>, *mut PyObject) -> c_int;
type GetVariable = unsafe extern "C" fn(*mut PyFrameObject, *const c_char) -> *mut PyObject;

unsafe extern "C" {
    fn PyEval_SetProfile(hook: Option<HookFunction>, object: *mut PyObject);
    fn PyFrame_GetBack(frame: *mut PyFrameObject) -> *mut PyFrameObject;
    fn PyInterpreterState_ThreadHead(interpreter: *mut PyInterpreterState) -> *mut PyThreadState;
    fn PyThreadState_Next(thread: *mut PyThreadState) -> *mut PyThreadState;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Data that is touched only with the interpreter lock held. A borrow must not last while Python code may run.
pub(super) struct GilCell<T>(RefCell<T>);

// SAFETY: all access needs a `Python` token, so that threads take turns; this module is not for free-threaded Python.
unsafe impl<T: Send> Sync for GilCell<T> {}

impl<T> GilCell<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }

    /// What `work` makes of the data; None if it is in use further down in this thread.
    #[inline]
    pub(super) fn with<R>(&self, _py: Python<'_>, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.0.try_borrow_mut().ok().map(|mut value| work(&mut value))
    }
}

/// A frame that is running, or was a moment ago.
pub(super) struct Frame<'py>(Bound<'py, PyAny>);

impl<'py> Frame<'py> {
    /// The frame that this thread runs.
    pub(super) fn current(py: Python<'py>) -> Option<Self> {
        // SAFETY: the result is null or a new reference to a frame, and this thread holds the interpreter lock.
        unsafe {
            let thread = ffi::PyThreadState_Get();
            Self::from_new(py, ffi::PyThreadState_GetFrame(thread))
        }
    }

    /// A frame that Python gave to a hook, if it is one.
    pub(super) fn of_object(object: &Bound<'py, PyAny>) -> Option<Self> {
        object.hasattr("f_code").is_ok_and(|has| has).then(|| Self(object.clone()))
    }

    /// # Safety
    /// The pointer is null or a frame, and the caller hands over its reference.
    unsafe fn from_new(py: Python<'py>, frame: *mut PyFrameObject) -> Option<Self> {
        // SAFETY: as the caller says.
        unsafe { Bound::from_owned_ptr_or_opt(py, frame.cast()).map(Self) }
    }

    fn as_ptr(&self) -> *mut PyFrameObject {
        self.0.as_ptr().cast()
    }

    pub(super) fn py(&self) -> Python<'py> {
        self.0.py()
    }

    pub(super) fn object(&self) -> &Bound<'py, PyAny> {
        &self.0
    }

    /// Tells frames apart, of those that are running.
    #[inline]
    pub(super) fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// The frame that called this one.
    #[inline]
    pub(super) fn back(&self) -> Option<Self> {
        // SAFETY: this is a frame; the result is null or a new reference.
        unsafe { Self::from_new(self.py(), PyFrame_GetBack(self.as_ptr())) }
    }

    /// The line that it is at.
    #[inline]
    pub(super) fn line(&self) -> u32 {
        // SAFETY: this is a frame.
        let line = unsafe { ffi::PyFrame_GetLineNumber(self.as_ptr()) };
        u32::try_from(line).unwrap_or(0)
    }

    #[inline]
    pub(super) fn code(&self) -> Bound<'py, PyAny> {
        // SAFETY: this is a frame, which always has code; the result is a new reference.
        unsafe { Bound::from_owned_ptr(self.py(), ffi::PyFrame_GetCode(self.as_ptr()).cast()) }
    }

    /// The value of a local variable.
    pub(super) fn variable(&self, name: &'static CStr) -> Option<Bound<'py, PyAny>> {
        static GET: OnceLock<Option<GetVariable>> = OnceLock::new();
        // SAFETY: a function of this name, which CPython has since 3.12, has this type.
        let get = *GET.get_or_init(|| unsafe {
            std::mem::transmute::<*mut c_void, Option<GetVariable>>(symbol(c"PyFrame_GetVarString"))
        });
        let found = match get {
            // SAFETY: a frame and a name; the result is a new reference, or null and an error is set.
            Some(get) => unsafe { Bound::from_owned_ptr_or_err(self.py(), get(self.as_ptr(), name.as_ptr())) },
            None => self.0.getattr("f_locals").and_then(|locals| locals.get_item(name.to_string_lossy())),
        };
        found.ok()
    }
}

/// A builtin function or method, bound to what it is called on.
pub(super) struct Builtin<'a, 'py>(Borrowed<'a, 'py, PyAny>);

/// The beginning of a `PyCFunctionObject`, as it has been in every version with an interpreter lock.
#[repr(C)]
struct BuiltinLayout {
    head: PyObject,
    definition: *const ffi::PyMethodDef,
    owner: *mut PyObject,
}

impl<'a, 'py> Builtin<'a, 'py> {
    pub(super) fn of_object(object: Borrowed<'a, 'py, PyAny>) -> Option<Self> {
        // SAFETY: any object may be asked.
        let is_builtin = unsafe { ffi::PyCFunction_Check(object.as_ptr()) } != 0;
        is_builtin.then_some(Self(object))
    }

    pub(super) fn object(&self) -> &Bound<'py, PyAny> {
        &self.0
    }

    /// What it is called on: an object, a type, a module or nothing.
    pub(super) fn owner(&self) -> Option<Bound<'py, PyAny>> {
        // SAFETY: this is a builtin; the result is null or borrowed from it.
        unsafe { Bound::from_borrowed_ptr_or_opt(self.0.py(), ffi::PyCFunction_GetSelf(self.0.as_ptr())) }
    }

    /// What tells it from others: where its definition is, and the type of its owner.
    #[inline]
    pub(super) fn key(&self) -> (usize, usize) {
        // SAFETY: this is a builtin, so it has this layout; owners are objects.
        unsafe {
            let layout = &*self.0.as_ptr().cast::<BuiltinLayout>();
            let owner_type = if layout.owner.is_null() { 0 } else { ffi::Py_TYPE(layout.owner).addr() };
            (layout.definition.addr(), owner_type)
        }
    }

    /// The name in its definition.
    #[inline]
    pub(super) fn name(&self) -> &CStr {
        // SAFETY: as above; a definition has a name that lives as long as it does, which the function keeps alive.
        unsafe {
            let definition = (*self.0.as_ptr().cast::<BuiltinLayout>()).definition;
            CStr::from_ptr((*definition).ml_name)
        }
    }
}

/// A hook that is, or was, in force on a thread. The object, if any, is kept alive.
#[derive(Clone)]
pub(super) struct Hook<'py> {
    pub(super) function: HookFunction,
    pub(super) object: Option<Bound<'py, PyAny>>,
}

impl<'py> Hook<'py> {
    /// A hook of ours.
    pub(super) fn new<T: HookObject>(object: &Bound<'py, T>) -> Self {
        Self { function: function::<T>, object: Some(object.as_any().clone()) }
    }

    /// Its object, if it is a hook of ours.
    pub(super) fn tracer<T: HookObject>(&self) -> Option<&Bound<'py, T>> {
        let is_ours = std::ptr::fn_addr_eq(self.function, function::<T> as HookFunction);
        self.object.as_ref().filter(|_| is_ours)?.cast().ok()
    }

    fn object_ptr(&self) -> *mut PyObject {
        self.object.as_ref().map_or(std::ptr::null_mut(), Bound::as_ptr)
    }

    /// Calls it with an event; `Err` with what it raised.
    pub(super) fn call(&self, happening: &Happening<'_, 'py>) -> PyResult<()> {
        let (frame, value) = (happening.frame, happening.value.map_or(std::ptr::null_mut(), Bound::as_ptr));
        // SAFETY: a hook takes its object, a frame, an event and a value that may be null, while the lock is held.
        let status = unsafe { (self.function)(self.object_ptr(), frame.as_ptr(), happening.number, value) };
        if status == 0 { Ok(()) } else { Err(PyErr::fetch(frame.py())) }
    }
}

/// Tells threads apart, also from those that are over.
pub(super) type ThreadId = i64;

/// A thread of the interpreter. Good while the interpreter lock is held and no Python code has run.
#[derive(Clone, Copy)]
pub(super) struct Thread<'py>(*mut PyThreadState, Python<'py>);

impl<'py> Thread<'py> {
    pub(super) fn current(py: Python<'py>) -> Self {
        // SAFETY: the lock is held, so there is a current thread.
        Self(unsafe { ffi::PyThreadState_Get() }, py)
    }

    /// All threads of this interpreter.
    pub(super) fn all(py: Python<'py>) -> Vec<Self> {
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

    pub(super) fn find(py: Python<'py>, id: ThreadId) -> Option<Self> {
        Self::all(py).into_iter().find(|thread| thread.id() == id)
    }

    pub(super) fn id(self) -> ThreadId {
        // SAFETY: the thread is alive.
        unsafe { ffi::PyThreadState_GetID(self.0) }
    }

    pub(super) fn is_current(self) -> bool {
        self.0 == Self::current(self.1).0
    }

    /// The hook that is in force. None too if the interpreter does not show it.
    pub(super) fn hook(self) -> Option<Hook<'py>> {
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
    pub(super) fn set_hook(self, hook: Option<&Hook<'_>>) -> bool {
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
pub(super) fn find_slots(py: Python<'_>, probe: &Hook<'_>) -> PyResult<()> {
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

/// A function of the interpreter's, or null.
fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: null is the whole program, and the name ends in a zero.
    unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) }
}

/// What happened, as the interpreter numbers it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Call,
    Return,
    BuiltinCall,
    BuiltinReturn,
    Other,
}

impl Event {
    fn of_number(number: c_int) -> Self {
        match number {
            0 => Self::Call,
            3 => Self::Return,
            4 => Self::BuiltinCall,
            // A builtin's return, and an error out of one.
            5 | 6 => Self::BuiltinReturn,
            _ => Self::Other,
        }
    }
}

/// An event, as a hook gets it.
pub(super) struct Happening<'a, 'py> {
    pub(super) frame: &'a Frame<'py>,
    pub(super) event: Event,
    number: c_int,
    /// What is returned, or the builtin.
    pub(super) value: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> Happening<'a, 'py> {
    /// What Python tells a hook that is a Python function.
    pub(super) fn of_words(frame: &'a Frame<'py>, event: &str, value: &'a Bound<'py, PyAny>) -> Self {
        let number = match event {
            "call" => 0,
            "return" => 3,
            "c_call" => 4,
            "c_exception" => 5,
            "c_return" => 6,
            _ => -1,
        };
        Self { frame, event: Event::of_number(number), number, value: Some(value) }
    }
}

/// What can be the object of a hook of ours.
pub(super) trait HookObject: PyClass<Frozen = True> + Sync {
    /// Takes note of an event; what it raises is raised in the program.
    fn event(object: &Bound<'_, Self>, happening: &Happening<'_, '_>) -> PyResult<()>;
}

/// The function of the hooks whose object is a `T`.
unsafe extern "C" fn function<T: HookObject>(
    object: *mut PyObject,
    frame: *mut PyFrameObject,
    number: c_int,
    value: *mut PyObject,
) -> c_int {
    // SAFETY: the interpreter calls hooks with the lock held, with the object that they were made with, which is a `T`, a
    // frame, and null or an object. References are taken, so that all of them stay while Python code runs in here.
    let (object, frame, value) = unsafe {
        let py = Python::assume_attached();
        let object = Bound::from_borrowed_ptr(py, object).cast_into_unchecked::<T>();
        let frame = Frame(Bound::from_borrowed_ptr(py, frame.cast()));
        (object, frame, Bound::from_borrowed_ptr_or_opt(py, value))
    };
    let py = object.py();
    let happening = Happening { frame: &frame, event: Event::of_number(number), number, value: value.as_ref() };
    // A panic would end the program. What was to be recorded is lost, and no more.
    match std::panic::catch_unwind(AssertUnwindSafe(|| T::event(&object, &happening))) {
        Ok(Ok(())) | Err(_) => 0,
        Ok(Err(error)) => {
            error.restore(py);
            -1
        }
    }
}
