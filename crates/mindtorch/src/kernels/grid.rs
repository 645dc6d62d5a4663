//! The places of numbers in memory, in the order of their dimensions.

use crate::shape::{Dims, numel};
use std::ops::Range;

/// Sizes and strides of some dimensions, the innermost last. Dimensions that lie together are one.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// Never empty.
    shape: Dims,
    strides: Dims,
}

/// Places that are evenly apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The position of the first in the order of the dimensions.
    pub(crate) position: usize,
    /// The place of the first.
    pub(crate) place: usize,
    pub(crate) len: usize,
}

impl Grid {
    pub(crate) fn new(shape: &[usize], strides: &[usize]) -> Self {
        let mut grid = Self { shape: Dims::new(), strides: Dims::new() };
        for (&size, &stride) in shape.iter().zip(strides).filter(|(size, _)| **size != 1) {
            match (grid.shape.last_mut(), grid.strides.last_mut()) {
                (Some(outer), Some(outer_stride)) if *outer_stride == size * stride => {
                    *outer *= size;
                    *outer_stride = stride;
                }
                _ => {
                    grid.shape.push(size);
                    grid.strides.push(stride);
                }
            }
        }
        if grid.shape.is_empty() {
            grid.shape.push(1);
            grid.strides.push(1);
        }
        grid
    }

    /// How many places there are.
    pub(crate) fn len(&self) -> usize {
        numel(&self.shape)
    }

    /// How far apart the places of a run are.
    pub(crate) fn stride(&self) -> usize {
        self.strides[self.strides.len() - 1]
    }

    /// Whether all places lie one after another.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.shape.len() == 1 && self.strides[0] == 1
    }

    /// The place at a position.
    pub(crate) fn place(&self, mut position: usize) -> usize {
        let mut place = 0;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).skip(1).rev() {
            place += position % size * stride;
            position /= size;
        }
        place + position * self.strides[0]
    }

    /// Calls `work` for runs that together are the given positions.
    #[inline(always)]
    pub(crate) fn for_runs(&self, positions: Range<usize>, mut work: impl FnMut(Run)) {
        let inner = self.shape[self.shape.len() - 1];
        let mut position = positions.start;
        while position < positions.end {
            let len = (inner - position % inner).min(positions.end - position);
            work(Run { position, place: self.place(position), len });
            position += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_that_lie_together_are_one() {
        let grid = Grid::new(&[2, 3, 1, 4], &[12, 4, 99, 1]);
        assert!(grid.is_contiguous() && grid.len() == 24);
        assert!(Grid::new(&[], &[]).is_contiguous());
        assert_eq!(Grid::new(&[2, 0], &[5, 1]).len(), 0);
    }

    #[test]
    fn runs_are_the_places_in_order() {
        let grid = Grid::new(&[3, 2, 2], &[1, 10, 5]);
        let mut places = Vec::new();
        grid.for_runs(1..9, |run| {
            places.extend((0..run.len).map(|step| (run.position + step, run.place + step * grid.stride())));
        });
        let expected: Vec<(usize, usize)> = (1..9).map(|at| (at, at / 4 + at / 2 % 2 * 10 + at % 2 * 5)).collect();
        assert_eq!(places, expected);
        assert!(expected.iter().all(|&(position, place)| grid.place(position) == place));
    }
}
