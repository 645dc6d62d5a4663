//! What a spool has, read back.

use super::damage::Damage;
use super::entry::{SpoolBegin, SpoolClock, SpoolCut, SpoolEdge, SpoolSpan, SpoolStep};
use super::settings::SpoolSettings;
use crate::recorder::Words;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What one session left: all that could be read, and what is missing.
///
/// Ids are those that records have. Nothing says that all of them are there: after a power cut, records may be on the disk
/// and the names that they refer to not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpoolContents {
    /// The session's directory.
    pub path: PathBuf,
    /// Whose recording it is.
    pub begin: Option<SpoolBegin>,
    /// What it was asked to do.
    pub settings: Option<SpoolSettings>,
    /// What a tick is worth.
    pub clock: Option<SpoolClock>,
    /// Where the session began and what it saw, then where that changed.
    pub edges: Vec<SpoolEdge>,
    /// The beginnings of steps.
    pub steps: Vec<SpoolStep>,
    /// Spans that were open when the session began, in order of thread and position.
    pub carried: Vec<SpoolSpan>,
    /// Where it was stopped, if that happened in order.
    pub end: Option<SpoolCut>,
    /// Events that could not be recorded.
    pub lost_events: u64,
    /// Texts by id. Ordered maps, here and below: ids may be anything in a file that is not ours, and a hash could be
    /// made to collide.
    pub names: BTreeMap<u32, String>,
    /// Ids of frames, innermost first, by id.
    pub stacks: BTreeMap<u32, Vec<u32>>,
    /// What operators were given, by id.
    pub inputs: BTreeMap<u32, Vec<u64>>,
    /// In order of serial number.
    pub threads: Vec<SpoolThread>,
    /// What is missing.
    pub damage: Damage,
}

/// A thread, and its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolThread {
    /// Its number.
    pub serial: u32,
    /// The system's number for it; 0 if the log does not know it.
    pub os_id: u64,
    /// Its name.
    pub name: Option<String>,
    /// Its blocks that have records, in order of position. They do not overlap.
    pub blocks: Vec<SpoolBlock>,
}

/// A block, as far as its records are whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolBlock {
    /// The thread that wrote it.
    pub serial: u32,
    /// The position of the first slot in the thread's stream.
    pub base: u64,
    /// The slots. Every record has a kind that there is, and its second slot, if it should have one.
    pub slots: Vec<Words>,
    /// What is known of it.
    pub state: BlockState,
    /// Where the slots are in the records file.
    pub offset: u64,
}

/// What is known of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// It was being written. Nothing vouches for its records but that their heads are there.
    Open,
    /// It is as it was when it was finished, but for ends of spans.
    Sealed,
    /// It was finished and is not what it was then.
    Damaged,
}

impl SpoolBlock {
    /// The position after the last record.
    pub fn end(&self) -> u64 {
        self.base + self.slots.len() as u64
    }
}
