//! A column of durations.

use crate::column::Column;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Nanoseconds, in four bytes where they fit, as nearly all do: that is up to four seconds. Memory is most of what a row
/// of a large trace costs.
#[derive(Debug, Default)]
pub(crate) struct Nanos {
    small: Column<u32>,
    /// Those that do not fit, by row.
    large: FxHashMap<u32, u64>,
}

const IS_LARGE: u32 = u32::MAX;

impl Nanos {
    pub(super) fn reserve(&mut self, rows: usize) {
        self.small.reserve_exact(rows);
    }

    pub(super) fn shrink(&mut self) {
        self.small.shrink_to_fit();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.small.memory_bytes() + self.large.capacity() * size_of::<(u32, u64)>()
    }

    #[inline]
    pub(crate) fn push(&mut self, ns: u64) {
        self.small.push(0);
        self.set(self.small.len() - 1, ns);
    }

    #[inline]
    pub(crate) fn add(&mut self, row: usize, ns: u64) {
        self.set(row, self.get(row) + ns);
    }

    #[inline]
    fn set(&mut self, row: usize, ns: u64) {
        if ns < u64::from(IS_LARGE) {
            self.small[row] = ns as u32;
        } else {
            self.small[row] = IS_LARGE;
            self.large.insert(row as u32, ns);
        }
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> u64 {
        self.value(row, self.small[row])
    }

    /// The durations of these rows, in order.
    #[inline]
    pub(crate) fn range(&self, rows: Range<usize>) -> impl Iterator<Item = u64> {
        self.small[rows.clone()].iter().zip(rows).map(|(&small, row)| self.value(row, small))
    }

    #[inline]
    fn value(&self, row: usize, small: u32) -> u64 {
        if small == IS_LARGE { self.large_value(row) } else { small.into() }
    }

    #[cold]
    fn large_value(&self, row: usize) -> u64 {
        self.large.get(&(row as u32)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_any_size_are_kept_and_added_to() {
        let sizes = [0, 1, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 40, u64::MAX / 2];
        let mut column = Nanos::default();
        for ns in sizes {
            column.push(ns);
        }
        assert!(column.range(0..sizes.len()).eq(sizes));
        for row in 0..sizes.len() {
            column.add(row, 7);
            column.add(row, 1 << 33);
        }
        assert!(column.range(1..sizes.len()).eq(sizes[1..].iter().map(|ns| ns + 7 + (1 << 33))));
        assert_eq!(column.get(0), 7 + (1 << 33));
    }
}
