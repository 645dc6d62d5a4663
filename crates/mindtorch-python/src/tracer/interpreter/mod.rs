//! What the tracer needs of the interpreter: frames, threads and their profile hooks.
//!
//! Most of it is not in the stable ABI, but `CPython` has exported it since 3.10. What some versions lack is looked up when
//! it is first needed. The rest of the tracer is safe code on top of this.

#![expect(unsafe_code, reason = "the interpreter's threads and frames are known by pointers")]

mod event;
mod frame;
mod thread;

pub(super) use event::{Event, Happening, Hook, HookFunction, HookObject};
pub(super) use frame::{Builtin, Frame};
pub(super) use thread::{Thread, ThreadId, find_slots};

use pyo3::prelude::*;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};

unsafe extern "C" {
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

/// A function of the interpreter's, or null.
fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: null is the whole program, and the name ends in a zero.
    unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) }
}
