//! Windows: the parts of the streams that sessions need.

use super::bound::Bound;
use super::losses::Losses;
use super::record::{Head, Words};
use super::stored::{LoadedChunk, Piece};
use super::{Chunk, ThreadLog};
use crate::capture::Capture;
use crate::recorder::MemoryUse;
use crate::sync::Arc;
use rustc_hash::FxHashMap;

/// Where every thread's stream stood at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) ticks: u64,
    pub(crate) lost: u64,
    /// Thread serial number and position, in order of serial number. A thread that is not here had not begun.
    pub(super) positions: Vec<(u32, u64)>,
}

impl Cut {
    pub(crate) fn new(ticks: u64, lost: u64, positions: Vec<(u32, u64)>) -> Self {
        Self { ticks, lost, positions }
    }

    pub(crate) fn positions(&self) -> &[(u32, u64)] {
        &self.positions
    }

    pub(crate) fn position(&self, thread: u32) -> u64 {
        self.positions.binary_search_by_key(&thread, |&(serial, _)| serial).map_or(0, |at| self.positions[at].1)
    }
}

/// The part of the streams that a session needs: from one cut to another, or to the end for now.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) id: u64,
    pub(super) capture: Capture,
    /// What it collects from each cut on, as far as it still has something of that.
    pub(super) changes: Vec<(Arc<Cut>, Capture)>,
    pub(super) from: Arc<Cut>,
    pub(super) to: Option<Arc<Cut>>,
    pub(super) bound: Bound,
    /// By thread: what lies before this was dropped to stay within the bound.
    pub(super) floors: FxHashMap<u32, u64>,
    /// The spans that were open when what they lie in was dropped.
    pub(super) carried: Vec<CarriedSpan>,
    pub(super) losses: Losses,
    /// Whether some of it was moved to a file.
    pub(super) has_spilled: bool,
}

impl Window {
    pub(super) fn new(id: u64, capture: Capture, from: Arc<Cut>, bound: Bound) -> Self {
        let (floors, carried, losses) = (FxHashMap::default(), Vec::new(), Losses::default());
        let changes = vec![(Arc::clone(&from), capture)];
        Self { id, capture, changes, from, to: None, bound, floors, carried, losses, has_spilled: false }
    }

    /// Whether it has taken the memory that it may take.
    pub(super) fn was_full(&self) -> bool {
        self.has_spilled || self.has_dropped() || self.losses.stopped.is_some()
    }

    /// Whether it has dropped anything, be it only what it did not collect.
    pub(super) fn has_dropped(&self) -> bool {
        !(self.floors.is_empty() && self.losses.dropped.is_empty())
    }

    /// The positions of a thread's stream that it needs.
    pub(super) fn range(&self, thread: u32) -> (u64, u64) {
        let floor = self.floors.get(&thread).copied().unwrap_or(0);
        (self.from.position(thread).max(floor), self.to.as_ref().map_or(u64::MAX, |to| to.position(thread)))
    }
}

/// Names a window of a recorder. After a fork, the child's recorder has none of its parent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowId(pub(super) u64);

/// A window that has just begun.
pub(crate) struct OpenedWindow {
    pub(crate) id: WindowId,
    pub(crate) from: Arc<Cut>,
    /// The spans that are open now, which the window cuts.
    pub(crate) carried: Vec<CarriedSpan>,
    /// The blocks of memory that are known to be there, if it collects memory.
    pub(crate) blocks: Vec<MemoryUse>,
}

/// What a window holds.
pub(crate) struct WindowReading {
    pub(crate) streams: Vec<Stream>,
    /// Where it ends, for now.
    pub(crate) to: Arc<Cut>,
    /// The spans that were open when what they lie in was dropped.
    pub(crate) carried: Vec<CarriedSpan>,
    pub(crate) losses: Losses,
}

/// A span that was open when a window began, or when what lies before it was dropped.
#[derive(Clone, Debug)]
pub(crate) struct CarriedSpan {
    pub(crate) log: Arc<ThreadLog>,
    /// Where it is, in memory.
    piece: Piece,
    index: usize,
}

impl CarriedSpan {
    pub(super) fn new(log: &Arc<ThreadLog>, chunk: &Arc<Chunk>, index: usize) -> Self {
        Self { log: Arc::clone(log), piece: Piece::Resident(Arc::clone(chunk)), index }
    }

    /// One that was read.
    pub(crate) fn loaded(log: &Arc<ThreadLog>, position: u64, slots: Vec<Words>) -> Self {
        let piece = Piece::Loaded(Arc::new(LoadedChunk { base: position, slots }));
        Self { log: Arc::clone(log), piece, index: 0 }
    }

    /// Its place in the thread's stream.
    pub(crate) fn position(&self) -> u64 {
        self.piece.base() + self.index as u64
    }

    /// Its slots.
    pub(crate) fn read(&self) -> (Head, Words, Option<Words>) {
        let first = self.piece.read(self.index);
        let head = Head::unpack(first[2]);
        (head, first, head.is_detailed().then(|| self.piece.read(self.index + 1)))
    }
}

/// One thread's part of a window: the slots at `from..to`, which lie in `pieces`.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) log: Arc<ThreadLog>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Stream {
    pub(crate) fn empty(log: Arc<ThreadLog>) -> Self {
        Self { log, pieces: Vec::new(), from: 0, to: 0 }
    }

    /// How many slots there are: not all that lie between, where some are gone.
    pub(crate) fn slots(&self) -> u64 {
        let slots = |piece: &Piece| piece.end().min(self.to).saturating_sub(piece.base().max(self.from));
        self.pieces.iter().map(slots).sum()
    }
}
