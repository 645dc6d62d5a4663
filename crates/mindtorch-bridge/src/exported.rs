//! PyTorch without a shim: where there is no compiler, observers are added through functions that `libtorch` exports.
//!
//! Operations have their names, times, threads and kinds. Inputs, numbers, overloads and memory are members of structs that only
//! a shim can read.
//!
//! This module is compiled for x86-64 Linux only. PyTorch's callback returns a `unique_ptr` in memory, and the System V ABI
//! passes the address of that memory as the first argument; on aarch64 it is in register x8, which no Rust function can read.
//! The layout of [`Callback`] is the one of the releases in [`VERSIONS_WITHOUT_SHIM`](crate::VERSIONS_WITHOUT_SHIM), the only
//! ones that are observed in this way.

#![expect(unsafe_code, reason = "functions of C++ are called by their exported names")]

use crate::abi::{Op, Shim, Text, VERSION};
use crate::loader::{Library, function, path_text};
use crate::ops;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// PyTorch's kinds of scopes, of which each is observed on its own: an observer is not told.
const SCOPES: usize = 10;
const FUNCTION: usize = 0;
const BACKWARD: usize = 1;
const SCRIPT: usize = 2;
const USER: usize = 7;

/// `at::RecordFunctionCallback`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Callback {
    start: unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> *mut *mut c_void,
    end: extern "C" fn(*const c_void, *mut c_void),
    probability: f64,
    scopes: [bool; SCOPES],
    needs_inputs: bool,
    needs_outputs: bool,
    needs_ids: bool,
}

const ADD_CALLBACK: &CStr = c"_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE";
const REMOVE_CALLBACK: &CStr = c"_ZN2at14removeCallbackEm";
const NAME: &CStr = c"_ZNK2at14RecordFunction4nameEv";

type AddCallback = unsafe extern "C" fn(Callback) -> u64;
type RemoveCallback = unsafe extern "C" fn(u64);
type NameOf = unsafe extern "C" fn(*const c_void) -> *const c_char;

/// What `libtorch` exports.
struct Exports {
    add_callback: AddCallback,
    remove_callback: RemoveCallback,
    name: NameOf,
    version: CString,
}

static EXPORTS: OnceLock<Exports> = OnceLock::new();
/// The observers that are there.
static HANDLES: Mutex<Vec<u64>> = Mutex::new(Vec::new());

static SHIM: Shim = Shim { version: VERSION, torch, observe, ignore, want_memory, take_place, leave_place, type_name };

/// What a shim would do, as far as `libtorch` itself can.
pub(crate) fn shim(library: &Path, version: &str) -> Result<&'static Shim, String> {
    if EXPORTS.get().is_none() {
        let exports = Exports::of(library, version)?;
        EXPORTS.get_or_init(|| exports);
    }
    Ok(&SHIM)
}

impl Exports {
    fn of(library: &Path, version: &str) -> Result<Self, String> {
        let version = CString::new(version).map_err(|error| error.to_string())?;
        let torch =
            Library::loaded(&path_text(library)?).map_err(|_| format!("{} is not loaded", library.display()))?;
        let missing = |name: &CStr| format!("{} has no {}", library.display(), name.to_string_lossy());
        // SAFETY: these are the names of functions with these arguments: a struct by value, which for its size is passed in
        // memory by both languages; a number; and the address of an object.
        unsafe {
            Ok(Self {
                add_callback: function!(torch, ADD_CALLBACK, AddCallback).ok_or_else(|| missing(ADD_CALLBACK))?,
                remove_callback: function!(torch, REMOVE_CALLBACK, RemoveCallback)
                    .ok_or_else(|| missing(REMOVE_CALLBACK))?,
                name: function!(torch, NAME, NameOf).ok_or_else(|| missing(NAME))?,
                version,
            })
        }
    }
}

extern "C" fn torch() -> *const c_char {
    EXPORTS.get().map_or(std::ptr::null(), |exports| exports.version.as_ptr())
}

/// Observes each kind on its own, always in the same way: it is the same handle each time.
extern "C" fn observe(_inputs: bool, _overloads: bool) -> u64 {
    const HANDLE: u64 = 1;
    let Some(exports) = EXPORTS.get() else { return 0 };
    let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    if !handles.is_empty() {
        return HANDLE;
    }
    let mut add = |scopes: &[usize], start| {
        let mut callback = Callback {
            start,
            end,
            probability: 1.0,
            scopes: [false; SCOPES],
            needs_inputs: false,
            needs_outputs: false,
            needs_ids: false,
        };
        scopes.iter().for_each(|&scope| callback.scopes[scope] = true);
        // SAFETY: this is what the function takes.
        handles.push(unsafe { (exports.add_callback)(callback) });
    };
    add(&[FUNCTION], start::<FUNCTION>);
    add(&[BACKWARD], start::<BACKWARD>);
    add(&[SCRIPT], start::<SCRIPT>);
    add(&[USER], start::<USER>);
    HANDLE
}

extern "C" fn ignore(_handle: u64) {
    let Some(exports) = EXPORTS.get() else { return };
    for handle in HANDLES.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // SAFETY: it is one that was given.
        unsafe { (exports.remove_callback)(handle) };
    }
}

/// # Safety
/// There is a place for the context of this observer, which has none, and the function is one that begins.
unsafe extern "C" fn start<const SCOPE: usize>(context: *mut *mut c_void, function: *const c_void) -> *mut *mut c_void {
    // SAFETY: by the caller.
    unsafe { *context = std::ptr::null_mut() };
    if let Some(exports) = EXPORTS.get() {
        // SAFETY: by the caller.
        let name = unsafe { CStr::from_ptr((exports.name)(function)) };
        let op = Op {
            name: Text::of(name.to_bytes()),
            overload: Text::EMPTY,
            inputs: std::ptr::null(),
            input_words: 0,
            lacks_inputs: false,
            hash: [0; 2],
            sequence: -1,
            thread: 0,
            forward_thread: 0,
            scope: SCOPE as u64,
        };
        // SAFETY: the name is good for this call.
        unsafe { ops::begin(function, &raw const op) };
    }
    context
}

extern "C" fn end(function: *const c_void, _context: *mut c_void) {
    ops::end(function);
}

/// There is none to see without a shim: whoever asks for it was told when this was loaded.
extern "C" fn want_memory(_memory: bool) {}

extern "C" fn take_place(_inputs: bool, _asks_for_memory: bool) -> bool {
    true
}

extern "C" fn leave_place(_even_with_memory: bool) {}

extern "C" fn type_name(_: u8) -> *const c_char {
    std::ptr::null()
}
