//! Which step a time lies in, for times that mostly rise.

use crate::trace::Trace;

/// Remembers the step of the last time that was asked for, and walks on from there.
pub(super) struct StepCursor<'a> {
    trace: &'a Trace,
    /// The place of the step among the trace's.
    at: usize,
}

impl<'a> StepCursor<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self { trace, at: 0 }
    }

    #[inline]
    pub(super) fn step_at(&mut self, at_ns: u64) -> usize {
        let steps = &self.trace.steps;
        if steps.get(self.at).is_some_and(|step| step.start > at_ns) {
            self.at = steps.partition_point(|step| step.start <= at_ns).saturating_sub(1);
        }
        while steps.get(self.at + 1).is_some_and(|next| next.start <= at_ns) {
            self.at += 1;
        }
        steps.get(self.at).map_or(self.trace.header.first_step, |step| step.number)
    }
}
