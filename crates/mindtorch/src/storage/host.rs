//! Memory of the host.
//!
//! A large buffer that was freed is kept for the next one of its size: fresh pages cost more than most operations that
//! would write to them.

#![expect(unsafe_code, reason = "memory of any size and alignment comes from the allocator as a pointer")]

use crate::error::{Error, ErrorKind, Result};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// A buffer that is its own.
pub(super) struct HostBuffer {
    data: NonNull<u8>,
    layout: Layout,
}

/// What is below this comes from the allocator, which is quicker for it. Aligned for the widest vectors above.
const LARGE: usize = 64 << 10;
/// How much is kept at most.
const MOST_KEPT: usize = 512 << 20;

/// Buffers that nobody uses, by size.
struct Kept {
    bytes: usize,
    by_size: Vec<(usize, Vec<usize>)>,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { bytes: 0, by_size: Vec::new() });

impl HostBuffer {
    pub(super) fn allocate(bytes: usize) -> Result<Self> {
        let layout = layout(bytes).ok_or_else(|| no_memory(bytes))?;
        if layout.size() >= LARGE
            && let Some(data) = take(layout.size())
        {
            return Ok(Self { data, layout });
        }
        // SAFETY: the layout is not of size zero.
        let data = NonNull::new(unsafe { alloc(layout) }).ok_or_else(|| no_memory(bytes))?;
        Ok(Self { data, layout })
    }

    #[inline]
    pub(super) fn data(&self) -> NonNull<u8> {
        self.data
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        if self.layout.size() >= LARGE && keep(self.data, self.layout.size()) {
            return;
        }
        // SAFETY: allocated with this layout, and nobody has it any more.
        unsafe { dealloc(self.data.as_ptr(), self.layout) };
    }
}

// SAFETY: it is memory, owned alone.
unsafe impl Send for HostBuffer {}
// SAFETY: it gives out no more than its address.
unsafe impl Sync for HostBuffer {}

/// Large sizes are rounded up to a quarter of a power of two, so that buffers of nearly one size replace each other.
fn layout(bytes: usize) -> Option<Layout> {
    if bytes < LARGE {
        return Layout::from_size_align(bytes.max(1), 16).ok();
    }
    let step = (bytes.checked_next_power_of_two()? / 8).max(4096);
    Layout::from_size_align(bytes.checked_next_multiple_of(step)?, 64).ok()
}

fn take(size: usize) -> Option<NonNull<u8>> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let of_size = kept.by_size.iter_mut().find(|(kept, _)| *kept == size)?;
    let address = of_size.1.pop()?;
    kept.bytes -= size;
    NonNull::new(std::ptr::with_exposed_provenance_mut(address))
}

fn keep(data: NonNull<u8>, size: usize) -> bool {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.bytes + size > MOST_KEPT {
        return false;
    }
    kept.bytes += size;
    let address = data.as_ptr().expose_provenance();
    match kept.by_size.iter_mut().find(|(kept, _)| *kept == size) {
        Some((_, addresses)) => addresses.push(address),
        None => kept.by_size.push((size, vec![address])),
    }
    true
}

fn no_memory(bytes: usize) -> Error {
    Error::new(
        ErrorKind::Runtime,
        format!("DefaultCPUAllocator: can't allocate memory: you tried to allocate {bytes} bytes."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_large_buffer_is_used_again() {
        let first = HostBuffer::allocate(10 << 20).unwrap();
        let address = first.data();
        drop(first);
        let second = HostBuffer::allocate((10 << 20) - 100).unwrap();
        assert_eq!(second.data(), address);
        assert_eq!(address.addr().get() % 64, 0);
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        assert!(HostBuffer::allocate(usize::MAX).is_err());
        assert!(HostBuffer::allocate(1 << 60).is_err());
        drop(HostBuffer::allocate(0).unwrap());
    }
}
