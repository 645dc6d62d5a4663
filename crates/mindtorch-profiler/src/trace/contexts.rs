//! The parents of spans that are part of tasks, which take turns on a thread.

use super::columns::Sparse;
use super::nesting::NO_PARENT;
use crate::recorder::SpanKind;
use rustc_hash::FxHashMap;

/// The state of the pass over one thread.
#[derive(Default)]
pub(super) struct Contexts {
    /// By row: the task that it is part of, or 0.
    of_row: Sparse<u32>,
    open: FxHashMap<u32, OpenOfTask>,
}

/// The spans of a task that may contain its next one, the innermost last.
#[derive(Default)]
struct OpenOfTask {
    all: Vec<Open>,
    /// Those that are no functions. A task that is resumed runs in a function that began after its scopes and may end after
    /// them: neither contains the other, and what it does is in both.
    scopes: Vec<Open>,
}

#[derive(Clone, Copy)]
struct Open {
    row: u32,
    end: u64,
}

/// A span of a task, on its way into the columns.
#[derive(Clone, Copy)]
pub(super) struct SpanOfTask {
    pub(super) task: u32,
    pub(super) row: u32,
    pub(super) end: u64,
    pub(super) kind: SpanKind,
    /// Its parent as far as time tells.
    pub(super) nested_in: u32,
}

/// Where a span of a task belongs.
pub(super) struct Place {
    pub(super) parent: u32,
    /// The span whose stack it has, if it has none of its own.
    pub(super) called_by: u32,
}

impl Contexts {
    /// The place of a span: in the innermost of the same task that contains it, or else the innermost around it that is part
    /// of no task. Scopes go before functions that are not inside them.
    pub(super) fn enter(&mut self, span: SpanOfTask, parents: &[u32]) -> Place {
        self.of_row.set(span.row as usize, span.task);
        let open = self.open.entry(span.task).or_default();
        let innermost = enter(&mut open.all, span);
        if span.kind == SpanKind::Function {
            let parent = innermost.unwrap_or_else(|| self.around(span, parents));
            return Place { parent, called_by: parent };
        }
        let scope = enter(&mut open.scopes, span);
        let called_by = innermost.unwrap_or_else(|| self.around(span, parents));
        let parent = scope.filter(|&scope| !is_inside(called_by, scope, parents)).unwrap_or(called_by);
        Place { parent, called_by }
    }

    /// The innermost span around it that is part of no other task.
    fn around(&self, span: SpanOfTask, parents: &[u32]) -> u32 {
        let mut around = span.nested_in;
        while around != NO_PARENT && ![0, span.task].contains(&self.of_row.get(around as usize)) {
            around = parents[around as usize];
        }
        around
    }

    /// Ends the pass over a thread.
    pub(super) fn finish(&mut self) {
        self.open.clear();
    }
}

/// Adds a span to those that are open, and gives the innermost that contains it.
fn enter(open: &mut Vec<Open>, span: SpanOfTask) -> Option<u32> {
    while open.last().is_some_and(|last| last.end < span.end) {
        open.pop();
    }
    let innermost = open.last().map(|last| last.row);
    open.push(Open { row: span.row, end: span.end });
    innermost
}

/// Whether a span is another or inside it. Parents are in earlier rows.
fn is_inside(mut row: u32, other: u32, parents: &[u32]) -> bool {
    while row != NO_PARENT && row > other {
        row = parents[row as usize];
    }
    row == other
}
