//! A trace, with what Python adds to it.

use mindtorch_profiler::Trace;
use pyo3::Python;
use std::num::NonZeroU32;
use std::sync::OnceLock;

/// A trace that events and averages share.
pub(crate) struct TraceView {
    pub(crate) trace: Trace,
    by_time: OnceLock<Vec<u32>>,
    children: OnceLock<Children>,
}

impl TraceView {
    pub(crate) fn new(trace: Trace) -> Self {
        Self { trace, by_time: OnceLock::new(), children: OnceLock::new() }
    }

    /// The spans' rows in the order in which torch lists events.
    pub(crate) fn rows_by_time(&self) -> &[u32] {
        self.by_time.get_or_init(|| self.trace.rows_by_time())
    }

    pub(crate) fn children(&self, py: Python<'_>) -> &Children {
        // Looked for first, since releasing the interpreter lock costs more than an event's few children.
        self.children
            .get()
            .unwrap_or_else(|| py.detach(|| self.children.get_or_init(|| Children::of_trace(&self.trace))))
    }
}

/// Which spans each span contains directly, so that asking does not go through all that it contains.
pub(crate) struct Children {
    /// By row: the first child.
    first: Vec<Option<NonZeroU32>>,
    /// By row: the next child of the same parent.
    next: Vec<Option<NonZeroU32>>,
}

impl Children {
    fn of_trace(trace: &Trace) -> Self {
        let mut first = vec![None; trace.span_count()];
        let mut next = first.clone();
        // From the last, so that each child comes before those that are already there.
        for span in trace.spans().rev() {
            if let Some(parent) = span.parent() {
                // Row 0 is nobody's child: parents are in earlier rows.
                let row = u32::try_from(span.row()).ok().and_then(NonZeroU32::new);
                next[span.row()] = std::mem::replace(&mut first[parent.row()], row);
            }
        }
        Self { first, next }
    }

    pub(crate) fn of(&self, row: usize) -> impl Iterator<Item = usize> {
        let row_of = |child: NonZeroU32| child.get() as usize;
        let first = self.first[row].map(row_of);
        std::iter::successors(first, move |child| self.next[*child].map(row_of))
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 ns, which is 104 days")]
pub(crate) fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
