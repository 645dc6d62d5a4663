//! The reading end of the records file: blocks, as far as they can be trusted.

use super::checksum;
use super::contents::{BlockState, SpoolBlock};
use super::damage::{BlockDamage, Damage};
use super::error::{SpoolError, SpoolFault};
use super::layout::{
    BLOCK_SLOTS, EXTENT_BLOCKS, HEAD_BYTES, HEAD_WORDS, PIECE, SLOT_BYTES, SpoolFile, extent_at, head,
};
use crate::error::Error;
use crate::recorder::{Head, Words};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// So many extents in a row without a block are taken for the end: a file may claim to be of any size, and to look at all
/// of it might take for ever. A whole file has at most one such extent.
const MOST_EMPTY: u64 = 1024;

/// Reads the blocks of a records file in the order of the file.
pub(super) fn read_records(file: &File, path: &Path, damage: &mut Damage) -> Result<Vec<SpoolBlock>, Error> {
    RecordsReader { file, path, piece: vec![0; PIECE], damage, blocks: Vec::new() }.read()
}

struct RecordsReader<'a> {
    file: &'a File,
    path: &'a Path,
    piece: Vec<u8>,
    damage: &'a mut Damage,
    blocks: Vec<SpoolBlock>,
}

/// What the header of a block says, once it is known to be one.
#[derive(Clone, Copy)]
struct BlockHead {
    owner: u64,
    base: u64,
    counts: u64,
    checksum: u64,
    state: u64,
}

impl BlockHead {
    fn serial(self) -> u32 {
        self.owner as u32
    }

    fn capacity(self) -> usize {
        (self.owner >> 32) as usize
    }

    fn filled(self) -> usize {
        self.counts as u32 as usize
    }
}

enum Found {
    Nothing,
    Head(BlockHead),
    Unreadable,
}

impl RecordsReader<'_> {
    fn read(mut self) -> Result<Vec<SpoolBlock>, Error> {
        self.check_header()?;
        let length = self.file.metadata().map_err(|error| Error::file("read", self.path, error))?.len();
        let mut empty = 0;
        for number in 0.. {
            let Some(offset) = extent_at(number).filter(|&offset| offset < length) else { break };
            let found = self.read_extent(offset)?;
            empty = if found { 0 } else { empty + 1 };
            if empty > MOST_EMPTY {
                self.damage.records_unread = Some(offset);
                break;
            }
        }
        Ok(self.blocks)
    }

    fn check_header(&mut self) -> Result<(), Error> {
        let mut header = [0; SpoolFile::HEADER_BYTES];
        let read = self.read_at(SpoolFile::HEADER_BYTES, 0)?;
        let error = |offset, fault| Error::Spool(SpoolError::new(self.path, offset, fault));
        if read < header.len() {
            return Err(error(read as u64, SpoolFault::NoHeader));
        }
        header.copy_from_slice(&self.piece[..SpoolFile::HEADER_BYTES]);
        SpoolFile::Records.check(&header).map_err(|(offset, fault)| error(offset, fault))
    }

    /// Reads the blocks of the extent at `extent`, and says whether there are any.
    fn read_extent(&mut self, extent: u64) -> Result<bool, Error> {
        self.read_at(EXTENT_BLOCKS * HEAD_BYTES, extent)?;
        let heads = std::array::from_fn::<Found, EXTENT_BLOCKS, _>(|number| {
            Found::of(&self.piece[number * HEAD_BYTES..][..HEAD_BYTES])
        });
        let mut is_any = false;
        for (number, found) in heads.into_iter().enumerate() {
            let head = match found {
                Found::Nothing => continue,
                Found::Head(head) => head,
                Found::Unreadable => {
                    self.damage.lost_headers.push(extent + (number * HEAD_BYTES) as u64);
                    is_any = true;
                    continue;
                }
            };
            is_any = true;
            self.read_block(head, extent + ((1 + number) * PIECE) as u64)?;
        }
        Ok(is_any)
    }

    fn read_block(&mut self, head: BlockHead, offset: u64) -> Result<(), Error> {
        let bytes = self.read_at(PIECE, offset)?;
        let is_cut = bytes < head.capacity() * SLOT_BYTES;
        let mut slots = words_of(&self.piece[..bytes.min(head.capacity() * SLOT_BYTES)]);
        let is_open = head.state == 0;
        let written = if is_open { written(&slots) } else { head.filled().min(head.capacity()) };
        if !is_open {
            slots.truncate(written);
        }
        let readable = readable(&slots);
        let state = if is_open {
            BlockState::Open
        } else if readable == head.filled() && is_sealed(head, &slots) {
            BlockState::Sealed
        } else {
            BlockState::Damaged
        };
        slots.truncate(readable);
        // What was being written when a process was killed is a record without a head, and its second slot.
        let unreadable = written.saturating_sub(readable);
        let is_broken = if is_open { is_cut || unreadable > 2 } else { state == BlockState::Damaged };
        if is_broken {
            self.damage.blocks.push(BlockDamage {
                serial: head.serial(),
                base: head.base,
                offset,
                kept: readable as u32,
                unreadable: unreadable as u32,
            });
        }
        if readable > 0 {
            slots.shrink_to_fit();
            self.blocks.push(SpoolBlock { serial: head.serial(), base: head.base, slots, state, offset });
        }
        Ok(())
    }

    /// Reads so many bytes into the buffer. What lies beyond the end of the file reads as zeros. Returns how many there are.
    fn read_at(&mut self, bytes: usize, offset: u64) -> Result<usize, Error> {
        let buffer = &mut self.piece[..bytes];
        let mut filled = 0;
        while filled < bytes {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::file("read", self.path, error)),
            }
        }
        buffer[filled..].fill(0);
        Ok(filled)
    }
}

impl Found {
    fn of(bytes: &[u8]) -> Self {
        let mut words = [0; HEAD_WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        let head = BlockHead {
            owner: words[head::OWNER],
            base: words[head::BASE],
            counts: words[head::FILLED],
            checksum: words[head::SLOTS],
            state: words[head::STATE],
        };
        let is_right = words[head::CHECK] == checksum::of_head(head.owner, head.base) || cfg!(fuzzing);
        // No stream gets so far; then no position of the block is beyond all numbers.
        let can_be = (1..=BLOCK_SLOTS).contains(&head.capacity()) && head.base <= u64::MAX / 2;
        match words[head::MAGIC] {
            0 => Self::Nothing,
            head::BEGUN if is_right && can_be => Self::Head(head),
            _ => Self::Unreadable,
        }
    }
}

fn is_sealed(head: BlockHead, slots: &[Words]) -> bool {
    let sum = || checksum::of_slots(head.owner, head.base, head.counts, slots.iter().copied());
    head.state == head::SEALED && (cfg!(fuzzing) || sum() == head.checksum)
}

/// The slots of an open block up to the last one that has anything in it. A second slot may have nothing.
fn written(slots: &[Words]) -> usize {
    slots.iter().rposition(|words| *words != Words::default()).map_or(0, |last| last + 1)
}

/// The slots that are records, up to the first that cannot be one.
fn readable(slots: &[Words]) -> usize {
    let mut index = 0;
    while let Some(length) = slots.get(index).and_then(|words| record_length(words[2])) {
        if index + length > slots.len() {
            break;
        }
        index += length;
    }
    index
}

/// How many slots a record with this head has; `None` if there is no such record.
pub fn record_length(word: u64) -> Option<usize> {
    const FLAGS: u64 = Head::DETAILED | Head::CLOSED_ELSEWHERE | Head::SITE_ONLY | Head::NUMBERED | Head::SCRIPT;
    let head = Head::unpack(word);
    // What is no kind is unpacked as one that it is not.
    let is_kind = head.kind as u8 == word as u8;
    // Work of a device always has a second slot.
    let is_whole = head.is_detailed() || !head.kind.is_device();
    (is_kind && is_whole && head.flags & !FLAGS == 0).then(|| 1 + usize::from(head.is_detailed()))
}

/// A head for each kind of record, without and with a second slot where the kind has both. For fuzzing.
pub fn record_heads() -> impl Iterator<Item = u64> {
    let words =
        (0..=u64::from(u8::MAX)).flat_map(|kind| [0, Head::DETAILED].map(|flags| kind | flags << Head::FLAGS_AT));
    words.filter(|&word| record_length(word).is_some())
}

/// The slots that some bytes are. One that is not whole is left out.
pub(super) fn words_of(bytes: &[u8]) -> Vec<Words> {
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    let (words, _) = bytes.as_chunks::<8>();
    words.as_chunks::<4>().0.iter().map(|slot| slot.each_ref().map(word)).collect()
}
