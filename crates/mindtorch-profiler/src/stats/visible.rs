//! Which spans averages show. The time of one that is not shown is that of the span around it.

use crate::recorder::SpanKind;
use crate::trace::Trace;

const NOWHERE: u32 = u32::MAX;

/// For every row the row that has its time: itself, or the innermost around it that is shown.
pub(super) struct Visible(Option<Vec<u32>>);

impl Visible {
    /// Every row is shown.
    pub(super) const ALL: Self = Self(None);

    /// Hides operators that repeat the one around them, and functions unless they are asked for.
    pub(super) fn new(trace: &Trace, with_functions: bool) -> Self {
        let hides_functions = !with_functions && trace.has_functions();
        if trace.repeated.is_empty() && !hides_functions {
            return Self(None);
        }
        let spans = &trace.spans;
        let mut repeated = trace.repeated.iter().copied().peekable();
        let mut owners: Vec<u32> = Vec::with_capacity(spans.len());
        for row in 0..spans.len() {
            let is_repeated = repeated.next_if_eq(&(row as u32)).is_some();
            let is_hidden = is_repeated || (hides_functions && spans.kind[row] == SpanKind::Function);
            let around = || owners.get(spans.parent[row] as usize).copied().unwrap_or(NOWHERE);
            let owner = if is_hidden { around() } else { row as u32 };
            owners.push(owner);
        }
        Self(Some(owners))
    }

    /// Whether every row is shown.
    pub(super) fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// The row that has the time of this one; none if nothing around it is shown.
    #[inline]
    pub(super) fn owner(&self, row: usize) -> Option<usize> {
        match &self.0 {
            None => Some(row),
            Some(owners) => owners.get(row).filter(|&&owner| owner != NOWHERE).map(|&owner| owner as usize),
        }
    }

    /// Whether a span that is shown is inside another that is.
    pub(super) fn has_parent(&self, trace: &Trace, row: usize) -> bool {
        let parent = trace.spans.parent[row] as usize;
        parent < trace.spans.len() && self.owner(parent).is_some()
    }
}
