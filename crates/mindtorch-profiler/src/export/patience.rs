//! Files that have to be waited for: a pipe that nobody reads yet, a terminal that is stopped.
//!
//! The standard library goes on waiting when a signal comes. A program whose signals are to end the wait says so.

#![expect(unsafe_code, reason = "the standard library has no way to open a file that a signal ends")]

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

static INTERRUPTION: OnceLock<fn() -> bool> = OnceLock::new();

/// Sets the function, once, that is asked when a signal comes while an export waits for a pipe or a device: whether to give
/// up. The export fails then. Without it, exports wait on.
pub fn set_interruption(is_interrupted: fn() -> bool) {
    // Whoever was first stays.
    let _ = INTERRUPTION.set(is_interrupted);
}

fn is_interrupted() -> bool {
    INTERRUPTION.get().is_some_and(|is_interrupted| is_interrupted())
}

/// A file that is written to at its end, for as long as that takes.
pub(super) struct Patient(File);

impl Patient {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        open_patiently(path).map(Self)
    }
}

/// Opens a file that is there, to write at its end. A pipe is waited for until somebody reads it, or a signal ends the wait
/// ([`set_interruption`]).
///
/// # Errors
/// When the system refuses, or a signal has ended the wait.
pub fn open_patiently(path: &Path) -> io::Result<File> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    loop {
        // SAFETY: the name is a string of C's, which lives until the call is over.
        let number = unsafe { libc::open(name.as_ptr(), libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC) };
        if number >= 0 {
            // SAFETY: the file was just opened, and nobody else knows its number.
            return Ok(unsafe { OwnedFd::from_raw_fd(number) }.into());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted || is_interrupted() {
            return Err(error);
        }
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            // Not of the kind that says to try again.
            Err(error) if error.kind() == io::ErrorKind::Interrupted && is_interrupted() => {
                Err(io::Error::other("interrupted"))
            }
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
