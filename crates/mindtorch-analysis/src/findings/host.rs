//! What threads did: where their time went, and whether it went in many short operators.

use super::evidence::{Evidence, Largest};
use super::{Fact, Finding};
use mindtorch_profiler::{SpanKind, SpanRef, Trace};
use std::collections::HashMap;

/// Names that are told of.
const NAMES: usize = 3;
/// A name that took less of all is not told of, in percent.
const LEAST_PERCENT: u64 = 5;
/// What is shorter costs more to ask for than to do, where a device does it.
const SHORT_NS: u64 = 10_000;
/// Fewer short operators than this, or than half of all, are not many.
const MANY: u64 = 100;

/// What spans of one name add up to, and the longest of them.
pub(super) struct Sum<T> {
    pub(super) count: u64,
    pub(super) total_ns: u64,
    pub(super) longest: Largest<T>,
}

impl<T> Sum<T> {
    pub(super) fn add(&mut self, ns: u64, thing: T) {
        self.count += 1;
        self.total_ns += ns;
        self.longest.offer(ns, thing);
    }
}

impl<T> Default for Sum<T> {
    fn default() -> Self {
        Self { count: 0, total_ns: 0, longest: Largest::new(Evidence::MOST) }
    }
}

/// The sums, the largest first.
pub(super) fn by_time<T>(sums: HashMap<&str, Sum<T>>) -> Vec<(&str, Sum<T>)> {
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|(name, sum), (other_name, other)| (other.total_ns, name).cmp(&(sum.total_ns, other_name)));
    sums
}

/// The names that took most time themselves. Functions count as what calls them, which is the program: what they took
/// themselves is told only where nothing but functions was recorded.
pub(super) fn self_times(trace: &Trace) -> Vec<Finding> {
    let has_others = trace.spans().any(|span| span.kind() != SpanKind::Function);
    let mut sums: HashMap<&str, Sum<usize>> = HashMap::new();
    let mut of_ns = 0;
    for span in trace.spans() {
        of_ns += span.self_ns();
        if !(has_others && span.kind() == SpanKind::Function) {
            sums.entry(span.key()).or_default().add(span.self_ns(), span.row());
        }
    }
    let told = by_time(sums).into_iter().take(NAMES).filter(|(_, sum)| sum.total_ns * 100 >= of_ns * LEAST_PERCENT);
    told.filter(|(_, sum)| sum.total_ns > 0)
        .map(|(name, sum)| Finding {
            fact: Fact::SelfTime { name: name.to_owned(), count: sum.count, self_ns: sum.total_ns, of_ns },
            evidence: places(trace, sum.longest),
        })
        .collect()
}

pub(super) fn places(trace: &Trace, rows: Largest<usize>) -> Vec<Evidence> {
    rows.into_vec().into_iter().filter_map(|row| trace.span(row)).map(|span| Evidence::of_span(&span)).collect()
}

/// Operators that contain no other, if most of them are short.
pub(super) fn short_operators(trace: &Trace) -> Option<Finding> {
    let is_operator = |span: &SpanRef<'_>| matches!(span.kind(), SpanKind::Op | SpanKind::Backward);
    let mut has_operators = vec![false; trace.span_count()];
    for span in trace.spans().filter(is_operator) {
        // What is in a function or a call that an operator made is in the operator.
        let mut around = span.parent();
        while let Some(outer) = around {
            if is_operator(&outer) {
                has_operators[outer.row()] = true;
                break;
            }
            around = outer.parent();
        }
    }
    let mut short: HashMap<&str, Sum<usize>> = HashMap::new();
    let (mut count, mut of, mut total_ns) = (0, 0, 0);
    for span in trace.spans().filter(|span| is_operator(span) && !has_operators[span.row()]) {
        of += 1;
        if span.duration_ns() < SHORT_NS {
            count += 1;
            total_ns += span.duration_ns();
            short.entry(span.name()).or_default().add(span.duration_ns(), span.row());
        }
    }
    if count < MANY || count * 2 < of {
        return None;
    }
    let mut frequent: Vec<_> = short.into_iter().collect();
    frequent.sort_by(|(name, sum), (other_name, other)| (other.count, name).cmp(&(sum.count, other_name)));
    let evidence = frequent.into_iter().take(Evidence::MOST).filter_map(|(name, sum)| {
        let times = sum.count;
        let mut place = places(trace, sum.longest).into_iter().next()?;
        place.label = format!("{name}: {times} of them");
        Some(place)
    });
    let fact = Fact::ShortOperators { count, of, below_ns: SHORT_NS, total_ns };
    Some(Finding { fact, evidence: evidence.collect() })
}
