//! The numbers of threads, by which backward nodes know the thread of their forward operator.

use super::launches::Places;
use super::order::Order;
use super::{ArrowEnd, Clock, Loose};
use crate::recorder::SpanKind;
use crate::trace::columns::SpanColumns;
use crate::trace::rows::ThreadRow;
use rustc_hash::{FxHashMap, FxHashSet};

/// How often a number was found to mean a thread.
type Votes = FxHashMap<(u32, usize), u32>;

impl Loose {
    /// Gives threads the numbers that backward nodes have for them. Files name threads otherwise, so a number means the thread
    /// where the arrows to its nodes begin; without arrows, where the operators with the nodes' sequence numbers are.
    pub(super) fn number_threads(&self, order: &Order, clock: Clock, spans: &SpanColumns, threads: &mut [ThreadRow]) {
        let mut taken: FxHashSet<u32> = spans.details.long_rows().iter().map(|detail| detail.forward_thread).collect();
        taken.remove(&0);
        if !taken.is_empty() {
            assign(&self.votes_of_arrows(Places { order, clock, threads, spans }), threads);
            let assigned: FxHashSet<u32> = threads.iter().map(|thread| thread.number).collect();
            if taken.iter().any(|number| !assigned.contains(number)) {
                assign(&votes_of_sequences(spans, threads, &assigned), threads);
            }
        }
        let mut free = (1..).filter(|number| !taken.contains(number));
        for thread in threads.iter_mut().filter(|thread| thread.number == 0) {
            thread.number = free.next().unwrap_or(0);
        }
    }

    fn votes_of_arrows(&self, places: Places<'_>) -> Votes {
        let rows = if self.arrows.is_empty() { Vec::new() } else { places.order.rows(self) };
        let mut from: FxHashMap<u64, usize> = FxHashMap::default();
        let ends = |end: ArrowEnd| self.arrows.iter().filter(move |arrow| arrow.end == end);
        for arrow in ends(ArrowEnd::Forward) {
            if let Some(thread) = places.order.rank(arrow.thread) {
                from.insert(arrow.id, thread);
            }
        }
        let mut votes = Votes::default();
        for arrow in ends(ArrowEnd::Backward) {
            if let Some(&thread) = from.get(&arrow.id)
                && let Some(row) = places.row_of(arrow, &rows)
                && let Some(detail) = places.spans.details.get(row as usize)
                && detail.forward_thread != 0
            {
                *votes.entry((detail.forward_thread, thread)).or_default() += 1;
            }
        }
        votes
    }
}

/// Counts for each number that is not `assigned` the threads with operators of its nodes' sequence numbers.
fn votes_of_sequences(spans: &SpanColumns, threads: &[ThreadRow], assigned: &FxHashSet<u32>) -> Votes {
    let mut forward: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for (at, thread) in threads.iter().enumerate() {
        for row in thread.spans.clone() {
            if let Some(detail) = spans.details.get(row)
                && let Some(sequence) = detail.sequence()
                && detail.forward_thread == 0
                && spans.kind[row] == SpanKind::Op
            {
                let of_sequence = forward.entry(sequence).or_default();
                // A number that many threads have tells nothing.
                if of_sequence.last() != Some(&at) && of_sequence.len() < 16 {
                    of_sequence.push(at);
                }
            }
        }
    }
    let mut votes = Votes::default();
    for detail in spans.details.long_rows().iter().filter(|detail| detail.forward_thread != 0) {
        let threads = detail.sequence().and_then(|sequence| forward.get(&sequence));
        if !assigned.contains(&detail.forward_thread) {
            for &thread in threads.into_iter().flatten() {
                *votes.entry((detail.forward_thread, thread)).or_default() += 1;
            }
        }
    }
    votes
}

/// Gives every number the thread with most votes for it, and no thread two.
fn assign(votes: &Votes, threads: &mut [ThreadRow]) {
    let mut votes: Vec<(u32, u32, usize)> =
        votes.iter().map(|(&(number, thread), &count)| (count, number, thread)).collect();
    votes.sort_unstable_by_key(|&(count, number, thread)| (std::cmp::Reverse(count), number, thread));
    let mut taken: FxHashSet<u32> = threads.iter().map(|thread| thread.number).collect();
    for (_, number, thread) in votes {
        if threads[thread].number == 0 && taken.insert(number) {
            threads[thread].number = number;
        }
    }
}
