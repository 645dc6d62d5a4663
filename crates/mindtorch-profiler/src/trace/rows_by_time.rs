//! The rows of all threads' spans, merged.

use super::Trace;
use super::columns::SpanColumns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

/// By start, and of those that start together the longer first. The spans of a thread are in the order of their starts
/// already, so that this needs no memory for the rows.
pub(super) struct RowsByTime<'a> {
    spans: &'a SpanColumns,
    threads: Vec<ThreadRows>,
    /// The next row of each thread that has one, and the thread.
    next: BinaryHeap<Reverse<(Time, usize, u32)>>,
}

type Time = (u64, Reverse<u64>);

struct ThreadRows {
    rows: Range<usize>,
    /// The next of those that start together, backwards.
    together: Vec<u32>,
}

impl<'a> RowsByTime<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let spans = &trace.spans;
        let rows = trace.threads.iter().map(|thread| thread.spans.clone());
        let mut threads: Vec<_> = rows.map(|rows| ThreadRows { rows, together: Vec::new() }).collect();
        let first = |(at, thread): (usize, &mut ThreadRows)| Some(Reverse(entry(spans, at, thread.next(spans)?)));
        let next = threads.iter_mut().enumerate().filter_map(first).collect();
        Self { spans, threads, next }
    }
}

fn entry(spans: &SpanColumns, thread: usize, row: u32) -> (Time, usize, u32) {
    ((spans.start[row as usize], Reverse(spans.end(row as usize))), thread, row)
}

impl Iterator for RowsByTime<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let mut first = self.next.peek_mut()?;
        let Reverse((_, thread, row)) = *first;
        match self.threads[thread].next(self.spans) {
            Some(next) => *first = Reverse(entry(self.spans, thread, next)),
            None => drop(PeekMut::pop(first)),
        }
        Some(row)
    }
}

impl ThreadRows {
    #[inline]
    fn next(&mut self, spans: &SpanColumns) -> Option<u32> {
        if let Some(row) = self.together.pop() {
            return Some(row);
        }
        let row = self.rows.next()?;
        let is_alone = self.rows.is_empty() || spans.start[self.rows.start] != spans.start[row];
        if is_alone { Some(row as u32) } else { self.longest_first(spans, row) }
    }

    /// The first of the spans that start together with this one.
    #[cold]
    fn longest_first(&mut self, spans: &SpanColumns, row: usize) -> Option<u32> {
        self.together.push(row as u32);
        while !self.rows.is_empty() && spans.start[self.rows.start] == spans.start[row] {
            self.together.extend(self.rows.next().map(|row| row as u32));
        }
        self.together.sort_by_key(|&row| Reverse(spans.end(row as usize)));
        self.together.reverse();
        self.together.pop()
    }
}
