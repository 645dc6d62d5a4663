//! Tasks that take turns on a thread: spans belong to the spans of their own task.

use mindtorch_profiler::{ContextInUse, Name, Session, Span, SpanArgs, SpanKind, Trace, set_context};

fn begin(kind: SpanKind, name: &str) -> Span {
    Span::begin(&SpanArgs::new(kind, Name::new(name)))
}

fn parent(trace: &Trace, name: &str) -> Option<String> {
    let span = trace.spans().find(|span| span.name() == name).expect("it was recorded");
    span.parent().map(|parent| parent.name().to_owned())
}

/// Two tests would see each other's spans: the process has one recorder.
#[test]
fn spans_of_tasks_that_take_turns_have_parents_of_their_own_task() {
    let session = Session::start();
    let main = begin(SpanKind::Annotation, "main");
    let in_use = [ContextInUse::new(), ContextInUse::new(), ContextInUse::new()];
    let scopes = [1, 2, 3].map(|task| {
        set_context(task);
        begin(SpanKind::Annotation, &format!("task {task}"))
    });
    for (task, scope) in (1..).zip(scopes) {
        set_context(task);
        let op = begin(SpanKind::Op, &format!("op of {task}"));
        drop(begin(SpanKind::Op, &format!("child of {task}")));
        drop(op);
        drop(scope);
    }
    set_context(0);
    drop(begin(SpanKind::Op, "op of none"));
    drop(in_use);
    drop(main);
    set_context(1);
    drop(begin(SpanKind::Op, "after all"));
    let trace = session.stop();
    for task in 1..=3 {
        assert_eq!(parent(&trace, &format!("task {task}")).as_deref(), Some("main"));
        assert_eq!(parent(&trace, &format!("op of {task}")), Some(format!("task {task}")));
        assert_eq!(parent(&trace, &format!("child of {task}")), Some(format!("op of {task}")));
    }
    assert_eq!(parent(&trace, "op of none").as_deref(), Some("main"));
    assert_eq!(parent(&trace, "after all"), None);
}
