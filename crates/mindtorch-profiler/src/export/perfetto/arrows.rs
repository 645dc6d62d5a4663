//! Arrows: from a forward operator to its backward node, and from a launch to what the device did.

use crate::trace::{Link, Selection, Trace, forward_links};

/// The arrows of a trace of which both ends are shown. Spans ask for theirs in the order of rows.
pub(super) struct Arrows {
    /// In the order of backward nodes. The place of a link is its number.
    links: Vec<Link>,
    /// Places in `links`, in the order of forward operators.
    by_forward: Vec<u32>,
    /// Rows of device work and the spans that launched it, in the order of the latter.
    launches: Vec<(u32, u32)>,
    next_backward: usize,
    next_forward: usize,
    next_launch: usize,
    /// The next row that has an arrow.
    next_row: u32,
}

/// What an arrow has to do with a span.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrow {
    /// It leads from here to a backward node.
    ToBackward(u32),
    /// It leads here from a forward operator.
    FromForward(u32),
    /// It leads from here to device work.
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

impl Arrows {
    pub(super) fn of(trace: &Trace, selection: &Selection<'_>) -> Self {
        let mut links = forward_links(&trace.spans, &trace.threads);
        let mut launches: Vec<(u32, u32)> =
            (0..).zip(&trace.device).filter_map(|(row, device)| Some((device.launched_by?, row))).collect();
        if !selection.is_all() {
            links.retain(|link| selection.span(link.forward as usize) && selection.span(link.backward as usize));
            launches.retain(|&(span, row)| selection.span(span as usize) && selection.device(row as usize));
        }
        launches.sort_unstable();
        let mut by_forward: Vec<u32> = (0..links.len() as u32).collect();
        by_forward.sort_unstable_by_key(|&place| links[place as usize].forward);
        let (next_backward, next_forward, next_launch) = (0, 0, 0);
        let mut arrows = Self { links, by_forward, launches, next_backward, next_forward, next_launch, next_row: 0 };
        arrows.next_row = arrows.find_next_row();
        arrows
    }

    fn next_forward(&self) -> Option<(u32, u32)> {
        let place = *self.by_forward.get(self.next_forward)?;
        Some((self.links[place as usize].forward, place))
    }

    fn find_next_row(&self) -> u32 {
        let backward = self.links.get(self.next_backward).map(|link| link.backward);
        let forward = self.next_forward().map(|(row, _)| row);
        let launch = self.launches.get(self.next_launch).map(|&(row, _)| row);
        [backward, forward, launch].into_iter().flatten().min().unwrap_or(u32::MAX)
    }

    /// The number of the first device work that the row launched.
    pub(super) fn correlation(&self, row: u32) -> Option<u32> {
        self.launches.get(self.next_launch).filter(|&&(span, _)| span == row).map(|&(_, device)| device + 1)
    }

    /// The next arrow at this row. Rows must be asked for in rising order.
    #[inline]
    pub(super) fn take(&mut self, row: u32) -> Option<Arrow> {
        if row == self.next_row { self.take_next(row) } else { None }
    }

    #[cold]
    fn take_next(&mut self, row: u32) -> Option<Arrow> {
        let arrow = if let Some((_, place)) = self.next_forward().filter(|&(forward, _)| forward == row) {
            self.next_forward += 1;
            Arrow::ToBackward(place)
        } else if self.links.get(self.next_backward).is_some_and(|link| link.backward == row) {
            self.next_backward += 1;
            Arrow::FromForward(self.next_backward as u32 - 1)
        } else {
            self.next_launch += 1;
            Arrow::ToDevice(self.launches[self.next_launch - 1].1)
        };
        self.next_row = self.find_next_row();
        Some(arrow)
    }
}
