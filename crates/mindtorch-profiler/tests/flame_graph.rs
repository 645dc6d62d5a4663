//! Flame graphs: the widths are the times.
#![cfg(feature = "flame-graph")]

use mindtorch_profiler::{
    Error, ManualClock, Name, Recorder, Session, SpanArgs, SpanKind, StackMetric, ThreadWriter, Trace,
};
use std::path::PathBuf;

fn record(program: impl FnOnce(&ManualClock, &mut ThreadWriter)) -> Trace {
    let clock = ManualClock::starting_at(1_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().on(&recorder).start();
    program(&clock, &mut recorder.thread(1, None));
    session.stop()
}

fn spans(clock: &ManualClock, thread: &mut ThreadWriter, names: &[&str], ns: u64) {
    let open: Vec<_> =
        names.iter().map(|name| thread.begin(&SpanArgs::new(SpanKind::Annotation, Name::new(name))).unwrap()).collect();
    clock.advance(ns);
    open.into_iter().rev().for_each(|token| thread.end(token));
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flames.svg");
    (folder, path)
}

/// The titles of the picture's rectangles.
fn titles(svg: &str) -> Vec<&str> {
    let titles = svg.split("<title>").skip(1).map(|rest| rest.split("</title>").next().unwrap());
    titles.filter(|title| title.contains('(')).collect()
}

#[test]
fn frames_are_as_wide_as_their_times() {
    let (_folder, path) = place();
    let trace = record(|clock, thread| {
        spans(clock, thread, &["outer", "step 3"], 3_000);
        spans(clock, thread, &["outer"], 1_000);
        spans(clock, thread, &["<b> & \"c\";"], 4_000);
    });
    trace.export_flame_graph(&path, StackMetric::SelfCpuTime).unwrap();
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.contains(">Self CPU time<"));
    let mut found = titles(&svg);
    found.sort_unstable();
    let expected = [
        "&lt;b&gt;\u{a0}&amp;\u{a0}&quot;c&quot;_ (4 µs, 50.00%)",
        "all (8 µs, 100%)",
        "outer (4 µs, 50.00%)",
        "step\u{a0}3 (3 µs, 37.50%)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_too_narrow_to_see_is_part_of_what_is_around_it() {
    let (_folder, path) = place();
    let trace = record(|clock, thread| {
        for leaf in 0..1_000 {
            spans(clock, thread, &["outer", &format!("leaf {leaf}")], 1_000);
        }
        spans(clock, thread, &["long"], 999_000_000);
    });
    trace.export_flame_graph(&path, StackMetric::SelfCpuTime).unwrap();
    let svg = std::fs::read_to_string(&path).unwrap();
    assert_eq!(titles(&svg).len(), 3);
    assert!(svg.contains("outer (1,000 µs, 0.10%)"), "{svg}");
}

#[test]
fn nothing_is_a_message_and_no_file() {
    let (_folder, path) = place();
    let trace = record(|clock, thread| spans(clock, thread, &["work"], 1_000));
    let error = trace.export_flame_graph(&path, StackMetric::SelfDeviceTime).unwrap_err();
    assert!(matches!(error, Error::NothingToDraw { metric: StackMetric::SelfDeviceTime }));
    assert_eq!(error.to_string(), "there is no self device time to draw: nothing was recorded that took any");
    assert!(!path.exists());
}
