//! The dimension that a kernel works along.

/// A contiguous input seen along one of its dimensions: `outer` blocks of `len` rows of `inner` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// The product of the sizes before the dimension.
    pub(crate) outer: usize,
    /// The size of the dimension.
    pub(crate) len: usize,
    /// The product of the sizes after the dimension.
    pub(crate) inner: usize,
}

impl Axis {
    /// All numbers of an input, as one row.
    pub(crate) fn whole(len: usize) -> Self {
        Self { outer: 1, len, inner: 1 }
    }

    /// How many numbers there are.
    pub(crate) fn numbers(self) -> usize {
        self.outer * self.len * self.inner
    }

    /// How many numbers are left when the dimension is reduced to one.
    pub(crate) fn reduced(self) -> usize {
        self.outer * self.inner
    }

    /// The numbers of one block.
    pub(crate) fn block(self) -> usize {
        self.len * self.inner
    }
}
