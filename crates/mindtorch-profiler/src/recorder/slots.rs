//! The memory of a chunk: the process's own, or a file's.

use super::own_slots::OwnSlots;
use super::record::Slot;
use crate::prefetch::prefetch_to_write;
#[cfg(not(loom))]
use crate::spool::MappedBlock;
use std::ops::Deref;
use std::ptr::NonNull;

/// A run of slots. Finding one costs the same wherever they are. In this order, for the sake of whoever has it among what is
/// used often.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Slots {
    first: NonNull<Slot>,
    count: usize,
    memory: SlotMemory,
}

#[derive(Debug)]
enum SlotMemory {
    Own(OwnSlots),
    #[cfg(not(loom))]
    Mapped(MappedBlock),
}

#[expect(unsafe_code, reason = "it has a pointer to memory of its own")]
// SAFETY: the pointer leads to `memory`, which is shared by design: slots are atomics.
unsafe impl Send for Slots {}
#[expect(unsafe_code, reason = "see above")]
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    pub(super) fn own(slots: OwnSlots) -> Self {
        Self { first: NonNull::from(&*slots).cast(), count: slots.len(), memory: SlotMemory::Own(slots) }
    }

    #[cfg(not(loom))]
    pub(super) fn mapped(block: MappedBlock) -> Self {
        let slots = Slot::of_words(block.slots());
        Self { first: NonNull::from(slots).cast(), count: slots.len(), memory: SlotMemory::Mapped(block) }
    }

    /// Has the processor fetch the slot at `index`, if there is one, to be written soon. A store that waits for its line of the
    /// cache holds up all that come after it.
    #[inline(always)]
    pub(super) fn prepare(&self, index: usize) {
        prefetch_to_write(self.first.as_ptr().wrapping_add(index));
    }

    /// Says that no more records come.
    pub(super) fn seal(&self, filled: usize, opened: u32) {
        #[cfg(not(loom))]
        if let SlotMemory::Mapped(block) = &self.memory {
            block.seal(filled, opened);
        }
        let _ = (filled, opened);
    }

    /// Whether they are a file's.
    pub(super) fn is_mapped(&self) -> bool {
        !matches!(self.memory, SlotMemory::Own(_))
    }

    /// The memory of the process's own that they take. A file's is the system's, which writes it out and takes it back as it
    /// needs.
    pub(super) fn memory_bytes(&self) -> u64 {
        if self.is_mapped() { 0 } else { size_of_val::<[Slot]>(self) as u64 }
    }

    /// The slots, if they are the process's own.
    pub(super) fn take_own(&mut self) -> Option<OwnSlots> {
        let SlotMemory::Own(slots) = &mut self.memory else { return None };
        self.count = 0;
        Some(std::mem::take(slots))
    }
}

impl Deref for Slots {
    type Target = [Slot];

    #[inline]
    #[expect(unsafe_code, reason = "whether memory is a file's is not asked for each record")]
    fn deref(&self) -> &[Slot] {
        // SAFETY: `first` and `count` are those of a slice that `memory` owns and that does not move: a box's is on the heap, a
        // mapping's is where it was mapped. `take_own`, which gives it away, leaves no slots.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}
