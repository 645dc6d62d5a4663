//! Chunks: the memory that one thread writes records to, and that others may read at any time.
//!
//! The rules, which `tests/loom.rs` checks in all interleavings with few preemptions:
//! - only the owner appends; it publishes a record by storing its stream's new position (release), and a reader that loads
//!   the position (acquire) sees every record below it whole;
//! - a span is closed by storing its end in place, from any thread; each span is closed at most once;
//! - a chunk with open spans is *pinned*: whoever drops chunks must leave it alone, so that a close never writes to freed
//!   memory. The owner counts its closes without an atomic read-modify-write, other threads with one;
//! - a full chunk is sealed and linked to its successor. The link is taken (by one reader, under the registry's lock), not
//!   followed, so that an old chunk that somebody keeps does not keep all later ones.

use super::ThreadLog;
use super::record::{Slot, Words};
use super::slots::Slots;
use super::spool::SpoolSlot;
use crate::quiet::Quiet;
use crate::sync::{Arc, AtomicPtr, AtomicU32, Mutex, Ordering};
use std::ptr::{self, NonNull};

/// The slots of a thread's first chunk: 1 KiB, since many threads record little. Each further chunk has four times
/// as many as the one before, up to [`FULL`].
pub(crate) const FIRST: usize = if cfg!(loom) { 2 } else { 32 };
/// The slots of a full-grown chunk: 64 KiB.
pub(crate) const FULL: usize = if cfg!(loom) { 2 } else { 2048 };

/// The bytes of a full-grown chunk's slots.
pub(super) const CHUNK_BYTES: u64 = (FULL * size_of::<Words>()) as u64;

/// Full-grown chunks kept for the next recording when they are no longer needed: 16 MiB at most.
const SPARE_CHUNKS: usize = 256;

const NOT_SEALED: u32 = u32::MAX;

/// A run of slots that one thread writes. Aligned so that threads do not write to each other's cache lines; what recording needs
/// of it is in its first.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Chunk {
    /// How many slots may be used: all, or none more, so that its owner goes on to another one. Not the model checker's: it
    /// may be seen late.
    limit: std::sync::atomic::AtomicUsize,
    /// The position of the first slot in the thread's stream.
    base: u64,
    /// The thread that writes here.
    owner: Arc<ThreadLog>,
    /// Spans opened here that the owner closed.
    closed_by_owner: AtomicU32,
    /// Slots written, known once the chunk is sealed.
    filled: AtomicU32,
    slots: Slots,
    /// Spans opened here, known once the chunk is sealed.
    opened: AtomicU32,
    /// Spans opened here that other threads closed.
    closed_by_others: AtomicU32,
    /// The chunk that follows, until a reader takes it.
    next: AtomicPtr<Chunk>,
    spares: Arc<Spares>,
    /// Stands for the chunk's memory: read by whoever uses it, written by whoever frees it. Loom refuses an order of the two
    /// that the pin does not establish.
    #[cfg(loom)]
    memory: loom::cell::UnsafeCell<()>,
}

#[cfg(loom)]
#[expect(unsafe_code, reason = "loom's cell is not shared between threads unless told so")]
// SAFETY: `memory` holds nothing; accesses to it are what loom checks.
unsafe impl Sync for Chunk {}

impl Chunk {
    pub(super) fn new(spares: &Arc<Spares>, owner: &Arc<ThreadLog>, base: u64, slots: usize) -> Arc<Self> {
        let slots = spares.mapped_slots(owner, base).unwrap_or_else(|| spares.slots(slots));
        spares.taken.fetch_add(slots.memory_bytes(), Ordering::Relaxed);
        Arc::new(Self {
            limit: std::sync::atomic::AtomicUsize::new(slots.len()),
            slots,
            base,
            owner: Arc::clone(owner),
            filled: AtomicU32::new(NOT_SEALED),
            opened: AtomicU32::new(NOT_SEALED),
            closed_by_owner: AtomicU32::new(0),
            closed_by_others: AtomicU32::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
            spares: Arc::clone(spares),
            #[cfg(loom)]
            memory: loom::cell::UnsafeCell::new(()),
        })
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// How many slots may be used.
    #[inline]
    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Makes its owner go on to another chunk with its next record.
    pub(super) fn leave(&self) {
        self.limit.store(0, Ordering::Relaxed);
    }

    /// Whether its slots are those of a file.
    pub(super) fn is_mapped(&self) -> bool {
        self.slots.is_mapped()
    }

    pub(crate) fn memory_held(&self) -> usize {
        size_of_val(self) + self.slots.memory_bytes() as usize
    }

    /// The position after the last published slot.
    pub(crate) fn end(&self) -> u64 {
        // In this order: the owner moves past a chunk only after sealing it, so if it is not sealed now, the position
        // that was loaded before lies in it.
        let position = self.owner.position();
        match self.filled.load(Ordering::Acquire) {
            NOT_SEALED => position,
            filled => self.base + u64::from(filled),
        }
    }

    /// A published slot.
    pub(crate) fn read(&self, index: usize) -> Words {
        self.slots[index].read()
    }

    /// A slot that the owner is about to write. Owner only.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> &Slot {
        &self.slots[index]
    }

    /// Says that the slot at `index` will soon be written.
    #[inline(always)]
    pub(super) fn prepare(&self, index: usize) {
        self.slots.prepare(index);
    }

    /// Ends the writing of this chunk: it has `filled` slots, in which `opened` spans were begun, and `next` follows. Owner
    /// only, once.
    pub(super) fn seal(&self, filled: usize, opened: u32, next: Option<&Arc<Self>>) {
        if let Some(next) = next {
            self.next.store(Arc::into_raw(Arc::clone(next)).cast_mut(), Ordering::Release);
        }
        self.slots.seal(filled, opened);
        self.filled.store(filled as u32, Ordering::Release);
        self.opened.store(opened, Ordering::Release);
    }

    /// The chunk that follows, given out once. Under the registry's lock.
    #[expect(unsafe_code, reason = "takes over the reference that `seal` put in the link")]
    pub(super) fn take_next(&self) -> Option<Arc<Self>> {
        let next = self.next.load(Ordering::Acquire);
        if next.is_null() {
            return None;
        }
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: a pointer in the link came from `Arc::into_raw` in `seal`, which is called once. The lock makes this
        // the only taker, and the link is empty for the next, so that it is turned back once.
        Some(unsafe { Arc::from_raw(next) })
    }

    /// Whether its owner has gone on to the next one.
    pub(super) fn is_sealed(&self) -> bool {
        self.filled.load(Ordering::Acquire) != NOT_SEALED
    }

    /// Whether dropping the chunk would be wrong: its owner still writes it, or spans in it are open.
    pub(crate) fn is_pinned(&self) -> bool {
        let closed = self.closed_by_owner.load(Ordering::Acquire) + self.closed_by_others.load(Ordering::Acquire);
        self.opened.load(Ordering::Acquire) != closed
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let _quiet = Quiet::new();
        #[cfg(loom)]
        self.memory.with_mut(|_| ());
        drop(self.take_next());
        self.spares.freed.fetch_add(self.slots.memory_bytes(), Ordering::Relaxed);
        self.spares.put_back(std::mem::take(&mut self.slots));
    }
}

/// A span that has begun and not ended. It is closed by [`OpenSpan::close`], on any thread; if that never happens, its
/// chunk stays pinned.
#[derive(Debug)]
pub(crate) struct OpenSpan {
    chunk: NonNull<Chunk>,
    index: u32,
}

#[expect(unsafe_code, reason = "an open span is a pointer into a pinned chunk, and moves between threads")]
// SAFETY: the chunk it points to is shared by design: all its fields that change are atomics.
unsafe impl Send for OpenSpan {}
#[expect(unsafe_code, reason = "see above")]
// SAFETY: there is nothing to do with a shared reference but read the constant `position`.
unsafe impl Sync for OpenSpan {}

impl OpenSpan {
    /// The span whose record the owner of `chunk` has just published at `index`.
    #[inline]
    pub(super) fn new(chunk: &Arc<Chunk>, index: usize) -> Self {
        Self { chunk: NonNull::from(&**chunk), index: index as u32 }
    }

    /// The thread that opened the span, and the span's position in its stream.
    #[expect(unsafe_code, reason = "see `close`")]
    pub(crate) fn position(&self) -> (u32, u64) {
        // SAFETY: as in `close`.
        let chunk = unsafe { self.chunk.as_ref() };
        (chunk.owner.serial, chunk.base + u64::from(self.index))
    }

    /// Ends the span at `end` on the thread `closer`, which is [`ThreadLog::address`] or 0.
    #[inline]
    pub(crate) fn close(self, end: u64, closer: usize) {
        self.close_in(end, |chunk| closer == chunk.owner.address());
    }

    /// Ends the span at `end` on the thread that opened it. On another one, the count of what was closed may become too low,
    /// which keeps the chunk for good.
    #[inline]
    pub(crate) fn close_by_owner(self, end: u64) {
        self.close_in(end, |_| true);
    }

    #[inline]
    #[expect(
        unsafe_code,
        reason = "the pin, not a reference count, keeps the chunk alive: a count is two atomic read-modify-writes a span"
    )]
    fn close_in(self, end: u64, is_by_owner: impl FnOnce(&Chunk) -> bool) {
        // SAFETY: `new` was given a live chunk in which this span is open, and only this call, which consumes the span,
        // closes it. Until the close is counted the chunk is therefore pinned or still its owner's current one, and neither
        // is dropped. Counting it is the last access. It is not done in a function with a `&Chunk` argument, because an
        // argument has to stay valid until its function returns.
        let chunk = unsafe { self.chunk.as_ref() };
        #[cfg(loom)]
        chunk.memory.with(|_| ());
        let slot = &chunk.slots[self.index as usize];
        if is_by_owner(chunk) {
            slot.close(end);
            let closed = chunk.closed_by_owner.load(Ordering::Relaxed);
            chunk.closed_by_owner.store(closed + 1, Ordering::Release);
        } else {
            slot.close_elsewhere(end);
            chunk.closed_by_others.fetch_add(1, Ordering::Release);
        }
    }
}

/// The memory of chunks: how much there is, and slots of dropped ones, kept because memory that was used before is many times
/// cheaper than fresh memory.
#[derive(Debug)]
pub(crate) struct Spares {
    slots: Mutex<Vec<Slots>>,
    /// Bytes of all chunks that there ever were. Not the model checker's, as nothing is ordered by them.
    taken: std::sync::atomic::AtomicU64,
    /// Bytes of those that are gone.
    freed: std::sync::atomic::AtomicU64,
    /// Beyond this, a window may have passed its bound.
    mark: std::sync::atomic::AtomicU64,
    pub(super) spool: SpoolSlot,
}

fn bytes_of(slots: usize) -> u64 {
    (slots * size_of::<Slot>()) as u64
}

impl Spares {
    pub(crate) fn new() -> Arc<Self> {
        let [taken, freed, mark] = [0, 0, u64::MAX].map(std::sync::atomic::AtomicU64::new);
        Arc::new(Self { slots: Mutex::new(Vec::new()), taken, freed, mark, spool: SpoolSlot::default() })
    }

    /// Bytes of all chunks that there are.
    pub(super) fn held(&self) -> u64 {
        let freed = self.freed.load(Ordering::Relaxed);
        self.taken().saturating_sub(freed)
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn is_over_mark(&self) -> bool {
        self.held() > self.mark.load(Ordering::Relaxed)
    }

    /// By an eighth, or so much that each of many threads may have a chunk more.
    pub(super) fn is_far_over_mark(&self) -> bool {
        let mark = self.mark.load(Ordering::Relaxed);
        self.held() > mark.saturating_add((mark / 8).max(bytes_of(16 * FULL)))
    }

    /// Sets the mark `room` bytes above (below, if negative) the bytes that were held when [`Self::taken`] was `taken`.
    pub(super) fn set_mark(&self, room: i64, taken: u64) {
        let taken_since = i64::try_from(self.taken() - taken).unwrap_or(i64::MAX);
        let mark = self.held().saturating_add_signed(room.saturating_sub(taken_since));
        self.mark.store(mark, Ordering::Relaxed);
    }

    /// Lowers the mark to `room` bytes above the bytes that are held, unless it is lower.
    pub(super) fn lower_mark(&self, room: u64) {
        let mark = self.held().saturating_add(room);
        self.mark.fetch_min(mark, Ordering::Relaxed);
    }

    /// Never waits: a recording thread calls this. If the list is in use, fresh memory does.
    fn slots(&self, count: usize) -> Slots {
        let spare = if count == FULL { self.slots.try_lock().ok().and_then(|mut spares| spares.pop()) } else { None };
        spare.unwrap_or_else(|| Slots::own(count))
    }

    fn put_back(&self, slots: Slots) {
        if slots.are_reusable()
            && let Ok(mut spares) = self.slots.try_lock()
            && spares.len() < SPARE_CHUNKS
        {
            spares.push(slots);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_while_room_is_made_is_not_room() {
        let (spares, owner) = (Spares::new(), Arc::new(ThreadLog::new(1, 1, None)));
        let taken = spares.taken();
        let chunks: Vec<_> = (0..3).map(|_| Chunk::new(&spares, &owner, 0, FULL)).collect();
        spares.set_mark(bytes_of(4 * FULL) as i64, taken);
        let _fourth = Chunk::new(&spares, &owner, 0, FULL);
        assert!(!spares.is_over_mark());
        let fifth = Chunk::new(&spares, &owner, 0, FIRST);
        assert!(spares.is_over_mark());
        drop(fifth);
        assert!(!spares.is_over_mark());
        drop(chunks);
        assert_eq!(spares.held(), bytes_of(FULL));
    }

    /// Under Miri, any argument that refers to the chunk at the moment of the drop is an error.
    #[test]
    fn a_chunk_may_be_dropped_as_soon_as_its_last_span_is_closed() {
        let (spares, owner) = (Spares::new(), Arc::new(ThreadLog::new(1, 1, None)));
        for closer in [0, owner.address()] {
            let chunks: Vec<_> = (0..100).map(|_| Chunk::new(&spares, &owner, 0, 1)).collect();
            chunks.iter().for_each(|chunk| chunk.seal(1, 1, None));
            let spans: Vec<_> = chunks.iter().map(|chunk| OpenSpan::new(chunk, 0)).collect();
            std::thread::scope(|scope| {
                scope.spawn(|| spans.into_iter().for_each(|span| span.close(1, closer)));
                for chunk in chunks {
                    while chunk.is_pinned() {
                        std::thread::yield_now();
                    }
                }
            });
        }
        assert_eq!(spares.held(), 0);
    }
}
