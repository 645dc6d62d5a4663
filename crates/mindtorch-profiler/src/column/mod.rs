//! Columns: what a trace has much of. They are vectors which may be in files, when the recording that they are made of was
//! larger than the memory it may take.

mod store;

pub(crate) use store::Store;

use std::ops::{Deref, DerefMut};

type Rows<T> = allocator_api2::vec::Vec<T, Store>;

/// A vector whose rows are where [`Store::enter`] said when it was made.
#[derive(Clone)]
pub(crate) struct Column<T>(Rows<T>);

impl<T> Column<T> {
    pub(crate) fn new() -> Self {
        Self(Rows::new_in(Store::current()))
    }

    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self(Rows::with_capacity_in(rows, Store::current()))
    }

    /// The bytes of memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let bytes = self.capacity() * size_of::<T>();
        if self.allocator().is_mapped(bytes) { 0 } else { bytes }
    }
}

impl<T: Clone> Column<T> {
    pub(crate) fn filled(value: T, rows: usize) -> Self {
        let mut column = Self::new();
        column.resize(rows, value);
        column
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for Column<T> {
    type Target = Rows<T>;

    #[inline(always)]
    fn deref(&self) -> &Rows<T> {
        &self.0
    }
}

impl<T> DerefMut for Column<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Rows<T> {
        &mut self.0
    }
}

impl<T> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        let mut column = Self::new();
        column.extend(rows);
        column
    }
}

impl<T> IntoIterator for Column<T> {
    type Item = T;
    type IntoIter = allocator_api2::vec::IntoIter<T, Store>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Column<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_in_memory_and_in_files() {
        let few = 10;
        let many = 1 << 18;
        for store in [Store::default(), Store::files_in(&std::env::temp_dir())] {
            let _entered = store.enter();
            let mut column: Column<u64> = (0..few).collect();
            assert!(column.memory_bytes() > 0);
            column.extend(few..many);
            assert!(column.iter().copied().eq(0..many));
            assert_eq!(column.memory_bytes() == 0, store.is_mapped(1 << 20));
            let copy = column.clone();
            column.reserve_exact(1 << 20);
            column.truncate(1 << 17);
            column.shrink_to_fit();
            assert!(column.iter().copied().eq(0..1 << 17));
            column.truncate(few as usize);
            column.shrink_to_fit();
            assert!(column.memory_bytes() > 0);
            assert!(column.into_iter().eq(0..few));
            assert!(copy.into_iter().eq(0..many));
            assert!(Column::filled(7u8, 2 << 20).iter().all(|&row| row == 7));
        }
    }

    #[test]
    fn a_directory_without_room_is_not_needed() {
        let _entered = Store::files_in("/nowhere/at/all".as_ref()).enter();
        let column: Column<u64> = (0..1 << 18).collect();
        assert!(column.into_iter().eq(0..1 << 18));
    }

    #[test]
    fn what_is_entered_ends_with_its_scope() {
        let files = Store::files_in(&std::env::temp_dir());
        let entered = files.enter();
        {
            let _inner = Store::default().enter();
            assert!(!Store::current().is_mapped(usize::MAX));
        }
        assert!(Store::current().is_mapped(usize::MAX));
        drop(entered);
        assert!(!Store::current().is_mapped(usize::MAX));
    }
}
