//! What the shim and this crate have of each other: two tables of functions, and the structs that these pass.
//!
//! The shim's `tables.h` has the same. Whatever changes here changes the version, in both.

#![expect(unsafe_code, reason = "the shim passes pointers")]

use std::ffi::{c_char, c_void};
use std::slice;

/// Of both tables.
pub(crate) const VERSION: u32 = 6;

/// The name under which a shim gives its table for the recorder's.
pub(crate) const ENTRY: &std::ffi::CStr = c"mindtorch_bridge";

pub(crate) type Entry = unsafe extern "C" fn(*const Recorder) -> *const Shim;

/// A text that should be UTF-8.
#[repr(C)]
pub(crate) struct Text {
    pub(crate) start: *const u8,
    pub(crate) length: usize,
}

/// An operation that begins. What it points to is good for the call which it is an argument of.
#[repr(C)]
pub(crate) struct Op {
    pub(crate) name: Text,
    /// Empty if it was not asked for.
    pub(crate) overload: Text,
    pub(crate) inputs: *const u64,
    pub(crate) input_words: usize,
    /// Whether it has inputs of which the words are left out.
    pub(crate) lacks_inputs: bool,
    /// By which name and inputs are known; zeros if they need not be remembered.
    pub(crate) hash: [u64; 2],
    /// -1 is none.
    pub(crate) sequence: i64,
    /// PyTorch's number of the thread.
    pub(crate) thread: u64,
    /// That of the thread whose operator this is the backward node of, or 0.
    pub(crate) forward_thread: u64,
    pub(crate) scope: u64,
}

impl Text {
    pub(crate) const EMPTY: Self = Self::of(&[]);

    pub(crate) const fn of(text: &[u8]) -> Self {
        Self { start: text.as_ptr(), length: text.len() }
    }

    /// # Safety
    /// It is good for as long as it is used.
    pub(crate) unsafe fn bytes<'a>(&self) -> &'a [u8] {
        // SAFETY: by the caller.
        unsafe { slice::from_raw_parts(self.start, self.length) }
    }
}

impl Op {
    /// # Safety
    /// They are good for as long as they are used.
    pub(crate) unsafe fn words<'a>(&self) -> &'a [u64] {
        if self.input_words == 0 {
            return &[];
        }
        // SAFETY: by the caller; there is at least one, so that there is an address.
        unsafe { slice::from_raw_parts(self.inputs, self.input_words) }
    }
}

/// What the recorder does for the shim. None of these unwinds.
#[repr(C)]
pub(crate) struct Recorder {
    pub(crate) version: u32,
    pub(crate) begin_known: extern "C" fn(*const c_void, i64, u64, u64) -> bool,
    pub(crate) begin_known_node: extern "C" fn(*const c_void, i64, u64, u64, u64) -> bool,
    pub(crate) end: extern "C" fn(*const c_void),
    pub(crate) memory: extern "C" fn(u64, i64, u64, u64, i32, i32),
    pub(crate) begin: unsafe extern "C" fn(*const c_void, *const Op) -> bool,
    pub(crate) begin_anywhere: unsafe extern "C" fn(*const Op) -> *mut c_void,
    pub(crate) end_anywhere: unsafe extern "C" fn(*mut c_void),
}

/// What the shim does for the recorder.
#[repr(C)]
pub(crate) struct Shim {
    pub(crate) version: u32,
    pub(crate) torch: extern "C" fn() -> *const c_char,
    pub(crate) observe: extern "C" fn(bool, bool) -> u64,
    pub(crate) ignore: extern "C" fn(u64),
    pub(crate) want_memory: extern "C" fn(bool),
    pub(crate) take_place: extern "C" fn(bool, bool) -> bool,
    pub(crate) leave_place: extern "C" fn(bool),
    pub(crate) type_name: extern "C" fn(u8) -> *const c_char,
}
