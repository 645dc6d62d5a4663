//! What the log is made of.

use super::settings::SpoolSettings;
use crate::capture::Capture;
use crate::recorder::{MemoryUse, Words};
use std::borrow::Cow;

/// One entry of a log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Entry<'a> {
    /// Whose recording it is: the first entry.
    Begin(SpoolBegin),
    /// The text of a name.
    Name {
        /// The id that records have for it.
        id: u32,
        /// The text.
        text: Cow<'a, str>,
    },
    /// The frames of a stack, innermost first.
    Stack {
        /// The id that records have for it.
        id: u32,
        /// Ids of names.
        frames: Cow<'a, [u32]>,
    },
    /// What operators were given.
    Inputs {
        /// The id that records have for it.
        id: u32,
        /// As `inputs.rs` writes them.
        words: Cow<'a, [u64]>,
    },
    /// A thread that records.
    Thread {
        /// The number that blocks have for it.
        serial: u32,
        /// The system's number for it.
        os_id: u64,
        /// Its name.
        name: Option<Cow<'a, str>>,
    },
    /// What the session was asked to do. The last one holds.
    Settings(Cow<'a, SpoolSettings>),
    /// What a tick is worth. The last one holds, since a rate becomes known better.
    Clock(SpoolClock),
    /// From here on, the session sees what is in its capture.
    Edge(SpoolEdge),
    /// The beginning of a step.
    Step(SpoolStep),
    /// A span that was open when the session began. The last one of a span holds.
    Carried(SpoolSpan),
    /// Events that could not be recorded, so far.
    Lost {
        /// How many.
        events: u64,
    },
    /// Entries that could not be written, so far. The log writes it itself, as soon as it can.
    Unwritten {
        /// How many.
        entries: u64,
    },
    /// The session was stopped here, in order.
    End(SpoolCut),
}

/// Whose recording it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolBegin {
    /// The process.
    pub pid: u32,
    /// When the spool was made, in nanoseconds since the epoch.
    pub start_epoch_ns: u64,
}

/// A linear map from ticks to nanoseconds since the epoch, as `clock.rs` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolClock {
    /// A point in ticks.
    pub origin_ticks: u64,
    /// The same point in nanoseconds since the epoch.
    pub origin_epoch_ns: u64,
    /// Nanoseconds a tick, as a fixed-point number.
    pub multiplier: u64,
}

/// Where every thread's stream stood at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolCut {
    /// When.
    pub ticks: u64,
    /// Events that could not be recorded until then.
    pub lost: u64,
    /// Serial numbers of threads and their positions, in order of serial number. A thread that is not here had not begun.
    pub positions: Vec<(u32, u64)>,
}

impl SpoolCut {
    /// The position of a thread.
    pub fn position(&self, serial: u32) -> u64 {
        self.positions.binary_search_by_key(&serial, |&(of, _)| of).map_or(0, |at| self.positions[at].1)
    }
}

/// Where a session begins, or changes what it sees.
#[derive(Clone, Debug)]
pub struct SpoolEdge {
    /// Where.
    pub cut: SpoolCut,
    /// What it sees from there on.
    pub capture: Capture,
    /// The blocks of memory that were known to be there, if it sees memory.
    pub blocks: Vec<MemoryUse>,
}

impl PartialEq for SpoolEdge {
    fn eq(&self, other: &Self) -> bool {
        let block = |used: &MemoryUse| (used.address, used.bytes, used.device, used.role, used.is_written);
        (&self.cut, self.capture) == (&other.cut, other.capture)
            && self.blocks.iter().map(block).eq(other.blocks.iter().map(block))
    }
}

/// The beginning of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolStep {
    /// When the step before it ended, in ticks.
    pub ended: u64,
    /// When it began, in ticks.
    pub ticks: u64,
    /// The system's number of the thread that made it.
    pub os_thread: u64,
}

/// A span outside the spool's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolSpan {
    /// The thread that opened it.
    pub serial: u32,
    /// Where in the thread's stream.
    pub position: u64,
    /// Its first slot.
    pub first: Words,
    /// Its second slot, if it has one.
    pub second: Option<Words>,
}
