//! Which spans averages show. The time of one that is not shown is that of the innermost that is shown then.

use crate::column::Column;
use crate::recorder::SpanKind;
use crate::trace::{Nanos, Nesting, Trace};

const NOWHERE: u32 = u32::MAX;

/// What is shown of a trace; None is everything.
pub(super) struct Visible(Option<Shown>);

struct Shown {
    /// For every row the row that has what it allocated and launched: itself, or the innermost around it that is shown.
    owners: Column<u32>,
    /// The self times, as if what is not shown were not there.
    self_ns: Nanos,
}

impl Visible {
    /// Every row is shown.
    pub(super) const ALL: Self = Self(None);

    /// Hides operators that repeat the one around them, and functions unless they are asked for.
    pub(super) fn new(trace: &Trace, with_functions: bool) -> Self {
        let hides_functions = !with_functions && trace.has_functions();
        if trace.repeated.is_empty() && !hides_functions {
            return Self::ALL;
        }
        let spans = &trace.spans;
        let mut repeated = trace.repeated.iter().copied().peekable();
        let mut owners: Column<u32> = Column::with_capacity(spans.len());
        for row in 0..spans.len() {
            let is_repeated = repeated.next_if_eq(&(row as u32)).is_some();
            let is_hidden = is_repeated || (hides_functions && spans.kind[row] == SpanKind::Function);
            let around = || owners.get(spans.parent[row] as usize).copied().unwrap_or(NOWHERE);
            let owner = if is_hidden { around() } else { row as u32 };
            owners.push(owner);
        }
        let self_ns = if trace.taken_out.is_empty() { nested(trace, &owners) } else { summed(trace, &owners) };
        Self(Some(Shown { owners, self_ns }))
    }

    /// Whether every row is shown.
    pub(super) fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// The row that has what this one allocated and launched; none if nothing around it is shown.
    #[inline]
    pub(super) fn owner(&self, row: usize) -> Option<usize> {
        match &self.0 {
            None => Some(row),
            Some(shown) => shown.owners.get(row).filter(|&&owner| owner != NOWHERE).map(|&owner| owner as usize),
        }
    }

    /// The self time of a row that is shown, which has `own` if all are.
    #[inline]
    pub(super) fn self_ns(&self, row: usize, own: u64) -> u64 {
        self.0.as_ref().map_or(own, |shown| shown.self_ns.get(row))
    }

    /// The innermost row around one that is shown which is shown, too.
    pub(super) fn parent(&self, trace: &Trace, row: usize) -> Option<usize> {
        let parent = trace.spans.parent[row] as usize;
        if parent < trace.spans.len() { self.owner(parent) } else { None }
    }
}

/// The self times of the rows that own themselves, as if there were no others.
fn nested(trace: &Trace, owners: &[u32]) -> Nanos {
    let spans = &trace.spans;
    let mut self_ns = Nanos::default();
    for thread in &trace.threads {
        let mut nesting = Nesting::default();
        for row in thread.spans.clone() {
            self_ns.push(0);
            if owners[row] == row as u32 && !spans.flags[row].is_closed_elsewhere() {
                nesting.enter(row as u32, spans.start[row], spans.end(row), &mut self_ns);
            }
        }
        nesting.finish(&mut self_ns);
    }
    self_ns
}

/// The self times of all rows, each given to its owner: in a filtered trace, the time of what was taken out is nobody's.
fn summed(trace: &Trace, owners: &[u32]) -> Nanos {
    let mut self_ns = Nanos::default();
    for (row, &owner) in owners.iter().enumerate() {
        self_ns.push(0);
        if owner != NOWHERE {
            self_ns.add(owner as usize, trace.spans.self_ns.get(row));
        }
    }
    self_ns
}
