//! Which indices a dimension has.

use super::simd::vectorized;

/// The bounds of a dimension that is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Which dimension of the tensor it is, for messages.
    pub(crate) dim: usize,
    pub(crate) size: usize,
    /// Whether negative indices count from the end.
    pub(crate) from_end: bool,
}

impl Bounds {
    #[inline(always)]
    fn is_outside(self, index: i64) -> bool {
        let lowest = if self.from_end { -(self.size as i64) } else { 0 };
        index < lowest || index >= self.size as i64
    }

    /// Whether there is an index that the dimension does not have.
    pub(crate) fn any_outside(self, indices: &[i64]) -> bool {
        vectorized(
            #[inline(always)]
            || indices.iter().fold(false, |any, &index| any | self.is_outside(index)),
        )
    }

    /// The first index that the dimension does not have.
    pub(crate) fn first_outside(self, indices: &[i64]) -> Option<i64> {
        let first = || indices.iter().copied().find(|&index| self.is_outside(index));
        if self.any_outside(indices) { first() } else { None }
    }

    /// An index that the dimension has, counted from the beginning.
    #[inline(always)]
    pub(crate) fn within(self, index: i64) -> usize {
        (if index < 0 { index + self.size as i64 } else { index }) as usize
    }

    /// The index, counted from the beginning. A device finds out only here that there is no such index.
    #[inline(always)]
    pub(crate) fn position(self, index: i64) -> usize {
        if self.is_outside(index) {
            self.panic(index);
        }
        self.within(index)
    }

    /// Stops the kernel of a device.
    #[cold]
    pub(crate) fn panic(self, index: i64) -> ! {
        panic!("{}", self.message(index));
    }

    /// What is wrong with an index outside.
    pub(crate) fn message(self, index: i64) -> String {
        format!("index {index} is out of bounds for dimension {} with size {}", self.dim, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_indices_that_exist_are_within() {
        let bounds = Bounds { dim: 0, size: 3, from_end: true };
        assert_eq!(bounds.first_outside(&[0, 2, -3]), None);
        assert_eq!(bounds.first_outside(&[0, 3, -4]), Some(3));
        assert_eq!((bounds.position(-1), bounds.position(2)), (2, 2));
        assert_eq!(Bounds { from_end: false, ..bounds }.first_outside(&[1, -1]), Some(-1));
        assert_eq!(Bounds { size: 0, ..bounds }.first_outside(&[]), None);
    }

    #[test]
    #[should_panic(expected = "index -1 is out of bounds for dimension 2 with size 4")]
    fn an_index_outside_stops_the_kernel() {
        Bounds { dim: 2, size: 4, from_end: false }.position(-1);
    }
}
