//! Writing to pipes, terminals and other devices, with waits that a signal can end.
//!
//! The standard library retries a call that a signal has interrupted, so a write to a full pipe that is not read never returns. Here
//! the file is non-blocking and the only wait is `poll`. Before each `poll`, and at least every [`RECHECK_MS`], the function that
//! the program has set with [`set_interruption`] decides whether to give up.

#![expect(
    unsafe_code,
    reason = "the standard library has neither `poll` nor a way to make an open file blocking again"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::OnceLock;

/// The longest time in milliseconds between two checks for an interruption.
///
/// A signal usually ends `poll`, and is noticed at once. It does not when it arrives just before `poll`, or when the kernel
/// delivers it to another thread.
const RECHECK_MS: libc::c_int = 50;

static INTERRUPTION: OnceLock<fn() -> bool> = OnceLock::new();

/// Sets the function, once, that decides whether an export gives up while it waits for a pipe or a device.
///
/// It is called before each wait, after each signal, and at least every 50 ms, on the thread that exports. If it returns true,
/// the export fails. Without it, exports wait until somebody reads.
pub fn set_interruption(is_interrupted: fn() -> bool) {
    // Later calls have no effect.
    let _ = INTERRUPTION.set(is_interrupted);
}

/// Fails if the program wants to give up.
fn check_interruption() -> io::Result<()> {
    if INTERRUPTION.get().is_some_and(|is_interrupted| is_interrupted()) {
        // Not `ErrorKind::Interrupted`, after which `write_all` would try again.
        return Err(io::Error::other("interrupted by a signal"));
    }
    Ok(())
}

/// Waits until the file can be written to, a signal arrives, or [`RECHECK_MS`] have passed. Without a file, it waits for the
/// other two.
fn wait(file: Option<&File>) -> io::Result<()> {
    check_interruption()?;
    // `poll` ignores entries with a negative descriptor.
    let descriptor = file.map_or(-1, AsRawFd::as_raw_fd);
    let mut entry = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the pointer is to one entry, which lives until the call returns.
    // The result is not needed: the caller tries again in any case.
    unsafe { libc::poll(&raw mut entry, 1, RECHECK_MS) };
    Ok(())
}

/// Opens a file that exists, to append to it without blocking. Waits until a FIFO has a reader.
fn open_nonblocking(path: &Path) -> io::Result<File> {
    loop {
        match OpenOptions::new().append(true).custom_flags(libc::O_NONBLOCK).open(path) {
            // There is no event for a reader that arrives, so this tries again after each wait.
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) && is_fifo(path) => wait(None)?,
            other => return other,
        }
    }
}

fn is_fifo(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Opens a file that exists, to append to it. Waits until a FIFO has a reader, or the program gives up
/// ([`set_interruption`]). Writes to the file block, and cannot be interrupted.
///
/// # Errors
/// When the system refuses, or the program gives up.
pub fn open_patiently(path: &Path) -> io::Result<File> {
    let file = open_nonblocking(path)?;
    let descriptor = file.as_raw_fd();
    // SAFETY: the descriptor is open, and neither command takes a pointer.
    let has_changed = unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        flags >= 0 && libc::fcntl(descriptor, libc::F_SETFL, flags & !libc::O_NONBLOCK) >= 0
    };
    if has_changed { Ok(file) } else { Err(io::Error::last_os_error()) }
}

/// A writer to a pipe or a device. Its waits end with an error when the program gives up ([`set_interruption`]).
pub(super) struct Patient {
    file: File,
    /// Every later write fails, too. Buffers write what they hold when they are dropped, and would wait once more.
    has_given_up: bool,
}

impl Patient {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: open_nonblocking(path)?, has_given_up: false })
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            if self.has_given_up {
                return Err(io::Error::other("interrupted by a signal"));
            }
            match self.file.write(bytes) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    wait(Some(&self.file)).inspect_err(|_| self.has_given_up = true)?;
                }
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::compress;
    use super::*;
    use std::cell::Cell;
    use std::ffi::CString;
    use std::io::Read;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;
    use tempfile::TempDir;

    thread_local! {
        /// How often this thread was asked, and from which call on it gives up.
        static ASKED: Cell<(u32, u32)> = const { Cell::new((0, u32::MAX)) };
    }

    fn give_up_from(call: u32) {
        ASKED.set((0, call));
        set_interruption(|| {
            let (asked, limit) = ASKED.get();
            ASKED.set((asked + 1, limit));
            asked + 1 >= limit
        });
    }

    fn fifo() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a C string that lives until the call returns.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        (folder, path)
    }

    fn reader(path: &Path) -> File {
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap()
    }

    #[test]
    fn opening_a_fifo_without_a_reader_ends_when_the_program_gives_up() {
        let (_folder, path) = fifo();
        for open in [|path: &Path| Patient::open(path).map(drop), |path: &Path| open_patiently(path).map(drop)] {
            give_up_from(3);
            assert_eq!(open(&path).unwrap_err().to_string(), "interrupted by a signal");
            assert_eq!(ASKED.get().0, 3);
        }
    }

    #[test]
    fn a_full_pipe_ends_the_export_once_and_for_all() {
        let (_folder, path) = fifo();
        let mut reader = reader(&path);
        let mut file = Patient::open(&path).unwrap();
        give_up_from(2);
        // The encoder writes once more when it is dropped.
        let written = compress(&mut file, |out| {
            let mut state = 1u64;
            loop {
                // Bytes that do not compress.
                let bytes = std::array::from_fn::<u8, 4096, _>(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    state.to_be_bytes()[0]
                });
                out.write_all(&bytes)?;
            }
        });
        assert_eq!(written.unwrap_err().to_string(), "interrupted by a signal");
        assert_eq!(ASKED.get().0, 2);
        assert!(reader.read(&mut [0; 4096]).unwrap() > 0);
        // There is room now, but what follows would not fit what was lost.
        assert!(file.write(b"more").is_err());
    }

    #[test]
    fn a_file_that_is_opened_for_others_blocks() {
        let (_folder, path) = fifo();
        let _reader = reader(&path);
        let file = open_patiently(&path).unwrap();
        // SAFETY: the descriptor is open, and the command takes no pointer.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        assert_eq!(flags & libc::O_NONBLOCK, 0);
    }
}
