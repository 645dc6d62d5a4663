//! What is missing of a spool, or not to be trusted.

use crate::inputs::Inputs;
use std::fmt;

/// What a session's files do not have, or no longer. All of it but [`Damage::log`] and [`Damage::is_ended`] is empty when a
/// process was killed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Where the log could not be read any further, if that is not its end.
    pub log: Option<LogDamage>,
    /// Entries that could not be written when they should have been.
    pub unwritten_entries: u64,
    /// Offsets of block headers in the records file that cannot be read, and so neither can their blocks.
    pub lost_headers: Vec<u64>,
    /// Blocks that are not what they were, or not whole.
    pub blocks: Vec<BlockDamage>,
    /// The byte of the records file from which on nothing was looked at, if that is not its end.
    pub records_unread: Option<u64>,
    /// What is known to have been recorded and is in no block.
    pub gaps: Vec<Gap>,
    /// Threads that have records and that the log does not know.
    pub unknown_threads: Vec<u32>,
    /// Ids of operator inputs in which a list is nested deeper than [`Inputs::MAX_DEPTH`], as no recording has them. The deepest
    /// lists were elided.
    ///
    /// [`Inputs::MAX_DEPTH`]: crate::Inputs::MAX_DEPTH
    pub deep_inputs: Vec<u32>,
    /// Whether the session was stopped in order.
    pub is_ended: bool,
}

/// Where a log could not be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// The byte at which the entry begins that is not readable.
    pub offset: u64,
    /// The bytes from there to the end.
    pub bytes: u64,
    /// What is wrong with it.
    pub fault: LogFault,
}

/// What is wrong with an entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFault {
    /// The log ends in it: it was being written.
    Torn,
    /// It is not what was written.
    Changed,
}

/// A block that is not what it was, or not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDamage {
    /// The thread that wrote it.
    pub serial: u32,
    /// The position of its first slot in the thread's stream.
    pub base: u64,
    /// Where its slots are in the records file.
    pub offset: u64,
    /// The slots that were kept.
    pub kept: u32,
    /// The slots that are known to have been written and could not be read.
    pub unreadable: u32,
}

/// A part of a thread's stream that is in no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The thread.
    pub serial: u32,
    /// The first position that is missing.
    pub from: u64,
    /// The position after the last that is missing.
    pub to: u64,
}

impl Damage {
    /// Whether nothing is missing.
    pub fn is_none(&self) -> bool {
        *self == Self { is_ended: true, ..Self::default() }
    }
}

/// In words: `the recording was not stopped; slots missing: 12, the first of thread 1 at position 40`.
impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.is_ended {
            parts.push("the recording was not stopped".to_owned());
        }
        if let Some(LogDamage { offset, bytes, fault }) = self.log {
            let what = match fault {
                LogFault::Torn => "breaks off",
                LogFault::Changed => "was changed",
            };
            parts.push(format!("the log {what} at byte {offset}, bytes not readable: {bytes}"));
        }
        if self.unwritten_entries > 0 {
            parts.push(format!("entries of the log that could not be written: {}", self.unwritten_entries));
        }
        if let Some(first) = self.lost_headers.first() {
            let count = self.lost_headers.len();
            parts.push(format!("headers of blocks not readable: {count}, the first at byte {first}"));
        }
        if let Some(BlockDamage { serial, offset, .. }) = self.blocks.first() {
            let (count, unreadable) = (self.blocks.len(), self.blocks.iter().map(|block| u64::from(block.unreadable)));
            let slots = unreadable.sum::<u64>();
            let first = format!("the first at byte {offset}, of thread {serial}");
            parts.push(format!("blocks damaged: {count}, {first}, slots not readable: {slots}"));
        }
        if let Some(offset) = self.records_unread {
            parts.push(format!("the records end with nothing, from byte {offset} on not looked at"));
        }
        if let Some(Gap { serial, from, .. }) = self.gaps.first() {
            let slots = self.gaps.iter().fold(0u64, |sum, gap| sum.saturating_add(gap.to - gap.from));
            parts.push(format!("slots missing: {slots}, the first of thread {serial} at position {from}"));
        }
        if let Some(first) = self.unknown_threads.first() {
            let count = self.unknown_threads.len();
            parts.push(format!("threads that the log does not know: {count}, the first is {first}"));
        }
        if let Some(first) = self.deep_inputs.first() {
            let (count, most) = (self.deep_inputs.len(), Inputs::MAX_DEPTH);
            parts.push(format!("operator inputs with lists nested deeper than {most}: {count}, elided from there, the first has id {first}"));
        }
        if parts.is_empty() { write!(f, "nothing is missing") } else { write!(f, "{}", parts.join("; ")) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_missing_is_told() {
        let all = Damage {
            log: Some(LogDamage { offset: 400, bytes: 17, fault: LogFault::Torn }),
            unwritten_entries: 2,
            lost_headers: vec![65_536],
            blocks: vec![BlockDamage { serial: 1, base: 0, offset: 131_072, kept: 3, unreadable: 5 }; 2],
            records_unread: Some(1 << 40),
            gaps: vec![Gap { serial: 1, from: 40, to: 52 }, Gap { serial: 2, from: 0, to: u64::MAX }],
            unknown_threads: vec![3],
            deep_inputs: vec![7, 9],
            is_ended: false,
        };
        let expected = [
            "the recording was not stopped",
            "the log breaks off at byte 400, bytes not readable: 17",
            "entries of the log that could not be written: 2",
            "headers of blocks not readable: 1, the first at byte 65536",
            "blocks damaged: 2, the first at byte 131072, of thread 1, slots not readable: 10",
            "the records end with nothing, from byte 1099511627776 on not looked at",
            "slots missing: 18446744073709551615, the first of thread 1 at position 40",
            "threads that the log does not know: 1, the first is 3",
            "operator inputs with lists nested deeper than 16: 2, elided from there, the first has id 7",
        ];
        assert_eq!(all.to_string(), expected.join("; "));
        assert!(!all.is_none() && !Damage::default().is_none());
        assert!(Damage { is_ended: true, ..Damage::default() }.is_none());
    }
}
