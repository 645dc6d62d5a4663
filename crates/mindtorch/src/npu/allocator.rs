//! The caching allocator: what is freed is kept for the stream that used it, as torch keeps the memory of a GPU.
//!
//! Memory is reserved in segments, which are divided into pieces as they are asked for. A piece that is freed can be used
//! again at once by work of the same stream, which runs after all that used it before. The allocator deals in offsets and
//! touches no memory.

use super::cache::Cache;
use super::pieces::{Piece, PieceId, Pieces};
use super::runtime_call::RuntimeCall;
use super::segments::FreeRanges;
use super::stats::MemoryStats;
use super::stream::{StreamId, Streams};
use std::collections::{BTreeMap, VecDeque};

const MIB: u64 = 1 << 20;

/// Sizes are multiples of this.
const GRANULE: u64 = 512;
/// The most that the small pool gives.
const SMALL: u64 = MIB;
const SMALL_SEGMENT: u64 = 2 * MIB;
/// Allocations of the large pool below this share segments.
const SHARED: u64 = 10 * MIB;
const SHARED_SEGMENT: u64 = 20 * MIB;
/// Other segments are multiples of this.
const SEGMENT_GRANULE: u64 = 2 * MIB;
/// No device has so much, and sums of a few such numbers do not overflow.
const EXBIBYTE: u64 = 1 << 60;

/// Small and large allocations lie in different segments, so that a few small ones do not keep a large segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    Small,
    Large,
}

impl Pool {
    /// Whether a piece of which this would be left over is split.
    fn splits(self, left_over: u64) -> bool {
        match self {
            Self::Small => left_over >= GRANULE,
            Self::Large => left_over > SMALL,
        }
    }
}

/// An allocation that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    asked: u64,
    /// What was asked for, rounded up.
    bytes: u64,
    pool: Pool,
    /// The bytes to reserve if the cache has none.
    pub(super) segment: u64,
}

impl Request {
    /// `None` if it is more than any device has.
    pub(super) fn new(asked: u64) -> Option<Self> {
        if asked >= EXBIBYTE {
            return None;
        }
        let bytes = asked.max(1).next_multiple_of(GRANULE);
        let (pool, segment) = if bytes <= SMALL {
            (Pool::Small, SMALL_SEGMENT)
        } else if bytes < SHARED {
            (Pool::Large, SHARED_SEGMENT)
        } else {
            (Pool::Large, bytes.next_multiple_of(SEGMENT_GRANULE))
        };
        Some(Self { asked, bytes, pool, segment })
    }
}

/// Where something lies in an accelerator's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// Who has what of an accelerator's memory.
#[derive(Debug)]
pub(super) struct Allocator {
    unreserved: FreeRanges,
    pieces: Pieces,
    cache: Cache,
    /// Freed pieces that other streams still use, by stream: the jobs after which it does not, in order.
    awaiting: BTreeMap<StreamId, VecDeque<(u64, PieceId)>>,
    pub(super) stats: MemoryStats,
}

impl Allocator {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            unreserved: FreeRanges::new(capacity),
            pieces: Pieces::default(),
            cache: Cache::default(),
            awaiting: BTreeMap::new(),
            stats: MemoryStats::default(),
        }
    }

    /// A piece for work of this stream, from the cache or from a new segment. `None` if neither has room.
    pub(super) fn allocate(&mut self, request: Request, stream: StreamId, streams: &Streams) -> Option<PieceId> {
        self.reclaim(streams);
        let cached = self.cache.take(request.pool, stream, request.bytes);
        let id = cached.or_else(|| self.reserve(request, stream))?;
        self.cut_to_size(id, request.bytes);
        let piece = &mut self.pieces[id];
        piece.is_held = true;
        piece.requested = request.asked;
        self.stats.allocation.add(piece.pool, 1);
        self.stats.allocated_bytes.add(piece.pool, piece.bytes);
        self.stats.active.add(piece.pool, 1);
        self.stats.active_bytes.add(piece.pool, piece.bytes);
        self.stats.requested_bytes.add(piece.pool, piece.requested);
        Some(id)
    }

    pub(super) fn extent(&self, id: PieceId) -> Extent {
        let Piece { offset, bytes, .. } = self.pieces[id];
        Extent { offset, bytes }
    }

    /// Notes that another stream uses the piece: when it is freed, what that stream has to do by then is done first.
    pub(super) fn record_use(&mut self, id: PieceId, stream: StreamId) {
        let piece = &mut self.pieces[id];
        if stream != piece.stream && !piece.users.contains(&stream) {
            piece.users.push(stream);
        }
    }

    /// Takes back a piece that [`Self::allocate`] gave.
    pub(super) fn free(&mut self, id: PieceId, streams: &Streams) {
        let piece = &mut self.pieces[id];
        let users = std::mem::take(&mut piece.users);
        piece.is_held = false;
        piece.awaits = users.len();
        self.stats.allocation.subtract(piece.pool, 1);
        self.stats.allocated_bytes.subtract(piece.pool, piece.bytes);
        if users.is_empty() {
            return self.keep(id, streams);
        }
        for user in users {
            self.awaiting.entry(user).or_default().push_back((streams[user].submitted(), id));
        }
    }

    /// Releases the segments that are wholly free, except those that a stream may still work on.
    pub(super) fn release_cached(&mut self, streams: &Streams) -> Vec<Extent> {
        self.stats.num_sync_all_streams += 1;
        self.reclaim(streams);
        let is_idle = |piece: &Piece| streams[piece.stream].progress.has_reached(piece.idle_after);
        let mut whole: Vec<PieceId> = self.cache.iter().collect();
        whole.retain(|&id| !self.pieces[id].is_split() && is_idle(&self.pieces[id]));
        whole.into_iter().map(|id| self.release(id)).collect()
    }

    /// A new segment, as one piece.
    fn reserve(&mut self, request: Request, stream: StreamId) -> Option<PieceId> {
        let Request { segment, pool, .. } = request;
        let _call = RuntimeCall::Malloc.begin();
        let offset = self.unreserved.take(segment)?;
        self.stats.segment.add(pool, 1);
        self.stats.reserved_bytes.add(pool, segment);
        self.stats.num_device_alloc += 1;
        Some(self.pieces.add(Piece::segment(offset, segment, pool, stream)))
    }

    fn release(&mut self, id: PieceId) -> Extent {
        let extent = self.extent(id);
        let pool = self.pieces[id].pool;
        self.cache.remove(id, &self.pieces[id]);
        self.pieces.remove(id);
        self.unreserved.give_back(extent.offset, extent.bytes);
        self.stats.segment.subtract(pool, 1);
        self.stats.reserved_bytes.subtract(pool, extent.bytes);
        self.stats.num_device_free += 1;
        extent
    }

    /// Leaves in the cache what is not needed of a piece, if that is worth it.
    fn cut_to_size(&mut self, id: PieceId, bytes: u64) {
        let piece = &self.pieces[id];
        let (pool, whole, was_split) = (piece.pool, piece.bytes, piece.is_split());
        let is_split = pool.splits(whole - bytes);
        if is_split {
            let rest = self.pieces.split(id, bytes);
            self.cache.insert(rest, &self.pieces[rest]);
        }
        let inactive_before = if was_split { (1, whole) } else { (0, 0) };
        let inactive_after = if is_split { (1, whole - bytes) } else { (0, 0) };
        self.count_inactive(pool, inactive_before, inactive_after);
    }

    /// Puts a piece that nobody uses into the cache, as one with the free pieces beside it.
    fn keep(&mut self, id: PieceId, streams: &Streams) {
        let piece = &mut self.pieces[id];
        piece.idle_after = streams[piece.stream].submitted();
        let Piece { pool, bytes, requested, before, after, .. } = *piece;
        let (mut merged, mut absorbed) = (id, (0, 0));
        for neighbour in [before, after].into_iter().flatten() {
            if !self.pieces[neighbour].is_free() {
                continue;
            }
            absorbed = (absorbed.0 + 1, absorbed.1 + self.pieces[neighbour].bytes);
            self.cache.remove(neighbour, &self.pieces[neighbour]);
            let (first, second) = if Some(neighbour) == before { (neighbour, merged) } else { (merged, neighbour) };
            self.pieces.merge(first, second);
            merged = first;
        }
        let piece = &self.pieces[merged];
        self.cache.insert(merged, piece);
        let inactive = if piece.is_split() { (1, piece.bytes) } else { (0, 0) };
        self.count_inactive(pool, absorbed, inactive);
        self.stats.active.subtract(pool, 1);
        self.stats.active_bytes.subtract(pool, bytes);
        self.stats.requested_bytes.subtract(pool, requested);
    }

    /// Puts the pieces into the cache that no stream uses any more.
    fn reclaim(&mut self, streams: &Streams) {
        let mut unused = Vec::new();
        self.awaiting.retain(|&stream, pieces| {
            let is_done = |(jobs, _): &mut (u64, PieceId)| streams[stream].progress.has_reached(*jobs);
            unused.extend(std::iter::from_fn(|| pieces.pop_front_if(is_done)).map(|(_, id)| id));
            !pieces.is_empty()
        });
        for id in unused {
            self.pieces[id].awaits -= 1;
            if self.pieces[id].is_free() {
                self.keep(id, streams);
            }
        }
    }

    /// Some pieces of a segment that is in use became others: how many they were and are, with their bytes.
    fn count_inactive(&mut self, pool: Pool, before: (u64, u64), after: (u64, u64)) {
        self.stats.inactive_split.change(pool, after.0.cast_signed() - before.0.cast_signed());
        self.stats.inactive_split_bytes.change(pool, after.1.cast_signed() - before.1.cast_signed());
    }
}
