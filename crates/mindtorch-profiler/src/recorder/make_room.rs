//! Brings windows within their bounds.
//!
//! A thread that has filled a chunk adds it to what the recorder holds. Only if that passes a mark, which is set so that no
//! window can have passed its bound before, the thread looks at the windows. One thread does so at a time: the one that has
//! the [`Turn`]. It chooses under the registry's lock what has to go, reads and writes files without the lock, and enters the
//! results under the lock. A thread that needs the registry therefore never waits for a disk. A thread that fills a chunk
//! waits for the thread that has the turn only if the recorder holds much more than it may.

use super::chunk::Chunk;
use super::registry::Registry;
use super::ring::{StoredEvents, Uncounted};
use super::stored::{Piece, StoredChunk};
use super::window::{Cut, Window, WindowId};
use super::{Recorder, WhenFull};
use crate::capture::Capture;
use crate::spool::SpillFile;
use crate::sync::{Arc, Mutex};
use std::path::PathBuf;
use std::sync::{PoisonError, TryLockError};

/// The right to make room: a lock that is taken without the registry's, never after it. Fork handlers leave it alone, so that
/// `fork` does not wait for a disk. A forked child, in which the thread that has the turn does not exist, gets a new one.
#[derive(Clone, Debug)]
pub(super) struct Turn(Arc<Mutex<()>>);

impl Default for Turn {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(())))
    }
}

/// The number of chunks that are written before they are replaced in the registry and their memory is freed.
const BATCH: usize = if cfg!(loom) { 1 } else { 64 };

/// The part of shrinking a window that needs files, and is done without the registry's lock.
enum FileWork {
    Spill(Spill),
    /// Count the events of these stored pieces, which the window is about to drop.
    Count(Vec<Uncounted>),
}

/// Chunks to write to a file.
struct Spill {
    /// The file, if the window has one already.
    file: Option<SpillFile>,
    /// Where the file may be made.
    directories: Vec<PathBuf>,
    /// The memory in bytes that the window has taken, and that it may take.
    bytes: (u64, u64),
    /// The oldest first, with the serial numbers of their threads.
    chunks: Vec<(u32, Arc<Chunk>)>,
}

impl Recorder {
    /// Brings all windows within their bounds. Threads that record do not wait for each other here, unless there is much
    /// more than there may be: then they wait for the one that is making room.
    #[cold]
    pub(super) fn make_room(&self) {
        let spares = self.spares();
        let waits = spares.is_far_over_mark();
        let registry = if waits { Some(self.lock()) } else { self.try_lock() };
        // The registry is unlocked before this thread waits for its turn.
        let Some(Turn(turn)) = registry.map(|registry| registry.turn.clone()) else { return };
        let turn = if waits {
            Some(turn.lock().unwrap_or_else(PoisonError::into_inner))
        } else {
            match turn.try_lock() {
                Ok(turn) => Some(turn),
                Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        };
        if turn.is_none() || !spares.is_over_mark() {
            // Another thread is making room, or has made it meanwhile.
            return;
        }
        let before = spares.taken();
        let windows: Vec<WindowId> = self.lock().windows.iter().map(|window| WindowId(window.id)).collect();
        for window in windows {
            self.shrink(window);
        }
        let mut registry = self.lock();
        let taken = spares.taken();
        // Chunks that other threads took meanwhile are not room any more.
        let room = registry.room(taken - before);
        self.publish(registry.capture());
        let unneeded = registry.prune();
        drop(unneeded);
        spares.set_mark(room, taken);
    }

    /// Brings a window within its bound, or ends it.
    fn shrink(&self, window: WindowId) {
        let work = self.lock().begin_shrink(window, |registry| self.cut(registry));
        match work {
            Some(FileWork::Spill(spill)) => {
                if let Err(why) = self.spill(window, spill) {
                    let mut registry = self.lock();
                    let cut = self.cut(&registry);
                    registry.stop(window, cut, &why);
                }
            }
            Some(FileWork::Count(uncounted)) => {
                let stored = StoredEvents::count(&uncounted);
                self.lock().forget_excess(window, &stored);
            }
            None => {}
        }
    }

    /// Writes chunks to the file of a window. A chunk is in memory for all readers until it is replaced in the registry.
    fn spill(&self, window: WindowId, spill: Spill) -> Result<(), String> {
        if spill.chunks.is_empty() {
            return Ok(());
        }
        let file = match spill.file {
            Some(file) => file,
            None => SpillFile::on_disk(&spill.directories).map_err(|why| {
                let (bytes, max_bytes) = spill.bytes;
                format!("it has taken {bytes} bytes, of {max_bytes} that it may, and cannot spill: {why}")
            })?,
        };
        let mut chunks = spill.chunks.into_iter();
        loop {
            let batch: Vec<_> = chunks.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let (mut stored, mut failure) = (Vec::with_capacity(batch.len()), None);
            for (_, chunk) in &batch {
                match StoredChunk::store(chunk, &file) {
                    Ok(chunk) => stored.push(Arc::new(chunk)),
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
            let is_known = self.lock().replace(window, &file, batch.iter().zip(stored));
            if let Some(error) = failure {
                return Err(format!("cannot write to the file that it spills to: {error}"));
            }
            if !is_known {
                // The window was released.
                return Ok(());
            }
        }
    }
}

impl Registry {
    /// Shrinks a window that has passed its bound, as far as that needs no file, and returns the work with files that is left.
    fn begin_shrink(&mut self, window: WindowId, cut: impl Fn(&Self) -> Cut) -> Option<FileWork> {
        self.take_successors();
        let at = self.window(window)?;
        let bytes = self.resident_bytes(at);
        let Window { bound, to, .. } = &self.windows[at];
        // One that is over does not grow.
        if to.is_some() || bytes <= bound.max_bytes {
            return None;
        }
        match bound.when_full {
            WhenFull::Spill => {
                let (file, directories, max_bytes) = (bound.file.clone(), bound.directories.clone(), bound.max_bytes);
                let chunks = self.to_spill(at, bytes - max_bytes + bound.slack());
                Some(FileWork::Spill(Spill { file, directories, bytes: (bytes, max_bytes), chunks }))
            }
            WhenFull::Ring => {
                let uncounted = self.uncounted(at, bytes - bound.max_bytes + bound.slack());
                if uncounted.is_empty() {
                    self.forget_excess(window, &StoredEvents::default());
                    return None;
                }
                Some(FileWork::Count(uncounted))
            }
            WhenFull::Stop => {
                let why = format!("it has taken {bytes} bytes, of {} that it may", bound.max_bytes);
                let cut = cut(self);
                self.stop(window, cut, &why);
                None
            }
        }
    }

    /// Returns the oldest chunks of a window that may leave memory, with the serial numbers of their threads: at least `excess`
    /// bytes, if there are as many. None of them changes any more.
    fn to_spill(&self, window: usize, excess: u64) -> Vec<(u32, Arc<Chunk>)> {
        let (mut chunks, mut bytes) = (Vec::new(), 0);
        for candidate in self.candidates(window) {
            if bytes >= excess {
                break;
            }
            let thread = &self.threads[candidate.thread];
            let Piece::Resident(chunk) = &thread.pieces[candidate.piece] else { continue };
            if !chunk.is_pinned() && !chunk.is_mapped() {
                chunks.push((thread.log.serial, Arc::clone(chunk)));
                bytes += candidate.bytes;
            }
        }
        chunks
    }

    /// Puts stored chunks in the place of those in memory, for all windows. Returns whether the window that they were stored
    /// for is still known.
    fn replace<'a>(
        &mut self,
        window: WindowId,
        file: &SpillFile,
        chunks: impl Iterator<Item = (&'a (u32, Arc<Chunk>), Arc<StoredChunk>)>,
    ) -> bool {
        let mut has_stored = false;
        for ((serial, chunk), stored) in chunks {
            has_stored = true;
            let Ok(thread) = self.threads.binary_search_by_key(serial, |thread| thread.log.serial) else { continue };
            let thread = &mut self.threads[thread];
            // Its owner may have gone on. One that is not pinned has its link: it is stored first.
            thread.take_successors();
            // Chunks without a record have the position of the next.
            let first = thread.pieces.partition_point(|piece| piece.base() < chunk.base());
            let mut pieces = thread.pieces.range_mut(first..).take_while(|piece| piece.base() == chunk.base());
            // It is not there if no window needs it any more.
            if let Some(piece) = pieces.find(|piece| piece.resident().is_some_and(|known| Arc::ptr_eq(known, chunk))) {
                *piece = Piece::Stored(stored);
            }
        }
        let Some(at) = self.window(window) else { return false };
        let window = &mut self.windows[at];
        window.bound.file.get_or_insert_with(|| file.clone());
        window.has_spilled |= has_stored;
        true
    }

    /// Drops the oldest parts of a ring that has passed its bound and has not ended.
    fn forget_excess(&mut self, window: WindowId, stored: &StoredEvents) {
        self.take_successors();
        let Some(at) = self.window(window) else { return };
        let bytes = self.resident_bytes(at);
        let Window { bound, to, .. } = &self.windows[at];
        if to.is_none() && bytes > bound.max_bytes {
            let excess = bytes - bound.max_bytes + bound.slack();
            self.forget(at, excess, stored);
        }
    }

    /// Ends a window before its session ends, unless that has ended already.
    fn stop(&mut self, window: WindowId, cut: Cut, why: &str) {
        if let Some(at) = self.window(window)
            && self.windows[at].to.is_none()
        {
            let window = &mut self.windows[at];
            window.capture = Capture::NONE;
            window.to = Some(Arc::new(cut));
            window.losses.stopped = Some(why.into());
        }
    }

    /// Returns how many bytes more the recorder may hold before a window passes its bound. `added` bytes were taken while room
    /// was made: the next time comes that much sooner where a window is at its bound. The result is negative if other threads took
    /// more than that. Were it 0, the mark would rise with each write, and memory with it.
    fn room(&mut self, added: u64) -> i64 {
        self.take_successors();
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut room = i64::MAX;
        for at in 0..self.windows.len() {
            // One that is over does not grow.
            if self.windows[at].to.is_some() {
                continue;
            }
            let bytes = self.resident_bytes(at);
            let Self { threads, windows, .. } = self;
            let Window { bound, floors, .. } = &mut windows[at];
            let left = signed(bound.max_bytes) - signed(bytes);
            room = room.min(left.max(signed(bound.slack()) - signed(added)));
            // Threads that are gone have left nothing.
            let is_known = |serial: u32| threads.binary_search_by_key(&serial, |thread| thread.log.serial).is_ok();
            floors.retain(|&serial, _| is_known(serial));
        }
        room
    }
}
