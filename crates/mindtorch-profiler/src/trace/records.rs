//! Walking the records of a window.

use crate::capture::Capture;
use crate::recorder::{Chunk, Head, LoadedChunk, Piece, Stream, Words};
use crate::session::Edge;

/// Calls `found` with the position, the capture in force, and the slots of each record of the stream that the window
/// collects. Gives the number of slots that were moved to a file and cannot be read.
#[inline]
pub(super) fn for_each_record(
    stream: &Stream,
    edges: &[Edge],
    mut found: impl FnMut(u64, Capture, Head, Words, Option<Words>),
) -> u64 {
    let serial = stream.log.serial;
    let mut later = edges.iter().map(|edge| (edge.cut.position(serial), edge.capture)).peekable();
    let mut capture = Capture::NONE;
    let mut unreadable = 0;
    for piece in &stream.pieces {
        let base = piece.base();
        let mut index = stream.from.saturating_sub(base) as usize;
        let end = stream.to.min(piece.end()).saturating_sub(base) as usize;
        let slots = match piece {
            Piece::Resident(chunk) => Slots::Chunk(chunk),
            Piece::Loaded(chunk) => Slots::Loaded(chunk),
            Piece::Stored(chunk) => match chunk.read() {
                Ok(words) => Slots::Copied(words),
                Err(_) => {
                    unreadable += end.saturating_sub(index) as u64;
                    continue;
                }
            },
        };
        while index < end {
            while let Some((_, changed)) = later.next_if(|&(from, _)| from <= base + index as u64) {
                capture = changed;
            }
            // A cut lies between records, never between the slots of one.
            let until = later.peek().map_or(end, |&(from, _)| end.min((from - base) as usize));
            while index < until {
                let position = base + index as u64;
                let words = slots.read(index);
                let head = Head::unpack(words[2]);
                index += 1;
                let second = head.is_detailed().then(|| slots.read(index));
                index += usize::from(second.is_some());
                if capture.contains(head.kind.needs()) {
                    found(position, capture, head, words, second);
                }
            }
        }
    }
    unreadable
}

/// The slots of a piece of a stream.
enum Slots<'a> {
    Chunk(&'a Chunk),
    Copied(Vec<Words>),
    Loaded(&'a LoadedChunk),
}

impl Slots<'_> {
    #[inline]
    fn read(&self, index: usize) -> Words {
        match self {
            Self::Chunk(chunk) => chunk.read(index),
            Self::Copied(words) => words[index],
            Self::Loaded(chunk) => chunk.read(index),
        }
    }
}
