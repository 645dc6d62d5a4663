//! Which backward node belongs to which forward operator.

use super::columns::{SpanColumns, Sparse};
use super::rows::ThreadRow;
use crate::column::Column;
use crate::recorder::SpanKind;
use std::cmp::Reverse;
use std::ops::Range;

/// Forward operators and the backward nodes that they made.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// As rows, in the order of the nodes.
    pub(crate) pairs: Column<(u32, u32)>,
    /// Places in `pairs`, in the order of the operators.
    pub(crate) by_forward: Column<u32>,
}

impl Links {
    pub(super) fn new(pairs: Column<(u32, u32)>) -> Self {
        let mut by_forward: Column<u32> = (0..pairs.len() as u32).collect();
        by_forward.sort_unstable_by_key(|&place| pairs[place as usize].0);
        Self { pairs, by_forward }
    }
}

/// One bit for each of so many things. Hash sets of rows would take more memory than the rows themselves.
struct Bits(Column<u64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(Column::filled(0, count.div_ceil(64)))
    }

    fn get(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    /// Sets a bit, and says whether it was not set before.
    fn set(&mut self, at: usize) -> bool {
        let is_new = !self.get(at);
        self.0[at / 64] |= 1 << (at % 64);
        is_new
    }
}

/// Passes each backward node to `link`, in order, with the last-begun forward operator of its sequence number on the
/// forward thread, and whether it is the first node of that operator: one whose graph is kept may run again.
///
/// What the autograd engine wraps around a node (`evaluate_function`) has the same number. It is neither: no link begins
/// or ends there.
fn for_each_link(spans: &SpanColumns, threads: &[ThreadRow], mut link: impl FnMut(u32, u32, bool)) {
    if spans.details.is_empty() || !spans.kind.contains(&SpanKind::Backward) {
        return;
    }
    let sequence = |row: usize| spans.details.get(row).and_then(|detail| detail.sequence());
    let mut is_wrapper = Bits::new(spans.len());
    let nodes = || (0..spans.len()).filter(|&row| spans.kind[row] == SpanKind::Backward && sequence(row).is_some());
    for row in nodes() {
        let parent = spans.parent[row] as usize;
        if parent < row && sequence(parent) == sequence(row) {
            is_wrapper.set(parent);
        }
    }
    let is_forward =
        |row: &usize| spans.kind[*row] == SpanKind::Op && sequence(*row).is_some() && !is_wrapper.get(*row);
    // By thread, by sequence number, and of one number the last first. Programs count up, so little is to be sorted.
    let mut by_number: Vec<&ThreadRow> = threads.iter().collect();
    by_number.sort_by_key(|thread| thread.number);
    let mut forward: Column<u32> = Column::new();
    let mut of_threads: Vec<(u32, Range<usize>)> = Vec::new();
    // A joined trace has a thread several times.
    for same in by_number.chunk_by(|one, other| one.number == other.number) {
        let first = forward.len();
        for thread in same {
            forward.extend(thread.spans.clone().filter(is_forward).map(|row| row as u32));
        }
        forward[first..].sort_unstable_by_key(|&row| (sequence(row as usize), Reverse(row)));
        of_threads.push((same[0].number, first..forward.len()));
    }
    let last_of = |thread: u32, number: Option<u64>| {
        let thread = of_threads.binary_search_by_key(&thread, |(of_thread, _)| *of_thread).ok()?;
        let range = &of_threads[thread].1;
        let before = forward[range.clone()].partition_point(|&row| sequence(row as usize) < number);
        let place = range.start + before;
        (place < range.end && sequence(forward[place] as usize) == number).then_some(place)
    };
    let mut is_linked = Bits::new(forward.len());
    for row in nodes().filter(|&row| !is_wrapper.get(row)) {
        let found = spans.details.get(row).and_then(|detail| last_of(detail.forward_thread, detail.sequence()));
        if let Some(place) = found
            && spans.start[forward[place] as usize] <= spans.start[row]
        {
            link(forward[place], row as u32, is_linked.set(place));
        }
    }
}

/// The links of each operator with the first run of its node, as rows, in the order of the nodes.
pub(super) fn forward_links(spans: &SpanColumns, threads: &[ThreadRow]) -> Column<(u32, u32)> {
    let mut links = Column::new();
    for_each_link(spans, threads, |forward, backward, is_first| {
        if is_first {
            links.push((forward, backward));
        }
    });
    links.shrink_to_fit();
    links
}

/// Gives backward nodes, and what they call, the stacks of the forward operators that made them: that is the code which a
/// reader looks for. A node of no operator that was recorded has none.
pub(super) fn take_forward_stacks(spans: &mut SpanColumns, threads: &[ThreadRow], inherits: &Sparse<bool>) {
    if !spans.kind.contains(&SpanKind::Backward) {
        return;
    }
    // By row: that of the operator, one higher.
    let mut stacks = Sparse::<u32>::default();
    for_each_link(spans, threads, |forward, backward, _| {
        stacks.set(backward as usize, spans.stack.get(forward as usize) + 1);
    });
    // By row: the stack, one higher, of the backward node that it is part of.
    let mut inherited = Sparse::<u32>::default();
    for row in 0..spans.len() {
        let stack = match spans.kind[row] {
            SpanKind::Backward if inherits.get(row) => stacks.get(row).max(1),
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
