//! Where columns are.

#![expect(unsafe_code, reason = "an allocator gives out raw memory")]

use crate::spool::mapping;
use allocator_api2::alloc::{AllocError, Allocator, Global};
use std::alloc::Layout;
use std::cell::RefCell;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory, by default; or files without names in a directory, as memory: the system writes them out, and takes their pages
/// for something else, whenever it needs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store(Option<Arc<Path>>);

/// What is smaller is in memory in any case.
const LARGE: usize = 1 << 20;

thread_local! { static CURRENT: RefCell<Store> = const { RefCell::new(Store(None)) } }

/// While it lives, the columns that this thread makes are in one store. Entered like this, and not passed on, since nearly
/// all that is made of a trace is a column.
#[must_use]
pub(crate) struct Entered {
    before: Store,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.replace(std::mem::take(&mut self.before));
    }
}

impl Store {
    pub(crate) fn files_in(directory: &Path) -> Self {
        Self(Some(directory.into()))
    }

    pub(crate) fn has_files(&self) -> bool {
        self.0.is_some()
    }

    /// The one that this thread has entered last, of those that it has not left.
    pub(crate) fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    pub(crate) fn enter(&self) -> Entered {
        Entered { before: CURRENT.replace(self.clone()) }
    }

    /// Copies the first `bytes` to new memory, and gives the old one back.
    ///
    /// # Safety
    /// Both are of this store and have so many bytes; the old one has this layout, and is not used again.
    unsafe fn moved(&self, from: NonNull<u8>, old: Layout, to: NonNull<[u8]>, bytes: usize) {
        // SAFETY: by the caller. New memory is apart from all other.
        unsafe {
            to.cast::<u8>().copy_from_nonoverlapping(from, bytes);
            self.deallocate(from, old);
        }
    }

    /// Whether so many bytes are mapped, and not of the ordinary memory.
    pub(crate) fn is_mapped(&self, bytes: usize) -> bool {
        self.0.is_some() && bytes >= LARGE
    }
}

// SAFETY: memory is valid until it is deallocated, by the store or a clone of it: both decide by the size alone whether it is
// mapped. Moving a store moves no memory.
unsafe impl Allocator for Store {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let bytes = layout.size();
        match &self.0 {
            // A page is enough for any alignment that rows have.
            Some(directory) if self.is_mapped(bytes) => mapping::file_memory(directory, bytes)
                // No room there: as if nobody had asked for files.
                .or_else(|_| mapping::memory(bytes))
                .map_err(|_| AllocError),
            _ => Global.allocate(layout),
        }
    }

    unsafe fn deallocate(&self, ptr: NonNull<u8>, layout: Layout) {
        if self.is_mapped(layout.size()) {
            // SAFETY: the caller's memory is of this store and has this size, so it was mapped, and nobody uses it any more.
            unsafe { mapping::unmap(ptr, layout.size()) };
        } else {
            // SAFETY: as above, but it was not mapped.
            unsafe { Global.deallocate(ptr, layout) };
        }
    }

    unsafe fn grow(&self, ptr: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if !self.is_mapped(new.size()) {
            // SAFETY: the caller's memory is of this store, and what is too small to be mapped is the global allocator's.
            return unsafe { Global.grow(ptr, old, new) };
        }
        let larger = self.allocate(new)?;
        // SAFETY: as for `moved`, and the old size is the smaller one.
        unsafe { self.moved(ptr, old, larger, old.size()) };
        Ok(larger)
    }

    unsafe fn shrink(&self, ptr: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if !self.is_mapped(old.size()) {
            // SAFETY: the caller's memory is of this store, and what is too small to be mapped is the global allocator's.
            return unsafe { Global.shrink(ptr, old, new) };
        }
        if self.is_mapped(new.size()) {
            // SAFETY: as above, but it was mapped. What is behind the new end is no longer used.
            unsafe { mapping::cut_off(ptr, old.size(), new.size()) };
            return Ok(NonNull::slice_from_raw_parts(ptr, new.size()));
        }
        let smaller = self.allocate(new)?;
        // SAFETY: as for `moved`, and the new size is the smaller one.
        unsafe { self.moved(ptr, old, smaller, new.size()) };
        Ok(smaller)
    }
}
