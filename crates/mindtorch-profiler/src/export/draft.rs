//! Files that are not finished yet.
//!
//! Where the system can do that, such a file has no name: whatever ends the process, nothing is left of it.

#![expect(unsafe_code, reason = "the standard library cannot give a name to an open file")]

use std::fs::{File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// A new file, which is removed when it is dropped.
pub(super) struct Draft {
    file: File,
    name: Name,
    mode: u32,
}

enum Name {
    Has(TempPath),
    /// None yet: it will be in this directory.
    In(PathBuf),
}

impl Draft {
    /// Creates a file with these permissions, of which the kernel takes away those in the process's umask.
    pub(super) fn create(directory: &Path, mode: u32) -> io::Result<Self> {
        // Whatever is wrong with the directory, the second way says so, too.
        Self::unnamed(directory, mode).or_else(|_| Self::named(directory, mode))
    }

    #[cfg(target_os = "linux")]
    fn unnamed(directory: &Path, mode: u32) -> io::Result<Self> {
        let file = options(mode).custom_flags(libc::O_TMPFILE).open(directory)?;
        Ok(Self { file, name: Name::In(directory.to_owned()), mode })
    }

    #[cfg(not(target_os = "linux"))]
    fn unnamed(_: &Path, _: u32) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn named(directory: &Path, mode: u32) -> io::Result<Self> {
        let create = |path: &Path| options(mode).create_new(true).open(path);
        let (file, path) = unused_name(directory, create)?.into_parts();
        Ok(Self { file, name: Name::Has(path), mode })
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// The finished file, and its name for as long as nobody gives it another.
    pub(super) fn finish(mut self) -> io::Result<(File, TempPath)> {
        let directory = match self.name {
            Name::Has(path) => return Ok((self.file, path)),
            Name::In(directory) => directory,
        };
        match unused_name(&directory, |path| link(&self.file, path)) {
            Ok(named) => Ok((self.file, named.into_temp_path())),
            Err(_) => copy(&mut self.file, &directory, self.mode),
        }
    }
}

/// A copy with a name, on systems that do not give one to a file that had none.
fn copy(file: &mut File, directory: &Path, mode: u32) -> io::Result<(File, TempPath)> {
    let mut named = Draft::named(directory, mode)?;
    file.rewind()?;
    io::copy(file, &mut named.file)?;
    named.finish()
}

fn options(mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(mode);
    options
}

/// Does something with names that nobody can guess, until there is no file of that name.
fn unused_name<T>(directory: &Path, mut make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<NamedTempFile<T>> {
    // `tempfile` words errors with the name of a file that nobody knows and hides the system's code, so it is kept here.
    let mut refused = None;
    let make = |path: &Path| make(path).inspect_err(|error| refused = error.raw_os_error());
    let made = tempfile::Builder::new().prefix(".mindtorch-").suffix(".tmp").make_in(directory, make);
    made.map_err(|error| refused.map_or(error, io::Error::from_raw_os_error))
}

#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    let open = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let path = CString::new(path.as_os_str().as_bytes())?;
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both are strings of C's, which live until the call is over.
    let status = unsafe { libc::linkat(here, open.as_ptr(), here, path.as_ptr(), follow) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    type Way = fn(&Path, u32) -> io::Result<Draft>;

    #[test]
    fn every_way_makes_the_same_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let count = || fs::read_dir(folder.path()).unwrap().count();
        for way in [Draft::create as Way, Draft::named as Way] {
            let mut draft = way(folder.path(), 0o600).unwrap();
            draft.file().write_all(b"content").unwrap();
            drop(draft);
            assert_eq!(count(), 0);
            let mut draft = way(folder.path(), 0o600).unwrap();
            draft.file().write_all(b"content").unwrap();
            let (_, path) = draft.finish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"content");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            path.persist(folder.path().join("done")).unwrap();
            assert_eq!(count(), 1);
            fs::remove_file(folder.path().join("done")).unwrap();
        }
    }

    #[test]
    fn a_file_that_gets_no_name_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let mut draft = Draft::create(folder.path(), 0o600).unwrap();
        draft.file().write_all(b"content").unwrap();
        let (mut file, path) = copy(draft.file(), folder.path(), 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"content");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        file.write_all(b" and more").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"content and more");
    }
}
