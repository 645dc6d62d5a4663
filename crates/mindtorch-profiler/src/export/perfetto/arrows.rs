//! Arrows: from a forward operator to its backward node, and from a launch to what the device did.

use crate::trace::{Links, Selection, Trace};

/// The arrows of a trace. Spans ask for theirs in the order of rows.
pub(super) struct Arrows<'a> {
    trace: &'a Trace,
    links: &'a Links,
    /// Rows of device work, in the order of the spans that launched it.
    launches: &'a [u32],
    /// Places in `links.pairs`, `links.by_forward` and `launches`.
    next_backward: usize,
    next_forward: usize,
    next_launch: usize,
    /// The next row that has an arrow.
    next_row: u32,
}

/// What an arrow has to do with a span.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrow {
    /// It leads from here to a backward node: the place of the link.
    ToBackward(u32),
    /// It leads here from a forward operator: the place of the link.
    FromForward(u32),
    /// It leads from here to device work: its row.
    ToDevice(u32),
}

impl Arrow {
    /// What both ends of an arrow have in common, and no other arrow has.
    pub(super) fn id(self) -> u64 {
        match self {
            Self::ToBackward(link) | Self::FromForward(link) => u64::from(link) + 1,
            Self::ToDevice(row) => 1 << 32 | u64::from(row),
        }
    }
}

impl<'a> Arrows<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        let (links, launches) = (trace.links(), trace.launches());
        let (next_backward, next_forward, next_launch) = (0, 0, 0);
        let mut arrows = Self { trace, links, launches, next_backward, next_forward, next_launch, next_row: 0 };
        arrows.next_row = arrows.find_next_row();
        arrows
    }

    fn backward(&self) -> Option<u32> {
        self.links.pairs.get(self.next_backward).map(|&(_, backward)| backward)
    }

    fn forward(&self) -> Option<u32> {
        let place = *self.links.by_forward.get(self.next_forward)?;
        Some(self.links.pairs[place as usize].0)
    }

    fn launcher(&self) -> Option<u32> {
        let row = *self.launches.get(self.next_launch)?;
        self.trace.device[row as usize].launched_by
    }

    fn find_next_row(&self) -> u32 {
        [self.backward(), self.forward(), self.launcher()].into_iter().flatten().min().unwrap_or(u32::MAX)
    }

    /// The number of the first device work that the row launched. To be asked before its arrows are taken.
    pub(super) fn correlation(&mut self, row: u32, selection: &Selection<'_>) -> Option<u32> {
        self.pass_until(row, selection);
        (self.launcher() == Some(row)).then(|| self.launches[self.next_launch] + 1)
    }

    /// The next arrow at this row of which the other end is shown as well. Rows must be asked for in rising order.
    #[inline]
    pub(super) fn take(&mut self, row: u32, selection: &Selection<'_>) -> Option<Arrow> {
        if row < self.next_row { None } else { self.take_next(row, selection) }
    }

    #[cold]
    fn take_next(&mut self, row: u32, selection: &Selection<'_>) -> Option<Arrow> {
        self.pass_until(row, selection);
        while self.next_row == row {
            let (arrow, is_shown) = self.pass_next(selection);
            if is_shown {
                return Some(arrow);
            }
        }
        None
    }

    /// Passes over the arrows of rows that did not ask.
    #[inline]
    fn pass_until(&mut self, row: u32, selection: &Selection<'_>) {
        while self.next_row < row {
            self.pass_next(selection);
        }
    }

    /// Takes the next arrow, and says whether its other end is shown.
    fn pass_next(&mut self, selection: &Selection<'_>) -> (Arrow, bool) {
        let passed = if self.forward() == Some(self.next_row) {
            let place = self.links.by_forward[self.next_forward];
            self.next_forward += 1;
            let (_, backward) = self.links.pairs[place as usize];
            (Arrow::ToBackward(place), selection.span(backward as usize))
        } else if self.backward() == Some(self.next_row) {
            self.next_backward += 1;
            let place = self.next_backward - 1;
            (Arrow::FromForward(place as u32), selection.span(self.links.pairs[place].0 as usize))
        } else {
            self.next_launch += 1;
            let row = self.launches[self.next_launch - 1];
            (Arrow::ToDevice(row), selection.device(row as usize))
        };
        self.next_row = self.find_next_row();
        passed
    }
}
