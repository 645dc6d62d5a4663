//! Extremes of shape: what belongs here is deep, wide or many, and would overflow the stack or take minutes if anything
//! were recursive or quadratic. Nothing is timed.

use mindtorch_profiler::{Capture, ManualClock, Name, Recorder, Session, SpanArgs, SpanKind, ThreadWriter, Trace};

const MANY: usize = 100_000;

struct Fixture {
    clock: ManualClock,
    recorder: Recorder,
    session: Session,
    writer: ThreadWriter,
}

fn fixture() -> Fixture {
    let clock = ManualClock::starting_at(1);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().on(&recorder).activities(Capture::CPU).start();
    let writer = recorder.thread(1, None);
    Fixture { clock, recorder, session, writer }
}

fn op(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Op, Name::new(name))
}

fn self_time(trace: &Trace) -> u64 {
    trace.spans().map(|span| span.self_ns()).sum()
}

#[test]
fn nesting_may_be_deep() {
    let Fixture { clock, session, mut writer, .. } = fixture();
    let mut open = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        open.push(writer.begin(&op("level")).unwrap());
        clock.advance(1);
    }
    while let Some(token) = open.pop() {
        clock.advance(1);
        writer.end(token);
    }
    let trace = session.stop();
    assert_eq!(trace.span_count(), MANY);
    // One tick before the span inside begins and one after it ends; the innermost has both in one piece.
    assert!(trace.spans().all(|span| span.self_ns() == 2 && span.is_finished()));
    assert_eq!(self_time(&trace), trace.duration_ns());
    let parents = trace.spans().map(|span| span.parent().map(|parent| parent.row()));
    assert!(parents.eq((0..MANY).map(|row| row.checked_sub(1))));
}

#[test]
fn memory_and_open_spans_add_up_through_deep_nesting() {
    let clock = ManualClock::starting_at(1);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().on(&recorder).profile_memory(true).start();
    let mut writer = recorder.thread(1, None);
    let mut open = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        open.push(writer.begin(&op("level")).unwrap());
        clock.advance(1);
        let device = mindtorch_profiler::Device::Cpu;
        let stack = mindtorch_profiler::Stack::NONE;
        let role = mindtorch_profiler::MemoryRole::Unknown;
        let block = mindtorch_profiler::Memory { address: 1, bytes: 1, device, allocated: 0, reserved: 0, stack, role };
        writer.memory(&block);
    }
    clock.advance(1);
    let trace = session.stop();
    open.into_iter().for_each(|token| writer.end(token));
    assert!(trace.spans().all(|span| !span.is_finished() && span.self_cpu_memory() == 1));
    assert!(trace.spans().enumerate().all(|(level, span)| span.cpu_memory() == (MANY - level) as i64));
}

#[test]
fn overlaps_may_be_many() {
    let Fixture { clock, session, mut writer, .. } = fixture();
    let mut open = std::collections::VecDeque::with_capacity(MANY);
    for _ in 0..MANY {
        open.push_back(writer.begin(&op("task")).unwrap());
        clock.advance(1);
    }
    while let Some(token) = open.pop_front() {
        clock.advance(1);
        writer.end(token);
    }
    let trace = session.stop();
    assert_eq!(trace.span_count(), MANY);
    assert!(trace.spans().all(|span| span.parent().is_none() && span.duration_ns() == MANY as u64 + 1));
    assert_eq!(self_time(&trace), trace.duration_ns());
}

#[test]
fn names_may_all_differ() {
    let Fixture { clock, session, mut writer, .. } = fixture();
    for number in 0..MANY {
        let token = writer.begin(&op(&format!("distinct {number}"))).unwrap();
        clock.advance(1);
        writer.end(token);
    }
    let trace = session.stop();
    assert_eq!(trace.span_count(), MANY);
    for (number, span) in trace.spans().enumerate().step_by(997) {
        assert_eq!(span.name(), format!("distinct {number}"));
    }
    let distinct: std::collections::HashSet<&str> = trace.spans().map(|span| span.name()).collect();
    assert_eq!(distinct.len(), MANY);
}

#[test]
fn threads_may_be_many() {
    const THREADS: u64 = 10_000;
    let Fixture { clock, recorder, session, writer } = fixture();
    drop(writer);
    let mut alive: Vec<ThreadWriter> = (0..THREADS).map(|id| recorder.thread(id, None)).collect();
    for _ in 0..3 {
        for writer in &mut alive {
            let token = writer.begin(&op("short")).unwrap();
            clock.advance(1);
            writer.end(token);
        }
    }
    // Windows of their own over all the threads, while half of these end.
    let inner = Session::builder().on(&recorder).start();
    alive.truncate(THREADS as usize / 2);
    let open: Vec<_> = alive.iter_mut().map(|writer| writer.begin(&op("open")).unwrap()).collect();
    clock.advance(1);
    let last = Session::builder().on(&recorder).start();
    assert_eq!(inner.stop().span_count(), open.len());
    let trace = session.stop();
    assert_eq!(trace.threads().len() as u64, THREADS);
    assert_eq!(trace.span_count() as u64, THREADS * 3 + THREADS / 2);
    assert!(trace.threads().iter().map(|thread| thread.os_id).eq(0..THREADS));
    clock.advance(1);
    let carried = last.stop();
    assert_eq!(carried.span_count(), open.len());
    assert!(carried.spans().all(|span| span.is_cut_at_start() && !span.is_finished()));
    alive.iter_mut().zip(open).for_each(|(writer, token)| writer.end(token));
}
