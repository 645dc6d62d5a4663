//! What the shim and this crate have of each other: two tables of functions, and the structs that these pass.
//!
//! `shim.cpp` has the same. Whatever changes here changes the version, in both.

use std::ffi::{c_char, c_void};

/// Of both tables.
pub(crate) const VERSION: u32 = 5;

/// The name under which a shim gives its table for the recorder's.
pub(crate) const ENTRY: &std::ffi::CStr = c"mindtorch_bridge";

pub(crate) type Entry = unsafe extern "C" fn(*const Recorder) -> *const Shim;

/// An operation that begins. What it points to is good for the call which it is an argument of.
#[repr(C)]
pub(crate) struct Op {
    pub(crate) name: *const c_char,
    /// Null if it was not asked for.
    pub(crate) overload: *const c_char,
    pub(crate) inputs: *const u64,
    pub(crate) input_words: usize,
    /// By which inputs are known; zeros if there are none.
    pub(crate) inputs_hash: [u64; 2],
    /// -1 is none.
    pub(crate) sequence: i64,
    /// PyTorch's number of the thread.
    pub(crate) thread: u64,
    /// That of the thread whose operator this is the backward node of, or 0.
    pub(crate) forward_thread: u64,
    pub(crate) scope: u64,
}

/// What the recorder does for the shim. None of these unwinds.
#[repr(C)]
pub(crate) struct Recorder {
    pub(crate) version: u32,
    pub(crate) begin_bare: unsafe extern "C" fn(*const c_void, *const c_char, i64, u64) -> bool,
    pub(crate) begin_given: unsafe extern "C" fn(*const c_void, *const c_char, i64, u64, u64, u64) -> bool,
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
