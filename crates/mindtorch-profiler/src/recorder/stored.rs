//! Chunks that were moved to a file, so that a recording may be larger than the memory it takes.
//!
//! The file has no name: nobody else can open it, and it is gone with the process, however that ends.

use super::chunk::{Chunk, FULL};
use super::record::Words;
use crate::sync::Arc;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A part of a thread's stream, wherever it is.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Resident(Arc<Chunk>),
    /// Complete, with no span open.
    Stored(Arc<StoredChunk>),
}

impl Piece {
    pub(crate) fn base(&self) -> u64 {
        match self {
            Self::Resident(chunk) => chunk.base(),
            Self::Stored(chunk) => chunk.base,
        }
    }

    /// The position after the last slot.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Self::Resident(chunk) => chunk.end(),
            Self::Stored(chunk) => chunk.base + chunk.slots as u64,
        }
    }

    pub(super) fn resident(&self) -> Option<&Arc<Chunk>> {
        match self {
            Self::Resident(chunk) => Some(chunk),
            Self::Stored(_) => None,
        }
    }

    /// The bytes of memory that it takes.
    pub(crate) fn memory_held(&self) -> usize {
        self.resident().map_or(0, |chunk| chunk.memory_held())
    }

    pub(super) fn is_pinned(&self) -> bool {
        self.resident().is_some_and(|chunk| chunk.is_pinned())
    }
}

/// A chunk in a file.
#[derive(Debug)]
pub(crate) struct StoredChunk {
    file: Arc<SpillFile>,
    place: u64,
    base: u64,
    slots: usize,
}

impl StoredChunk {
    /// Copies a chunk that is complete to the file.
    pub(super) fn store(chunk: &Chunk, file: &Arc<SpillFile>) -> io::Result<Self> {
        let slots = (chunk.end() - chunk.base()) as usize;
        let mut bytes = Vec::with_capacity(slots * size_of::<Words>());
        for word in (0..slots).flat_map(|index| chunk.read(index)) {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        let place = file.take_place();
        let stored = Self { file: Arc::clone(file), place, base: chunk.base(), slots };
        file.write(place, &bytes)?;
        Ok(stored)
    }

    pub(crate) fn read(&self) -> io::Result<Vec<Words>> {
        let mut bytes = vec![0; self.slots * size_of::<Words>()];
        self.file.read(self.place, &mut bytes)?;
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        Ok(bytes.chunks_exact(32).map(|slot| std::array::from_fn(|at| word(&slot[at * 8..][..8]))).collect())
    }
}

impl Drop for StoredChunk {
    fn drop(&mut self) {
        self.file.give_back(self.place);
    }
}

/// A file without a name that chunks are moved to.
#[derive(Debug)]
pub(crate) struct SpillFile {
    file: File,
    places: Mutex<Places>,
}

/// Places are as long as the longest chunk.
#[derive(Debug, Default)]
struct Places {
    used: u64,
    free: Vec<u64>,
}

const PLACE_BYTES: u64 = (FULL * size_of::<Words>()) as u64;

impl SpillFile {
    /// A file in this directory, or in the system's for temporary files.
    pub(crate) fn create(directory: Option<&Path>) -> io::Result<Self> {
        let file = match directory {
            Some(directory) => tempfile::tempfile_in(directory)?,
            None => tempfile::tempfile()?,
        };
        Ok(Self { file, places: Mutex::default() })
    }

    fn places(&self) -> std::sync::MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_place(&self) -> u64 {
        let mut places = self.places();
        places.free.pop().unwrap_or_else(|| {
            places.used += 1;
            places.used - 1
        })
    }

    fn give_back(&self, place: u64) {
        self.places().free.push(place);
    }

    #[cfg(unix)]
    fn write(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, place * PLACE_BYTES)
    }

    #[cfg(unix)]
    fn read(&self, place: u64, bytes: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, place * PLACE_BYTES)
    }

    #[cfg(not(unix))]
    fn write(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        let _one_at_a_time = self.places();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place * PLACE_BYTES))?;
        file.write_all(bytes)
    }

    #[cfg(not(unix))]
    fn read(&self, place: u64, bytes: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let _one_at_a_time = self.places();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place * PLACE_BYTES))?;
        file.read_exact(bytes)
    }
}
