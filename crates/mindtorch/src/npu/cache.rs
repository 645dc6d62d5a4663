//! The cache: free pieces, each kept for its stream, found by size.

use super::allocator::Pool;
use super::pieces::{Piece, PieceId};
use super::stream::StreamId;
use std::collections::BTreeSet;

/// In the order in which they are searched: those of a stream together, the smallest first, and of those the first in
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    stream: StreamId,
    bytes: u64,
    offset: u64,
    id: PieceId,
}

impl Entry {
    fn new(id: PieceId, piece: &Piece) -> Self {
        Self { stream: piece.stream, bytes: piece.bytes, offset: piece.offset, id }
    }
}

/// The free pieces of an accelerator.
#[derive(Debug, Default)]
pub(super) struct Cache {
    small: BTreeSet<Entry>,
    large: BTreeSet<Entry>,
}

impl Cache {
    pub(super) fn insert(&mut self, id: PieceId, piece: &Piece) {
        self.pool(piece.pool).insert(Entry::new(id, piece));
    }

    /// Removes a piece, which is as it was when it was inserted.
    pub(super) fn remove(&mut self, id: PieceId, piece: &Piece) {
        self.pool(piece.pool).remove(&Entry::new(id, piece));
    }

    /// Removes and gives the smallest piece of the stream that has so many bytes.
    pub(super) fn take(&mut self, pool: Pool, stream: StreamId, bytes: u64) -> Option<PieceId> {
        let pieces = self.pool(pool);
        let least = Entry { stream, bytes, offset: 0, id: PieceId::FIRST };
        let found = *pieces.range(least..).next().filter(|entry| entry.stream == stream)?;
        pieces.remove(&found);
        Some(found.id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = PieceId> {
        self.small.iter().chain(&self.large).map(|entry| entry.id)
    }

    fn pool(&mut self, pool: Pool) -> &mut BTreeSet<Entry> {
        match pool {
            Pool::Small => &mut self.small,
            Pool::Large => &mut self.large,
        }
    }
}
