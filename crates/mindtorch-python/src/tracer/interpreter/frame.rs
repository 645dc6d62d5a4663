//! Frames, and the builtins that they call.

use super::symbol;
use pyo3::ffi::{self, PyFrameObject, PyObject};
use pyo3::prelude::*;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

type GetOffset = unsafe extern "C" fn(*mut PyFrameObject) -> c_int;
type GetVariable = unsafe extern "C" fn(*mut PyFrameObject, *const c_char) -> *mut PyObject;

unsafe extern "C" {
    fn PyFrame_GetBack(frame: *mut PyFrameObject) -> *mut PyFrameObject;
}

/// A frame that is running, or was a moment ago.
#[derive(Clone)]
pub(in crate::tracer) struct Frame<'py>(pub(super) Bound<'py, PyAny>);

impl<'py> Frame<'py> {
    /// The frame that this thread runs.
    pub(in crate::tracer) fn current(py: Python<'py>) -> Option<Self> {
        // SAFETY: the result is null or a new reference to a frame, and this thread holds the interpreter lock.
        unsafe {
            let thread = ffi::PyThreadState_Get();
            Self::from_new(py, ffi::PyThreadState_GetFrame(thread))
        }
    }

    /// A frame that Python gave to a hook, if it is one: anyone may call what `sys.getprofile()` gives.
    pub(in crate::tracer) fn of_object(object: &Bound<'py, PyAny>) -> Option<Self> {
        let frame_type = Self::current(object.py())?.0.get_type();
        object.get_type().is(&frame_type).then(|| Self(object.clone()))
    }

    /// # Safety
    /// The pointer is null or a frame, and the caller hands over its reference.
    unsafe fn from_new(py: Python<'py>, frame: *mut PyFrameObject) -> Option<Self> {
        // SAFETY: as the caller says.
        unsafe { Bound::from_owned_ptr_or_opt(py, frame.cast()).map(Self) }
    }

    pub(super) fn as_ptr(&self) -> *mut PyFrameObject {
        self.0.as_ptr().cast()
    }

    pub(in crate::tracer) fn py(&self) -> Python<'py> {
        self.0.py()
    }

    /// Tells frames apart, of those that are running.
    #[inline]
    pub(in crate::tracer) fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// The frame that called this one.
    #[inline]
    pub(in crate::tracer) fn back(&self) -> Option<Self> {
        // SAFETY: this is a frame; the result is null or a new reference.
        unsafe { Self::from_new(self.py(), PyFrame_GetBack(self.as_ptr())) }
    }

    /// How far it has come in its code, where finding the line is slow: since 3.12 the interpreter reads the lines of the
    /// whole function up to there.
    #[inline]
    pub(in crate::tracer) fn offset(&self) -> Option<usize> {
        static GET: OnceLock<Option<GetOffset>> = OnceLock::new();
        let get = (*GET.get_or_init(|| {
            // SAFETY: a function of this name, which CPython has since 3.11, has this type.
            let get = unsafe { std::mem::transmute::<*mut c_void, Option<GetOffset>>(symbol(c"PyFrame_GetLasti")) };
            get.filter(|_| self.py().version_info() >= (3, 12))
        }))?;
        // SAFETY: this is a frame.
        usize::try_from(unsafe { get(self.as_ptr()) }).ok()
    }

    /// The line that it is at.
    #[inline]
    pub(in crate::tracer) fn line(&self) -> u32 {
        // SAFETY: this is a frame.
        let line = unsafe { ffi::PyFrame_GetLineNumber(self.as_ptr()) };
        u32::try_from(line).unwrap_or(0)
    }

    #[inline]
    pub(in crate::tracer) fn code(&self) -> Bound<'py, PyAny> {
        // SAFETY: this is a frame, which always has code; the result is a new reference.
        unsafe { Bound::from_owned_ptr(self.py(), ffi::PyFrame_GetCode(self.as_ptr()).cast()) }
    }

    /// The value of a local variable.
    pub(in crate::tracer) fn variable(&self, name: &'static CStr) -> Option<Bound<'py, PyAny>> {
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
pub(in crate::tracer) struct Builtin<'a, 'py>(Borrowed<'a, 'py, PyAny>);

/// The beginning of a `PyCFunctionObject`, as it has been in every version with an interpreter lock.
#[repr(C)]
struct BuiltinLayout {
    head: PyObject,
    definition: *const ffi::PyMethodDef,
    owner: *mut PyObject,
}

impl<'a, 'py> Builtin<'a, 'py> {
    pub(in crate::tracer) fn of_object(object: Borrowed<'a, 'py, PyAny>) -> Option<Self> {
        // SAFETY: any object may be asked.
        let is_builtin = unsafe { ffi::PyCFunction_Check(object.as_ptr()) } != 0;
        is_builtin.then_some(Self(object))
    }

    pub(in crate::tracer) fn object(&self) -> &Bound<'py, PyAny> {
        &self.0
    }

    /// What it is called on: an object, a type, a module or nothing.
    pub(in crate::tracer) fn owner(&self) -> Option<Bound<'py, PyAny>> {
        // SAFETY: this is a builtin; the result is null or borrowed from it.
        unsafe { Bound::from_borrowed_ptr_or_opt(self.0.py(), ffi::PyCFunction_GetSelf(self.0.as_ptr())) }
    }

    /// What tells it from others: where its definition is, and the type of its owner.
    #[inline]
    pub(in crate::tracer) fn key(&self) -> (usize, usize) {
        // SAFETY: this is a builtin, so it has this layout; owners are objects.
        unsafe {
            let layout = &*self.0.as_ptr().cast::<BuiltinLayout>();
            let owner_type = if layout.owner.is_null() { 0 } else { ffi::Py_TYPE(layout.owner).addr() };
            (layout.definition.addr(), owner_type)
        }
    }

    /// The name in its definition.
    #[inline]
    pub(in crate::tracer) fn name(&self) -> &CStr {
        // SAFETY: as above; a definition has a name that lives as long as it does, which the function keeps alive.
        unsafe {
            let definition = (*self.0.as_ptr().cast::<BuiltinLayout>()).definition;
            CStr::from_ptr((*definition).ml_name)
        }
    }
}
