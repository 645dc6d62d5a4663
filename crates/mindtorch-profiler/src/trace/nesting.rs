//! Nesting: who is inside whom on a thread, and whose time it is at each instant.
//!
//! Spans come in the order in which they began. Two questions are answered in one pass:
//! - the *parent* of a span is the latest-begun span that contains it whole;
//! - each instant belongs to the latest-begun span that is open then. The instants that belong to a span are its *self
//!   time*. So self times are never negative and add up to the time that the thread's spans cover, even where spans
//!   overlap without nesting (a guard that outlives the one around it, interleaved tasks).
//!
//! For spans that nest, both are what everyone expects. Every span is pushed and popped once on each stack, whatever its
//! depth and however the spans overlap.

use super::nanos::Nanos;

pub(super) const NO_PARENT: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Open {
    row: u32,
    end: u64,
}

/// The state of the pass over one thread.
#[derive(Default)]
pub(crate) struct Nesting {
    /// Spans that may own the present instant, in the order in which they began. Below the top there may be some that
    /// have ended; they are passed over when they come to the top.
    open: Vec<Open>,
    /// Spans that may contain the next one. A span that began earlier and ends earlier than another can never be the
    /// latest-begun to contain a third, so the ends fall from bottom to top.
    containers: Vec<Open>,
    /// Up to here every instant has been given to its owner.
    settled: u64,
    has_overlaps: bool,
}

impl Nesting {
    /// Adds a span and returns its parent's row. Spans must come in the order of their starts.
    pub(crate) fn enter(&mut self, row: u32, start: u64, end: u64, self_ns: &mut Nanos) -> u32 {
        self.advance(start, self_ns);
        self.open.push(Open { row, end });
        while self.containers.last().is_some_and(|last| last.end < end) {
            self.containers.pop();
            self.has_overlaps = true;
        }
        let parent = self.containers.last().map_or(NO_PARENT, |last| last.row);
        self.containers.push(Open { row, end });
        parent
    }

    /// The row of the span that owns the instant `now`, which must not lie before the last start.
    pub(super) fn owner(&mut self, now: u64, self_ns: &mut Nanos) -> u32 {
        self.advance(now, self_ns);
        self.open.last().map_or(NO_PARENT, |top| top.row)
    }

    /// Ends the pass: gives out the time after the last start. Says whether spans overlapped without nesting.
    pub(crate) fn finish(&mut self, self_ns: &mut Nanos) -> bool {
        self.advance(u64::MAX, self_ns);
        self.containers.clear();
        self.settled = 0;
        std::mem::take(&mut self.has_overlaps)
    }

    /// Gives out the time up to `now`, and closes what has ended by then.
    fn advance(&mut self, now: u64, self_ns: &mut Nanos) {
        while let Some(top) = self.open.last() {
            let until = top.end.min(now);
            if until > self.settled {
                self_ns.add(top.row as usize, until - self.settled);
                self.settled = until;
            }
            if top.end > now {
                break;
            }
            self.open.pop();
        }
        if self.open.is_empty() && now != u64::MAX {
            self.settled = self.settled.max(now);
        }
        while self.containers.last().is_some_and(|last| last.end <= now) {
            self.containers.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parents and self times of spans given as (start, end).
    fn nest(spans: &[(u64, u64)]) -> (Vec<u32>, Vec<u64>) {
        let mut self_ns = Nanos::default();
        spans.iter().for_each(|_| self_ns.push(0));
        let mut nesting = Nesting::default();
        let enter = |(row, &(start, end))| nesting.enter(row as u32, start, end, &mut self_ns);
        let parents = spans.iter().enumerate().map(enter).collect();
        nesting.finish(&mut self_ns);
        (parents, self_ns.range(0..spans.len()).collect())
    }

    const NONE: u32 = NO_PARENT;

    #[test]
    fn nested_spans_are_inside_each_other() {
        let (parents, self_ns) = nest(&[(0, 100), (10, 40), (20, 30), (50, 90), (200, 210)]);
        assert_eq!(parents, [NONE, 0, 1, 0, NONE]);
        assert_eq!(self_ns, [30, 20, 10, 40, 10]);
    }

    #[test]
    fn overlapping_spans_are_siblings_and_share_no_time() {
        let (parents, self_ns) = nest(&[(0, 100), (10, 50), (30, 80)]);
        assert_eq!(parents, [NONE, 0, 0]);
        assert_eq!(self_ns, [30, 20, 50]);
    }

    #[test]
    fn a_span_that_outlives_everything_owns_what_is_left() {
        let (parents, self_ns) = nest(&[(0, 10), (5, 20), (6, 7)]);
        assert_eq!(parents, [NONE, NONE, 1]);
        assert_eq!(self_ns, [5, 14, 1]);
    }

    #[test]
    fn equal_spans_nest_in_the_order_of_their_beginning() {
        let (parents, self_ns) = nest(&[(5, 9), (5, 9), (5, 9)]);
        assert_eq!(parents, [NONE, 0, 1]);
        assert_eq!(self_ns, [0, 0, 4]);
    }

    #[test]
    fn first_in_first_out_is_not_quadratic() {
        let count = 200_000;
        let (parents, self_ns) = nest(&(0..count).map(|i| (i, count + i)).collect::<Vec<_>>());
        assert!(parents.iter().all(|&parent| parent == NONE));
        assert_eq!(self_ns.iter().sum::<u64>(), 2 * count - 1);
    }
}
