//! Pieces: the parts that segments are divided into, each free or in use, linked to the ones before and after it.

use super::allocator::Pool;
use super::stream::StreamId;
use smallvec::SmallVec;
use std::ops::{Index, IndexMut};

/// Names a piece. When the piece is gone, another gets its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PieceId(u32);

impl PieceId {
    /// Less than every other.
    pub(super) const FIRST: Self = Self(0);
}

/// A part of a segment.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) pool: Pool,
    /// The stream whose work may use it.
    pub(super) stream: StreamId,
    pub(super) before: Option<PieceId>,
    pub(super) after: Option<PieceId>,
    pub(super) is_held: bool,
    /// The bytes that its holder asked for.
    pub(super) requested: u64,
    /// The other streams that its holder uses it on.
    pub(super) users: SmallVec<[StreamId; 2]>,
    /// How many of them it waits for since it was freed.
    pub(super) awaits: usize,
    /// The jobs of its stream after which nothing works on it, if it is free.
    pub(super) idle_after: u64,
}

impl Piece {
    /// A free piece that is a whole segment.
    pub(super) fn segment(offset: u64, bytes: u64, pool: Pool, stream: StreamId) -> Self {
        Self {
            offset,
            bytes,
            pool,
            stream,
            before: None,
            after: None,
            is_held: false,
            requested: 0,
            users: SmallVec::new(),
            awaits: 0,
            idle_after: 0,
        }
    }

    pub(super) fn is_free(&self) -> bool {
        !self.is_held && self.awaits == 0
    }

    /// Whether its segment has other pieces.
    pub(super) fn is_split(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }
}

/// All pieces of an accelerator's memory.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pieces: Vec<Piece>,
    unused: Vec<PieceId>,
}

impl Pieces {
    pub(super) fn add(&mut self, piece: Piece) -> PieceId {
        if let Some(id) = self.unused.pop() {
            self[id] = piece;
            return id;
        }
        let id = PieceId(u32::try_from(self.pieces.len()).expect("fewer than four billion blocks"));
        self.pieces.push(piece);
        id
    }

    pub(super) fn remove(&mut self, id: PieceId) {
        self.unused.push(id);
    }

    /// Cuts what is beyond `bytes` off a free piece, and gives that.
    pub(super) fn split(&mut self, id: PieceId, bytes: u64) -> PieceId {
        let first = &mut self[id];
        let mut rest = Piece::segment(first.offset + bytes, first.bytes - bytes, first.pool, first.stream);
        rest.idle_after = first.idle_after;
        rest.before = Some(id);
        rest.after = first.after;
        first.bytes = bytes;
        let after = first.after;
        let rest = self.add(rest);
        self[id].after = Some(rest);
        if let Some(after) = after {
            self[after].before = Some(rest);
        }
        rest
    }

    /// Makes one piece of two free neighbours. The second is gone.
    pub(super) fn merge(&mut self, first: PieceId, second: PieceId) {
        let Piece { bytes, after, idle_after, .. } = self[second];
        let merged = &mut self[first];
        merged.bytes += bytes;
        merged.after = after;
        merged.idle_after = merged.idle_after.max(idle_after);
        if let Some(after) = after {
            self[after].before = Some(first);
        }
        self.remove(second);
    }
}

impl Index<PieceId> for Pieces {
    type Output = Piece;

    fn index(&self, id: PieceId) -> &Piece {
        &self.pieces[id.0 as usize]
    }
}

impl IndexMut<PieceId> for Pieces {
    fn index_mut(&mut self, id: PieceId) -> &mut Piece {
        &mut self.pieces[id.0 as usize]
    }
}
