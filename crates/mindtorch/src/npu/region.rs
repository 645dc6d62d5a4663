//! The memory that an accelerator has: one mapping of the host's, which no block leaves.

#![expect(unsafe_code, reason = "the standard library maps no memory")]

use std::io;
use std::ptr::NonNull;

/// Segments are multiples of this, and so are huge pages.
const ALIGNMENT: usize = 2 << 20;

/// Address space that has pages where something was written, and none elsewhere.
#[derive(Debug)]
pub(super) struct Region {
    base: NonNull<u8>,
    bytes: usize,
    mapping: NonNull<libc::c_void>,
    mapped: usize,
}

// SAFETY: a region is an address and a length. It gives out raw pointers, whose users answer for what they do with them.
unsafe impl Send for Region {}
// SAFETY: as above; `discard` may be called from any thread, since the system's call may.
unsafe impl Sync for Region {}

impl Region {
    /// Maps so much memory. The host's own is used only as far as it is written to.
    pub(super) fn map(bytes: u64) -> io::Result<Self> {
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        let mapped = bytes.checked_add(ALIGNMENT).ok_or(io::ErrorKind::OutOfMemory)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping, at an address that the system chooses, touches no memory that is there.
        let mapping = unsafe { libc::mmap(std::ptr::null_mut(), mapped, protection, flags, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = NonNull::new(mapping).ok_or(io::ErrorKind::OutOfMemory)?;
        let base = mapping.cast::<u8>();
        let padding = base.align_offset(ALIGNMENT);
        // SAFETY: `padding` is less than the alignment, by which the mapping is longer than the region.
        let region = Self { base: unsafe { base.add(padding) }, bytes, mapping, mapped };
        region.advise();
        Ok(region)
    }

    /// Asks for huge pages, since kernels go through memory from end to end, and keeps the pages out of forked children,
    /// which may not use the accelerator and for whom the host would copy every page that is written to. It works the
    /// same where the system refuses.
    #[cfg(target_os = "linux")]
    fn advise(&self) {
        for advice in [libc::MADV_HUGEPAGE, libc::MADV_DONTFORK] {
            // SAFETY: the whole mapping is this region's, and neither advice changes its contents.
            unsafe { libc::madvise(self.mapping.as_ptr(), self.mapped, advice) };
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn advise(&self) {}

    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// The address at this offset, which lies in the region or at its end.
    pub(super) fn at(&self, offset: u64) -> NonNull<u8> {
        let offset = usize::try_from(offset).ok().filter(|&offset| offset <= self.bytes);
        let offset = offset.expect("blocks lie in their region");
        // SAFETY: the offset is not beyond the end of the mapping that `base` points into.
        unsafe { self.base.add(offset) }
    }

    /// Gives pages back to the host. They read as zeros from now on.
    ///
    /// Nothing may be using them: it is for segments that no block lies in and no queued kernel works on.
    pub(super) fn discard(&self, offset: u64, bytes: u64) {
        let bytes = usize::try_from(bytes).ok().filter(|_| offset + bytes <= self.bytes as u64);
        let bytes = bytes.expect("segments lie in their region");
        // SAFETY: the range lies in this region's mapping, and the mapping stays valid.
        unsafe { libc::madvise(self.at(offset).as_ptr().cast(), bytes, libc::MADV_DONTNEED) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped. Only a device that could not start has its region dropped, before any block.
        unsafe { libc::munmap(self.mapping.as_ptr(), self.mapped) };
    }
}

/// The bytes of memory that the host has, if it says so.
pub(super) fn host_memory() -> Option<u64> {
    // SAFETY: sysconf has no preconditions.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(page).ok()?).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_there_from_end_to_end_and_zero_after_it_was_discarded() {
        let bytes = 64 << 20;
        let region = Region::map(bytes).unwrap();
        assert_eq!((region.bytes(), region.at(0).addr().get() % ALIGNMENT), (bytes, 0));
        for offset in [0, bytes / 2, bytes - 1] {
            // SAFETY: the offset lies in the region, which nobody else knows.
            unsafe {
                assert_eq!(region.at(offset).read(), 0);
                region.at(offset).write(7);
            }
        }
        region.discard(bytes / 2, bytes / 2);
        // SAFETY: as above.
        let read = |offset| unsafe { region.at(offset).read() };
        assert_eq!([read(0), read(bytes / 2), read(bytes - 1)], [7, 0, 0]);
    }

    #[test]
    #[should_panic(expected = "blocks lie in their region")]
    fn no_address_lies_outside() {
        let region = Region::map(1 << 20).unwrap();
        region.at((1 << 20) + 1);
    }

    #[test]
    fn more_than_there_is_address_space_for_is_an_error() {
        assert!(Region::map(1 << 60).is_err());
        assert!(Region::map(u64::MAX).is_err());
    }
}
