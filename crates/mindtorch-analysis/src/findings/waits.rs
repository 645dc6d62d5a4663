//! Calls in which threads wait for devices.

use super::host::{Sum, by_time, places};
use super::{Fact, Finding};
use mindtorch_profiler::{SpanKind, SpanRef, Trace};
use std::collections::HashMap;

const NAMES: usize = 5;
/// Operators that need a value from the device to go on.
const OPERATORS: [&str; 2] = ["aten::item", "aten::_local_scalar_dense"];

/// What waits: `cudaDeviceSynchronize` and its like, copies that are not asynchronous, and operators that bring a value to the
/// host. Those within another are that one's.
pub(super) fn waits(trace: &Trace) -> Vec<Finding> {
    // Without a device there is nothing to wait for.
    if trace.device_spans().len() == 0 && !trace.spans().any(|span| span.kind() == SpanKind::Runtime) {
        return Vec::new();
    }
    let mut is_within = vec![false; trace.span_count()];
    let mut sums: HashMap<&str, Sum<usize>> = HashMap::new();
    for span in trace.spans() {
        let waits = does_wait(&span);
        let inside = span.parent().is_some_and(|parent| is_within[parent.row()]);
        is_within[span.row()] = waits || inside;
        if waits && !inside {
            sums.entry(span.name()).or_default().add(span.duration_ns(), span.row());
        }
    }
    let finding = |(name, sum): (&str, Sum<usize>)| {
        let fact =
            Fact::Waits { name: name.to_owned(), count: sum.count, total_ns: sum.total_ns, of_ns: trace.duration_ns() };
        Finding { fact, evidence: places(trace, sum.longest) }
    };
    by_time(sums).into_iter().take(NAMES).map(finding).collect()
}

fn does_wait(span: &SpanRef<'_>) -> bool {
    let name = span.name();
    match span.kind() {
        SpanKind::Op => OPERATORS.contains(&name),
        SpanKind::Runtime => name.ends_with("Synchronize") || matches!(name, "cudaMemcpy" | "hipMemcpy"),
        _ => false,
    }
}
