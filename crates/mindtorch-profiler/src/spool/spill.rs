//! Chunks that were moved out of memory: a file that nobody else can see, and that is gone with the process.
//!
//! It is read by the process that wrote it, so that what a block is need not be in the file: whoever spilled it has a
//! [`SpilledBlock`]. Writes say themselves when a disk is full, so no room is reserved.

use super::checksum;
use super::layout::{BLOCK_SLOTS, PIECE, SLOT_BYTES};
use super::mapping::{file_size_limit, is_in_memory};
use super::records::words_of;
use super::spill_directory::temporary_file_on_disk;
use crate::error::Error;
use crate::quiet::Quiet;
use crate::recorder::Words;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file for chunks that are not needed for now. Clones are the same file.
#[derive(Clone, Debug)]
pub struct SpillFile(Arc<Shared>);

/// The storage of a [`SpillFile`]: a file, or a double in tests.
pub(crate) trait Storage: std::fmt::Debug + Send + Sync {
    /// See [`FileExt::write_all_at`].
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// See [`FileExt::read_exact_at`].
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
}

impl Storage for File {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, bytes, offset)
    }
}

#[derive(Debug)]
struct Shared {
    file: Box<dyn Storage>,
    directory: PathBuf,
    /// Whether the file takes memory as it grows, because its file system is in memory.
    is_in_memory: bool,
    /// A forked child has the same file, in which it must not write.
    pid: u32,
    places: Mutex<Places>,
}

/// A place is a piece of the file.
#[derive(Debug, Default)]
struct Places {
    count: u64,
    /// Those that may be used again.
    free: Vec<u64>,
}

/// What was spilled. When it is dropped, its place is used again.
#[derive(Debug)]
pub struct SpilledBlock {
    file: SpillFile,
    place: u64,
    slots: usize,
    checksum: u64,
}

impl SpillFile {
    /// A file without a name in this directory.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn temporary(dir: &Path) -> Result<Self, Error> {
        let _quiet = Quiet::new();
        let file = tempfile::tempfile_in(dir).map_err(|error| Error::file("create a temporary file in", dir, error))?;
        let is_in_memory = is_in_memory(&file);
        Ok(Self::new(Box::new(file), dir, is_in_memory))
    }

    /// A file without a name in the first of these directories that is on a disk and can be written.
    ///
    /// # Errors
    /// The reason, if there is none.
    pub(crate) fn on_disk(dirs: &[PathBuf]) -> Result<Self, String> {
        let _quiet = Quiet::new();
        let (file, dir) = temporary_file_on_disk(dirs)?;
        Ok(Self::new(Box::new(file), dir, false))
    }

    pub(crate) fn new(file: Box<dyn Storage>, directory: &Path, is_in_memory: bool) -> Self {
        let (directory, pid) = (directory.to_owned(), std::process::id());
        Self(Arc::new(Shared { file, directory, is_in_memory, pid, places: Mutex::default() }))
    }

    /// Stores the slots of a chunk, 2048 at most.
    ///
    /// # Errors
    /// When there are more, or the system refuses. Then nothing is stored.
    pub fn write(&self, slots: &[Words]) -> io::Result<SpilledBlock> {
        let _quiet = Quiet::new();
        if slots.len() > BLOCK_SLOTS {
            let refused = format!("a block has {BLOCK_SLOTS} slots at most, not {}", slots.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, refused));
        }
        if !self.is_ours() {
            return Err(io::Error::other("the file is the parent process's"));
        }
        let place = self.lock().take();
        // Made now, so that the place is free again if the write fails.
        let block =
            SpilledBlock { file: self.clone(), place, slots: slots.len(), checksum: checksum::of_final_slots(slots) };
        if block.offset() + PIECE as u64 > file_size_limit() {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        let bytes: Vec<u8> = slots.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect();
        self.0.file.write_all_at(&bytes, block.offset())?;
        Ok(block)
    }

    /// Where it is, without a name.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Whether the file takes memory as it grows.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.0.is_in_memory
    }

    /// The locks of a forked child's parent may be held for ever.
    fn is_ours(&self) -> bool {
        self.0.pid == std::process::id()
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    fn take(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

impl SpilledBlock {
    /// How many slots it has.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The slots.
    ///
    /// # Errors
    /// When the system refuses, or the file has changed.
    pub fn read(&self) -> io::Result<Vec<Words>> {
        let _quiet = Quiet::new();
        let mut bytes = vec![0; self.slots * SLOT_BYTES];
        self.file.0.file.read_exact_at(&mut bytes, self.offset())?;
        let slots = words_of(&bytes);
        if checksum::of_final_slots(&slots) == self.checksum {
            return Ok(slots);
        }
        let what = format!("what was spilled at byte {} has changed since", self.offset());
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }

    fn offset(&self) -> u64 {
        self.place * PIECE as u64
    }
}

impl Drop for SpilledBlock {
    fn drop(&mut self) {
        if self.file.is_ours() {
            let _quiet = Quiet::new();
            self.file.lock().free.push(self.place);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn slots(of: u64, count: usize) -> Vec<Words> {
        (0..count as u64).map(|at| [of, at, at + 1, 0]).collect()
    }

    #[test]
    fn what_was_spilled_comes_back_and_its_place_is_used_again() {
        let spill = SpillFile::temporary(&std::env::temp_dir()).unwrap();
        let contents = [slots(1, BLOCK_SLOTS), slots(2, 3), slots(3, 0)];
        let blocks = contents.each_ref().map(|slots| spill.write(slots).unwrap());
        assert_eq!(blocks.each_ref().map(|block| block.read().unwrap()), contents);
        let [first, second, third] = blocks;
        drop(first);
        let again = spill.write(&slots(4, 5)).unwrap();
        assert_eq!((again.offset(), again.slots()), (0, 5));
        let read = [&again, &second, &third].map(|block| block.read().unwrap());
        assert_eq!(read, [slots(4, 5), slots(2, 3), slots(3, 0)]);
        assert!(spill.write(&slots(1, BLOCK_SLOTS + 1)).is_err());
    }

    #[test]
    fn a_change_is_noticed_also_of_an_end() {
        let file = tempfile::tempfile().unwrap();
        let spill = SpillFile::new(Box::new(file.try_clone().unwrap()), Path::new(""), false);
        let block = spill.write(&slots(1, 4)).unwrap();
        spill.0.file.write_all_at(&[9], 2 * SLOT_BYTES as u64 + 8).unwrap();
        let error = block.read().unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (io::ErrorKind::InvalidData, "what was spilled at byte 0 has changed since".into())
        );
        file.set_len(40).unwrap();
        assert_eq!(block.read().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn another_process_does_not_write() {
        let SpillFile(shared) = SpillFile::temporary(&std::env::temp_dir()).unwrap();
        let shared = Shared { pid: shared.pid + 1, ..Arc::into_inner(shared).unwrap() };
        let error = SpillFile(Arc::new(shared)).write(&slots(1, 1)).unwrap_err();
        assert_eq!(error.to_string(), "the file is the parent process's");
    }

    #[test]
    fn a_directory_that_cannot_be_used_is_named() {
        let error = SpillFile::temporary(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(error.starts_with("cannot create a temporary file in /nowhere/at/all: "), "{error}");
    }
}
