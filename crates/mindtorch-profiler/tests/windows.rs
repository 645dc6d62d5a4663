//! Sessions as windows, by example: what belongs here shows how sessions that meet each other, and the edges of their
//! windows, look in traces.

mod support;

use mindtorch_profiler::{
    Capture, Device, DeviceSpan, Inputs, ManualClock, Memory, MemoryRole, Name, Recorder, Session, Span, SpanArgs,
    SpanKind, Stack, ThreadWriter, Trace,
};
use support::in_own_process;

/// A recorder with one thread, each of whose events takes 10 ns.
struct Fixture {
    clock: ManualClock,
    recorder: Recorder,
    writer: ThreadWriter,
}

impl Fixture {
    fn new() -> Self {
        let clock = ManualClock::starting_at(1_000);
        let recorder = Recorder::with_manual_clock(&clock);
        let writer = recorder.thread(7, Some("main"));
        Self { clock, recorder, writer }
    }

    fn session(&self) -> Session {
        Session::builder().on(&self.recorder).start()
    }

    fn record(&mut self, name: &str) {
        let token = self.writer.begin(&SpanArgs::new(SpanKind::Op, Name::new(name)));
        self.clock.advance(10);
        if let Some(token) = token {
            self.writer.end(token);
        }
    }
}

/// `name start..end` of each span, with `<` and `>` where the window cut it.
fn show(trace: &Trace) -> Vec<String> {
    let show = |span: mindtorch_profiler::SpanRef<'_>| {
        let (before, after) =
            (if span.is_cut_at_start() { "<" } else { "" }, if span.is_finished() { "" } else { ">" });
        format!("{} {before}{}..{}{after}", span.name(), span.start_ns(), span.end_ns())
    };
    trace.spans().map(show).collect()
}

#[test]
fn nested_sessions_each_see_their_own_part() {
    let mut fixture = Fixture::new();
    let outer = fixture.session();
    fixture.record("a");
    let inner = fixture.session();
    fixture.record("b");
    let inner = inner.stop();
    fixture.record("c");
    assert_eq!(show(&inner), ["b 0..10"]);
    assert_eq!(show(&outer.stop()), ["a 0..10", "b 10..20", "c 20..30"]);
    fixture.record("nobody sees this");
    assert_eq!(show(&fixture.session().stop()), [""; 0]);
}

#[test]
fn overlapping_sessions_cut_the_spans_that_cross_their_edges() {
    let mut fixture = Fixture::new();
    let first = fixture.session();
    fixture.clock.advance(5);
    let token = fixture.writer.begin(&SpanArgs::new(SpanKind::Op, Name::new("crosses"))).unwrap();
    fixture.clock.advance(5);
    let second = fixture.session();
    fixture.clock.advance(5);
    let first = first.finish();
    fixture.clock.advance(5);
    fixture.writer.end(token);
    fixture.clock.advance(5);
    assert_eq!(show(&second.stop()), ["crosses <0..10"]);
    assert_eq!(show(&first.to_trace()), ["crosses 5..15>"]);
    // The same again, now that the other session is gone.
    assert_eq!(show(&first.into_trace()), ["crosses 5..15>"]);
}

#[test]
fn a_session_moves_between_threads() {
    let mut fixture = Fixture::new();
    let recorder = fixture.recorder.clone();
    let session = std::thread::spawn(move || Session::builder().on(&recorder).start()).join().unwrap();
    fixture.record("a");
    let trace = std::thread::spawn(move || session.stop()).join().unwrap();
    assert_eq!(show(&trace), ["a 0..10"]);
    assert_eq!((trace.threads()[0].os_id, trace.threads()[0].name.as_deref()), (7, Some("main")));
}

#[test]
fn sessions_end_in_any_order_and_take_nothing_from_each_other() {
    const SESSIONS: usize = if cfg!(miri) { 2 } else { 4 };
    // Enough to fill chunks, so that something is freed.
    const MARKS: usize = if cfg!(miri) { 40 } else { 300 };
    // Every order, each session dropped or stopped.
    for order in permutations(SESSIONS) {
        for stopped in 0..1 << SESSIONS {
            let mut fixture = Fixture::new();
            let mut sessions = Vec::new();
            for number in 0..SESSIONS {
                sessions.push(Some(fixture.session()));
                (0..MARKS).for_each(|_| fixture.writer.mark(Name::new("mark")));
                fixture.record(&format!("began {number}"));
            }
            for (ended, &which) in order.iter().enumerate() {
                let session = sessions[which].take().unwrap();
                if stopped >> which & 1 == 0 {
                    drop(session);
                } else {
                    let trace = session.stop();
                    let began = (which..SESSIONS).map(|number| format!("began {number}"));
                    let seen: Vec<String> = began.chain((0..ended).map(|number| format!("ended {number}"))).collect();
                    assert!(trace.spans().map(|span| span.name()).eq(seen.iter().map(String::as_str)), "{order:?}");
                    assert_eq!(trace.marks().count(), MARKS * (SESSIONS - which + ended));
                }
                (0..MARKS).for_each(|_| fixture.writer.mark(Name::new("mark")));
                fixture.record(&format!("ended {ended}"));
            }
            assert!(fixture.recorder.capture().is_empty());
        }
    }
}

#[test]
fn overloads_are_collected_while_someone_wants_them() {
    let fixture = Fixture::new();
    let collects = || fixture.recorder.capture().contains(Capture::OVERLOADS);
    let plain = Session::builder().on(&fixture.recorder).start();
    assert!(!collects());
    let with_overloads = Session::builder().on(&fixture.recorder).overload_names(true).start();
    assert!(collects());
    drop(with_overloads);
    assert!(!collects());
    drop(plain);
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let shorter = permutations(last);
    let insert = |at: usize, of: &Vec<usize>| [&of[..at], &[last], &of[at..]].concat();
    shorter.iter().flat_map(|of| (0..count).map(move |at| insert(at, of))).collect()
}

#[test]
fn a_session_shows_no_more_than_it_asked_for() {
    let mut fixture = Fixture::new();
    let on = || Session::builder().on(&fixture.recorder);
    let everything = on().record_shapes(true).with_stack(true).profile_memory(true).with_flops(true).start();
    let host = on().activities(Capture::CPU).start();
    let device = on().activities(Capture::DEVICE).profile_memory(true).start();
    let inputs = Inputs::encode().tensor("float", &[2], &[1]).finish();
    let stack = Stack::new(&[Name::new("a.py(1): f")]);
    let args = SpanArgs::new(SpanKind::Op, Name::new("op")).inputs(inputs).stack(stack).flops(9);
    let op = fixture.writer.begin(&args).unwrap();
    let launch = fixture.writer.begin(&SpanArgs::new(SpanKind::Runtime, Name::new("launch"))).unwrap();
    let (begin, launched_by) = (fixture.recorder.now(), Some(launch.id()));
    fixture.clock.advance(10);
    let (name, end) = (Name::new("kernel"), fixture.recorder.now());
    let kernel = DeviceSpan { stream: 1, launched_by, ..DeviceSpan::kernel(name, begin, end) };
    fixture.writer.device_span(&kernel);
    for device in [Device::Cpu, Device::Npu(0)] {
        let role = MemoryRole::Unknown;
        let block = Memory { address: 1, bytes: 64, device, allocated: 64, reserved: 128, stack, role };
        fixture.writer.memory(&block);
    }
    fixture.clock.advance(10);
    fixture.writer.end(launch);
    fixture.writer.end(op);
    let [everything, host, device] = [everything, host, device].map(Session::stop);

    let op = everything.spans().next().unwrap();
    assert_eq!((op.inputs(), op.stack(), op.flops(), op.device_ns()), (inputs, stack, 9, 10));
    assert_eq!((op.cpu_memory(), op.device_memory(), everything.memory().len()), (64, 64, 2));
    assert_eq!(everything.device_spans().next().unwrap().launched_by().unwrap().name(), "launch");
    assert_eq!(show(&host), ["op 0..20"]);
    let op = host.spans().next().unwrap();
    assert_eq!((op.inputs(), op.stack(), op.flops(), op.device_ns()), (Inputs::NONE, Stack::NONE, 0, 0));
    assert_eq!((host.memory().len(), host.device_spans().len()), (0, 0));
    assert_eq!(show(&device), ["launch 0..20"]);
    assert_eq!((device.memory().len(), device.memory()[0].device), (1, Device::Npu(0)));
    assert_eq!(device.spans().next().unwrap().self_device_ns(), 10);
}

#[test]
fn a_paused_session_sees_what_began_before_and_after_the_pause() {
    let mut fixture = Fixture::new();
    let session = fixture.session();
    let token = fixture.writer.begin(&SpanArgs::new(SpanKind::Op, Name::new("around"))).unwrap();
    session.pause(Capture::CPU);
    fixture.record("missed");
    let other = fixture.session();
    fixture.record("other's");
    session.resume(Capture::CPU);
    fixture.record("seen");
    fixture.writer.end(token);
    assert_eq!(show(&other.stop()), ["around <0..20", "other's 0..10", "seen 10..20"]);
    assert_eq!(show(&session.stop()), ["around 0..30", "seen 20..30"]);
}

#[test]
fn a_snapshot_is_what_stopping_would_have_given() {
    let mut fixture = Fixture::new();
    let session = fixture.session();
    fixture.record("a");
    let _open = fixture.writer.begin(&SpanArgs::new(SpanKind::Op, Name::new("open")));
    fixture.clock.advance(3);
    session.step();
    fixture.record("b");
    let snapshot = session.snapshot();
    assert!(snapshot.is_running());
    let trace = session.stop();
    assert!(!trace.is_running());
    assert_eq!(show(&snapshot), ["a 0..10", "open 10..23>", "b 13..23"]);
    assert_eq!(show(&snapshot), show(&trace));
    assert_eq!(snapshot.duration_ns(), trace.duration_ns());
    assert!(snapshot.spans().map(|span| span.step()).eq([0, 0, 1]));
}

#[test]
fn steps_are_spans_where_that_is_asked_for() {
    let mut fixture = Fixture::new();
    let session = Session::builder().on(&fixture.recorder).record_steps(true).start();
    fixture.record("a");
    session.step();
    fixture.record("b");
    assert_eq!(session.current_step(), 1);
    let trace = session.stop();
    assert_eq!(show(&trace), ["a 0..10", "b 10..20", "ProfilerStep#0 0..10", "ProfilerStep#1 10..20"]);
    assert!(trace.spans().map(|span| span.step()).eq([0, 1, 0, 1]));
}

#[test]
fn a_span_may_end_after_its_recorder_is_gone() {
    let (token, id) = {
        let mut fixture = Fixture::new();
        let _session = fixture.session();
        let token = fixture.writer.begin(&SpanArgs::new(SpanKind::Op, Name::new("orphan"))).unwrap();
        let id = token.id();
        (token, id)
    };
    assert_eq!(token.id(), id);
    Fixture::new().writer.end(token);
}

#[test]
#[cfg_attr(miri, ignore = "Miri starts no processes")]
fn a_process_may_exit_with_sessions_running() {
    in_own_process("a_process_may_exit_with_sessions_running", || {
        let session = Box::leak(Box::new(Session::start()));
        std::mem::forget(Session::start());
        std::mem::forget(Span::enter("never ends"));
        drop(Span::enter("ends"));
        let hammer = || loop {
            drop(Span::enter("still recorded while the process exits"));
        };
        std::thread::spawn(hammer);
        assert!(session.snapshot().span_count() >= 2);
    });
}

#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "Miri starts no processes")]
fn memory_is_returned_when_sessions_end() {
    in_own_process("memory_is_returned_when_sessions_end", || {
        let mut fixture = Fixture::new();
        let round = |fixture: &mut Fixture, events: usize| {
            let (outer, inner) = (fixture.session(), fixture.session());
            // Open while the sessions end: it may keep its own chunk, and that only until it ends.
            let open = fixture.writer.begin(&SpanArgs::new(SpanKind::Op, Name::new("open"))).unwrap();
            (0..events).for_each(|_| fixture.record("event"));
            drop(inner);
            assert_eq!(outer.stop().span_count(), events + 1);
            fixture.writer.end(open);
        };
        // 20,000 events take 640 kB of records: leaked, 200 rounds would take 128 MB, which is 31,000 pages.
        (0..20).for_each(|_| round(&mut fixture, 20_000));
        let before = resident_pages();
        (0..200).for_each(|_| round(&mut fixture, 20_000));
        let grown = resident_pages().saturating_sub(before);
        assert!(grown < 4_000, "{grown} pages more than after the first rounds");
    });
}

#[cfg(target_os = "linux")]
fn resident_pages() -> u64 {
    let numbers = std::fs::read_to_string("/proc/self/statm").unwrap();
    numbers.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_clock_that_goes_back_makes_spans_short_but_not_wrong() {
    let clock = ManualClock::starting_at(1_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().on(&recorder).start();
    let mut thread = recorder.thread(1, None);
    let mut begin = |name| thread.begin(&SpanArgs::new(SpanKind::Annotation, Name::new(name))).unwrap();
    clock.advance(100);
    let outer = begin("outer");
    clock.set(500);
    let inner = begin("inner");
    clock.set(700);
    thread.end(inner);
    clock.set(1_300);
    thread.end(outer);
    let trace = session.stop();
    let spans: Vec<_> =
        trace.spans().map(|span| (span.name(), span.start_ns(), span.end_ns(), span.self_ns())).collect();
    assert_eq!(spans, [("outer", 100, 300, 200), ("inner", 100, 100, 0)]);
}

#[test]
fn the_step_that_a_running_session_is_in_is_not_finished() {
    let session = Session::builder().record_steps(true).start();
    session.step();
    let names_and_ends = |trace: &Trace| {
        let steps = trace.spans().filter(|span| span.name().starts_with("ProfilerStep#"));
        steps.map(|span| (span.name().to_owned(), span.is_finished())).collect::<Vec<_>>()
    };
    let step = |number: u32, finished| (format!("ProfilerStep#{number}"), finished);
    assert_eq!(names_and_ends(&session.snapshot()), [step(0, true), step(1, false)]);
    assert_eq!(names_and_ends(&session.stop()), [step(0, true), step(1, true)]);
}

#[test]
fn a_thread_of_another_recorder_is_another_thread() {
    let clock = ManualClock::starting_at(1);
    let (one, other) = (Recorder::with_manual_clock(&clock), Recorder::with_manual_clock(&clock));
    let session = Session::builder().on(&one).start();
    // Both threads are their recorder's first.
    let (mut begins, mut ends) = (one.thread(1, None), other.thread(2, None));
    let token = begins.begin(&SpanArgs::new(SpanKind::Annotation, Name::new("moved"))).unwrap();
    ends.end(token);
    assert!(session.stop().span(0).unwrap().is_async());
}
