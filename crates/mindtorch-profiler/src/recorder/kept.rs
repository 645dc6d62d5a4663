//! Blocks of memory that last: those of which someone said so, while they are there.
//!
//! Nothing need happen to a parameter while a session records, and yet it is there. So what has a lasting role is kept here,
//! whether or not anyone collects memory: a session that begins to takes over the list.

use super::event::MemoryUse;
use super::{Recorder, Registry};
use rustc_hash::FxHashMap;

/// The blocks, by address.
#[derive(Debug, Default)]
pub(super) struct KeptMemory(FxHashMap<u64, MemoryUse>);

impl KeptMemory {
    /// All of them, in the order of addresses.
    pub(super) fn blocks(&self) -> Vec<MemoryUse> {
        let mut blocks: Vec<MemoryUse> = self.0.values().copied().collect();
        blocks.sort_unstable_by_key(|block| block.address);
        blocks
    }
}

impl Recorder {
    /// Says that a block is there and what for; it replaces what was said of the address before. Takes a lock.
    pub fn keep_memory(&self, block: &MemoryUse) {
        self.kept(|kept| kept.0.insert(block.address, *block));
    }

    /// Says that the block at an address is about to be freed: to be called before the free is recorded. Takes a lock.
    pub fn release_memory(&self, address: u64) {
        self.kept(|kept| kept.0.remove(&address));
    }

    fn kept<T>(&self, change: impl FnOnce(&mut KeptMemory) -> T) -> T {
        let mut registry = self.lock();
        let Registry { kept, .. } = &mut *registry;
        change(kept)
    }
}

/// [`Recorder::keep_memory`] of the process's recorder.
pub fn keep_memory(block: &MemoryUse) {
    Recorder::global().keep_memory(block);
}

/// [`Recorder::release_memory`] of the process's recorder.
pub fn release_memory(address: u64) {
    Recorder::global().release_memory(address);
}
