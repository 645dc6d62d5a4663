//! The process's standard streams.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd};

/// The highest descriptor of a standard stream, that of standard error.
const LAST_STANDARD: i32 = 2;

/// Standard output, with the errors that `io::Stdout` hides: it reports success for a descriptor that is closed, or that is open
/// for reading only.
#[derive(Debug)]
pub(crate) struct Output(Option<File>);

impl Output {
    /// Opens standard output. Without `has_stdout`, every write fails.
    pub(crate) fn open(has_stdout: bool) -> Self {
        let copy = has_stdout.then(|| io::stdout().as_fd().try_clone_to_owned().ok());
        Self(copy.flatten().map(File::from))
    }

    fn file(&mut self) -> io::Result<&mut File> {
        let closed = "standard output is closed; redirect it to a file, or to /dev/null to discard the answer";
        self.0.as_mut().ok_or_else(|| io::Error::other(closed))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

/// Opens `/dev/null` in place of standard streams that are closed, so that no file that a command opens gets their descriptors
/// and with it what is written to them. Rust's runtime has done this in a program in Rust; Python's does not. They stay open.
pub(crate) fn reserve_standard_descriptors() {
    while let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null")
        && null.as_raw_fd() <= LAST_STANDARD
    {
        let _ = null.into_raw_fd();
    }
}
