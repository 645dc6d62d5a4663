//! Folded stacks: one line a stack, for flame graphs.

use mindtorch_profiler::{
    DeviceSpan, ManualClock, Name, Recorder, Session, Span, SpanArgs, SpanKind, Stack, StackMetric, ThreadWriter,
    Trace, record_function,
};

fn annotation(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Annotation, Name::new(name))
}

fn stack(frames: &[&str]) -> Stack {
    Stack::new(&frames.iter().map(|frame| Name::new(frame)).collect::<Vec<_>>())
}

fn lines(trace: &Trace, metric: StackMetric) -> String {
    let mut text = Vec::new();
    trace.write_stacks(&mut text, metric).unwrap();
    String::from_utf8(text).unwrap()
}

/// What a program on one thread records.
fn record(with_stack: bool, program: impl FnOnce(&ManualClock, &Recorder, &mut ThreadWriter)) -> Trace {
    let clock = ManualClock::starting_at(1_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().with_stack(with_stack).on(&recorder).start();
    program(&clock, &recorder, &mut recorder.thread(1, None));
    session.stop()
}

#[test]
fn without_stacks_the_nesting_of_spans_is_shown() {
    let trace = record(false, |clock, _, thread| {
        for _ in 0..2 {
            let outer = thread.begin(&annotation("outer")).unwrap();
            clock.advance(1_000);
            for name in ["zeta", "alpha", "zeta"] {
                let inner = thread.begin(&annotation(name).stack(stack(&["not asked for"]))).unwrap();
                clock.advance(10_000);
                thread.end(inner);
            }
            thread.end(outer);
        }
    });
    assert_eq!(lines(&trace, StackMetric::SelfCpuTime), "outer 2\nouter;alpha 20\nouter;zeta 40\n");
    assert_eq!(lines(&trace, StackMetric::SelfDeviceTime), "");
}

#[test]
fn captured_stacks_are_shown_from_the_outermost_frame() {
    let trace = record(true, |clock, _, thread| {
        let main = stack(&["main.py(9): <module>"]);
        let leaf = stack(&["leaf.py(3): leaf", "main.py(9): <module>"]);
        let outer = thread.begin(&annotation("outer").stack(main)).unwrap();
        clock.advance(2_000);
        for name in ["aten::mm", "aten::add"] {
            let inner = thread.begin(&annotation(name).stack(leaf)).unwrap();
            clock.advance(4_000);
            thread.end(inner);
        }
        let without = thread.begin(&annotation("no stack")).unwrap();
        clock.advance(3_000);
        thread.end(without);
        thread.end(outer);
    });
    // A span without a stack of its own has that of the span around it.
    let expected = "main.py(9):_<module> 5\n\
                    main.py(9):_<module>;leaf.py(3):_leaf 8\n";
    assert_eq!(lines(&trace, StackMetric::SelfCpuTime), expected);
}

#[test]
fn frames_that_would_break_a_line_are_cleaned_and_merged() {
    let trace = record(false, |clock, _, thread| {
        for name in ["a b", "a;b", "a\tb", "a\nb", "a\rb", "a_b", "", "_"] {
            let span = thread.begin(&annotation(name)).unwrap();
            clock.advance(1_000);
            thread.end(span);
        }
    });
    assert_eq!(lines(&trace, StackMetric::SelfCpuTime), "_ 2\na_b 6\n");
}

#[test]
fn time_is_rounded_once_and_never_to_nothing() {
    let trace = record(false, |clock, _, thread| {
        for (name, ns) in [("a", 1), ("b", 700), ("b", 700), ("b", 700), ("none", 0)] {
            let span = thread.begin(&annotation(name)).unwrap();
            clock.advance(ns);
            thread.end(span);
        }
    });
    assert_eq!(lines(&trace, StackMetric::SelfCpuTime), "a 1\nb 2\n");
}

#[test]
fn device_time_belongs_to_what_called_the_launch() {
    let trace = record(false, |clock, recorder, thread| {
        let outer = thread.begin(&annotation("outer")).unwrap();
        let launch = thread.begin(&SpanArgs::new(SpanKind::Runtime, Name::new("launch"))).unwrap();
        let begin = recorder.now();
        clock.advance(30_000);
        let kernel = DeviceSpan {
            launched_by: Some(launch.id()),
            ..DeviceSpan::kernel(Name::new("gemm"), begin, recorder.now())
        };
        thread.device_span(&kernel);
        thread.device_span(&DeviceSpan { name: Name::new("stray kernel"), launched_by: None, ..kernel });
        thread.end(launch);
        thread.end(outer);
    });
    assert_eq!(lines(&trace, StackMetric::SelfDeviceTime), "outer 30\nstray_kernel 30\n");
}

#[test]
fn depth_costs_no_more_than_its_text() {
    let depth = 100_000;
    let trace = record(false, |clock, _, thread| {
        for _ in 0..3 {
            let open: Vec<_> = (0..depth).map(|_| thread.begin(&annotation("d")).unwrap()).collect();
            clock.advance(5_000);
            open.into_iter().rev().for_each(|span| thread.end(span));
        }
    });
    // What is deeper than is shown counts there.
    let expected = format!("{}d 15\n", "d;".repeat(999));
    assert!(lines(&trace, StackMetric::SelfCpuTime) == expected);
}

#[test]
fn metrics_have_torchs_names() {
    assert_eq!("self_cpu_time_total".parse::<StackMetric>().unwrap(), StackMetric::SelfCpuTime);
    for name in ["self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"] {
        assert_eq!(name.parse::<StackMetric>().unwrap(), StackMetric::SelfDeviceTime);
    }
    let message = "cpu_time".parse::<StackMetric>().unwrap_err().to_string();
    let start = "metric should be one of: ['self_cpu_time_total', 'self_cuda_time_total', ";
    assert!(message.starts_with(start), "{message}");
}

/// On the process's recorder, since call sites use it.
#[test]
fn a_span_without_a_stack_does_not_hide_those_around_it() {
    let session = Session::builder().with_stack(true).start();
    {
        let _outer = record_function!("folded outer");
        let _op = Span::begin(&SpanArgs::new(SpanKind::Op, Name::new("folded op")));
        let _inner = record_function!("folded inner");
    }
    let trace = session.stop();
    let inner = trace.spans().find(|span| span.name() == "folded inner").unwrap();
    let frames: Vec<String> = inner.stack().frames().iter().map(|frame| frame.text().to_string()).collect();
    assert!(frames[0].ends_with("): folded inner") && frames[1].ends_with("): folded outer"), "{frames:?}");
}

#[test]
fn what_is_nested_very_deep_counts_at_the_depth_that_is_shown() {
    let clock = ManualClock::starting_at(1);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().on(&recorder).start();
    let mut thread = recorder.thread(1, None);
    let depth = 3_000;
    let mut open = Vec::new();
    for level in 0..depth {
        let name = Name::new(&format!("deep {level}"));
        open.push(thread.begin(&SpanArgs::new(SpanKind::Annotation, name)).unwrap());
        clock.advance(1_000);
    }
    while let Some(token) = open.pop() {
        thread.end(token);
    }
    let mut lines = Vec::new();
    session.stop().write_stacks(&mut lines, StackMetric::SelfCpuTime).unwrap();
    let text = String::from_utf8(lines).unwrap();
    assert_eq!(text.lines().count(), 1_000);
    let last = text.lines().last().unwrap();
    assert!(last.ends_with(";deep_999 2001"), "{}", &last[last.len() - 40..]);
}
