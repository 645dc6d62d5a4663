//! Recordings that live in files: what belongs here shows that they are what they would be in memory, and outlive the process.

mod support;

use mindtorch_profiler::spool::{Entry, Spool, SpoolCut, SpoolEdge};
use mindtorch_profiler::{
    Capture, Device, DeviceSpan, DeviceWork, Error, Inputs, ManualClock, Memory, MemoryRole, Name, Recorder, Recovered,
    Session, SpanArgs, SpanKind, Stack, ThreadWriter, Trace, record_function,
};
use std::path::Path;
use std::sync::atomic::Ordering;
use support::in_own_process_with;

/// Every kind of record, with all that it can have.
fn record_everything(clock: &ManualClock, thread: &mut ThreadWriter, rounds: usize) {
    for round in 0..rounds {
        clock.advance(1);
        let inputs = Inputs::encode()
            .tensor("float", &[round as i64 % 7, 3], &[3, 1])
            .value("Scalar", "text of an input")
            .ints_of(Name::new("ScalarList"), [1, round as i64 % 5].into_iter())
            .finish();
        let op = SpanArgs::new(SpanKind::Op, Name::new("aten::op"))
            .inputs(inputs)
            .overload(Name::new("Tensor"))
            .sequence(round as u64);
        let op = thread.begin(&op);
        let id = op.as_ref().map(mindtorch_profiler::SpanToken::id);
        let detailed = SpanArgs::new(SpanKind::Annotation, Name::new(&format!("scope {}", round % 3)))
            .stack(Stack::new(&[Name::new("leaf.py(3): leaf"), Name::new("main.py(9): <module>")]))
            .note(Name::new("a note"))
            .flops(7);
        let scope = thread.begin(&detailed);
        clock.advance(3);
        let (device, stack) = (Device::Npu(1), Stack::new(&[Name::new("allocator.py(1): get")]));
        let (bytes, allocated) = (64, 64 * round as i64);
        let role = MemoryRole::Activation;
        thread.memory(&Memory { address: 640, bytes, device, allocated, reserved: 1 << 30, stack, role });
        scope.into_iter().for_each(|scope| thread.end(scope));
        clock.advance(2);
        op.into_iter().for_each(|op| thread.end(op));
        let (begin, end) = (clock.now_ns(), clock.now_ns() + 5);
        thread.device_span(&DeviceSpan {
            name: Name::new("kernel"),
            device: 1,
            stream: 4,
            begin: Recorder::with_manual_clock(&ManualClock::starting_at(begin)).now(),
            end: Recorder::with_manual_clock(&ManualClock::starting_at(end)).now(),
            launched_by: id,
            work: if round % 2 == 0 { DeviceWork::Copy } else { DeviceWork::Kernel },
            bytes: 12,
            extra: Name::new("\"grid\":[1,2,3]"),
        });
        thread.counter(Name::new("loss"), round as f64);
        thread.mark(Name::new("mark"));
    }
}

fn everything(recorder: &Recorder) -> mindtorch_profiler::SessionBuilder {
    let session = Session::builder().on(recorder).record_shapes(true).with_stack(true).with_flops(true);
    session.profile_memory(true).overload_names(true).record_steps(true).metadata("run", "7")
}

/// The events of the Chrome trace, which has everything. Names of processes and threads are of the machine that writes it.
fn events(trace: &Trace) -> Vec<String> {
    let mut text = Vec::new();
    trace.chrome_trace().write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines()
        .filter(|line| line.starts_with("{\"ph\":") && !line.contains("\"ph\":\"M\""))
        .map(str::to_owned)
        .collect()
}

fn assert_same_events(one: &Trace, other: &Trace) {
    let (one, other) = (events(one), events(other));
    assert_eq!(one.len(), other.len());
    assert!(one.len() > 3000);
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one, other);
    }
}

fn recovered(directory: &Path) -> Recovered {
    let mut all = Trace::recover(directory).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0).unwrap()
}

#[test]
fn a_recording_in_files_is_the_one_in_memory_and_the_one_that_is_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::starting_at(1_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let mut thread = recorder.thread(7, Some("main"));
    record_everything(&clock, &mut thread, 3);
    let around = Session::builder().on(&recorder).start();
    let open = thread.begin(&SpanArgs::new(SpanKind::Op, Name::new("open before")));
    let in_files = everything(&recorder).spool_dir(directory.path()).unwrap().start();
    let in_memory = everything(&recorder).start();
    record_everything(&clock, &mut thread, 1500);
    in_files.pause(Capture::CPU);
    in_memory.pause(Capture::CPU);
    record_everything(&clock, &mut thread, 3);
    in_files.resume(Capture::CPU);
    in_memory.resume(Capture::CPU);
    clock.advance(1);
    in_files.step();
    in_memory.step();
    let mut late = recorder.thread(8, Some("late"));
    record_everything(&clock, &mut late, 10);
    clock.advance(1);
    open.into_iter().for_each(|open| thread.end(open));
    drop(around);
    let path = in_files.spool_path().unwrap().to_owned();
    assert_eq!(in_files.spool_trouble(), None);
    let recording = in_files.finish();
    let in_memory = in_memory.finish();
    let from_files = recovered(directory.path());
    assert!(from_files.damage.is_none(), "{}", from_files.damage);
    assert_eq!((from_files.path, from_files.pid), (path.clone(), std::process::id()));
    let live = recording.to_trace();
    assert_eq!(live.span_count(), from_files.trace.span_count());
    assert_same_events(&live, &from_files.trace);
    assert_same_events(&live, &in_memory.to_trace());
    assert_eq!(from_files.trace.lost_events(), 0);
    // After it was stopped, the files are there until it is let go.
    assert!(path.exists());
    drop(recording);
    assert!(!path.exists());
    record_everything(&clock, &mut thread, 3);
    drop(in_memory);
}

#[test]
fn one_that_was_not_stopped_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::starting_at(1_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let mut thread = recorder.thread(7, None);
    let session = everything(&recorder).spool_dir(directory.path()).unwrap().start();
    record_everything(&clock, &mut thread, 100);
    let _open = thread.begin(&SpanArgs::new(SpanKind::Op, Name::new("open")));
    let so_far = session.snapshot();
    drop(session);
    let left = recovered(directory.path());
    assert_eq!(left.damage.to_string(), "the recording was not stopped");
    assert_eq!(left.trace.span_count(), so_far.span_count());
    assert_eq!(left.trace.key_averages().rows().len(), so_far.key_averages().rows().len());
    assert!(left.trace.spans().any(|span| span.name() == "open" && !span.is_finished()));
}

#[test]
fn the_last_that_was_recorded_lies_in_what_was_open() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::starting_at(1_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let mut thread = recorder.thread(7, None);
    let session = everything(&recorder).spool_dir(directory.path()).unwrap().start();
    let mut begin = |name: &str| {
        clock.advance(1);
        thread.begin(&SpanArgs::new(SpanKind::Op, Name::new(name))).unwrap()
    };
    let _outer = begin("outer");
    let _inner = begin("inner");
    let (device, stack, role) = (Device::Cpu, Stack::NONE, MemoryRole::Activation);
    thread.memory(&Memory { address: 64, bytes: 10, device, allocated: 10, reserved: 0, stack, role });
    drop(session);
    let left = recovered(directory.path());
    let inner = left.trace.spans().find(|span| span.name() == "inner").unwrap();
    assert_eq!(inner.parent().map(|parent| parent.name().to_owned()), Some("outer".to_owned()));
    assert_eq!(inner.cpu_memory(), 10);
}

#[test]
fn only_one_session_at_a_time_has_files() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = Recorder::with_manual_clock(&ManualClock::starting_at(1));
    let first = Session::builder().on(&recorder).spool_dir(directory.path()).unwrap();
    let refused = Session::builder().on(&recorder).spool_dir(directory.path()).unwrap_err();
    assert!(matches!(refused, Error::SpoolInUse { .. }), "{refused}");
    assert_eq!(directory.path().read_dir().unwrap().count(), 1);
    drop(first.start().stop());
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    // Nor does a builder leave anything that is dropped.
    drop(Session::builder().on(&recorder).spool_dir(directory.path()).unwrap());
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    assert!(Session::builder().on(&recorder).spool_dir(directory.path().join("no/such")).is_err());
}

#[test]
fn a_process_that_aborts_leaves_what_it_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let test = "a_process_that_aborts_leaves_what_it_recorded";
    let outcome = std::panic::catch_unwind(|| {
        in_own_process_with(test, &[("SPOOL_DIRECTORY", Some(path))], || {
            let directory = std::env::var("SPOOL_DIRECTORY").unwrap();
            let session = Session::builder().spool_dir(directory).unwrap().start();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..5_000 {
                            let _span = record_function!("work");
                        }
                    });
                }
            });
            let _open = record_function!("open");
            session.step();
            std::process::abort();
        });
    });
    assert!(outcome.is_err(), "it aborted");
    if std::env::var("SPOOL_DIRECTORY").is_ok() {
        return;
    }
    let left = recovered(directory.path());
    let work = left.trace.spans().filter(|span| span.name() == "work" && span.is_finished()).count();
    assert_eq!((work, left.trace.span_count()), (20_000, 20_001));
    assert_eq!(left.trace.threads().len(), 5);
    assert_eq!(left.damage.to_string(), "the recording was not stopped");
}

#[test]
fn what_lies_after_the_end_or_far_beyond_the_beginning_is_no_trouble() {
    let directory = tempfile::tempdir().unwrap();
    let spool = Spool::create(directory.path()).unwrap();
    let cut = |ticks, position| SpoolCut { ticks, lost: 0, positions: vec![(1, position)] };
    let edge = SpoolEdge { cut: cut(1, 0), capture: Capture::CPU, blocks: Vec::new() };
    spool.log_all([Entry::Thread { serial: 1, os_id: 1, name: None }, Entry::Edge(edge)]);
    // Another session went on, and its thread took a block after the cut.
    spool.log(Entry::End(cut(9, 1 << 40)));
    for base in [1 << 39, 1 << 41] {
        let slot = &spool.block(1, base, 1).unwrap();
        let [[begin, end, head, _]] = slot.slots() else { panic!("it has one slot") };
        begin.store(5, Ordering::Relaxed);
        end.store(6, Ordering::Relaxed);
        head.store(1, Ordering::Release);
        slot.seal(1, 1);
    }
    assert_eq!(recovered(directory.path()).trace.span_count(), 1);
}
