//! Rings: windows that drop their oldest parts, and count what they drop.

use super::Recorder;
use super::record::{Head, Words};
use super::registry::{Registry, first_ticks, open_spans_in};
use super::stored::{Piece, StoredChunk};
use super::window::{CarriedSpan, Window, WindowId};
use crate::capture::Capture;
use crate::sync::Arc;
use rustc_hash::FxHashMap;

/// A stored piece of a window whose events have to be counted before the window can drop it.
pub(super) struct Uncounted {
    serial: u32,
    chunk: Arc<StoredChunk>,
    from: u64,
    changes: Vec<(u64, Capture)>,
}

/// The numbers of events in stored pieces, by the serial number of the thread and the position of the piece.
#[derive(Default)]
pub(super) struct StoredEvents(FxHashMap<(u32, u64), u64>);

impl StoredEvents {
    /// Reads the pieces from their files. Not to be called under the registry's lock.
    pub(super) fn count(uncounted: &[Uncounted]) -> Self {
        let count = |piece: &Uncounted| {
            let Uncounted { serial, chunk, from, changes } = piece;
            // One that cannot be read has at most as many events as slots.
            let slots = chunk.read().unwrap_or_default();
            let range = (chunk.base(), chunk.end());
            ((*serial, chunk.base()), count_events(range, |at| slots.get(at).copied(), *from, changes))
        };
        Self(uncounted.iter().map(count).collect())
    }

    /// Returns how many events of a piece are collected and lie at position `from` or after it. `None` for a stored piece that
    /// was not counted.
    fn of(&self, serial: u32, piece: &Piece, from: u64, changes: &[(u64, Capture)]) -> Option<u64> {
        let (base, end) = (piece.base(), piece.end());
        match piece {
            Piece::Stored(_) => self.0.get(&(serial, base)).copied(),
            Piece::Resident(_) | Piece::Loaded(_) => {
                Some(count_events((base, end), |at| Some(piece.read(at)), from, changes))
            }
        }
    }
}

impl Registry {
    /// Returns the stored pieces that a window drops if it drops `excess` bytes.
    pub(super) fn uncounted(&self, window: usize, excess: u64) -> Vec<Uncounted> {
        if !self.has_stored(window) {
            return Vec::new();
        }
        // By thread: how many of its pieces go.
        let mut dropped = FxHashMap::default();
        let mut freed = 0;
        for candidate in self.candidates(window) {
            if freed >= excess {
                break;
            }
            let pieces = &self.threads[candidate.thread].pieces;
            let Some(chunk) = pieces[candidate.piece].resident().filter(|chunk| chunk.is_sealed()) else { continue };
            freed += if chunk.is_pinned() { 0 } else { candidate.bytes };
            let count = dropped.entry(candidate.thread).or_insert(0);
            *count = (candidate.piece + 1).max(*count);
        }
        let window = &self.windows[window];
        let mut uncounted = Vec::new();
        for (thread, count) in dropped {
            let thread = &self.threads[thread];
            let serial = thread.log.serial;
            let (from, changes) = (window.range(serial).0, window.changes_of(serial));
            uncounted.extend(thread.pieces.iter().take(count).filter_map(|piece| {
                let Piece::Stored(chunk) = piece else { return None };
                let uncounted = || Uncounted { serial, chunk: Arc::clone(chunk), from, changes: changes.clone() };
                (from < piece.end()).then(uncounted)
            }));
        }
        uncounted
    }

    fn has_stored(&self, window: usize) -> bool {
        let window = &self.windows[window];
        self.threads.iter().any(|thread| {
            let (from, to) = window.range(thread.log.serial);
            let mut needed = thread.pieces.iter().filter(|piece| piece.base() < to && from < piece.end());
            needed.any(|piece| matches!(piece, Piece::Stored(_)))
        })
    }

    /// Drops the oldest parts of a window, at least `excess` bytes if there are as many. `stored` has the numbers of
    /// events in the stored pieces among them, which are not read under the registry's lock.
    pub(super) fn forget(&mut self, window: usize, excess: u64, stored: &StoredEvents) {
        let mut candidates = self.candidates(window).into_iter().peekable();
        let Self { threads, windows, .. } = self;
        let window = &mut windows[window];
        let (mut freed, mut oldest_left) = (0, u64::MAX);
        while freed < excess
            && let Some(candidate) = candidates.next()
        {
            let thread = &threads[candidate.thread];
            let piece = &thread.pieces[candidate.piece];
            let Some(chunk) = piece.resident().filter(|chunk| chunk.is_sealed()) else { continue };
            let serial = thread.log.serial;
            let (from, _) = window.range(serial);
            let earlier = thread.pieces.iter().take(candidate.piece + 1).filter(|piece| from < piece.end());
            let changes = window.changes_of(serial);
            let events: Option<u64> = earlier.map(|piece| stored.of(serial, piece, from, &changes)).sum();
            let Some(events) = events else {
                // It was filled after the pieces that go were counted. It goes the next time.
                oldest_left = oldest_left.min(candidate.ticks);
                continue;
            };
            let before = window.carried.len();
            if chunk.is_pinned() {
                open_spans_in(chunk, u64::MAX, |index| {
                    let is_needed = chunk.base() + index as u64 >= from;
                    window.carried.extend(is_needed.then(|| CarriedSpan::new(&thread.log, chunk, index)));
                });
            } else {
                freed += candidate.bytes;
            }
            window.losses.drop_events(serial, events.saturating_sub((window.carried.len() - before) as u64));
            window.floors.insert(serial, chunk.end());
        }
        let oldest = candidates.peek().map_or(oldest_left, |candidate| candidate.ticks.min(oldest_left));
        let Window { carried, losses, changes, .. } = window;
        // The last change before that is kept, because it says what is collected from then on.
        let later = changes.partition_point(|(cut, _)| cut.ticks < oldest);
        changes.drain(..later.saturating_sub(1));
        carried.retain(|span| {
            let (_, [_, end, ..], _) = span.read();
            let is_over = end != 0 && end < oldest;
            losses.drop_events(span.log.serial, u64::from(is_over));
            !is_over
        });
    }
}

impl Recorder {
    /// When the oldest record was made that a window still has, if it dropped older ones.
    pub(crate) fn oldest_kept(&self, id: WindowId) -> Option<u64> {
        let registry = self.lock();
        let at = registry.window(id).filter(|&at| registry.windows[at].has_dropped())?;
        registry.in_memory(at).map(|(_, _, chunk)| first_ticks(chunk)).min()
    }
}

impl Window {
    /// From which position of a thread on it has collected what.
    fn changes_of(&self, thread: u32) -> Vec<(u64, Capture)> {
        self.changes.iter().map(|(cut, capture)| (cut.position(thread), *capture)).collect()
    }
}

/// Counts the events of a piece that are collected and lie at position `from` or after it. The piece lies between the
/// positions of `range`. `changes` says what is collected from each position on, in order. Where `words` returns no slot,
/// every slot that is left counts as an event.
fn count_events(
    (base, end): (u64, u64),
    words: impl Fn(usize) -> Option<Words>,
    from: u64,
    changes: &[(u64, Capture)],
) -> u64 {
    let slots = (end - base) as usize;
    let (mut index, mut events) = (from.saturating_sub(base) as usize, 0);
    let mut later = changes.iter().copied().peekable();
    let mut capture = Capture::NONE;
    while index < slots {
        while let Some((_, changed)) = later.next_if(|&(at, _)| at <= base + index as u64) {
            capture = changed;
        }
        let Some([_, _, head, _]) = words(index) else { return (slots - index) as u64 };
        let head = Head::unpack(head);
        events += u64::from(head.kind.is_event() && capture.contains(head.kind.needs()));
        index += 1 + usize::from(head.is_detailed());
    }
    events
}
