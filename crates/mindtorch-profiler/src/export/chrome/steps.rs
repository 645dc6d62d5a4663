//! Which step a time lies in, for times that mostly lie in the step of the one before.

use crate::trace::Trace;

/// Remembers the step of the last time that was asked for.
pub(in crate::export) struct StepCursor<'a> {
    trace: &'a Trace,
    from: u64,
    until: u64,
    number: u64,
}

impl<'a> StepCursor<'a> {
    pub(in crate::export) fn new(trace: &'a Trace) -> Self {
        Self { trace, from: 0, until: 0, number: 0 }
    }

    #[inline]
    pub(in crate::export) fn step_at(&mut self, at_ns: u64) -> u64 {
        if at_ns < self.from || at_ns >= self.until {
            self.find(at_ns);
        }
        self.number
    }

    #[cold]
    fn find(&mut self, at_ns: u64) {
        let steps = &self.trace.steps;
        // What is before the first step counts as part of it.
        let at = steps.partition_point(|step| step.start <= at_ns).saturating_sub(1);
        self.from = if at == 0 { 0 } else { steps[at].start };
        self.until = steps.get(at + 1).map_or(u64::MAX, |next| next.start);
        self.number = steps.get(at).map_or(self.trace.header.first_step, |step| step.number) as u64;
    }
}
