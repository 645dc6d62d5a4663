//! The slots of a chunk, in the process's own memory or in a spool file.
//!
//! Full-grown chunks have pages of their own, which go back to the system when they are freed. An allocator would keep them, because
//! each thread allocates from an arena of its own and the thread that makes room frees the slots of all threads.

use super::chunk::FULL;
use super::record::Slot;
use crate::prefetch::prefetch_to_write;
#[cfg(not(loom))]
use crate::spool::{MappedBlock, mapping};
use std::ops::Deref;
use std::ptr::NonNull;

/// A slice of slots and the memory that it lies in.
///
/// The slice is a pointer, not a `Box`: moving a `Box` invalidates the pointers into it. `repr(C)` puts the fields that recording uses
/// first.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Slots {
    first: NonNull<Slot>,
    count: usize,
    memory: SlotMemory,
}

#[derive(Debug)]
enum SlotMemory {
    /// A boxed slice.
    Heap,
    /// An anonymous mapping.
    #[cfg(not(loom))]
    Pages,
    #[cfg(not(loom))]
    File(MappedBlock),
}

#[expect(unsafe_code, reason = "it has a pointer to memory of its own")]
// SAFETY: the pointer leads to memory that `self` owns, and slots are atomics, which any thread may use.
unsafe impl Send for Slots {}
#[expect(unsafe_code, reason = "see above")]
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    /// Slots in the process's own memory: unused, or to be overwritten.
    pub(super) fn own(count: usize) -> Self {
        #[cfg(not(loom))]
        if count == FULL
            && let Ok(pages) = mapping::memory(count * size_of::<Slot>())
        {
            return Self { first: pages.cast(), count, memory: SlotMemory::Pages };
        }
        Self::heap(allocate(count))
    }

    fn heap(slots: Box<[Slot]>) -> Self {
        let count = slots.len();
        let first = NonNull::from(Box::leak(slots)).cast();
        Self { first, count, memory: SlotMemory::Heap }
    }

    #[cfg(not(loom))]
    pub(super) fn mapped(block: MappedBlock) -> Self {
        let slots = Slot::of_words(block.slots());
        Self { first: NonNull::from(slots).cast(), count: slots.len(), memory: SlotMemory::File(block) }
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
        if let SlotMemory::File(block) = &self.memory {
            block.seal(filled, opened);
        }
        let _ = (filled, opened);
    }

    /// Whether they are a file's.
    pub(super) fn is_mapped(&self) -> bool {
        #[cfg(not(loom))]
        return matches!(self.memory, SlotMemory::File(_));
        #[cfg(loom)]
        false
    }

    /// The memory of the process's own that they take. A file's is the system's, which writes it out and takes it back as it
    /// needs.
    pub(super) fn memory_bytes(&self) -> u64 {
        if self.is_mapped() { 0 } else { size_of_val::<[Slot]>(self) as u64 }
    }

    /// Returns true if they can be the slots of another full-grown chunk.
    pub(super) fn are_reusable(&self) -> bool {
        self.len() == FULL && !self.is_mapped()
    }
}

/// No slots.
impl Default for Slots {
    fn default() -> Self {
        Self::heap(Box::default())
    }
}

impl Deref for Slots {
    type Target = [Slot];

    #[inline]
    #[expect(unsafe_code, reason = "access must not depend on the kind of memory")]
    fn deref(&self) -> &[Slot] {
        // SAFETY: `first` and `count` are those of a slice that `memory` describes, which is valid until `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

#[expect(unsafe_code, reason = "the slices are owned by pointers")]
impl Drop for Slots {
    fn drop(&mut self) {
        match self.memory {
            SlotMemory::Heap => {
                let slots = NonNull::slice_from_raw_parts(self.first, self.count);
                // SAFETY: the slice is that of the box in `heap`, and every reference into it has ended.
                drop(unsafe { Box::from_raw(slots.as_ptr()) });
            }
            // SAFETY: exactly what was mapped in `own`, and every reference into it has ended.
            #[cfg(not(loom))]
            SlotMemory::Pages => unsafe { mapping::unmap(self.first.cast(), self.count * size_of::<Slot>()) },
            // The block unmaps it.
            #[cfg(not(loom))]
            SlotMemory::File(_) => {}
        }
    }
}

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "zeroed memory from the system is not touched, memory initialised here would be")]
fn allocate(count: usize) -> Box<[Slot]> {
    // SAFETY: a slot is four atomic integers, for which all bytes zero is a value.
    unsafe { Box::new_zeroed_slice(count).assume_init() }
}

#[cfg(loom)]
fn allocate(count: usize) -> Box<[Slot]> {
    (0..count).map(|_| Slot::default()).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn full_grown_ones_have_pages_of_their_own() {
        const SMALLEST_PAGE: usize = 4096;
        let many: Vec<_> = (0..if cfg!(miri) { 1 } else { 8 }).map(|_| Slots::own(FULL)).collect();
        for slots in &many {
            assert_eq!(slots.as_ptr().addr() % SMALLEST_PAGE, 0);
            assert!(slots.are_reusable() && slots.iter().all(|slot| slot.read() == [0; 4]));
        }
        let few = Slots::own(3);
        assert!(few.len() == 3 && !few.are_reusable() && matches!(few.memory, SlotMemory::Heap));
    }
}
