//! The steps of the program.

use super::{Clock, Loose};
use crate::recorder::SpanKind;
use crate::trace::Step;

const STEP: &str = "ProfilerStep#";

impl Loose {
    /// The steps, as the file says of its events which they lie in, or else as its annotations name them.
    pub(super) fn steps(&self, clock: Clock) -> Vec<Step> {
        let mut known = if self.steps.is_empty() { self.annotated_steps() } else { self.steps.clone() };
        known.sort_unstable();
        // Of what lies in one step the first is nearest to its beginning.
        known.dedup_by_key(|(_, number)| *number);
        known.into_iter().map(|(at, number)| Step { start: clock.ns(at), number }).collect()
    }

    fn annotated_steps(&self) -> Vec<(i64, usize)> {
        let number = |name: &str| name.strip_prefix(STEP)?.parse().ok();
        let numbers: Vec<Option<usize>> = self.names.iter().map(|name| number(name)).collect();
        if numbers.iter().all(Option::is_none) {
            return Vec::new();
        }
        let annotations = self.spans.iter().filter(|span| span.kind == SpanKind::Annotation);
        annotations.filter_map(|span| Some((span.start, numbers[span.name as usize]?))).collect()
    }
}
