//! Which step a time lies in, for times that mostly rise.

use crate::trace::Trace;

/// Remembers the step of the last time that was asked for, and walks on from there.
pub(super) struct StepCursor<'a> {
    trace: &'a Trace,
    step: usize,
}

impl<'a> StepCursor<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Self { trace, step: trace.header.first_step }
    }

    #[inline]
    pub(super) fn step_at(&mut self, at_ns: u64) -> usize {
        if self.start_of(self.step).is_some_and(|start| start > at_ns) {
            self.step = self.trace.step_at(at_ns);
        }
        while self.start_of(self.step + 1).is_some_and(|next| next <= at_ns) {
            self.step += 1;
        }
        self.step
    }

    fn start_of(&self, step: usize) -> Option<u64> {
        self.trace.steps.get(step - self.trace.header.first_step).copied()
    }
}
