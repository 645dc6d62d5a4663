//! A block of a matrix copied to where its rows lie close together, as many columns as a strip has.

#![expect(unsafe_code, reason = "blocks are copied through pointers")]

use super::strip::Even;
use super::transpose::{Lines, transpose};
use super::vectors::Vectors;
use pulp::Simd;
use std::cell::RefCell;

/// Bytes in a panel.
const BYTES: usize = 1 << 16;

thread_local! {
    /// The panel of this thread. It lives as long, because memory that is new is slow.
    static PANEL: RefCell<Box<Panel>> = RefCell::new(Box::new(Panel([0; BYTES])));
}

/// Room for a copied block.
#[repr(align(64))]
pub(crate) struct Panel([u8; BYTES]);

/// A block to copy: the number of row `k` and column `j` is `row * k + col * j` numbers after `first`.
#[derive(Clone, Copy)]
pub(crate) struct Block<T> {
    pub(crate) first: *const T,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row: usize,
    pub(crate) col: usize,
    /// Whether what follows the block in memory will be copied next, and is not in a cache.
    pub(crate) far: bool,
}

impl Panel {
    /// Calls `work` with the panel of this thread.
    pub(crate) fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        PANEL.with_borrow_mut(|panel| work(panel))
    }

    /// How many rows of so many numbers fit.
    pub(crate) const fn rows<T>(width: usize) -> usize {
        BYTES / size_of::<T>() / width
    }

    /// Copies `block` and fills its last columns up to whole vectors, with whatever numbers.
    ///
    /// # Safety
    /// The numbers of `block` can be read. Its columns are no more than a strip's, its rows no more than [`Self::rows`] of
    /// them in whole vectors.
    #[inline(always)]
    pub(crate) unsafe fn copy<S: Simd, T: Vectors>(&mut self, simd: S, block: Block<T>) -> Even<T> {
        let lanes = T::lanes::<S>();
        let width = block.cols.next_multiple_of(lanes);
        let to = self.0.as_mut_ptr().cast::<T>();
        debug_assert!(block.rows <= Self::rows::<T>(width));
        // SAFETY: the caller's promise.
        unsafe {
            if block.col == 1 {
                copy_rows(simd, to, width, block);
            } else {
                copy_columns::<S, T>(to, width, block);
            }
        }
        Even { first: to, step: width }
    }
}

/// Copies a block whose rows are contiguous.
#[inline(always)]
unsafe fn copy_rows<S: Simd, T: Vectors>(simd: S, to: *mut T, width: usize, block: Block<T>) {
    let lanes = T::lanes::<S>();
    let mask = T::first(simd, block.cols - (width - lanes));
    // SAFETY: the caller's promise.
    unsafe {
        for k in 0..block.rows {
            let (to, from) = (to.add(k * width), block.first.add(k * block.row));
            for v in (0..width - lanes).step_by(lanes) {
                T::store(simd, to.add(v), T::load(simd, from.add(v)));
            }
            let last = width - lanes;
            T::store(simd, to.add(last), T::load_masked(simd, from.add(last), mask));
        }
    }
}

/// Copies a block whose rows are not contiguous.
#[inline(always)]
unsafe fn copy_columns<S: Simd, T: Vectors>(to: *mut T, width: usize, block: Block<T>) {
    let lanes = T::lanes::<S>();
    // SAFETY: the caller's promise.
    unsafe {
        for j in (0..width).step_by(lanes) {
            let cols = lanes.min(block.cols - j);
            let (to, from) = (to.add(j), block.first.add(j * block.col));
            let lines = Lines { first: from, distance: block.col, count: cols, far: block.far };
            let done = if block.row == 1 { transpose::<S, T>(to, width, lines, block.rows) } else { 0 };
            for k in done..block.rows {
                for j in 0..lanes {
                    *to.add(k * width + j) = *from.add(k * block.row + j.min(cols - 1) * block.col);
                }
            }
        }
    }
}
