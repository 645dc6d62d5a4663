//! Who writes, and who still needs what was written. Behind the recorder's lock.

use super::ThreadLog;
use super::chunk::Chunk;
use super::kept::KeptMemory;
use super::make_room::Turn;
use super::record::Head;
use super::stored::Piece;
use super::window::{CarriedSpan, Cut, Stream, Window, WindowId};
use crate::capture::Capture;
use crate::sync::{Arc, Ordering};
use std::collections::VecDeque;

/// Who writes, and who still needs what was written.
#[derive(Debug, Default)]
pub(super) struct Registry {
    /// In order of serial number.
    pub(super) threads: Vec<ThreadEntry>,
    pub(super) last_serial: u32,
    pub(super) windows: Vec<Window>,
    pub(super) next_window: u64,
    /// What is collected by those who are not sessions.
    pub(super) watched: Capture,
    pub(super) kept: KeptMemory,
    /// The right to bring windows within their bounds.
    pub(super) turn: Turn,
}

#[derive(Debug)]
pub(super) struct ThreadEntry {
    pub(super) log: Arc<ThreadLog>,
    /// In order of position. The last one may have a successor that was not taken yet.
    pub(super) pieces: VecDeque<Piece>,
}

/// A chunk in memory that a window can spill or drop.
pub(super) struct Candidate {
    pub(super) ticks: u64,
    pub(super) thread: usize,
    pub(super) piece: usize,
    pub(super) bytes: u64,
}

impl Registry {
    pub(super) fn window(&self, id: WindowId) -> Option<usize> {
        self.windows.iter().position(|window| window.id == id.0)
    }

    pub(super) fn capture(&self) -> Capture {
        self.windows.iter().fold(self.watched, |union, window| union | window.capture)
    }

    /// The spans that were begun before the cut and have not ended.
    pub(super) fn open_spans(&mut self, cut: &Cut) -> Vec<CarriedSpan> {
        let mut open = Vec::new();
        for thread in &mut self.threads {
            thread.take_successors();
            let position = cut.position(thread.log.serial);
            for chunk in thread.pieces.iter().filter_map(Piece::resident).filter(|chunk| chunk.is_pinned()) {
                open_spans_in(chunk, position, |index| {
                    open.push(CarriedSpan::new(&thread.log, chunk, index));
                });
            }
        }
        open
    }

    /// Makes every thread go on to another chunk with its next record.
    pub(super) fn leave_chunks(&mut self) {
        self.take_successors();
        let current = self.threads.iter().filter_map(|thread| thread.pieces.back().and_then(Piece::resident));
        current.for_each(|chunk| chunk.leave());
    }

    /// The bytes of memory of the chunks that a window needs.
    pub(super) fn resident_bytes(&self, window: usize) -> u64 {
        self.in_memory(window).map(|(_, _, chunk)| chunk.memory_held() as u64).sum()
    }

    /// The chunks in memory that a window needs, with the indices of their thread and of their piece.
    pub(super) fn in_memory(&self, window: usize) -> impl Iterator<Item = (usize, usize, &Arc<Chunk>)> {
        let window = &self.windows[window];
        self.threads.iter().enumerate().flat_map(move |(thread, entry)| {
            let (from, to) = window.range(entry.log.serial);
            let pieces = entry.pieces.iter().enumerate();
            let needed = pieces.filter(move |(_, piece)| piece.base() < to && from < piece.end());
            needed.filter_map(move |(at, piece)| Some((thread, at, piece.resident()?)))
        })
    }

    /// Returns the chunks in memory that a window can spill or drop, the oldest first.
    pub(super) fn candidates(&self, window: usize) -> Vec<Candidate> {
        let candidate = |(thread, piece, chunk): (usize, usize, &Arc<Chunk>)| {
            let bytes = chunk.memory_held() as u64;
            Candidate { ticks: first_ticks(chunk), thread, piece, bytes }
        };
        let mut candidates: Vec<_> = self.in_memory(window).map(candidate).collect();
        candidates.sort_by_key(|candidate| candidate.ticks);
        candidates
    }

    pub(super) fn take_successors(&mut self) {
        self.threads.iter_mut().for_each(ThreadEntry::take_successors);
    }

    /// Takes out the chunks that no window needs and that may be dropped, and the threads that left nothing.
    pub(super) fn prune(&mut self) -> Vec<Piece> {
        let mut unneeded = Vec::new();
        let Self { threads, windows, .. } = self;
        threads.retain_mut(|thread| {
            let is_over = thread.log.ended.load(Ordering::Acquire);
            thread.take_successors();
            let serial = thread.log.serial;
            let needed = needed_ranges(windows, serial);
            let mut needed = needed.iter().peekable();
            let mut left = thread.pieces.len();
            thread.pieces.retain(|piece| {
                let (base, end) = (piece.base(), piece.end());
                // Chunks and ranges are both in order, and the ranges apart: one walk over both is enough.
                while needed.next_if(|(_, to)| *to <= base).is_some() {}
                let needed = needed.peek().is_some_and(|(from, _)| *from < end);
                // The last chunk leads to those that come after it.
                left -= 1;
                let keep = needed || piece.is_pinned() || (left == 0 && !is_over);
                if !keep {
                    unneeded.push(piece.clone());
                }
                keep
            });
            !(is_over && thread.pieces.is_empty())
        });
        unneeded
    }
}

/// A recorder of a test's may go while spans of it are open. Their tokens point into their chunks, which are leaked, so
/// that a token stays good.
impl Drop for Registry {
    fn drop(&mut self) {
        for thread in &mut self.threads {
            thread.take_successors();
            thread.pieces.drain(..).filter(Piece::is_pinned).for_each(std::mem::forget);
        }
    }
}

/// What windows need of a thread's stream: ranges of positions, in order, that do not touch.
fn needed_ranges(windows: &[Window], thread: u32) -> Vec<(u64, u64)> {
    let ranges = windows.iter().map(|window| window.range(thread));
    let mut ranges: Vec<(u64, u64)> = ranges.filter(|(from, to)| from < to).collect();
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let touches = next.0 <= kept.1;
        if touches {
            kept.1 = kept.1.max(next.1);
        }
        touches
    });
    ranges
}

impl ThreadEntry {
    pub(super) fn take_successors(&mut self) {
        while let Some(next) = self.pieces.back().and_then(Piece::resident).and_then(|last| last.take_next()) {
            self.pieces.push_back(Piece::Resident(next));
        }
    }

    /// The thread's part of a window that ends, for now, at this cut.
    pub(super) fn stream(&mut self, window: &Window, to: &Cut) -> Stream {
        self.take_successors();
        let (from, to) = (window.range(self.log.serial).0, to.position(self.log.serial));
        let pieces = self.pieces.iter().filter(|piece| piece.base() < to && from < piece.end()).cloned().collect();
        Stream { log: Arc::clone(&self.log), pieces, from, to: to.max(from) }
    }
}

/// Calls `found` with the index of each span of `chunk` that is open and lies before `position`.
pub(super) fn open_spans_in(chunk: &Chunk, position: u64, mut found: impl FnMut(usize)) {
    let published = (position.min(chunk.end()).saturating_sub(chunk.base())) as usize;
    let mut index = 0;
    while index < published {
        let [_, end, head, _] = chunk.read(index);
        let head = Head::unpack(head);
        if head.kind.is_span() && end == 0 {
            found(index);
        }
        index += 1 + usize::from(head.is_detailed());
    }
}

/// When the first record of a chunk was made that says so.
pub(super) fn first_ticks(chunk: &Chunk) -> u64 {
    let slots = (chunk.end() - chunk.base()) as usize;
    let mut index = 0;
    while index < slots {
        let [ticks, _, head, _] = chunk.read(index);
        let head = Head::unpack(head);
        if head.kind.tells_when() {
            return ticks;
        }
        index += 1 + usize::from(head.is_detailed());
    }
    u64::MAX
}
