//! Arrows: from a forward operator to its backward node, and from a launch to what the device did.

use crate::trace::{Links, Selection, Trace};

/// What an arrow has to do with a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowKind {
    /// It leads from here to a backward node.
    ToBackward,
    /// It leads here from a forward operator.
    FromForward,
    /// It leads from here to device work.
    ToDevice,
}

/// One end of an arrow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) id: u32,
    pub(super) kind: FlowKind,
}

/// The arrow ends at spans of threads, in the order of rows: three lists of the trace, walked side by side.
#[derive(Debug)]
pub(super) struct Flows<'a> {
    trace: &'a Trace,
    links: &'a Links,
    launches: &'a [u32],
    /// How many ends of each kind were passed, in the order of [`FlowKind`].
    passed: [usize; 3],
    /// The next row with an end.
    next_row: usize,
}

impl<'a> Flows<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        let (links, launches) = (trace.links(), trace.launches());
        let mut flows = Self { trace, links, launches, passed: [0; 3], next_row: 0 };
        flows.find_next();
        flows
    }

    /// Whether there may be arrow ends at this row, which is not below those that were asked for before.
    #[inline]
    pub(super) fn reach(&mut self, row: usize) -> bool {
        row >= self.next_row && self.skip_to(row)
    }

    #[cold]
    fn skip_to(&mut self, row: usize) -> bool {
        while self.next_row < row {
            let rows = self.next_rows();
            for (passed, next) in self.passed.iter_mut().zip(rows) {
                *passed += usize::from(next < row);
            }
            self.find_next();
        }
        self.next_row == row
    }

    /// The number of the first device work that the row launched, after [`Self::reach`].
    pub(super) fn correlation(&self, row: usize) -> Option<u32> {
        let [_, _, launching] = self.next_rows();
        (launching == row).then(|| self.launches[self.passed[2]] + 1)
    }

    /// The next arrow end at this row of those whose other end is selected as well, after [`Self::reach`].
    pub(super) fn take(&mut self, row: usize, selection: &Selection<'_>) -> Option<Flow> {
        while self.next_row == row {
            let (flow, is_selected) = self.step(row, selection);
            self.find_next();
            if is_selected {
                return Some(flow);
            }
        }
        None
    }

    /// Passes an end at this row, and says whether the other end is selected.
    fn step(&mut self, row: usize, selection: &Selection<'_>) -> (Flow, bool) {
        let rows = self.next_rows();
        let [to_backward, from_forward, to_device] = self.passed;
        if rows[0] == row {
            self.passed[0] += 1;
            let link = self.links.by_forward[to_backward];
            let (_, backward) = self.links.pairs[link as usize];
            (Flow { id: link + 1, kind: FlowKind::ToBackward }, selection.span(backward as usize))
        } else if rows[1] == row {
            self.passed[1] += 1;
            let (forward, _) = self.links.pairs[from_forward];
            (Flow { id: from_forward as u32 + 1, kind: FlowKind::FromForward }, selection.span(forward as usize))
        } else {
            self.passed[2] += 1;
            let work = self.launches[to_device];
            (Flow { id: work + 1, kind: FlowKind::ToDevice }, selection.device(work as usize))
        }
    }

    fn find_next(&mut self) {
        let [a, b, c] = self.next_rows();
        self.next_row = a.min(b).min(c);
    }

    /// The rows of the next ends of each kind.
    fn next_rows(&self) -> [usize; 3] {
        let [to_backward, from_forward, to_device] = self.passed;
        let pairs = &self.links.pairs;
        let forward = self.links.by_forward.get(to_backward).map(|&link| pairs[link as usize].0);
        let backward = pairs.get(from_forward).map(|pair| pair.1);
        let launching = self.launches.get(to_device).and_then(|&work| self.trace.device[work as usize].launched_by);
        [forward, backward, launching].map(|row| row.map_or(usize::MAX, |row| row as usize))
    }
}
