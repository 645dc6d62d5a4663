//! Arrows: from a forward operator to its backward node, and from a launch to what the device did.

use crate::trace::{Link, Trace, forward_links};

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

#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) row: u32,
    pub(super) id: u32,
    pub(super) kind: FlowKind,
}

/// All arrow ends at spans of threads, in the order of rows.
#[derive(Debug, Default)]
pub(super) struct Flows {
    ends: Vec<Flow>,
    next: usize,
}

impl Flows {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut ends = forward_to_backward(trace);
        let launches = trace
            .device
            .iter()
            .zip(1..)
            .filter_map(|(device, id)| Some(Flow { row: device.launched_by?, id, kind: FlowKind::ToDevice }));
        ends.extend(launches);
        ends.sort_by_key(|flow| flow.row);
        Self { ends, next: 0 }
    }

    /// The number of the device work that the row launched, if the next arrow end leads there.
    pub(super) fn correlation(&self, row: usize) -> Option<u32> {
        let flow = self.ends.get(self.next)?;
        (flow.row as usize == row && flow.kind == FlowKind::ToDevice).then_some(flow.id)
    }

    /// The next arrow end at this row. Rows must be asked for in rising order.
    #[inline]
    pub(super) fn take(&mut self, row: usize) -> Option<Flow> {
        let flow = *self.ends.get(self.next)?;
        if flow.row as usize != row {
            return None;
        }
        self.next += 1;
        Some(flow)
    }
}

/// Both ends of the arrows from forward operators to backward nodes.
fn forward_to_backward(trace: &Trace) -> Vec<Flow> {
    let ends = |(link, id): (Link, u32)| {
        let from = Flow { row: link.forward, id, kind: FlowKind::ToBackward };
        [from, Flow { row: link.backward, id, kind: FlowKind::FromForward }]
    };
    forward_links(&trace.spans, &trace.threads).into_iter().zip(1..).flat_map(ends).collect()
}
