//! Slots in the process's own memory.
//!
//! Those of full-grown chunks are mapped by themselves, and unmapped when they are freed. An allocator would keep them: each
//! thread takes them from an arena of its own, and whoever makes room frees those of all threads.

use super::chunk::FULL;
use super::record::Slot;
#[cfg(not(any(loom, miri)))]
use pages::Pages;
use std::ops::Deref;

/// A run of slots that nobody has used, or that the next user overwrites.
#[derive(Debug)]
pub(super) enum OwnSlots {
    Allocated(Box<[Slot]>),
    #[cfg(not(any(loom, miri)))]
    Mapped(Pages),
}

impl OwnSlots {
    pub(super) fn new(count: usize) -> Self {
        #[cfg(not(any(loom, miri)))]
        if count == FULL
            && let Some(pages) = Pages::map(count)
        {
            return Self::Mapped(pages);
        }
        Self::Allocated(allocate(count))
    }

    /// Whether they are as many as any chunk has.
    pub(super) fn are_full(&self) -> bool {
        self.len() == FULL
    }
}

/// No slots.
impl Default for OwnSlots {
    fn default() -> Self {
        Self::Allocated(Box::default())
    }
}

impl Deref for OwnSlots {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        match self {
            Self::Allocated(slots) => slots,
            #[cfg(not(any(loom, miri)))]
            Self::Mapped(pages) => pages.slots(),
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

#[cfg(not(any(loom, miri)))]
mod pages {
    #![expect(unsafe_code, reason = "the standard library maps no memory")]

    use super::Slot;
    use std::ptr::{self, NonNull};

    /// Slots that have pages of their own.
    #[derive(Debug)]
    pub(in super::super) struct Pages {
        first: NonNull<Slot>,
        count: usize,
    }

    // SAFETY: they are memory that is valid until they are dropped, and that holds only atomics.
    unsafe impl Send for Pages {}
    // SAFETY: as above.
    unsafe impl Sync for Pages {}

    impl Pages {
        /// `None` if the system refuses, as it does when a process has too many mappings.
        pub(super) fn map(count: usize) -> Option<Self> {
            let bytes = count * size_of::<Slot>();
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a new mapping, at an address that the system chooses, touches no memory that is there.
            let mapped = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
            let first = NonNull::new(mapped.cast()).filter(|_| mapped != libc::MAP_FAILED)?;
            Some(Self { first, count })
        }

        pub(super) fn slots(&self) -> &[Slot] {
            // SAFETY: so many slots are mapped at this address, which is that of a page and so aligned, until `self` is
            // dropped. Pages are zero at first, which is a value of a slot.
            unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            let (address, bytes) = (self.first.as_ptr().cast(), self.count * size_of::<Slot>());
            // SAFETY: exactly what was mapped, and every reference into it has ended.
            if unsafe { libc::munmap(address, bytes) } != 0 {
                // A hole would have been one mapping too many: the addresses stay taken, the memory does not.
                // SAFETY: as above.
                unsafe { libc::madvise(address, bytes, libc::MADV_DONTNEED) };
            }
        }
    }
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use super::*;

    #[test]
    fn full_grown_ones_have_pages_of_their_own() {
        const SMALLEST_PAGE: usize = 4096;
        let many: Vec<_> = (0..8).map(|_| OwnSlots::new(FULL)).collect();
        for slots in &many {
            assert_eq!(slots.as_ptr().addr() % SMALLEST_PAGE, 0);
            assert!(slots.are_full() && slots.iter().all(|slot| slot.read() == [0; 4]));
        }
        let few = OwnSlots::new(3);
        assert!(few.len() == 3 && !few.are_full() && matches!(few, OwnSlots::Allocated(_)));
    }
}
