//! How much of a trace's times is the profiler's.

use super::{EventCost, Overhead};
use crate::column::Column;
use crate::trace::{Recorded, TakenFrom, TakenOut, Trace};

/// The profiler's own time, by row, as far as it is known.
pub(crate) struct Spent {
    /// In the span's self time: what itself costs inside, and what all that it contains directly costs outside of it.
    pub(crate) own: Column<u64>,
    /// In what a filter has taken out of the span, with all that was inside of that; empty if nothing was.
    pub(crate) taken_out: Column<u64>,
}

impl Spent {
    pub(crate) fn new(trace: &Trace, overhead: &Overhead) -> Self {
        let spans = &trace.spans;
        let mut own = Column::filled(0, spans.len());
        for (row, (&kind, &parent)) in spans.kind.iter().zip(&spans.parent).enumerate() {
            let cost = overhead.of(kind);
            own[row] += cost.inner_ns;
            if let Some(parent) = own.get_mut(parent as usize) {
                *parent += cost.outer_ns;
            }
        }
        for span in trace.memory.iter().filter_map(|row| row.span) {
            own[span as usize] += overhead.memory_ns;
        }
        let uses = trace.notes.uses.iter().filter_map(|row| row.span);
        for span in uses.chain(trace.notes.sources.iter().map(|row| row.span)) {
            own[span as usize] += overhead.memory_use_ns;
        }
        let mut spent = Self { own, taken_out: Column::new() };
        spent.add_taken_out(trace, overhead);
        spent
    }

    fn add_taken_out(&mut self, trace: &Trace, overhead: &Overhead) {
        if trace.taken_out.is_empty() {
            return;
        }
        self.taken_out.resize(self.own.len(), 0);
        for &(TakenOut { row, what, from }, count) in &trace.taken_out {
            let cost = match what {
                Recorded::Span(kind) => overhead.of(kind),
                Recorded::Memory => EventCost { inner_ns: 0, outer_ns: overhead.memory_ns },
                Recorded::MemoryUse => EventCost { inner_ns: 0, outer_ns: overhead.memory_use_ns },
            };
            let (inner, outer) = (cost.inner_ns * u64::from(count), cost.outer_ns * u64::from(count));
            let (own, taken_out) = (&mut self.own[row as usize], &mut self.taken_out[row as usize]);
            match from {
                TakenFrom::Itself => (*own, *taken_out) = (*own + outer, *taken_out + inner),
                TakenFrom::Inside => *taken_out += inner + outer,
                // As the trace is now they are in the span, and counted there; what they cost is where they were.
                TakenFrom::InsideAndLeft => (*own, *taken_out) = (*own - outer, *taken_out + outer),
            }
        }
    }
}
