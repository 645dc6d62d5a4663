//! Files that appear whole or not at all.

use super::draft::Draft;
use super::patience::Patient;
use crate::error::Error;
use flate2::{Compression, write::GzEncoder};
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// More links than this in a row are taken for a loop, as the kernel does.
const MOST_LINKS: usize = 40;

/// Writes a file with what `content` writes, compressed if the name ends in `.gz`.
///
/// A regular file is written beside its place and then put there. A link stays a link: the file that it leads to is
/// replaced, or created. What is not a regular file is written to as it is.
///
/// A new file has the permissions that the umask leaves, as if `File::create` had made it. A file that is replaced keeps its
/// permissions and, if the process may set them, its owner and group.
pub(super) fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let fill = |file: &mut dyn Write| fill(file, is_gzip(path), content);
    match Target::of(path).map_err(|error| Error::file("write", path, error))? {
        Target::Direct => Patient::open(path).and_then(|mut file| fill(&mut file)),
        Target::Replace { place, existing } => replace(&place, existing.as_ref(), fill),
    }
    .map_err(|error| Error::file("write", path, error))
}

fn is_gzip(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    name.len() >= 3 && name[name.len() - 3..].eq_ignore_ascii_case(b".gz")
}

fn fill(file: &mut dyn Write, gzip: bool, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if gzip { compress(file, content) } else { content(file) }
}

/// Passes on what `content` writes, compressed.
pub(super) fn compress(out: &mut dyn Write, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // Level 1: traces are repetitive, and higher levels take several times as long for little.
    let mut encoder = GzEncoder::new(out, Compression::new(1));
    content(&mut encoder)?;
    encoder.finish()?.flush()
}

/// How a path is to be written.
enum Target {
    /// To what is there: a pipe, a terminal, a device.
    Direct,
    /// By putting a new file at `place`.
    Replace { place: PathBuf, existing: Option<Metadata> },
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        let existing = match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(io::Error::from_raw_os_error(libc::EISDIR)),
            Ok(found) if !found.is_file() => return Ok(Self::Direct),
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut place = path.to_owned();
        for _ in 0..MOST_LINKS {
            if !fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink()) {
                return Ok(Self::Replace { place, existing });
            }
            // `/dev/stdout` leads here. These links stand for open files, which have no other name that could be trusted.
            if place.starts_with("/proc") {
                return Ok(Self::Direct);
            }
            // A relative link is relative to where it is; joining an absolute one replaces all.
            place = directory_of(&place).join(fs::read_link(&place)?);
        }
        Err(io::Error::from_raw_os_error(libc::ELOOP))
    }
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn replace(
    place: &Path,
    existing: Option<&Metadata>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // The file that is replaced may be private. Nobody else can read the new one before it has the same permissions.
    let mode = if existing.is_some() { 0o600 } else { 0o666 };
    let mut draft = Draft::create(directory_of(place), mode)?;
    fill(draft.file())?;
    let (file, path) = draft.finish()?;
    if let Some(existing) = existing {
        keep_owner(&file, existing);
        file.set_permissions(existing.permissions())?;
    }
    path.persist(place).map_err(|failed| failed.error)
}

/// Gives the file to the owner of the one that it replaces, as far as this process may.
fn keep_owner(file: &File, existing: &Metadata) {
    let differs = file.metadata().is_ok_and(|new| (new.uid(), new.gid()) != (existing.uid(), existing.gid()));
    if differs {
        let _ = fchown(file, Some(existing.uid()), Some(existing.gid()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_half_way_leaves_everything_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["trace.json", "trace.json.gz", "new.json"] {
            let path = directory.path().join(name);
            let before = (name != "new.json").then_some(b"precious");
            if let Some(bytes) = before {
                fs::write(&path, bytes).unwrap();
            }
            let error = write(&path, |out| {
                out.write_all(&[b'x'; 100_000])?;
                Err(io::Error::from_raw_os_error(libc::ENOSPC))
            });
            let message = error.unwrap_err().to_string();
            assert!(message.contains(name) && message.contains("No space left"), "{message}");
            assert_eq!(fs::read(&path).ok().as_deref(), before.map(|bytes| &bytes[..]));
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_suffix_decides_on_compression() {
        for name in ["a.gz", "a.json.GZ", "dir/.gz"] {
            assert!(is_gzip(Path::new(name)), "{name}");
        }
        for name in ["", "gz", "a.gzip", "a.gz/b", "a.json"] {
            assert!(!is_gzip(Path::new(name)), "{name}");
        }
    }
}
