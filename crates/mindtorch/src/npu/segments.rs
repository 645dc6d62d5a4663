//! The address space that is not reserved: ranges that segments are cut from and go back to.

use std::collections::BTreeMap;

/// Free ranges of addresses, none next to another.
#[derive(Debug)]
pub(super) struct FreeRanges {
    /// Bytes by offset.
    ranges: BTreeMap<u64, u64>,
}

impl FreeRanges {
    /// The range from 0 to `bytes`.
    pub(super) fn new(bytes: u64) -> Self {
        Self { ranges: BTreeMap::from([(0, bytes)]) }
    }

    /// Takes `bytes` from the smallest range that has them, and gives their offset.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let fitting = self.ranges.iter().filter(|&(_, &len)| len >= bytes);
        let (&offset, &len) = fitting.min_by_key(|&(&offset, &len)| (len, offset))?;
        self.ranges.remove(&offset);
        if len > bytes {
            self.ranges.insert(offset + bytes, len - bytes);
        }
        Some(offset)
    }

    /// Takes back what [`Self::take`] gave.
    pub(super) fn give_back(&mut self, mut offset: u64, mut bytes: u64) {
        if let Some((&before, &len)) = self.ranges.range(..offset).next_back()
            && before + len == offset
        {
            self.ranges.remove(&before);
            offset = before;
            bytes += len;
        }
        if let Some(len) = self.ranges.remove(&(offset + bytes)) {
            bytes += len;
        }
        self.ranges.insert(offset, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_from_the_smallest_that_fits_and_grow_together_again() {
        let mut free = FreeRanges::new(100);
        assert_eq!([30, 10, 30, 10].map(|bytes| free.take(bytes)), [Some(0), Some(30), Some(40), Some(70)]);
        free.give_back(0, 30);
        free.give_back(40, 30);
        assert_eq!(free.take(31), None);
        assert_eq!(free.take(15), Some(80));
        assert_eq!(free.take(5), Some(95));
        assert_eq!(free.take(30), Some(0));
        free.give_back(0, 30);
        free.give_back(30, 10);
        free.give_back(80, 15);
        free.give_back(95, 5);
        free.give_back(70, 10);
        assert_eq!(free.ranges, BTreeMap::from([(0, 100)]));
        assert_eq!(free.take(101), None);
        assert_eq!(free.take(100), Some(0));
        assert_eq!(free.take(1), None);
    }
}
