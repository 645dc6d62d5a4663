//! The times of a group, as spans are added to it.

use crate::trace::{SpanFlags, Trace};
use std::cmp::Reverse;

/// A span, as it is summed.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) row: usize,
    pub(super) thread: usize,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) self_ns: u64,
    pub(super) flags: SpanFlags,
}

impl Row {
    pub(super) fn of(trace: &Trace, row: usize) -> Self {
        let spans = &trace.spans;
        let (start, end) = (spans.start[row], spans.end(row));
        let thread = trace.thread_of(row);
        Self { row, thread, start, end, self_ns: spans.self_ns.get(row), flags: spans.flags[row] }
    }
}

/// What every span of a group changes: a cache line, apart from what few spans have.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) count: u64,
    pub(super) cpu_total: u64,
    pub(super) self_cpu: u64,
    /// On the thread that is being summed, the group's spans cover everything up to here that they will cover.
    covered_until: u64,
    thread: u32,
    /// The first span, and when it began and ended.
    pub(super) first_row: u32,
    pub(super) first_start: u64,
    pub(super) first_end: u64,
}

impl Times {
    pub(super) const NONE: Self = Self {
        count: 0,
        cpu_total: 0,
        self_cpu: 0,
        covered_until: 0,
        thread: u32::MAX,
        first_row: u32::MAX,
        first_start: u64::MAX,
        first_end: 0,
    };

    /// Adds a span, and says whether others of its group on its thread contain it.
    #[inline]
    pub(super) fn add(&mut self, span: Row) -> bool {
        if self.thread != span.thread as u32 {
            self.turn_to(span);
        }
        self.count += 1;
        self.self_cpu += span.self_ns;
        let covered = self.covered_until;
        if span.flags.is_closed_elsewhere() {
            // It went to another thread, and is no part of this one's time line.
            self.cpu_total += span.end - span.start;
            return false;
        }
        // What it covers beyond the others is what lies after all of them.
        self.cpu_total += span.end.saturating_sub(span.start.max(covered));
        self.covered_until = covered.max(span.end);
        span.end <= covered && span.start < covered
    }

    /// Goes on with another thread, whose first span of this group this is. Spans of a thread come in the order of their
    /// starts, so no later one of them can be the group's first.
    #[cold]
    fn turn_to(&mut self, span: Row) {
        self.thread = span.thread as u32;
        self.covered_until = 0;
        if (span.start, Reverse(span.end)) < (self.first_start, Reverse(self.first_end)) {
            (self.first_row, self.first_start, self.first_end) = (span.row as u32, span.start, span.end);
        }
    }
}
