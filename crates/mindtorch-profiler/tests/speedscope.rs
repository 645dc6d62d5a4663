//! Speedscope files: every span opens and closes at its times, in profiles that nest.

use mindtorch_profiler::{
    DeviceSpan, ManualClock, Name, Recorder, Session, SpanArgs, SpanKind, Stack, ThreadWriter, Trace,
};
use proptest::prelude::*;
use serde_json::Value;

fn annotation(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Annotation, Name::new(name))
}

fn written(trace: &Trace) -> Value {
    let mut json = Vec::new();
    trace.write_speedscope(&mut json, "a \"name\"").unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn record(with_stack: bool, program: impl FnOnce(&ManualClock, &Recorder, &mut ThreadWriter)) -> Trace {
    let clock = ManualClock::starting_at(1_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().with_stack(with_stack).on(&recorder).start();
    program(&clock, &recorder, &mut recorder.thread(7, Some("main")));
    session.stop()
}

/// The spans of an evented profile, as a reader finds them: name, start and end, in the order of their ends.
fn replay(file: &Value, profile: &Value) -> Vec<(String, u64, u64)> {
    assert_eq!(profile["type"], "evented");
    assert_eq!(profile["unit"], "nanoseconds");
    let (mut now, end) = (profile["startValue"].as_u64().unwrap(), profile["endValue"].as_u64().unwrap());
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut spans = Vec::new();
    for event in profile["events"].as_array().unwrap() {
        let (frame, at) = (event["frame"].as_u64().unwrap(), event["at"].as_u64().unwrap());
        assert!(now <= at && at <= end, "time goes on: {now}, {at}, {end}");
        now = at;
        if event["type"] == "O" {
            open.push((frame, at));
        } else {
            assert_eq!(event["type"], "C");
            let (opened, start) = open.pop().expect("what closes was opened");
            assert_eq!(opened, frame, "the last that was opened is the first to close");
            let name = file["shared"]["frames"][frame as usize]["name"].as_str().unwrap();
            spans.push((name.to_owned(), start, at));
        }
    }
    assert!(open.is_empty(), "all that opens closes");
    spans
}

fn span(name: &str, start: u64, end: u64) -> (String, u64, u64) {
    (name.to_owned(), start, end)
}

#[test]
fn spans_open_and_close_at_their_times() {
    let trace = record(false, |clock, _, thread| {
        let outer = thread.begin(&annotation("outer")).unwrap();
        clock.advance(10);
        for name in ["first", "second"] {
            let inner = thread.begin(&annotation(name)).unwrap();
            clock.advance(5);
            thread.end(inner);
        }
        clock.advance(1);
        thread.end(outer);
        let instant = thread.begin(&annotation("instant")).unwrap();
        thread.end(instant);
        let _unfinished = thread.begin(&annotation("unfinished")).unwrap();
        clock.advance(9);
    });
    let file = written(&trace);
    assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    assert_eq!(file["name"], "a \"name\"");
    let profiles = file["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 1);
    assert_eq!(profiles[0]["name"], "thread 7 (main)");
    let expected = [
        span("first", 10, 15),
        span("second", 15, 20),
        span("outer", 0, 21),
        span("instant", 21, 21),
        span("unfinished", 21, 30),
    ];
    assert_eq!(replay(&file, &profiles[0]), expected);
}

#[test]
fn spans_that_overlap_are_in_further_profiles_with_their_own_times() {
    let trace = record(false, |clock, _, thread| {
        let first = thread.begin(&annotation("first")).unwrap();
        clock.advance(10);
        let second = thread.begin(&annotation("second")).unwrap();
        clock.advance(10);
        thread.end(first);
        let within_second = thread.begin(&annotation("within")).unwrap();
        clock.advance(10);
        thread.end(within_second);
        thread.end(second);
    });
    let file = written(&trace);
    let profiles = file["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 2);
    assert_eq!(replay(&file, &profiles[0]), [span("first", 0, 20), span("within", 20, 30)]);
    assert_eq!(profiles[1]["name"], "thread 7 (main), overlapping 2");
    assert_eq!(replay(&file, &profiles[1]), [span("second", 10, 30)]);
}

#[test]
fn streams_of_devices_are_profiles() {
    let trace = record(false, |clock, recorder, thread| {
        let span = thread.begin(&annotation("launch")).unwrap();
        let times = std::iter::repeat_with(|| {
            clock.advance(10);
            recorder.now()
        });
        let times: Vec<_> = times.take(10).collect();
        // Reported late, and not in the order in which they ran.
        for (stream, name, begin, end) in [(1, "b", 5, 8), (1, "a", 1, 5), (0, "c", 2, 3)] {
            thread.device_span(&DeviceSpan { stream, ..DeviceSpan::kernel(Name::new(name), times[begin], times[end]) });
        }
        thread.end(span);
    });
    let file = written(&trace);
    let profiles = file["profiles"].as_array().unwrap();
    let names: Vec<&str> = profiles.iter().map(|profile| profile["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["thread 7 (main)", "NPU 0 stream 0", "NPU 0 stream 1"]);
    assert_eq!(replay(&file, &profiles[1]), [span("c", 30, 40)]);
    assert_eq!(replay(&file, &profiles[2]), [span("a", 20, 60), span("b", 60, 90)]);
}

#[test]
fn captured_stacks_are_a_profile_of_samples() {
    let frames = |frames: &[&str]| Stack::new(&frames.iter().map(|frame| Name::new(frame)).collect::<Vec<_>>());
    let trace = record(true, |clock, _, thread| {
        let outer = thread.begin(&annotation("outer").stack(frames(&["main.py(9): <module>"]))).unwrap();
        clock.advance(7);
        for _ in 0..2 {
            let leaf = frames(&["some leaf.py(3): leaf", "main.py(9): <module>"]);
            let inner = thread.begin(&annotation("inner").stack(leaf)).unwrap();
            clock.advance(4);
            thread.end(inner);
        }
        thread.end(outer);
    });
    let file = written(&trace);
    let stacks = &file["profiles"][1];
    assert_eq!((&stacks["type"], &stacks["name"]), (&"sampled".into(), &"stacks by self CPU time".into()));
    assert_eq!(stacks["weights"], serde_json::json!([7, 8]));
    assert_eq!(stacks["endValue"], 15);
    let frame = |frame: &Value| file["shared"]["frames"][frame.as_u64().unwrap() as usize].clone();
    let samples: Vec<Vec<Value>> = stacks["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s.as_array().unwrap().iter().map(frame).collect())
        .collect();
    let module = serde_json::json!({"name": "<module>", "file": "main.py", "line": 9});
    let leaf = serde_json::json!({"name": "leaf", "file": "some leaf.py", "line": 3});
    assert_eq!(samples, [vec![module.clone()], vec![module, leaf]]);
}

#[test]
fn nothing_is_a_file_too() {
    let file = written(&record(false, |_, _, _| ()));
    let profiles = file["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 1);
    assert!(replay(&file, &profiles[0]).is_empty());
}

#[test]
fn many_open_at_once_are_written_in_time() {
    let count = 20_000;
    let trace = record(false, |clock, _, thread| {
        let open: Vec<_> = (0..count)
            .map(|_| {
                clock.advance(1);
                thread.begin(&annotation("task")).unwrap()
            })
            .collect();
        for token in open {
            clock.advance(1);
            thread.end(token);
        }
    });
    let file = written(&trace);
    let spans: usize = file["profiles"].as_array().unwrap().iter().map(|profile| replay(&file, profile).len()).sum();
    assert_eq!(spans, count);
}

proptest! {
    /// Whatever a program does, every span is in the file once, with its times.
    #[test]
    fn every_span_is_there_once(steps in prop::collection::vec((0..5usize, 0..3u64), 0..200)) {
        let trace = record(false, |clock, _, thread| {
            let mut open = Vec::new();
            for (step, wait) in steps {
                clock.advance(wait);
                if step < 3 || open.is_empty() {
                    open.push(thread.begin(&annotation(["a", "b", "c"][step.min(2)])).unwrap());
                } else {
                    // The last one, or any.
                    let at = if step == 3 { open.len() - 1 } else { wait as usize % open.len() };
                    thread.end(open.remove(at));
                }
            }
        });
        let file = written(&trace);
        let mut found: Vec<_> =
            file["profiles"].as_array().unwrap().iter().flat_map(|profile| replay(&file, profile)).collect();
        let mut expected: Vec<_> = trace.spans().map(|s| (s.name().to_owned(), s.start_ns(), s.end_ns())).collect();
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}
