//! The samples of one quantity, on both sides.

use crate::recording::BLOCKS;
use crate::statistics::median;

/// The medians of blocks of steps, of every recording of a side.
pub(super) type Blocks = Vec<Vec<f64>>;

/// A quantity on both sides.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    pub(super) a: Blocks,
    pub(super) b: Blocks,
}

impl Samples {
    pub(super) fn sides(&self) -> [&Blocks; 2] {
        [&self.a, &self.b]
    }

    /// Whether there is something in nearly every block, on both sides.
    pub(super) fn is_steady(&self) -> bool {
        self.sides().iter().all(|side| {
            let (all, some) =
                side.iter().flatten().fold((0, 0), |(all, some), &value| (all + 1, some + usize::from(value > 0.0)));
            some > 0 && some * 10 >= all * 9
        })
    }

    /// The median of both sides.
    pub(super) fn level(&self) -> f64 {
        let all: Vec<f64> = self.sides().into_iter().flatten().flatten().copied().collect();
        median(&all)
    }

    /// The same with `change` applied to each value, which is told the value of the same block in `other`.
    pub(super) fn zip(&self, other: &Self, change: impl Fn(f64, f64) -> f64) -> Self {
        let side = |own: &Blocks, other: &Blocks| {
            let recording =
                |(own, other): (&Vec<f64>, &Vec<f64>)| own.iter().zip(other).map(|(&a, &b)| change(a, b)).collect();
            own.iter().zip(other).map(recording).collect()
        };
        Self { a: side(&self.a, &other.a), b: side(&self.b, &other.b) }
    }
}

/// One side as a list, of about as many values as one recording has, however many there are: several recordings are no more
/// independent samples because of it.
pub(super) fn pooled(side: &Blocks) -> Vec<f64> {
    let each = (BLOCKS / side.len().max(1)).max(4);
    let parts = |blocks: &Vec<f64>| {
        let count = each.min(blocks.len());
        let bound = |part: usize| part * blocks.len() / count;
        (0..count).map(|part| median(&blocks[bound(part)..bound(part + 1)])).collect::<Vec<_>>()
    };
    side.iter().flat_map(parts).collect()
}

/// By how much the earlier half of a side differs from the later: the halves of its recordings, or of the only one.
pub(super) fn halves(side: &Blocks) -> (Vec<f64>, Vec<f64>) {
    let values = pooled(side);
    let (earlier, later) = values.split_at(values.len() / 2);
    (earlier.to_vec(), later.to_vec())
}
