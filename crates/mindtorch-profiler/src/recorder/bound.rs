//! How much memory a recording may take, and what happens when it would take more.

use super::available_memory::available_memory;
use super::chunk::CHUNK_BYTES;
use crate::spool::{SpillFile, spill_directories, temporary_file_on_disk};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What happens when a recording has taken the memory that it may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Its oldest parts go to a file, and come back when the trace is made. Threads that record much
    /// while it is written wait for it.
    #[default]
    Spill,
    /// Its oldest parts are dropped, and counted. What is open stays.
    Ring,
    /// It ends, and says so.
    Stop,
}

/// The memory that a window may take.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) max_bytes: u64,
    pub(crate) when_full: WhenFull,
    /// The file to spill to, once there is one. A caller that gives a directory has it from the start.
    pub(crate) file: Option<SpillFile>,
    /// Where the file may be made if no directory was given: in the first of these that is on a disk and can be written.
    pub(crate) directories: Vec<PathBuf>,
}

impl Bound {
    /// The least that a window can be asked to stay within.
    pub(crate) const LEAST: u64 = if cfg!(loom) { 1 } else { 1 << 20 };

    /// Returns the directory for what does not fit into memory, or `None` if there is none on a disk.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        match &self.file {
            Some(file) => Some(file.directory().to_owned()),
            None => temporary_file_on_disk(&self.directories).ok().map(|(_, directory)| directory.to_owned()),
        }
    }

    /// How much is freed at a time: enough that it is not done at every turn, and no more than a small part.
    pub(super) fn slack(&self) -> u64 {
        (self.max_bytes / 8).max(CHUNK_BYTES)
    }
}

impl Default for Bound {
    /// An eighth of the memory that the process may use, at most 2 GiB: 64 million events.
    fn default() -> Self {
        static MAX_BYTES: LazyLock<u64> = LazyLock::new(|| default_bytes(available_memory(Path::new("/"))));
        Self { max_bytes: *MAX_BYTES, when_full: WhenFull::Spill, file: None, directories: spill_directories() }
    }
}

fn default_bytes(available: Option<u64>) -> u64 {
    available.map_or(1 << 30, |bytes| (bytes / 8).clamp(Bound::LEAST, 2 << 30))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_an_eighth_of_the_available_memory_within_limits() {
        assert_eq!(default_bytes(Some(800 << 20)), 100 << 20);
        assert_eq!(default_bytes(Some(0)), Bound::LEAST);
        assert_eq!(default_bytes(Some(1 << 40)), 2 << 30);
        assert_eq!(default_bytes(None), 1 << 30);
    }
}
