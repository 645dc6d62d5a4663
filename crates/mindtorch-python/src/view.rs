//! A trace, with what Python adds to it.

use mindtorch_profiler::Trace;
use std::sync::OnceLock;

/// A trace that events and averages share.
pub(crate) struct TraceView {
    pub(crate) trace: Trace,
    by_time: OnceLock<Vec<u32>>,
}

impl TraceView {
    pub(crate) fn new(trace: Trace) -> Self {
        Self { trace, by_time: OnceLock::new() }
    }

    /// The spans' rows in the order in which torch lists events.
    pub(crate) fn rows_by_time(&self) -> &[u32] {
        self.by_time.get_or_init(|| self.trace.rows_by_time())
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 ns, which is 104 days")]
pub(crate) fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
