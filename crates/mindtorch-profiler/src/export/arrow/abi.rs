//! The structures, as the interface has them.

#![expect(unsafe_code, reason = "structures that are given back by a function of whoever made them")]

use std::ffi::{c_char, c_int, c_void};

/// What a column is: its name, its type and that of its parts.
#[derive(Debug)]
#[repr(C)]
pub struct ArrowSchema {
    /// The type, in the interface's letters.
    pub format: *const c_char,
    /// The name.
    pub name: *const c_char,
    /// Keys and values; null if there are none.
    pub metadata: *const c_char,
    /// Bits, of which 2 is set if there may be nulls.
    pub flags: i64,
    /// How many parts there are.
    pub n_children: i64,
    /// The parts.
    pub children: *mut *mut ArrowSchema,
    /// What the numbers of a column of few distinct values stand for; null for other columns.
    pub dictionary: *mut ArrowSchema,
    /// Gives it back. None if it was given back, or moved.
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    /// The maker's.
    pub private_data: *mut c_void,
}

/// Some rows of a column.
#[derive(Debug)]
#[repr(C)]
pub struct ArrowArray {
    /// How many rows there are.
    pub length: i64,
    /// How many of them are null.
    pub null_count: i64,
    /// Where in the buffers the rows begin.
    pub offset: i64,
    /// How many buffers there are.
    pub n_buffers: i64,
    /// How many parts there are.
    pub n_children: i64,
    /// The buffers.
    pub buffers: *mut *const c_void,
    /// The parts.
    pub children: *mut *mut ArrowArray,
    /// What the numbers of a column of few distinct values stand for; null for other columns.
    pub dictionary: *mut ArrowArray,
    /// Gives it back. None if it was given back, or moved.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    /// The maker's.
    pub private_data: *mut c_void,
}

/// Batches of rows, one after another. Functions return 0, or the system's number of an error.
#[derive(Debug)]
#[repr(C)]
pub struct ArrowArrayStream {
    /// Writes the type of all batches.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    /// Writes the next batch; one that was given back already if there are no more.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    /// What the last error was; null if there was none.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    /// Gives it back. None if it was given back, or moved.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    /// The maker's.
    pub private_data: *mut c_void,
}

impl ArrowArray {
    /// One that was given back.
    pub(super) const RELEASED: Self = Self {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: std::ptr::null_mut(),
        children: std::ptr::null_mut(),
        dictionary: std::ptr::null_mut(),
        release: None,
        private_data: std::ptr::null_mut(),
    };
}

/// Defines that what is dropped is given back, unless it was, and that it may go to another thread.
macro_rules! given_back_when_dropped {
    ($($structure:ty),*) => {$(
        impl Drop for $structure {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: it was not given back, and whoever moved it elsewhere has set `release` to none.
                    unsafe { release(self) };
                }
            }
        }

        // SAFETY: what it points to is its own, and may be given back on any thread.
        unsafe impl Send for $structure {}
    )*};
}

given_back_when_dropped!(ArrowSchema, ArrowArray, ArrowArrayStream);
