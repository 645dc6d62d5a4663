//! Which backward node belongs to which forward operator, on random programs, against the rule as it is said.

use mindtorch_profiler::{ManualClock, Name, Recorder, Session, SpanArgs, SpanKind, SpanRef, Trace};
use proptest::prelude::*;
use std::collections::HashSet;

/// A span on one of three threads: an operator or a node, with a sequence number or none, perhaps within the last one.
#[derive(Clone, Debug)]
struct Step {
    thread: usize,
    is_node: bool,
    sequence: Option<u64>,
    forward_thread: u32,
    is_wrapped: bool,
}

fn step() -> impl Strategy<Value = Step> {
    (0..3usize, any::<bool>(), prop::option::of(0..12u64), 0..5u32, any::<bool>()).prop_map(
        |(thread, is_node, sequence, forward_thread, is_wrapped)| Step {
            thread,
            is_node,
            sequence,
            forward_thread,
            is_wrapped,
        },
    )
}

fn run(steps: &[Step]) -> Trace {
    let clock = ManualClock::starting_at(1_790_900_000_000_000_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let mut threads = [11, 12, 13].map(|os_id| recorder.thread(os_id, None));
    let session = Session::builder().on(&recorder).start();
    for step in steps {
        let thread = &mut threads[step.thread];
        let kind = if step.is_node { SpanKind::Backward } else { SpanKind::Op };
        let numbered = |args: SpanArgs| step.sequence.map_or(args, |sequence| args.sequence(sequence));
        let args = numbered(SpanArgs::new(kind, Name::new("span")).forward_thread(step.forward_thread));
        let wrapper = numbered(SpanArgs::new(SpanKind::Op, Name::new("wrapper")));
        let wrapper = step.is_wrapped.then(|| thread.begin(&wrapper).unwrap());
        let span = thread.begin(&args).unwrap();
        clock.advance(3);
        thread.end(span);
        if let Some(wrapper) = wrapper {
            thread.end(wrapper);
        }
        clock.advance(1);
    }
    session.stop()
}

/// The rule: a node that wraps no node is linked with the last-begun operator of its number on its forward thread, if
/// that wraps no node and did not begin later; and each operator with the first such node only.
fn expected(trace: &Trace) -> Vec<(u32, u32)> {
    let is_node = |span: &SpanRef<'_>| span.kind() == SpanKind::Backward && span.sequence().is_some();
    let wraps = |span: &SpanRef<'_>| {
        let is_child = |other: &SpanRef<'_>| other.parent().is_some_and(|parent| parent.row() == span.row());
        trace.spans().any(|other| is_node(&other) && is_child(&other) && other.sequence() == span.sequence())
    };
    let mut linked = HashSet::new();
    let link = |node: SpanRef<'_>| {
        let is_forward = |span: &SpanRef<'_>| {
            let is_numbered = span.kind() == SpanKind::Op && span.sequence() == node.sequence();
            is_numbered && span.thread().number == node.forward_thread() && !wraps(span)
        };
        let from = trace.spans().rev().find(is_forward)?;
        let is_later = from.start_ns() <= node.start_ns() && linked.insert(from.row());
        is_later.then_some((from.row() as u32, node.row() as u32))
    };
    trace.spans().filter(|span| is_node(span) && !wraps(span)).filter_map(link).collect()
}

proptest! {
    #[test]
    fn links_follow_the_rule(one in prop::collection::vec(step(), 0..60), other in prop::collection::vec(step(), 0..30)) {
        let parts = [run(&one), run(&other)];
        for part in &parts {
            prop_assert_eq!(part.forward_links(), expected(part));
        }
        // The threads of both have the same numbers.
        let joined = Trace::joined(&[&parts[0], &parts[1]]).unwrap();
        prop_assert_eq!(joined.forward_links(), expected(&joined));
    }
}
