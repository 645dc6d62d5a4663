//! What a filter took out of the spans that it left: it was recorded, and the time that this took is in the spans' times.

use super::filtered::Kept;
use super::{Selection, Trace};
use crate::column::Column;
use crate::recorder::SpanKind;

/// Events of one kind that a filter took out of a span, or put into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TakenOut {
    /// The span, which is there.
    pub(crate) row: u32,
    pub(crate) what: Recorded,
    pub(crate) from: TakenFrom,
}

/// What can be recorded in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    Span(SpanKind),
    Memory,
    MemoryUse,
}

/// Where events were before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TakenFrom {
    /// In the span itself.
    Itself,
    /// In something in the span that was taken out.
    Inside,
    /// There, too, but they are left, and now in the span itself.
    InsideAndLeft,
}

/// What a filter takes out, while it is counted.
struct Counts<'a> {
    kept: &'a Kept,
    /// By row that is kept: its first entry, one higher, or 0.
    first: Column<u32>,
    entries: Column<Entry>,
}

struct Entry {
    taken_out: TakenOut,
    count: u32,
    /// The row's next one, one higher, or 0. A row has few.
    next: u32,
}

impl Counts<'_> {
    /// Counts events that were in a span of the whole trace.
    fn add(&mut self, span: u32, what: Recorded, is_left: bool) {
        match (self.kept.has(span), is_left) {
            (true, true) => {}
            (true, false) => self.add_from(TakenFrom::Itself, span, what, 1),
            (false, false) => self.add_from(TakenFrom::Inside, span, what, 1),
            (false, true) => self.add_from(TakenFrom::InsideAndLeft, span, what, 1),
        }
    }

    fn add_from(&mut self, from: TakenFrom, span: u32, what: Recorded, count: u32) {
        let Some(row) = self.kept.nearest(span) else { return };
        let taken_out = TakenOut { row, what, from };
        let first = &mut self.first[row as usize];
        let mut next = *first;
        while let Some(entry) = next.checked_sub(1).map(|at| &mut self.entries[at as usize]) {
            if entry.taken_out == taken_out {
                entry.count += count;
                return;
            }
            next = entry.next;
        }
        self.entries.push(Entry { taken_out, count, next: *first });
        *first = self.entries.len() as u32;
    }

    /// Counts what was taken out before.
    fn add_earlier(&mut self, TakenOut { row, what, from }: TakenOut, count: u32) {
        match from {
            _ if self.kept.has(row) => self.add_from(from, row, what, count),
            TakenFrom::Itself | TakenFrom::Inside => self.add_from(TakenFrom::Inside, row, what, count),
            // They are spans of the whole trace, and counted as such.
            TakenFrom::InsideAndLeft => {}
        }
    }
}

impl Trace {
    /// What the part of this trace that is kept lacks, and how many of each.
    pub(super) fn taken_out(&self, selection: &Selection<'_>, kept: &Kept) -> Column<(TakenOut, u32)> {
        let mut counts = Counts { kept, first: Column::filled(0, kept.len()), entries: Column::new() };
        for (row, (&parent, &kind)) in self.spans.parent.iter().zip(&self.spans.kind).enumerate() {
            counts.add(parent, Recorded::Span(kind), kept.has(row as u32));
        }
        for (row, span) in self.memory.iter().enumerate().filter_map(|(row, memory)| Some((row, memory.span?))) {
            counts.add(span, Recorded::Memory, selection.memory(row));
        }
        let uses = self.notes.uses.iter().filter_map(|row| row.span);
        for span in uses.chain(self.notes.sources.iter().map(|row| row.span)) {
            counts.add(span, Recorded::MemoryUse, false);
        }
        for &(taken_out, count) in &self.taken_out {
            counts.add_earlier(taken_out, count);
        }
        let mut counts: Column<_> = counts.entries.iter().map(|entry| (entry.taken_out, entry.count)).collect();
        counts.sort_unstable_by_key(|(taken_out, _)| (taken_out.row, taken_out.from));
        counts
    }
}
