//! Records whether standard output was open when the process started.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of standard streams that are closed. From then on a closed standard
//! output looks like one that is redirected to `/dev/null`, where an answer may be lost. The loader calls the functions of
//! `.init_array` before the runtime starts.

#![expect(
    unsafe_code,
    reason = "the loader calls what is in a section, and the state of a descriptor is a C function's answer"
)]

use std::sync::atomic::{AtomicBool, Ordering};

static HAS_STDOUT: AtomicBool = AtomicBool::new(true);

#[used]
// SAFETY: Every element of the section is a function without a result that ignores the arguments that the loader may pass.
// The function needs nothing of the runtime.
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static AT_START: extern "C" fn() = record;

extern "C" fn record() {
    // SAFETY: The call reads the flags of a descriptor, which may be closed.
    let is_open = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } != -1;
    HAS_STDOUT.store(is_open, Ordering::Relaxed);
}

/// Returns whether standard output was open when the process started; true where that is not known.
pub(crate) fn has_stdout() -> bool {
    HAS_STDOUT.load(Ordering::Relaxed)
}
