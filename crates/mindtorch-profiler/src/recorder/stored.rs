//! The parts of a stream, wherever they are: in memory, or moved to a file, so that a recording may be larger than the memory
//! that it takes.

use super::chunk::Chunk;
use super::record::Words;
use crate::spool::{SpillFile, SpilledBlock};
use crate::sync::Arc;
use std::io;

/// A part of a thread's stream, wherever it is.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Resident(Arc<Chunk>),
    /// Complete, with no span open.
    Stored(Arc<StoredChunk>),
    /// What another process left.
    Loaded(Arc<LoadedChunk>),
}

impl Piece {
    pub(crate) fn base(&self) -> u64 {
        match self {
            Self::Resident(chunk) => chunk.base(),
            Self::Stored(chunk) => chunk.base,
            Self::Loaded(chunk) => chunk.base,
        }
    }

    /// The position after the last slot.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Self::Resident(chunk) => chunk.end(),
            Self::Stored(chunk) => chunk.end(),
            Self::Loaded(chunk) => chunk.base + chunk.slots.len() as u64,
        }
    }

    /// A slot of one that is in memory.
    pub(super) fn read(&self, index: usize) -> Words {
        match self {
            Self::Resident(chunk) => chunk.read(index),
            Self::Loaded(chunk) => chunk.read(index),
            Self::Stored(_) => Words::default(),
        }
    }

    pub(super) fn resident(&self) -> Option<&Arc<Chunk>> {
        match self {
            Self::Resident(chunk) => Some(chunk),
            Self::Stored(_) | Self::Loaded(_) => None,
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
    block: SpilledBlock,
    base: u64,
}

impl StoredChunk {
    /// Copies a chunk that is complete to the file.
    pub(super) fn store(chunk: &Chunk, file: &SpillFile) -> io::Result<Self> {
        let slots = (chunk.end() - chunk.base()) as usize;
        let words: Vec<Words> = (0..slots).map(|index| chunk.read(index)).collect();
        Ok(Self { block: file.write(&words)?, base: chunk.base() })
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// The position after the last slot.
    pub(super) fn end(&self) -> u64 {
        self.base + self.block.slots() as u64
    }

    pub(crate) fn read(&self) -> io::Result<Vec<Words>> {
        self.block.read()
    }
}

/// Records that are in memory as they were read.
#[derive(Debug)]
pub(crate) struct LoadedChunk {
    pub(crate) base: u64,
    pub(crate) slots: Vec<Words>,
}

impl LoadedChunk {
    /// Nothing vouches for positions that were read beside them.
    pub(crate) fn read(&self, index: usize) -> Words {
        self.slots.get(index).copied().unwrap_or_default()
    }
}
