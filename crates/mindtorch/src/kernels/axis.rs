//! One axis of a contiguous tensor, and what is before and behind it.

/// The axis that a kernel works along: the number at `index` is at `(outer index * length + index) * inner + inner index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// How many numbers the dimensions before it have together.
    pub(crate) outer: usize,
    pub(crate) length: usize,
    /// How many numbers the dimensions behind it have together.
    pub(crate) inner: usize,
}

impl Axis {
    /// Dimension `dim` of `shape`.
    pub(crate) fn new(shape: &[usize], dim: usize) -> Self {
        Self { outer: shape[..dim].iter().product(), length: shape[dim], inner: shape[dim + 1..].iter().product() }
    }

    /// How many numbers the tensor has.
    pub(crate) fn numel(self) -> usize {
        self.outer * self.length * self.inner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_divides_its_shape() {
        assert_eq!(Axis::new(&[2, 3, 4, 5], 2), Axis { outer: 6, length: 4, inner: 5 });
        assert_eq!(Axis::new(&[7], 0), Axis { outer: 1, length: 7, inner: 1 });
        assert_eq!(Axis::new(&[2, 0, 4], 1).numel(), 0);
    }
}
