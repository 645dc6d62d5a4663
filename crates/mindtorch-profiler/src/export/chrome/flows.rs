//! Arrows: from a forward operator to its backward node, and from a launch to what the device did.

use crate::recorder::SpanKind;
use crate::trace::Trace;
use rustc_hash::{FxHashMap, FxHashSet};

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

/// Links each backward node with the last-begun forward operator of its sequence number on the forward thread.
///
/// What the autograd engine wraps around a node (`evaluate_function`) has the same number. It is neither: no arrow
/// begins or ends there.
fn forward_to_backward(trace: &Trace) -> Vec<Flow> {
    if trace.spans.detail_rows.is_empty() {
        return Vec::new();
    }
    let sequence = |row: usize| trace.spans.detail(row).and_then(|detail| detail.sequence());
    let is_backward = |row: usize| trace.spans.kind[row] == SpanKind::Backward;
    let numbered: Vec<usize> = (0..trace.spans.len()).filter(|&row| sequence(row).is_some()).collect();
    let wraps = |&row: &usize| {
        let parent = trace.spans.parent[row] as usize;
        let is_wrapped = is_backward(row) && parent < row && sequence(parent) == sequence(row);
        is_wrapped.then_some(parent)
    };
    let wrappers: FxHashSet<usize> = numbered.iter().filter_map(wraps).collect();
    let mut forward: FxHashMap<(u32, Option<u64>), usize> = FxHashMap::default();
    for thread in &trace.threads {
        let first = numbered.partition_point(|&row| row < thread.spans.start);
        for &row in numbered[first..].iter().take_while(|&&row| row < thread.spans.end) {
            if trace.spans.kind[row] == SpanKind::Op && !wrappers.contains(&row) {
                forward.insert((thread.number, sequence(row)), row);
            }
        }
    }
    let mut flows = Vec::new();
    let mut id = 0;
    for &row in numbered.iter().filter(|&&row| is_backward(row) && !wrappers.contains(&row)) {
        let Some(detail) = trace.spans.detail(row) else { continue };
        let Some(&from) = forward.get(&(detail.forward_thread, detail.sequence())) else { continue };
        if trace.spans.start[from] <= trace.spans.start[row] {
            id += 1;
            flows.push(Flow { row: from as u32, id, kind: FlowKind::ToBackward });
            flows.push(Flow { row: row as u32, id, kind: FlowKind::FromForward });
        }
    }
    flows
}
