//! Memory that CUPTI writes activities to.

#![expect(unsafe_code, reason = "CUPTI has the memory for as long as it writes to it")]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// Bytes of a buffer: some four thousand kernels, or what becomes known of work some ten milliseconds late.
pub(super) const BUFFER_BYTES: usize = 1 << 20;
/// How many buffers CUPTI may have at once. It drops activities rather than wait.
const MOST: usize = 128;
/// How many are kept for later.
const KEPT: usize = 4;

/// What CUPTI asks for.
const LAYOUT: Layout = match Layout::from_size_align(BUFFER_BYTES, 8) {
    Ok(layout) => layout,
    Err(_) => panic!("a buffer has a size"),
};

/// The buffers that CUPTI has, and those that it may have next.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: Vec<Buffer>,
    lent: Vec<Buffer>,
}

/// Memory that is freed when it is dropped.
#[derive(Debug)]
struct Buffer(NonNull<u8>);

// SAFETY: it is memory and nothing else.
unsafe impl Send for Buffer {}

impl Buffer {
    fn new() -> Option<Self> {
        // SAFETY: the layout has a size.
        NonNull::new(unsafe { alloc(LAYOUT) }).map(Self)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and is freed once.
        unsafe { dealloc(self.0.as_ptr(), LAYOUT) };
    }
}

impl Pool {
    pub(super) const fn new() -> Self {
        Self { free: Vec::new(), lent: Vec::new() }
    }

    /// A buffer for CUPTI, which has it until it is given back. None if it has too many.
    pub(super) fn lend(&mut self) -> Option<NonNull<u8>> {
        if self.lent.len() >= MOST {
            return None;
        }
        let buffer = self.free.pop().or_else(Buffer::new)?;
        let address = buffer.0;
        self.lent.push(buffer);
        Some(address)
    }

    /// Whether this is a buffer that CUPTI has of us. It may have some of others, who used it before.
    pub(super) fn has_lent(&self, address: *mut u8) -> bool {
        self.lent.iter().any(|buffer| buffer.0.as_ptr() == address)
    }

    /// Takes a buffer back. False if it is none of ours.
    pub(super) fn take_back(&mut self, address: *mut u8) -> bool {
        let Some(at) = self.lent.iter().position(|buffer| buffer.0.as_ptr() == address) else { return false };
        let buffer = self.lent.swap_remove(at);
        if self.free.len() < KEPT {
            self.free.push(buffer);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_came_back_is_lent_again() {
        let mut pool = Pool::new();
        let first = pool.lend().unwrap();
        let second = pool.lend().unwrap();
        assert_ne!(first, second);
        assert_eq!(first.as_ptr().addr() % 8, 0);
        assert!(pool.has_lent(first.as_ptr()) && pool.has_lent(second.as_ptr()));
        assert!(pool.take_back(first.as_ptr()));
        assert!(!pool.has_lent(first.as_ptr()));
        assert_eq!(pool.lend(), Some(first));
    }

    #[test]
    fn there_are_no_more_than_so_many_and_few_are_kept() {
        let mut pool = Pool::new();
        let lent: Vec<_> = std::iter::from_fn(|| pool.lend()).collect();
        assert_eq!(lent.len(), MOST);
        assert!(lent.iter().all(|buffer| pool.take_back(buffer.as_ptr())));
        assert_eq!((pool.free.len(), pool.lent.len()), (KEPT, 0));
    }

    #[test]
    fn what_was_not_lent_is_not_taken() {
        let mut pool = Pool::new();
        let mut others = [0u8; 8];
        assert!(!pool.has_lent(others.as_mut_ptr()));
        assert!(!pool.take_back(others.as_mut_ptr()));
        assert!(!pool.take_back(std::ptr::null_mut()));
    }
}
