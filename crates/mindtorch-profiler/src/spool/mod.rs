//! Spools: recordings that live in files, and so outlive their process.
//!
//! A session that spools has a directory of its own, `mindtorch-<pid>-<random>`, in which there are two files for its owner
//! only. What happens often goes to `records`, which is mapped: the slots that a thread stores events in are the file's
//! pages, so that recording costs what it costs without a spool. What happens seldom (names, threads, settings, steps) goes
//! to `log`, entry by entry. Both are the system's when a process ends, however it ends; [`read`] finds everything up to
//! that moment but what was being stored in it. A power cut takes what was not yet written to the disk ([`Spool::sync`], which
//! a session's spool does every second): checksums tell what is whole.
//!
//! The layout is that of one version ([`VERSION`]), and is refused in any other. `log.rs` and `blocks.rs` draw it.
//!
//! [`SpillFile`] is for recordings that are larger than memory and need not outlive their process.

mod blocks;
mod checksum;
mod codec;
mod contents;
mod damage;
mod entry;
mod error;
mod fields;
mod flusher;
mod layout;
mod log;
pub(crate) mod mapping;
mod reader;
mod records;
mod settings;
mod spill;
mod spill_directory;
#[cfg(all(test, not(loom)))]
mod tests;
mod writer;

pub use blocks::MappedBlock;
pub use contents::{BlockState, SpoolBlock, SpoolContents, SpoolThread};
pub use damage::{BlockDamage, Damage, Gap, LogDamage, LogFault};
pub use entry::{Entry, SpoolBegin, SpoolClock, SpoolCut, SpoolEdge, SpoolSpan, SpoolStep};
pub use error::{SpoolError, SpoolFault};
pub(crate) use flusher::Flusher;
pub use layout::VERSION;
/// For fuzzing.
#[doc(hidden)]
pub use layout::{BLOCK_SLOTS, HEAD_BYTES, PIECE, SLOT_BYTES};
pub use log::LogTrouble;
pub use reader::{read, sessions};
/// For fuzzing.
#[doc(hidden)]
pub use records::{record_heads, record_length};
pub use settings::{SpoolScope, SpoolSettings};
#[cfg(all(test, not(loom)))]
pub(crate) use spill::Storage;
pub use spill::{SpillFile, SpilledBlock};
pub(crate) use spill_directory::{spill_directories, temporary_file_on_disk};
pub use writer::{HeldSpool, Spool};
