//! Functions of interpreted languages, operators that repeat themselves, forward stacks, and recordings that are joined.

use mindtorch_profiler::{
    Capture, GroupBy, ManualClock, Name, Recorder, Session, SessionBuilder, SpanArgs, SpanKind, ThreadWriter, Trace,
};

struct Scene {
    clock: ManualClock,
    recorder: Recorder,
    thread: ThreadWriter,
}

impl Scene {
    fn new() -> Self {
        let clock = ManualClock::starting_at(1_000_000);
        let recorder = Recorder::with_manual_clock(&clock);
        let thread = recorder.thread(7, None);
        Self { clock, recorder, thread }
    }

    fn session(&self, configure: impl FnOnce(SessionBuilder) -> SessionBuilder) -> Session {
        configure(Session::builder().on(&self.recorder)).start()
    }

    /// A span of 10 ns before, and 10 ns after, what is inside.
    fn span(&mut self, args: SpanArgs, inside: impl FnOnce(&mut Self)) {
        let token = self.thread.begin(&args);
        self.clock.advance(10);
        inside(self);
        self.clock.advance(10);
        if let Some(token) = token {
            self.thread.end(token);
        }
    }

    fn op(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.span(SpanArgs::new(SpanKind::Op, Name::new(name)), inside);
    }

    fn function(&mut self, name: &str, line: u32, inside: impl FnOnce(&mut Self)) {
        self.span(SpanArgs::new(SpanKind::Function, Name::new(name)).call(line, None), inside);
    }
}

fn nothing(_: &mut Scene) {}

fn frames(trace: &Trace, name: &str) -> Vec<String> {
    let span = trace.spans().find(|span| span.name() == name).unwrap();
    span.stack().frames().iter().map(|frame| frame.text().to_string()).collect()
}

#[test]
fn functions_are_the_stack_of_what_they_contain() {
    let mut scene = Scene::new();
    let session = scene.session(|builder| builder.with_stack(true));
    scene.function("main.py(1): <module>", 0, |scene| {
        scene.function("main.py(5): work", 9, |scene| scene.op("aten::mm", nothing));
        scene.op("aten::add", nothing);
    });
    let trace = session.stop();
    assert_eq!(frames(&trace, "aten::mm"), ["main.py(5): work", "main.py(1): <module>"]);
    assert_eq!(frames(&trace, "aten::add"), ["main.py(1): <module>"]);
    assert_eq!(frames(&trace, "main.py(5): work"), ["main.py(1): <module>"]);
    assert_eq!(trace.spans().map(|span| span.caller_line()).collect::<Vec<_>>(), [0, 9, 0, 0]);
    assert_eq!(trace.innermost_functions(), [1, 2, 2, 1]);
    let mut text = Vec::new();
    trace.write_chrome_trace(&mut text, "").unwrap();
    let text = String::from_utf8(text).unwrap();
    let call = "\"cat\":\"python_function\",\"name\":\"main.py(5): work\"";
    let args = "\"args\":{\"Python id\":2,\"Python thread\":0,\"Python parent id\":1,\"CallFrom\":\"main.py:9\"";
    assert!(text.contains(call) && text.contains(args), "{text}");
}

#[test]
fn without_stacks_functions_are_not_seen() {
    let mut scene = Scene::new();
    let plain = scene.session(|builder| builder);
    let with_stack = scene.session(|builder| builder.with_stack(true));
    scene.function("f", 1, |scene| scene.op("aten::mm", nothing));
    assert_eq!(plain.stop().span_count(), 1);
    assert_eq!(with_stack.stop().span_count(), 2);
}

#[test]
fn the_time_of_functions_belongs_to_what_contains_them_unless_they_are_shown() {
    let mut scene = Scene::new();
    let session = scene.session(|builder| builder.with_stack(true));
    scene.function("outer", 1, |scene| {
        let work = SpanArgs::new(SpanKind::Annotation, Name::new("work"));
        scene.span(work, |scene| scene.function("inner", 2, |scene| scene.op("aten::mm", nothing)));
    });
    let trace = session.stop();
    let hidden = trace.key_averages();
    let rows: Vec<(&str, u64, u64)> =
        hidden.rows().iter().map(|row| (&*row.key, row.self_cpu_ns, row.cpu_total_ns)).collect();
    assert_eq!(rows, [("work", 40, 60), ("aten::mm", 20, 20)]);
    assert!(!hidden.rows()[0].has_parent && hidden.rows()[1].has_parent);
    assert_eq!(hidden.self_cpu_total_ns(), 60);
    let shown = trace.averages(GroupBy { functions: true, ..GroupBy::default() });
    assert_eq!(shown.rows().iter().map(|row| row.self_cpu_ns).collect::<Vec<_>>(), [20, 20, 20, 20]);
}

#[test]
fn an_operator_that_only_calls_itself_is_one_call() {
    let mut scene = Scene::new();
    let session = scene.session(|builder| builder);
    scene.op("aten::sum", |scene| scene.op("aten::sum", |scene| scene.op("aten::sum", nothing)));
    scene.op("aten::add", |scene| {
        scene.op("aten::add", nothing);
        scene.op("aten::empty", nothing);
    });
    let trace = session.stop();
    assert_eq!(trace.repeated_operators(), [1, 2]);
    let averages = trace.key_averages();
    let rows: Vec<(&str, u64, u64)> =
        averages.rows().iter().map(|row| (&*row.key, row.count, row.self_cpu_ns)).collect();
    assert_eq!(rows, [("aten::sum", 1, 60), ("aten::add", 2, 40), ("aten::empty", 1, 20)]);
    assert_eq!(trace.events().rows().len(), 4);
    assert_eq!(trace.events().self_cpu_total_ns(), averages.self_cpu_total_ns());
}

#[test]
fn a_backward_node_has_the_stack_of_its_forward_operator() {
    let mut scene = Scene::new();
    let session = scene.session(|builder| builder.with_stack(true));
    let thread = scene.thread.thread_number();
    scene.function("model.py(3): forward", 1, |scene| {
        scene.span(SpanArgs::new(SpanKind::Op, Name::new("aten::mul")).sequence(4), nothing);
    });
    let node = SpanArgs::new(SpanKind::Backward, Name::new("MulBackward0")).sequence(4).forward_thread(thread);
    scene.function("train.py(8): step", 1, |scene| {
        scene.span(node, |scene| scene.op("aten::mul_of_backward", nothing));
        scene.span(SpanArgs::new(SpanKind::Backward, Name::new("Accumulate")), nothing);
    });
    let trace = session.stop();
    assert_eq!(frames(&trace, "MulBackward0"), ["model.py(3): forward"]);
    assert_eq!(frames(&trace, "aten::mul_of_backward"), ["model.py(3): forward"]);
    assert!(frames(&trace, "Accumulate").is_empty());
    assert_eq!(trace.forward_links(), [(1, 3)]);
}

#[test]
fn kinds_can_be_left_out() {
    let mut scene = Scene::new();
    let session = scene.session(|builder| builder.without(SpanKind::Op));
    scene.span(SpanArgs::new(SpanKind::Annotation, Name::new("work")), |scene| scene.op("aten::mm", nothing));
    let trace = session.stop();
    assert_eq!(trace.spans().map(|span| (span.name(), span.self_ns())).collect::<Vec<_>>(), [("work", 40)]);
}

#[test]
fn joined_recordings_are_on_one_clock() {
    let mut scene = Scene::new();
    let mut parts = Vec::new();
    for step in [3, 7] {
        let session = scene.session(|builder| builder.activities(Capture::CPU).first_step(step).record_steps(true));
        scene.op("outer", |scene| scene.span(SpanArgs::new(SpanKind::Op, Name::new("inner")).sequence(1), nothing));
        parts.push(session.stop());
        scene.clock.advance(1000);
    }
    let joined = Trace::joined(&parts.iter().collect::<Vec<_>>()).unwrap();
    let spans: Vec<(&str, u64, usize)> =
        joined.spans().map(|span| (span.name(), span.start_ns(), span.step())).collect();
    let second = 1000 + parts[0].duration_ns();
    // The steps are those of this thread, the others of the one that the scene plays.
    let expected = [
        ("outer", 0, 3),
        ("inner", 10, 3),
        ("ProfilerStep#3", 0, 3),
        ("outer", second, 7),
        ("inner", second + 10, 7),
        ("ProfilerStep#7", second, 7),
    ];
    assert_eq!(spans, expected);
    assert_eq!(joined.span(4).and_then(|inner| inner.parent()).map(|outer| outer.row()), Some(3));
    assert_eq!(joined.spans().filter(|span| span.sequence() == Some(1)).count(), 2);
    assert_eq!(joined.duration_ns(), second + parts[1].duration_ns());
    assert_eq!(joined.key_averages().rows().iter().map(|row| row.count).collect::<Vec<_>>(), [2, 2, 2]);
    assert!(Trace::joined(&[]).is_none());
}
