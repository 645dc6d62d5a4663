//! The layer for `tracing`.

#![cfg(feature = "tracing")]

use mindtorch_profiler::{Session, tracing_layer::ProfilerLayer};
use tracing::{info, info_span};
use tracing_subscriber::prelude::*;

fn with_layer(run: impl FnOnce()) {
    tracing::subscriber::with_default(tracing_subscriber::registry().with(ProfilerLayer::new()), run);
}

#[test]
fn spans_nest_and_events_are_marks() {
    with_layer(|| {
        let session = Session::start();
        info_span!("layer outer").in_scope(|| {
            info_span!("layer inner").in_scope(|| info!("layer message"));
        });
        let trace = session.stop();
        let inner = trace.spans().find(|span| span.name() == "layer inner").unwrap();
        assert_eq!(inner.parent().unwrap().name(), "layer outer");
        assert!(trace.marks().any(|(name, _)| name == "layer message"));
    });
}

#[test]
fn guards_dropped_out_of_order_end_their_own_spans() {
    with_layer(|| {
        let session = Session::start();
        let (first, second) = (info_span!("layer first"), info_span!("layer second"));
        let first = first.entered();
        let second = second.entered();
        drop(first);
        drop(info_span!("layer third").entered());
        drop(second);
        let trace = session.stop();
        let span = |name: &str| trace.spans().find(|span| span.name() == name).unwrap();
        // Not all that there are: other tests of this process may have some open.
        assert!(["layer first", "layer second", "layer third"].iter().all(|name| span(name).is_finished()));
        assert!(span("layer first").end_ns() <= span("layer third").start_ns());
        assert_eq!(span("layer third").parent().unwrap().name(), "layer second");
    });
}

#[test]
fn a_span_entered_twice_is_recorded_twice() {
    with_layer(|| {
        let session = Session::start();
        let span = info_span!("layer twice");
        span.in_scope(|| ());
        span.in_scope(|| ());
        let trace = session.stop();
        assert_eq!(trace.spans().filter(|span| span.name() == "layer twice").count(), 2);
    });
}

#[test]
fn a_span_entered_before_the_session_is_left_in_peace() {
    with_layer(|| {
        let entered = info_span!("layer before").entered();
        let session = Session::start();
        drop(entered);
        assert!(!session.stop().spans().any(|span| span.name() == "layer before"));
    });
}

#[test]
fn with_stack_the_place_in_the_source_is_known() {
    with_layer(|| {
        let session = Session::builder().with_stack(true).start();
        info_span!("layer placed").in_scope(|| ());
        let trace = session.stop();
        let span = trace.spans().find(|span| span.name() == "layer placed").unwrap();
        let frame = span.stack().frames()[0].text();
        assert!(frame.contains("tracing_layer.rs(") && frame.ends_with("): layer placed"), "{frame}");
    });
}
