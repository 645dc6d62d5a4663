//! Where things are in the two files, and what both begin with.

use super::error::SpoolFault;

/// The version of everything in both files: headers, entries, blocks, and the words of a record
/// (`recorder/record.rs`). Whoever changes any of it counts up, so that no file is ever misread.
pub const VERSION: u32 = 3;

/// Session directories begin with this.
pub(super) const PREFIX: &str = "mindtorch-";

/// The words of a slot.
pub(super) const SLOT_WORDS: usize = 4;
/// The bytes of a slot.
pub const SLOT_BYTES: usize = SLOT_WORDS * size_of::<u64>();
/// The slots of a block: those of a full-grown chunk.
pub const BLOCK_SLOTS: usize = 2048;

/// What the records file is divided into: a piece holds the slots of a block. No system has larger pages, so that whatever
/// begins with a piece can be mapped.
pub const PIECE: usize = BLOCK_SLOTS * SLOT_BYTES;
/// The blocks of an extent.
pub(super) const EXTENT_BLOCKS: usize = 16;
/// An extent is a piece with the headers of its blocks, then the blocks. The file grows by extents and is mapped by
/// extents: processes may have some tens of thousands of mappings, and a long recording has more blocks than that.
pub(super) const EXTENT_BYTES: usize = (1 + EXTENT_BLOCKS) * PIECE;
/// The words of a block's header.
pub(super) const HEAD_WORDS: usize = 8;
/// The bytes of a block's header.
pub const HEAD_BYTES: usize = HEAD_WORDS * size_of::<u64>();

/// Where extent `number` begins in the file. The file's own header has the first piece to itself.
pub(super) fn extent_at(number: u64) -> Option<u64> {
    number.checked_mul(EXTENT_BYTES as u64)?.checked_add(PIECE as u64)
}

/// The words of a block's header. `MAGIC` is stored last when a block begins, and `STATE` last when it is sealed. Whoever reads
/// the file of a running process, from its front, so sees either with all that belongs to it.
pub(super) mod head {
    /// [`BEGUN`] if the block is in use.
    pub(in super::super) const MAGIC: usize = 0;
    /// The serial number of the thread in the lower half, the slots that it may fill in the upper.
    pub(in super::super) const OWNER: usize = 1;
    /// The position of the first slot in the thread's stream.
    pub(in super::super) const BASE: usize = 2;
    /// The checksum of the two words above.
    pub(in super::super) const CHECK: usize = 3;
    /// 0, then [`SEALED`].
    pub(in super::super) const STATE: usize = 4;
    /// The slots that were filled in the lower half, the spans that were opened in the upper.
    pub(in super::super) const FILLED: usize = 5;
    /// The checksum of the slots, the owner, the base and the word above.
    pub(in super::super) const SLOTS: usize = 6;

    pub(in super::super) const BEGUN: u64 = u64::from_be_bytes(*b"mt.block");
    pub(in super::super) const SEALED: u64 = u64::from_be_bytes(*b"mtsealed");
}

/// One of a session's two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpoolFile {
    Log,
    Records,
}

/// Reads as another number where bytes are in another order.
const ORDER: u32 = 0x0102_0304;
const MAGIC_BYTES: usize = 8;

impl SpoolFile {
    /// The bytes of a file's header: what it is, the version, the order of bytes. The rest of both files is in the order of
    /// the machine that wrote it, since a mapped record is written as it is.
    pub(super) const HEADER_BYTES: usize = MAGIC_BYTES + 2 * size_of::<u32>();

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Records => "records",
        }
    }

    fn magic(self) -> &'static [u8; MAGIC_BYTES] {
        match self {
            Self::Log => b"mt\rlog\n\x1a",
            Self::Records => b"mt\rrec\n\x1a",
        }
    }

    pub(super) fn header(self) -> [u8; Self::HEADER_BYTES] {
        let mut header = [0; Self::HEADER_BYTES];
        header[..MAGIC_BYTES].copy_from_slice(self.magic());
        header[MAGIC_BYTES..][..4].copy_from_slice(&VERSION.to_ne_bytes());
        header[MAGIC_BYTES + 4..].copy_from_slice(&ORDER.to_ne_bytes());
        header
    }

    /// Whether a file with this header can be read; else at which byte it is found that it cannot.
    pub(super) fn check(self, header: &[u8; Self::HEADER_BYTES]) -> Result<(), (u64, SpoolFault)> {
        let number = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (version, order) = (number(MAGIC_BYTES), number(MAGIC_BYTES + 4));
        if header[..MAGIC_BYTES] != *self.magic() {
            return Err((0, SpoolFault::NotASpool));
        }
        if order == ORDER.swap_bytes() {
            return Err((MAGIC_BYTES as u64 + 4, SpoolFault::ByteOrder));
        }
        if version != VERSION {
            return Err((MAGIC_BYTES as u64, SpoolFault::Version { found: version, known: VERSION }));
        }
        if order != ORDER {
            return Err((MAGIC_BYTES as u64 + 4, SpoolFault::NotASpool));
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn extents_begin_where_pages_of_any_size_do_and_headers_fit() {
        for number in 0..4 {
            assert_eq!(extent_at(number).unwrap() % (64 << 10), 0);
        }
        assert_eq!(extent_at(u64::MAX), None);
        const { assert!(HEAD_BYTES * EXTENT_BLOCKS <= PIECE && head::SLOTS < HEAD_WORDS) };
    }

    #[test]
    fn a_header_is_told_apart_from_any_that_differs_in_a_byte() {
        for file in [SpoolFile::Log, SpoolFile::Records] {
            let good = file.header();
            assert_eq!(file.check(&good), Ok(()));
            for at in 0..good.len() {
                let mut other = good;
                other[at] ^= 0x41;
                assert!(file.check(&other).is_err(), "{} byte {at}", file.name());
            }
        }
        assert_eq!(SpoolFile::Log.check(&SpoolFile::Records.header()), Err((0, SpoolFault::NotASpool)));
    }

    #[test]
    fn other_versions_and_orders_are_named() {
        let mut header = SpoolFile::Records.header();
        header[MAGIC_BYTES..][..4].copy_from_slice(&(VERSION + 1).to_ne_bytes());
        let newer = SpoolFault::Version { found: VERSION + 1, known: VERSION };
        assert_eq!(SpoolFile::Records.check(&header), Err((8, newer)));
        header[MAGIC_BYTES..][..4].copy_from_slice(&VERSION.swap_bytes().to_ne_bytes());
        header[MAGIC_BYTES + 4..].reverse();
        assert_eq!(SpoolFile::Records.check(&header), Err((12, SpoolFault::ByteOrder)));
    }
}
