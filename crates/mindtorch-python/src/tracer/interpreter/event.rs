//! Events, and the hooks that they are told to.

use super::frame::Frame;
use pyo3::PyClass;
use pyo3::ffi::{PyFrameObject, PyObject};
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::panic::AssertUnwindSafe;

/// A profile hook in C: it gets its object, the frame, what happened and the value or the function that it is about.
pub(in crate::tracer) type HookFunction =
    unsafe extern "C" fn(*mut PyObject, *mut PyFrameObject, c_int, *mut PyObject) -> c_int;

/// What happened, as the interpreter numbers it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::tracer) enum Event {
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
pub(in crate::tracer) struct Happening<'a, 'py> {
    pub(in crate::tracer) frame: &'a Frame<'py>,
    pub(in crate::tracer) event: Event,
    number: c_int,
    /// What is returned, or the builtin.
    pub(in crate::tracer) value: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> Happening<'a, 'py> {
    /// What Python tells a hook that is a Python function.
    pub(in crate::tracer) fn of_words(frame: &'a Frame<'py>, event: &str, value: &'a Bound<'py, PyAny>) -> Self {
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
pub(in crate::tracer) trait HookObject: PyClass<Frozen = True> + Sync {
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
    // frame, and null or an object. The last two it is in the middle of running, calling or returning, so that they stay:
    // of these no reference is taken, and none given back. The object would go if Python code in here took the hook away.
    let (object, frame, value) = unsafe {
        let py = Python::assume_attached();
        let object = Bound::from_borrowed_ptr(py, object).cast_into_unchecked::<T>();
        let frame = ManuallyDrop::new(Frame(Bound::from_owned_ptr(py, frame.cast())));
        (object, frame, ManuallyDrop::new(Bound::from_owned_ptr_or_opt(py, value)))
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

/// A hook that is, or was, in force on a thread. The object, if any, is kept alive.
#[derive(Clone)]
pub(in crate::tracer) struct Hook<'py> {
    pub(in crate::tracer) function: HookFunction,
    pub(in crate::tracer) object: Option<Bound<'py, PyAny>>,
}

impl<'py> Hook<'py> {
    /// A hook of ours.
    pub(in crate::tracer) fn new<T: HookObject>(object: &Bound<'py, T>) -> Self {
        Self { function: function::<T>, object: Some(object.as_any().clone()) }
    }

    /// Its object, if it is a hook of ours.
    pub(in crate::tracer) fn tracer<T: HookObject>(&self) -> Option<&Bound<'py, T>> {
        let is_ours = std::ptr::fn_addr_eq(self.function, function::<T> as HookFunction);
        self.object.as_ref().filter(|_| is_ours)?.cast().ok()
    }

    pub(super) fn object_ptr(&self) -> *mut PyObject {
        self.object.as_ref().map_or(std::ptr::null_mut(), Bound::as_ptr)
    }

    /// Calls it with an event; `Err` with what it raised.
    pub(in crate::tracer) fn call(&self, happening: &Happening<'_, 'py>) -> PyResult<()> {
        let (frame, value) = (happening.frame, happening.value.map_or(std::ptr::null_mut(), Bound::as_ptr));
        // SAFETY: a hook takes its object, a frame, an event and a value that may be null, while the lock is held.
        let status = unsafe { (self.function)(self.object_ptr(), frame.as_ptr(), happening.number, value) };
        if status == 0 { Ok(()) } else { Err(PyErr::fetch(frame.py())) }
    }
}
