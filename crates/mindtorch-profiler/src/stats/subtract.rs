//! Averages without the profiler's own time.
//!
//! From a span's self time goes what recording took there, as far as there is that much; from its whole time all that goes
//! from itself and from what it contains. So no time is negative, self times add up to whole times as before, and nothing is
//! longer than what contains it.

use super::group::{Group, Grouping};
use super::times::{Row, Times};
use super::visible::Visible;
use crate::column::Column;
use crate::overhead::{Overhead, Spent};
use crate::trace::Trace;

/// What goes from the times of each row that is shown.
struct Cuts {
    own: Column<u64>,
    whole: Column<u64>,
}

impl Cuts {
    fn new(trace: &Trace, visible: &Visible, overhead: &Overhead) -> Self {
        let spans = &trace.spans;
        let Spent { mut own, mut taken_out } = Spent::new(trace, overhead);
        give_to_owners(&mut own, visible);
        give_to_owners(&mut taken_out, visible);
        let mut whole = Column::filled(0, own.len());
        // How long the spans are that each contains directly; for filtered traces, where that and its self time are not all.
        let mut contained = Column::filled(0, taken_out.len());
        // A parent comes before what it contains.
        for row in (0..own.len()).rev().filter(|&row| visible.owner(row) == Some(row)) {
            let self_ns = visible.self_ns(row, spans.self_ns.get(row));
            own[row] = own[row].min(self_ns);
            whole[row] += own[row];
            let parent = visible.parent(trace, row);
            if let Some(&taken_out) = taken_out.get(row) {
                let duration = spans.duration.get(row);
                whole[row] += taken_out.min(duration.saturating_sub(self_ns + contained[row]));
                if let Some(parent) = parent {
                    contained[parent] += duration;
                }
            }
            if let Some(parent) = parent {
                whole[parent] += whole[row];
            }
        }
        Self { own, whole }
    }
}

/// What is not shown is a part of what is around it, or of nothing.
fn give_to_owners(amounts: &mut [u64], visible: &Visible) {
    if visible.is_all() {
        return;
    }
    for row in 0..amounts.len() {
        match visible.owner(row) {
            Some(owner) if owner != row => amounts[owner] += std::mem::take(&mut amounts[row]),
            Some(_) => {}
            None => amounts[row] = 0,
        }
    }
}

impl Grouping<'_> {
    /// Finds out what goes from the times of each group of spans, and how much that is in all.
    pub(super) fn subtract(&mut self, overhead: &Overhead) -> u64 {
        let trace = self.trace;
        let cuts = Cuts::new(trace, &self.visible, overhead);
        let mut covers = vec![Times::NONE; self.times.len()];
        for row in 0..trace.spans.len() {
            if self.visible.owner(row) != Some(row) {
                continue;
            }
            let group = self.group_of(row, trace.spans.name[row], trace.spans.kind[row]);
            self.group_of_row.set(row, group as u32 + 1);
            let is_contained = covers[group].add(Row::of(trace, row));
            let is_inside = is_contained && self.has_ancestor_in(group, row);
            let sums = &mut self.groups[group].sums;
            sums.self_overhead_ns += cuts.own[row];
            // What another of the group contains, it has among its own.
            sums.overhead_ns += if is_inside { 0 } else { cuts.whole[row] };
        }
        for (Group { sums, .. }, times) in self.groups.iter_mut().zip(&self.times) {
            // Spans that overlap may have lost the same time twice, in what a filter took out of them.
            let self_ns = times.self_cpu - sums.self_overhead_ns;
            sums.overhead_ns = sums.overhead_ns.min(times.cpu_total.saturating_sub(self_ns));
        }
        cuts.own.iter().sum()
    }
}
