//! Which call asked for which work: CUPTI numbers the calls, and work has the number of its call.

use mindtorch_profiler::SpanId;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many calls are remembered: the work of a call is told of when a buffer of it is full, and no later than some ten
/// thousand kernels after it, each with a handful of calls.
const SLOTS: usize = 1 << 18;

/// The spans of the last calls, by number. Threads write and read it at once without waiting for each other.
#[derive(Debug)]
pub(super) struct Correlations {
    slots: Box<[Slot]>,
}

/// A span, and the number of its call mixed with it: two threads that write here at once leave what is neither's.
#[derive(Debug, Default)]
struct Slot {
    span: AtomicU64,
    check: AtomicU64,
}

impl Correlations {
    pub(super) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| Slot::default()).collect() }
    }

    /// Remembers the span of a call. Two calls have the same place only if they are far apart.
    pub(super) fn put(&self, call: u32, span: SpanId) {
        let slot = self.slot(call);
        slot.span.store(span.bits(), Ordering::Relaxed);
        slot.check.store(span.bits() ^ u64::from(call), Ordering::Release);
    }

    /// The span of a call, if it is remembered.
    pub(super) fn get(&self, call: u32) -> Option<SpanId> {
        let slot = self.slot(call);
        let check = slot.check.load(Ordering::Acquire);
        let span = slot.span.load(Ordering::Relaxed);
        if check ^ span == u64::from(call) { SpanId::from_bits(span) } else { None }
    }

    fn slot(&self, call: u32) -> &Slot {
        &self.slots[call as usize % SLOTS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(number: u64) -> SpanId {
        SpanId::from_bits(number).expect("not 0")
    }

    #[test]
    fn a_call_has_its_span_until_one_far_later_takes_its_place() {
        let calls = Correlations::new();
        assert_eq!(calls.get(5), None);
        calls.put(5, span(50));
        calls.put(6, span(60));
        assert_eq!((calls.get(5), calls.get(6)), (Some(span(50)), Some(span(60))));
        let later = 5 + SLOTS as u32;
        assert_eq!(calls.get(later), None);
        calls.put(later, span(70));
        assert_eq!((calls.get(5), calls.get(later)), (None, Some(span(70))));
    }

    #[test]
    fn whoever_reads_beside_writers_sees_the_span_of_the_call_or_none() {
        let calls = Correlations::new();
        std::thread::scope(|scope| {
            for thread in 0..2u32 {
                let calls = &calls;
                scope.spawn(move || {
                    for round in 0..8_000u32 {
                        // All of them in the same place.
                        let call = 7 + (2 * round + thread) * SLOTS as u32;
                        calls.put(call, span(u64::from(call)));
                        let found = calls.get(call);
                        assert!(found.is_none_or(|found| found == span(u64::from(call))), "{found:?} {call}");
                    }
                });
            }
        });
    }
}
