//! The dimension that a kernel works along.

/// The numbers that are worth a thread.
pub(crate) const GRAIN: usize = 1 << 17;

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

    /// The blocks in two halves, unless there is one thread, or so few blocks that each of them is better divided.
    pub(super) fn halved(self, threads: usize) -> Option<(Self, Self)> {
        let many = self.outer >= 4 * threads || self.block() < 2 * GRAIN;
        (threads > 1 && self.outer > 1 && many).then(|| {
            let half = Self { outer: self.outer / 2, ..self };
            (half, Self { outer: self.outer - half.outer, ..self })
        })
    }

    /// Where in the input the reduced numbers begin, `N` at a time from `start` on; the last one again where there are no more.
    #[inline(always)]
    pub(super) fn firsts<const N: usize>(self, start: usize) -> [usize; N] {
        let last = self.reduced() - 1;
        if self.inner == 1 {
            return std::array::from_fn(|lane| (start + lane).min(last) * self.len);
        }
        let (mut block, mut column) = (start / self.inner * self.block(), start % self.inner);
        std::array::from_fn(|lane| {
            let first = block + column;
            if start + lane < last {
                column += 1;
                if column == self.inner {
                    (block, column) = (block + self.block(), 0);
                }
            }
            first
        })
    }
}

/// Inputs that kernels are tested with.
#[cfg(test)]
pub(super) mod samples {
    use super::Axis;
    use crate::kernels::random::Random;

    /// Axes of all kinds: short and long, narrow and wide, empty, and worth several threads.
    pub(in crate::kernels) fn samples() -> Vec<Axis> {
        let mut axes = Vec::new();
        for outer in [0, 1, 5] {
            for len in [0, 1, 2, 33, 600] {
                axes.extend([0, 1, 3, 40].map(|inner| Axis { outer, len, inner }));
            }
        }
        let large = [(1, 300_000, 1), (3, 90_001, 1), (1, 100_003, 3), (1, 300, 1100)];
        axes.extend(large.map(|(outer, len, inner)| Axis { outer, len, inner }));
        axes
    }

    impl Axis {
        /// Where the columns are.
        pub(in crate::kernels) fn columns(self) -> impl Iterator<Item = (usize, usize)> {
            (0..self.outer).flat_map(move |outer| (0..self.inner).map(move |inner| (outer, inner)))
        }
    }

    /// The numbers of one column.
    pub(in crate::kernels) fn column<T: Copy>(input: &[T], axis: Axis, outer: usize, inner: usize) -> Vec<T> {
        (0..axis.len).map(|index| input[(outer * axis.len + index) * axis.inner + inner]).collect()
    }

    /// Random numbers from 0 to less than `range`.
    pub(in crate::kernels) fn whole_numbers(len: usize, range: u64) -> Vec<i64> {
        let mut numbers = vec![0; len];
        Random::new(range).integers(&mut numbers, 0, range);
        numbers
    }

    /// Normal random numbers.
    pub(in crate::kernels) fn normal_numbers(len: usize) -> Vec<f32> {
        let mut numbers = vec![0.0; len];
        Random::new(len as u64).normal(&mut numbers, 0.0, 1.0);
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firsts_are_where_the_first_rows_are() {
        let axis = Axis { outer: 3, len: 5, inner: 2 };
        assert_eq!(axis.firsts::<4>(0), [0, 1, 10, 11]);
        assert_eq!(axis.firsts::<4>(4), [20, 21, 21, 21]);
        assert_eq!(axis.firsts::<2>(3), [11, 20]);
        assert_eq!(Axis { outer: 3, len: 5, inner: 1 }.firsts::<4>(1), [5, 10, 10, 10]);
    }

    #[test]
    fn blocks_are_halved_if_there_are_enough() {
        let axis = Axis { outer: 3, len: 10, inner: 1 };
        assert_eq!(axis.halved(1), None);
        assert_eq!(axis.halved(2), Some((Axis { outer: 1, ..axis }, Axis { outer: 2, ..axis })));
        assert_eq!(Axis { outer: 1, ..axis }.halved(2), None);
        assert_eq!(Axis { len: 2 * GRAIN, ..axis }.halved(2), None);
    }
}
