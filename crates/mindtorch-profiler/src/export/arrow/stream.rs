//! The stream of a table's batches.

#![expect(unsafe_code, reason = "structures that are given back by a function of whoever made them")]

use super::abi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use super::{array, schema};
use crate::export::columns::Frame;
use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Where the reader is.
struct State {
    frame: Arc<dyn Frame>,
    /// The first row of the next batch.
    next: usize,
    has_failed: bool,
}

pub(super) fn new(frame: Arc<dyn Frame>) -> ArrowArrayStream {
    let state = Box::new(State { frame, next: 0, has_failed: false });
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(state).cast(),
    }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the interface has it called with a stream that `new` made and was not given back, by one thread at a time.
    let state = unsafe { &mut *(*stream).private_data.cast::<State>() };
    state.give(out, |state| schema::of_frame(&*state.frame))
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as in `get_schema`.
    let state = unsafe { &mut *(*stream).private_data.cast::<State>() };
    state.give(out, |state| {
        if state.next >= state.frame.len() {
            return ArrowArray::RELEASED;
        }
        let batch = array::of_batch(&state.frame, state.next);
        state.next += batch.length as usize;
        batch
    })
}

impl State {
    /// Writes what is made to where the reader wants it. A mistake here must not end the reader's program.
    fn give<T>(&mut self, out: *mut T, make: impl FnOnce(&mut Self) -> T) -> c_int {
        match catch_unwind(AssertUnwindSafe(|| make(self))) {
            Ok(made) => {
                // SAFETY: the interface has it called with a place for the structure, where nothing is yet.
                unsafe { out.write(made) };
                0
            }
            Err(_panic) => {
                self.has_failed = true;
                libc::EIO
            }
        }
    }
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: as in `get_schema`.
    let state = unsafe { &*(*stream).private_data.cast::<State>() };
    if state.has_failed { c"a batch of the trace could not be made".as_ptr() } else { std::ptr::null() }
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    // SAFETY: the interface has it called once, with a stream that `new` made.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<State>()));
        (*stream).release = None;
    }
}
