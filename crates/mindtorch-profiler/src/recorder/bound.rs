//! How much memory a recording may take, and what happens when it would take more.

use super::available_memory::available_memory;
use super::chunk::CHUNK_BYTES;
use crate::spool::SpillFile;
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
}

impl Bound {
    /// The least that a window can be asked to stay within.
    pub(crate) const LEAST: u64 = if cfg!(loom) { 1 } else { 1 << 20 };

    /// Where what does not fit into memory goes.
    pub(crate) fn directory(&self) -> PathBuf {
        self.file.as_ref().map_or_else(std::env::temp_dir, |file| file.directory().to_owned())
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
        Self { max_bytes: *MAX_BYTES, when_full: WhenFull::Spill, file: None }
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
