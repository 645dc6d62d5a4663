//! Which rows of a column have a value, and columns that have nothing but yes and no: a bit a row, the lowest first.

use super::{Column, Ints};

/// A bit for each row.
#[derive(Clone, Debug, Default)]
pub(in crate::export) struct Flags {
    bytes: Vec<u8>,
    len: usize,
}

impl Flags {
    #[inline]
    pub(super) fn push(&mut self, is_set: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if is_set {
            self.bytes[self.len / 8] |= 1 << (self.len % 8);
        }
        self.len += 1;
    }

    #[cfg(any(test, feature = "parquet"))]
    pub(in crate::export) fn get(&self, row: usize) -> bool {
        self.bytes[row / 8] & (1 << (row % 8)) != 0
    }

    pub(in crate::export) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Which rows have a value. As long as all have, nothing is kept.
#[derive(Clone, Debug, Default)]
pub(in crate::export) struct Validity {
    /// The rows, while all have a value.
    valid_rows: usize,
    flags: Option<Flags>,
    nulls: usize,
}

impl Validity {
    #[inline]
    pub(super) fn push(&mut self, is_valid: bool) {
        match &mut self.flags {
            None if is_valid => self.valid_rows += 1,
            Some(flags) => {
                flags.push(is_valid);
                self.nulls += usize::from(!is_valid);
            }
            None => self.push_first_null(),
        }
    }

    #[cold]
    fn push_first_null(&mut self) {
        let mut flags = Flags::default();
        (0..self.valid_rows).for_each(|_| flags.push(true));
        flags.push(false);
        self.flags = Some(flags);
        self.nulls = 1;
    }

    /// Whether a row has a value.
    #[cfg(feature = "parquet")]
    pub(in crate::export) fn get(&self, row: usize) -> bool {
        self.flags.as_ref().is_none_or(|flags| flags.get(row))
    }

    /// How many rows have none.
    pub(in crate::export) fn nulls(&self) -> usize {
        self.nulls
    }

    /// The bits, if not all are set.
    pub(in crate::export) fn into_flags(self) -> Option<Flags> {
        self.flags
    }
}

/// A column of integers while it is made.
#[derive(Default)]
pub(super) struct IntBuilder {
    values: Vec<i64>,
    validity: Validity,
}

impl IntBuilder {
    pub(super) fn with_capacity(rows: usize) -> Self {
        Self { values: Vec::with_capacity(rows), validity: Validity::default() }
    }

    #[inline]
    pub(super) fn push(&mut self, value: Option<i64>) {
        self.values.push(value.unwrap_or_default());
        self.validity.push(value.is_some());
    }

    pub(super) fn finish(self) -> Column<'static> {
        let is_empty = self.validity.nulls() == self.values.len();
        if is_empty { Column::Nulls } else { Column::Ints(Ints::Made(self.values), self.validity) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_valid_until_one_is_not() {
        let mut validity = Validity::default();
        (0..11).for_each(|_| validity.push(true));
        assert_eq!(validity.nulls(), 0);
        assert!(validity.flags.is_none());
        validity.push(false);
        validity.push(true);
        validity.push(false);
        assert_eq!(validity.nulls(), 2);
        let flags = validity.flags.unwrap();
        assert_eq!(flags.bytes, [0xff, 0b1_0111]);
        assert!((0..14).map(|row| flags.get(row)).eq((0..14).map(|row| row != 11 && row != 13)));
    }
}
