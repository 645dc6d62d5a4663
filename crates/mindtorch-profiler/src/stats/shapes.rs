//! Inputs that look alike where only shapes are shown.

use super::GroupBy;
use crate::inputs::{Input, Inputs};
use rustc_hash::FxHashMap;

/// For inputs of the same shapes, whatever their types, strides and values: those that came first.
pub(super) struct Shapes {
    /// By inputs: those that stand for them.
    known: FxHashMap<u32, u32>,
    first: FxHashMap<Vec<Vec<i64>>, u32>,
    /// Every event is a group of its own, and shows its own inputs.
    is_exact: bool,
}

impl Shapes {
    pub(super) fn new(by: GroupBy) -> Self {
        let is_exact = by.stack_depth == usize::MAX;
        Self { known: FxHashMap::default(), first: FxHashMap::default(), is_exact }
    }

    pub(super) fn alike(&mut self, inputs: u32) -> u32 {
        if inputs == 0 || self.is_exact {
            return inputs;
        }
        let Self { known, first, .. } = self;
        *known.entry(inputs).or_insert_with(|| {
            let shape = |input: Input| if let Input::Tensor { dims, .. } = input { dims } else { Vec::new() };
            let shapes = Inputs(inputs).decode().into_iter().map(shape).collect();
            *first.entry(shapes).or_insert(inputs)
        })
    }
}
