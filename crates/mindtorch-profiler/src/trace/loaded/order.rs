//! The order of a trace's rows: by thread, and by beginning.

use super::{Loose, LooseInstant, LooseMemory, LooseSpan, NOWHERE};
use std::cmp::Reverse;

/// Which loose event becomes which row.
pub(super) struct Order {
    /// The loose threads that become rows.
    threads: Vec<u32>,
    /// By loose thread: its row, or [`NOWHERE`].
    ranks: Vec<u32>,
    /// By row: the loose span. `None` if they are in order as they are.
    spans: Option<Vec<u32>>,
}

impl Order {
    pub(super) fn of(loose: &Loose) -> Self {
        let threads = threads(loose);
        let mut ranks = vec![NOWHERE; loose.threads.len()];
        for (&thread, rank) in threads.iter().zip(0..) {
            ranks[thread as usize] = rank;
        }
        let mut order = Self { threads, ranks, spans: None };
        // This profiler writes spans in the order of their beginning, which times alone do not tell if they are equal. In
        // other files whatever is longer contains what begins with it.
        let length = |span: &LooseSpan| if loose.is_ours { 0 } else { span.duration };
        let key = |span: &LooseSpan| (order.ranks[span.thread as usize], span.start, Reverse(length(span)));
        if !loose.spans.is_sorted_by_key(key) {
            let mut places: Vec<u32> = (0..loose.spans.len() as u32).collect();
            places.sort_by_key(|&place| key(&loose.spans[place as usize]));
            order.spans = Some(places);
        }
        order
    }

    pub(super) fn threads(&self) -> &[u32] {
        &self.threads
    }

    /// The row of a loose thread. One without events may have none.
    pub(super) fn rank(&self, thread: u32) -> Option<usize> {
        let rank = self.ranks[thread as usize];
        (rank != NOWHERE).then_some(rank as usize)
    }

    pub(super) fn spans<'a>(&'a self, loose: &'a Loose) -> impl Iterator<Item = &'a LooseSpan> {
        let place = |row: usize| self.spans.as_ref().map_or(row, |places| places[row] as usize);
        (0..loose.spans.len()).map(move |row| &loose.spans[place(row)])
    }

    pub(super) fn memory<'a>(&self, loose: &'a Loose) -> Vec<&'a LooseMemory> {
        let mut rows: Vec<&LooseMemory> = loose.memory.iter().collect();
        rows.sort_by_key(|row| (self.rank(row.thread), row.at));
        rows
    }

    pub(super) fn instants<'a>(&self, loose: &'a Loose) -> Vec<&'a LooseInstant> {
        let mut rows: Vec<&LooseInstant> = loose.instants.iter().collect();
        rows.sort_by_key(|row| (self.rank(row.thread), row.at));
        rows
    }

    /// By loose span: its row.
    pub(super) fn rows(&self, loose: &Loose) -> Vec<u32> {
        let Some(places) = &self.spans else { return (0..loose.spans.len() as u32).collect() };
        let mut rows = vec![0; places.len()];
        for (&place, row) in places.iter().zip(0..) {
            rows[place as usize] = row;
        }
        rows
    }
}

/// The threads that have events, in the order in which the file names them, and then those without names. This profiler names
/// only those that have events, though some may be a device's.
fn threads(loose: &Loose) -> Vec<u32> {
    let mut is_used = vec![false; loose.threads.len()];
    let spans = loose.spans.iter().map(|span| span.thread);
    let others = loose.memory.iter().map(|row| row.thread).chain(loose.instants.iter().map(|row| row.thread));
    spans.chain(others).for_each(|thread| is_used[thread as usize] = true);
    let is_row = |&thread: &u32| {
        let thread = thread as usize;
        is_used[thread] || loose.is_ours && loose.threads[thread].label != 0
    };
    let mut threads: Vec<u32> = (0..loose.threads.len() as u32).filter(is_row).collect();
    threads.sort_by_key(|&thread| loose.threads[thread as usize].label.wrapping_sub(1));
    threads
}
