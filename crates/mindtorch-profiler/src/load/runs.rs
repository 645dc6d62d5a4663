//! Arguments that are looked at together, and once for all events that have the same: their text is their name.

use super::event::Argument;
use smallvec::SmallVec;
use std::ops::Range;

/// The text of some of an event's arguments: pieces of its text, of which neighbours are one.
#[derive(Debug, Default)]
pub(super) struct Run {
    pieces: SmallVec<[Range<usize>; 4]>,
    /// The place of the last one among the arguments.
    last: usize,
    joined: Vec<u8>,
}

impl Run {
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Adds the argument at `place`. They come in order.
    #[inline]
    pub(super) fn add(&mut self, place: usize, argument: &Argument) {
        match self.pieces.last_mut() {
            Some(piece) if self.last + 1 == place => piece.end = argument.value.end,
            _ => self.pieces.push(argument.start..argument.value.end),
        }
        self.last = place;
    }

    /// Whether it is this argument and nothing else.
    pub(super) fn is_one(&self, argument: &Argument) -> bool {
        matches!(&self.pieces[..], [piece] if *piece == (argument.start..argument.value.end))
    }

    /// The arguments as members of an object.
    #[inline]
    pub(super) fn text<'a>(&'a mut self, text: &'a [u8]) -> &'a [u8] {
        match &self.pieces[..] {
            [] => &[],
            [piece] => &text[piece.clone()],
            pieces => {
                self.joined.clear();
                for piece in pieces {
                    if !self.joined.is_empty() {
                        self.joined.push(b',');
                    }
                    self.joined.extend_from_slice(&text[piece.clone()]);
                }
                &self.joined
            }
        }
    }
}
