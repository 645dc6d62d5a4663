//! The writing end of the records file: blocks of slots, as memory that is the file's.
//!
//! ```text
//! header | extent: heads of 16 blocks | block | block | ... | extent: heads | block | ...
//! ```
//!
//! A block is what one thread writes from one position of its stream on. Whoever is killed while writing leaves what was
//! stored; a record whose head is there is whole, because the head is stored last. A block that is full is sealed: its
//! header gets the number of its slots and their checksum.

use super::checksum;
use super::layout::{
    BLOCK_SLOTS, EXTENT_BLOCKS, EXTENT_BYTES, HEAD_WORDS, PIECE, SLOT_WORDS, SpoolFile, extent_at, head,
};
use super::mapping::{Mapping, reserve};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The records file of a session.
#[derive(Debug)]
pub(super) struct Blocks {
    file: File,
    extents: Mutex<Extents>,
}

/// How far the file has grown, and been given out.
#[derive(Debug)]
pub(super) struct Extents {
    count: u64,
    /// The extent that blocks are taken from, and how many were.
    last: Option<Arc<Mapping>>,
    taken: usize,
    /// All that may still be in use.
    mapped: Vec<Weak<Mapping>>,
    is_ours: bool,
}

impl Blocks {
    /// Makes the first extent too, so that a disk without room, or one that cannot be mapped, is found out at once.
    pub(super) fn new(file: File) -> io::Result<Self> {
        file.write_all_at(&SpoolFile::Records.header(), 0)?;
        let mut extents = Extents { count: 0, last: None, taken: 0, mapped: Vec::new(), is_ours: true };
        extents.grow(&file)?;
        Ok(Self { file, extents: Mutex::new(extents) })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Extents> {
        self.extents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next block, for the records of a thread from `base` on, `slots` of them at most.
    pub(super) fn block(&self, serial: u32, base: u64, slots: usize) -> io::Result<MappedBlock> {
        if slots == 0 || slots > BLOCK_SLOTS {
            let refused = format!("a block has 1 to {BLOCK_SLOTS} slots, not {slots}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, refused));
        }
        let (extent, number) = self.lock().take(&self.file)?;
        let block = MappedBlock { extent, number, slots };
        block.begin(serial, base);
        Ok(block)
    }

    /// A number that changes when a block is begun, written to or sealed. Takes some microseconds for a block that is open.
    pub(super) fn fingerprint(&self) -> u64 {
        let extents: Vec<_> = {
            let extents = self.lock();
            extents.mapped.iter().filter_map(Weak::upgrade).collect()
        };
        let blocks = extents.iter().flat_map(|extent| {
            (0..EXTENT_BLOCKS).map(|number| MappedBlock { extent: Arc::clone(extent), number, slots: BLOCK_SLOTS })
        });
        checksum::of_numbers(blocks.flat_map(|block| block.fingerprint()))
    }
}

impl Extents {
    fn take(&mut self, file: &File) -> io::Result<(Arc<Mapping>, usize)> {
        if !self.is_ours {
            return Err(io::Error::other("the spool is the parent process's"));
        }
        let extent = match &self.last {
            Some(last) if self.taken < EXTENT_BLOCKS => Arc::clone(last),
            _ => self.grow(file)?,
        };
        self.taken += 1;
        Ok((extent, self.taken - 1))
    }

    fn grow(&mut self, file: &File) -> io::Result<Arc<Mapping>> {
        let offset = extent_at(self.count).ok_or_else(|| io::Error::from_raw_os_error(libc::EFBIG))?;
        reserve(file, offset, EXTENT_BYTES)?;
        let extent = Arc::new(Mapping::shared(file, offset, EXTENT_BYTES)?);
        self.mapped.retain(|mapping| mapping.strong_count() > 0);
        self.mapped.push(Arc::downgrade(&extent));
        self.count += 1;
        self.last = Some(Arc::clone(&extent));
        self.taken = 0;
        Ok(extent)
    }

    /// In a forked child: blocks that were begun before the fork are its own from now on, and no new ones can be had.
    pub(super) fn leave_to_parent(&mut self, file: &File) -> io::Result<()> {
        self.is_ours = false;
        self.mapped.iter().filter_map(Weak::upgrade).try_for_each(|mapping| mapping.make_private(file))
    }
}

/// A block of the records file, mapped for as long as this lives.
#[derive(Debug)]
pub struct MappedBlock {
    extent: Arc<Mapping>,
    /// Which one of the extent's.
    number: usize,
    slots: usize,
}

impl MappedBlock {
    /// The slots: four words each, all 0 in a fresh block. Records are written from the first slot on, without gaps; the
    /// head of a record (word 2 of its first slot) is stored last, with [`Ordering::Release`].
    pub fn slots(&self) -> &[[AtomicU64; SLOT_WORDS]] {
        const WORDS: usize = PIECE / size_of::<u64>();
        let words = &self.extent.words()[(1 + self.number) * WORDS..][..self.slots * SLOT_WORDS];
        words.as_chunks().0
    }

    fn head(&self) -> &[AtomicU64] {
        &self.extent.words()[self.number * HEAD_WORDS..][..HEAD_WORDS]
    }

    fn begin(&self, serial: u32, base: u64) {
        let owner = pack(serial, self.slots as u32);
        let head = self.head();
        head[head::OWNER].store(owner, Ordering::Relaxed);
        head[head::BASE].store(base, Ordering::Relaxed);
        head[head::CHECK].store(checksum::of_head(owner, base), Ordering::Relaxed);
        head[head::MAGIC].store(head::BEGUN, Ordering::Release);
    }

    /// What it is; and what is in it, as long as it is open.
    fn fingerprint(&self) -> [u64; 2] {
        let state = [head::MAGIC, head::STATE].map(|at| self.head()[at].load(Ordering::Relaxed));
        let slots = match state {
            [head::BEGUN, 0] => self.slots(),
            _ => &[],
        };
        let words = slots.iter().flatten().map(|word| word.load(Ordering::Relaxed));
        [checksum::of_numbers(state), checksum::of_numbers(words)]
    }

    /// Says that no more records come: there are `filled` slots, in which `opened` spans were begun. From now on only the
    /// ends of spans may change, and whether another thread ended them. Takes some microseconds for a full block.
    pub fn seal(&self, filled: usize, opened: u32) {
        let slots = self.slots();
        let filled = filled.min(slots.len());
        let head = self.head();
        let [owner, base] = [head::OWNER, head::BASE].map(|at| head[at].load(Ordering::Relaxed));
        let counts = pack(filled as u32, opened);
        let words = slots[..filled].iter().map(|slot| slot.each_ref().map(|word| word.load(Ordering::Relaxed)));
        head[head::FILLED].store(counts, Ordering::Relaxed);
        head[head::SLOTS].store(checksum::of_slots(owner, base, counts, words), Ordering::Relaxed);
        head[head::STATE].store(head::SEALED, Ordering::Release);
    }
}

fn pack(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn blocks() -> Blocks {
        Blocks::new(tempfile::tempfile().unwrap()).unwrap()
    }

    #[test]
    fn blocks_do_not_touch_and_the_file_grows_with_them() {
        let blocks = blocks();
        let taken: Vec<_> = (0..40).map(|at| blocks.block(at, u64::from(at), BLOCK_SLOTS).unwrap()).collect();
        for (at, block) in taken.iter().enumerate() {
            for slot in block.slots() {
                for word in slot {
                    assert_eq!(word.swap(at as u64 + 1, Ordering::Relaxed), 0);
                }
            }
        }
        for (at, block) in taken.iter().enumerate() {
            block.seal(BLOCK_SLOTS, 0);
            assert_eq!(block.head()[head::OWNER].load(Ordering::Relaxed) as u32, at as u32);
            assert!(block.slots().iter().flatten().all(|word| word.load(Ordering::Relaxed) == at as u64 + 1));
        }
        assert_eq!(blocks.file.metadata().unwrap().len(), extent_at(3).unwrap());
    }

    #[test]
    fn an_extent_is_unmapped_with_the_last_of_its_blocks() {
        let blocks = blocks();
        let mut taken: Vec<_> = (0..=EXTENT_BLOCKS).map(|_| blocks.block(1, 0, 1).unwrap()).collect();
        let alive = || blocks.lock().mapped.iter().map(|mapping| mapping.strong_count() > 0).collect::<Vec<_>>();
        taken.drain(1..);
        assert_eq!(alive(), [true, true]);
        drop(taken);
        // The last extent stays for the next block.
        assert_eq!(alive(), [false, true]);
    }

    #[test]
    fn a_size_that_no_block_has_is_refused() {
        let blocks = blocks();
        for slots in [0, BLOCK_SLOTS + 1, usize::MAX] {
            assert_eq!(blocks.block(1, 0, slots).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        assert_eq!(blocks.block(1, 0, 7).unwrap().slots().len(), 7);
    }

    #[test]
    fn what_a_child_stores_is_its_own() {
        let blocks = blocks();
        let block = blocks.block(1, 0, 1).unwrap();
        let word = &block.slots()[0][0];
        word.store(5, Ordering::Relaxed);
        blocks.lock().leave_to_parent(&blocks.file).unwrap();
        word.store(6, Ordering::Relaxed);
        let mut stored = [0; 8];
        let first = extent_at(0).unwrap() + PIECE as u64;
        blocks.file.read_exact_at(&mut stored, first).unwrap();
        assert_eq!(u64::from_ne_bytes(stored), 5);
        assert!(blocks.block(1, 1, 1).unwrap_err().to_string().contains("parent"));
    }
}
