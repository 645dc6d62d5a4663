//! Which backward node belongs to which forward operator.

use super::columns::{SpanColumns, Sparse};
use super::rows::ThreadRow;
use crate::recorder::SpanKind;
use rustc_hash::{FxHashMap, FxHashSet};

/// A forward operator and the backward node that it made, as rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) forward: u32,
    pub(crate) backward: u32,
}

/// Links each backward node with the last-begun forward operator of its sequence number on the forward thread, in the order
/// of the nodes.
///
/// What the autograd engine wraps around a node (`evaluate_function`) has the same number. It is neither: no link begins
/// or ends there.
fn all_links(spans: &SpanColumns, threads: &[ThreadRow]) -> Vec<Link> {
    if spans.detail_rows.is_empty() {
        return Vec::new();
    }
    let sequence = |row: usize| spans.detail(row).and_then(|detail| detail.sequence());
    let is_backward = |row: usize| spans.kind[row] == SpanKind::Backward;
    let numbered: Vec<usize> = (0..spans.len()).filter(|&row| sequence(row).is_some()).collect();
    let wraps = |&row: &usize| {
        let parent = spans.parent[row] as usize;
        let is_wrapped = is_backward(row) && parent < row && sequence(parent) == sequence(row);
        is_wrapped.then_some(parent)
    };
    let wrappers: FxHashSet<usize> = numbered.iter().filter_map(wraps).collect();
    let mut forward: FxHashMap<(u32, Option<u64>), usize> = FxHashMap::default();
    for thread in threads {
        let first = numbered.partition_point(|&row| row < thread.spans.start);
        for &row in numbered[first..].iter().take_while(|&&row| row < thread.spans.end) {
            if spans.kind[row] == SpanKind::Op && !wrappers.contains(&row) {
                forward.insert((thread.number, sequence(row)), row);
            }
        }
    }
    let link = |&row: &usize| {
        let detail = spans.detail(row)?;
        let from = *forward.get(&(detail.forward_thread, detail.sequence()))?;
        let is_later = spans.start[from] <= spans.start[row];
        is_later.then_some(Link { forward: from as u32, backward: row as u32 })
    };
    numbered.iter().filter(|&&row| is_backward(row) && !wrappers.contains(&row)).filter_map(link).collect()
}

/// The links of each operator with the first run of its node: with `retain_graph` there may be more.
pub(crate) fn forward_links(spans: &SpanColumns, threads: &[ThreadRow]) -> Vec<Link> {
    let mut linked: FxHashSet<u32> = FxHashSet::default();
    let mut links = all_links(spans, threads);
    links.retain(|link| linked.insert(link.forward));
    links
}

/// Gives backward nodes, and what they call, the stacks of the forward operators that made them: that is the code which a
/// reader looks for. A node of no operator that was recorded has none.
pub(super) fn take_forward_stacks(spans: &mut SpanColumns, threads: &[ThreadRow], inherits: &Sparse<bool>) {
    if !spans.kind.contains(&SpanKind::Backward) {
        return;
    }
    let links = all_links(spans, threads);
    let stacks: FxHashMap<u32, u32> =
        links.iter().map(|link| (link.backward, spans.stack.get(link.forward as usize))).collect();
    // By row: the stack, one higher, of the backward node that it is part of.
    let mut inherited = Sparse::<u32>::default();
    for row in 0..spans.len() {
        let stack = match spans.kind[row] {
            SpanKind::Backward if inherits.get(row) => stacks.get(&(row as u32)).copied().unwrap_or(0) + 1,
            // A function that a node calls is where its operators are.
            SpanKind::Function => 0,
            _ if !inherits.get(row) => 0,
            _ => inherited.get(spans.parent[row] as usize),
        };
        if stack != 0 {
            inherited.set(row, stack);
            *spans.stack.entry(row) = stack - 1;
        }
    }
}
