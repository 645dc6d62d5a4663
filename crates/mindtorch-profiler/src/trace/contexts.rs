//! The parents of spans that are part of tasks, which take turns on a thread.

use super::columns::Sparse;
use super::nesting::NO_PARENT;
use rustc_hash::FxHashMap;

/// The state of the pass over one thread.
#[derive(Default)]
pub(super) struct Contexts {
    /// By row: the task that it is part of, or 0.
    of_row: Sparse<u32>,
    /// By task: its spans that may contain the next, with their ends, the innermost last.
    open: FxHashMap<u32, Vec<(u32, u64)>>,
}

impl Contexts {
    /// The parent of a span of a task: the innermost of the same task that contains it, or else the innermost around it that
    /// is part of no task. `nested_in` is its parent as far as time tells.
    pub(super) fn enter(&mut self, context: u32, row: u32, end: u64, nested_in: u32, parents: &[u32]) -> u32 {
        self.of_row.set(row as usize, context);
        let open = self.open.entry(context).or_default();
        while open.last().is_some_and(|&(_, other)| other < end) {
            open.pop();
        }
        let own = open.last().map(|&(row, _)| row);
        open.push((row, end));
        if let Some(own) = own {
            return own;
        }
        let mut around = nested_in;
        while around != NO_PARENT && self.is_of_another(around, context) {
            around = parents[around as usize];
        }
        around
    }

    fn is_of_another(&self, row: u32, context: u32) -> bool {
        let other = self.of_row.get(row as usize);
        other != 0 && other != context
    }

    /// Ends the pass over a thread.
    pub(super) fn finish(&mut self) {
        self.open.clear();
    }
}
