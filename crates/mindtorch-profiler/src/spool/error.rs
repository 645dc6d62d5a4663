//! What can be wrong with a spool's file as a whole. What is wrong with a part of one is [`Damage`](super::Damage).

use std::path::{Path, PathBuf};

/// A file of a spool that cannot be read, and where that was found.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: at byte {offset}, {fault}", path.display())]
pub struct SpoolError {
    path: PathBuf,
    offset: u64,
    fault: SpoolFault,
}

/// Why a file of a spool cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolFault {
    /// It is something else.
    #[error("it is not a file of a spool")]
    NotASpool,
    /// It ends in its header.
    #[error("it ends before its header does")]
    NoHeader,
    /// It was written by an older or a newer profiler.
    #[error("its layout has version {found}, and this profiler reads version {known}")]
    Version {
        /// The version that it has.
        found: u32,
        /// The version that can be read.
        known: u32,
    },
    /// It was written on a machine that stores numbers the other way round.
    #[error("its numbers are in the byte order of another machine")]
    ByteOrder,
    /// The log has an entry of a kind that there is not.
    #[error("there is an entry of the unknown kind {0}")]
    UnknownEntry(u8),
    /// The log has an entry that is whole and makes no sense.
    #[error("the entry of kind {0} is not what its kind has")]
    MalformedEntry(u8),
}

impl SpoolError {
    pub(super) fn new(path: &Path, offset: u64, fault: SpoolFault) -> Self {
        Self { path: path.to_owned(), offset, fault }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The byte of the file at which it was found.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What was found.
    pub fn fault(&self) -> SpoolFault {
        self.fault
    }
}
