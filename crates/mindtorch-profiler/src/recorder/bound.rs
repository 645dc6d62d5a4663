//! How much memory a recording may take, and what happens when it would take more.
//!
//! A thread that has filled a chunk adds it to what the recorder holds. Only if that passes a mark, which is set so that
//! no window can have passed its bound before, does anyone look at the windows, under the registry's lock. But for its first
//! event, it is the only time that a recording thread takes that lock, or writes to a file.

use super::Recorder;
use super::available_memory::available_memory;
use super::chunk::{Chunk, FULL};
use super::record::{Head, Words};
use super::registry::{Registry, open_spans_in};
use super::stored::{Piece, StoredChunk};
use super::window::{CarriedSpan, Cut, Window, WindowId};
use crate::capture::Capture;
use crate::spool::SpillFile;
use crate::sync::Arc;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What happens when a recording has taken the memory that it may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Its oldest parts go to a file, and come back when the trace is made. Threads wait while it is written.
    #[default]
    Spill,
    /// Its oldest parts are dropped, and counted. What is open stays.
    Ring,
    /// It ends, and says so.
    Stop,
}

/// The memory that a window may take.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) max_bytes: u64,
    pub(crate) when_full: WhenFull,
    /// Where to spill to, if someone said.
    pub(crate) file: Option<SpillFile>,
}

impl Bound {
    /// The least that a window can be asked to stay within.
    pub(crate) const LEAST: u64 = if cfg!(loom) { 1 } else { 1 << 20 };

    /// Where what does not fit into memory goes.
    pub(crate) fn directory(&self) -> PathBuf {
        self.file.as_ref().map_or_else(std::env::temp_dir, |file| file.directory().to_owned())
    }

    /// How much is freed at a time: enough that it is not done at every turn, and no more than a small part.
    fn slack(&self) -> u64 {
        (self.max_bytes / 8).max(CHUNK_BYTES)
    }
}

impl Default for Bound {
    /// An eighth of the memory that the process may use, at most 2 GiB: 64 million events.
    fn default() -> Self {
        static MAX_BYTES: LazyLock<u64> = LazyLock::new(|| default_bytes(available_memory(Path::new("/"))));
        Self { max_bytes: *MAX_BYTES, when_full: WhenFull::Spill, file: None }
    }
}

fn default_bytes(available: Option<u64>) -> u64 {
    available.map_or(1 << 30, |bytes| (bytes / 8).clamp(Bound::LEAST, 2 << 30))
}

const CHUNK_BYTES: u64 = (FULL * size_of::<Words>()) as u64;

/// A chunk that a window could do without.
struct Candidate {
    ticks: u64,
    thread: usize,
    piece: usize,
    bytes: u64,
}

impl Registry {
    /// Brings every window within its bound. Also gives how much more the recorder may hold before that has to be done again.
    pub(super) fn make_room(&mut self, cut: impl Fn(&Self) -> Cut) -> u64 {
        self.take_successors();
        let mut room = u64::MAX;
        for at in 0..self.windows.len() {
            // One that is over does not grow.
            if self.windows[at].to.is_some() {
                continue;
            }
            let (bound, bytes) = (self.windows[at].bound.clone(), self.resident_bytes(at));
            let freed = if bytes > bound.max_bytes { self.shrink(at, bytes, &cut) } else { 0 };
            let left = bound.max_bytes.saturating_sub(bytes - freed);
            room = room.min(left.max(bound.slack()));
            let Self { threads, windows, .. } = self;
            // Threads that are gone have left nothing.
            let is_known = |serial: u32| threads.binary_search_by_key(&serial, |thread| thread.log.serial).is_ok();
            windows[at].floors.retain(|&serial, _| is_known(serial));
        }
        room
    }

    /// Brings a window that has taken so many bytes within its bound, or ends it. Gives how many it has no more.
    fn shrink(&mut self, at: usize, bytes: u64, cut: impl Fn(&Self) -> Cut) -> u64 {
        let bound = &self.windows[at].bound;
        let excess = bytes - bound.max_bytes + bound.slack();
        let freed = match bound.when_full {
            WhenFull::Spill => self.spill(at, excess),
            WhenFull::Ring => Ok(self.forget(at, excess)),
            WhenFull::Stop => Err(format!("it has taken {bytes} bytes, of {} that it may", bound.max_bytes)),
        };
        freed.unwrap_or_else(|why| {
            let cut = cut(self);
            self.windows[at].stop(cut, &why);
            0
        })
    }

    fn resident_bytes(&self, window: usize) -> u64 {
        self.in_memory(window).map(|(_, _, chunk)| chunk.memory_held() as u64).sum()
    }

    /// The chunks in memory that a window needs, with the indices of their thread and of their piece.
    fn in_memory(&self, window: usize) -> impl Iterator<Item = (usize, usize, &Arc<Chunk>)> {
        let window = &self.windows[window];
        self.threads.iter().enumerate().flat_map(move |(thread, entry)| {
            let (from, to) = window.range(entry.log.serial);
            let pieces = entry.pieces.iter().enumerate();
            let needed = pieces.filter(move |(_, piece)| piece.base() < to && from < piece.end());
            needed.filter_map(move |(at, piece)| Some((thread, at, piece.resident()?)))
        })
    }

    /// What a window could do without, the oldest first.
    fn candidates(&self, window: usize) -> Vec<Candidate> {
        let candidate = |(thread, piece, chunk): (usize, usize, &Arc<Chunk>)| {
            let bytes = chunk.memory_held() as u64;
            Candidate { ticks: first_ticks(chunk), thread, piece, bytes }
        };
        let mut candidates: Vec<_> = self.in_memory(window).map(candidate).collect();
        candidates.sort_by_key(|candidate| candidate.ticks);
        candidates
    }

    /// Moves the oldest parts of a window to a file, and gives how many bytes they were.
    fn spill(&mut self, window: usize, excess: u64) -> Result<u64, String> {
        let file = match &self.windows[window].bound.file {
            Some(file) => file.clone(),
            None => {
                let file = SpillFile::temporary(None).map_err(|error| error.to_string())?;
                self.windows[window].bound.file = Some(file.clone());
                file
            }
        };
        let mut freed = 0;
        for candidate in self.candidates(window) {
            let thread = &mut self.threads[candidate.thread];
            let Piece::Resident(chunk) = thread.pieces[candidate.piece].clone() else { continue };
            if chunk.is_pinned() || chunk.is_mapped() {
                continue;
            }
            // Its owner may have gone on since successors were taken. One that is not pinned has its link: it is stored first.
            thread.take_successors();
            let stored = StoredChunk::store(&chunk, &file)
                .map_err(|error| format!("cannot write to the file that it spills to: {error}"))?;
            thread.pieces[candidate.piece] = Piece::Stored(Arc::new(stored));
            self.windows[window].has_spilled = true;
            freed += candidate.bytes;
            if freed >= excess {
                break;
            }
        }
        Ok(freed)
    }

    /// Drops the oldest parts of a window, and gives how many bytes they were.
    fn forget(&mut self, window: usize, excess: u64) -> u64 {
        let mut candidates = self.candidates(window).into_iter().peekable();
        let Self { threads, windows, .. } = self;
        let window = &mut windows[window];
        let mut freed = 0;
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
            let events: u64 = earlier.map(|piece| piece.count_events(from, &changes)).sum();
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
        let oldest = candidates.peek().map_or(u64::MAX, |candidate| candidate.ticks);
        let Window { carried, losses, changes, .. } = window;
        // The last of those before tells what is collected then.
        let later = changes.partition_point(|(cut, _)| cut.ticks < oldest);
        changes.drain(..later.saturating_sub(1));
        carried.retain(|span| {
            let (_, [_, end, ..], _) = span.read();
            let is_over = end != 0 && end < oldest;
            losses.drop_events(span.log.serial, u64::from(is_over));
            !is_over
        });
        freed
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

    /// Ends it at this cut, before its session ends.
    fn stop(&mut self, cut: Cut, why: &str) {
        self.capture = Capture::NONE;
        self.to = Some(Arc::new(cut));
        self.losses.stopped = Some(why.into());
    }
}

impl Piece {
    /// How many events that are collected lie at this position or after it. From each position on, in their order, what has
    /// this capture is.
    fn count_events(&self, from: u64, changes: &[(u64, Capture)]) -> u64 {
        let (base, slots) = (self.base(), (self.end() - self.base()) as usize);
        let stored = match self {
            // One that cannot be read has at most as many.
            Self::Stored(chunk) => chunk.read().unwrap_or_default(),
            Self::Resident(_) | Self::Loaded(_) => Vec::new(),
        };
        let words =
            |index: usize| self.resident().map_or_else(|| stored.get(index).copied(), |chunk| Some(chunk.read(index)));
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
}

/// When the first record of a chunk was made that says so.
fn first_ticks(chunk: &Chunk) -> u64 {
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_an_eighth_of_the_available_memory_within_limits() {
        assert_eq!(default_bytes(Some(800 << 20)), 100 << 20);
        assert_eq!(default_bytes(Some(0)), Bound::LEAST);
        assert_eq!(default_bytes(Some(1 << 40)), 2 << 30);
        assert_eq!(default_bytes(None), 1 << 30);
    }
}
