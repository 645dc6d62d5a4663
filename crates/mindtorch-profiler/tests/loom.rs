//! The recorder under a model checker: what belongs here needs all interleavings of a few steps of two or three threads.
//!
//! Chunks have two slots here, so a third event turns one over. Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p mindtorch-profiler --release --test loom`. Loom reports a chunk or a thread
//! that is never freed; with `-Zsanitizer=address` added, one that is used after it was freed.

#![cfg(loom)]

use loom::thread;
use mindtorch_profiler::{
    Capture, DeviceSpan, ManualClock, Name, Recorder, Session, SpanArgs, SpanKind, ThreadWriter, Trace, WhenFull,
};

const NAMES: [&str; 4] = ["first", "second", "third", "fourth"];

/// Runs `model` in every interleaving with at most `preemptions` involuntary switches.
fn check(preemptions: usize, model: impl Fn(Recorder, ManualClock) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let clock = ManualClock::starting_at(1_000);
        model(Recorder::with_manual_clock(&clock), clock);
    });
}

fn session(recorder: &Recorder) -> Session {
    Session::builder().on(recorder).activities(Capture::CPU).start()
}

fn span(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Op, Name::new(name))
}

fn record(writer: &mut ThreadWriter, clock: &ManualClock, name: &str) {
    let token = writer.begin(&span(name));
    clock.advance(1);
    if let Some(token) = token {
        writer.end(token);
    }
    clock.advance(1);
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.spans().map(|span| span.name()).collect()
}

#[test]
fn a_reader_sees_whole_records_in_order_while_the_writer_passes_the_end_of_a_chunk() {
    check(3, |recorder, clock| {
        let session = session(&recorder);
        let mut writer = recorder.thread(1, None);
        let thread = thread::spawn(move || NAMES[..3].iter().for_each(|name| record(&mut writer, &clock, name)));
        let so_far = session.snapshot();
        assert_eq!(names(&so_far), NAMES[..so_far.span_count()]);
        for span in so_far.spans().rev().skip(1) {
            assert!(span.is_finished() && span.duration_ns() == 1);
        }
        thread.join().unwrap();
        let trace = session.stop();
        assert_eq!(names(&trace), NAMES[..3]);
        assert!(trace.spans().all(|span| span.is_finished() && span.duration_ns() == 1));
    });
}

#[test]
fn a_session_that_stops_while_a_thread_writes_has_a_prefix() {
    check(2, |recorder, clock| {
        let session = session(&recorder);
        let mut writer = recorder.thread(1, None);
        let thread = thread::spawn(move || NAMES[..3].iter().for_each(|name| record(&mut writer, &clock, name)));
        let trace = session.stop();
        assert_eq!(names(&trace), NAMES[..trace.span_count()]);
        thread.join().unwrap();
    });
}

#[test]
fn a_span_is_closed_elsewhere_while_its_chunk_would_be_freed() {
    check(3, |recorder, clock| {
        let session = session(&recorder);
        let mut writer = recorder.thread(1, None);
        let token = writer.begin(&span("moved")).unwrap();
        // The span's chunk is full, so that nothing but the open span keeps it when the session is gone.
        writer.mark(Name::new("mark"));
        writer.mark(Name::new("mark"));
        let mut closer = recorder.thread(2, None);
        let thread = thread::spawn(move || {
            clock.advance(1);
            closer.end(token);
        });
        drop(session);
        drop(writer);
        thread.join().unwrap();
        // Another prune finds nothing in the way: loom would report the chunk as leaked.
        drop(Session::builder().on(&recorder).start());
    });
}

#[test]
fn a_span_is_closed_by_its_owner_while_its_chunk_would_be_freed() {
    check(3, |recorder, clock| {
        let session = session(&recorder);
        let mut writer = recorder.thread(1, None);
        let tokens = [0; 2].map(|_| writer.begin(&span("long")).unwrap());
        let thread = thread::spawn(move || {
            writer.mark(Name::new("mark"));
            for token in tokens {
                clock.advance(1);
                writer.end(token);
            }
        });
        drop(session);
        thread.join().unwrap();
    });
}

#[test]
fn two_threads_close_spans_of_one_chunk_while_it_would_be_freed() {
    check(3, |recorder, clock| {
        let session = session(&recorder);
        let mut writer = recorder.thread(1, None);
        let [own, moved] = [0; 2].map(|_| writer.begin(&span("long")).unwrap());
        writer.mark(Name::new("mark"));
        let mut closer = recorder.thread(2, None);
        let thread = thread::spawn(move || closer.end(moved));
        writer.end(own);
        clock.advance(1);
        let trace = session.stop();
        assert_eq!(trace.span_count(), 2);
        thread.join().unwrap();
        let later = Session::builder().on(&recorder).start().stop();
        assert_eq!(later.span_count(), 0);
    });
}

#[test]
fn a_session_carries_a_span_that_is_closed_while_it_starts() {
    check(2, |recorder, clock| {
        let before = session(&recorder);
        let mut writer = recorder.thread(1, None);
        let token = writer.begin(&span("open")).unwrap();
        clock.advance(1);
        let thread = thread::spawn(move || {
            writer.end(token);
            writer.mark(Name::new("mark"));
            writer.mark(Name::new("mark"));
        });
        let during = session(&recorder);
        drop(before);
        thread.join().unwrap();
        clock.advance(1);
        let trace = during.stop();
        // Its end has the same tick as the session's start, or it was closed before: nothing of it lies in the window.
        assert_eq!(trace.span_count(), 0);
    });
}

#[test]
fn device_work_is_linked_to_its_launcher_while_a_span_before_it_is_closed() {
    check(2, |recorder, clock| {
        let before = session(&recorder);
        let mut writer = recorder.thread(1, None);
        let closing = writer.begin(&span("closing")).unwrap();
        let launcher = writer.begin(&span("launcher")).unwrap();
        let (launched_by, begin) = (Some(launcher.id()), recorder.now());
        let mut closer = recorder.thread(2, None);
        // At the tick at which the next session begins, so that the span lies outside its window once it is closed.
        let thread = thread::spawn(move || closer.end(closing));
        let during = Session::builder().on(&recorder).start();
        clock.advance(1);
        let (name, end) = (Name::new("kernel"), recorder.now());
        let kernel = DeviceSpan { launched_by, ..DeviceSpan::kernel(name, begin, end) };
        writer.device_span(&kernel);
        let trace = during.stop();
        let found = trace.device_spans().next().unwrap().launched_by().unwrap();
        assert_eq!((found.name(), found.self_device_ns()), ("launcher", 1));
        thread.join().unwrap();
        writer.end(launcher);
        drop(before);
    });
}

#[test]
fn dropping_one_of_two_sessions_takes_nothing_from_the_other() {
    check(3, |recorder, clock| {
        let (outer, inner) = (session(&recorder), session(&recorder));
        let mut writer = recorder.thread(1, None);
        record(&mut writer, &clock, NAMES[0]);
        let thread = thread::spawn(move || NAMES[1..].iter().for_each(|name| record(&mut writer, &clock, name)));
        drop(inner);
        thread.join().unwrap();
        assert_eq!(names(&outer.stop()), NAMES);
    });
}

#[test]
fn a_later_session_sees_a_thread_that_turned_over_while_the_first_was_dropped() {
    check(3, |recorder, clock| {
        let first = session(&recorder);
        let mut writer = recorder.thread(1, None);
        record(&mut writer, &clock, NAMES[0]);
        let of_thread = clock.clone();
        let thread = thread::spawn(move || {
            NAMES[1..3].iter().for_each(|name| record(&mut writer, &of_thread, name));
            writer
        });
        drop(first);
        let second = session(&recorder);
        let mut writer = thread.join().unwrap();
        record(&mut writer, &clock, NAMES[3]);
        let trace = second.stop();
        assert_eq!(names(&trace).last(), Some(&NAMES[3]));
        // Not all of the others: until the join, the thread need not have noticed that the second session began.
        let mut order = NAMES.iter();
        assert!(names(&trace).iter().all(|seen| order.any(|name| name == seen)));
    });
}

#[test]
fn a_thread_ends_while_the_session_stops() {
    check(2, |recorder, clock| {
        let session = session(&recorder);
        let mut writer = recorder.thread(1, None);
        NAMES[..2].iter().for_each(|name| record(&mut writer, &clock, name));
        let thread = thread::spawn(move || {
            record(&mut writer, &clock, NAMES[2]);
            drop(writer);
        });
        let trace = session.stop();
        assert!(trace.span_count() >= 2);
        assert_eq!(names(&trace), NAMES[..trace.span_count()]);
        thread.join().unwrap();
        assert_eq!(Session::builder().on(&recorder).start().stop().span_count(), 0);
    });
}

#[test]
fn threads_register_while_sessions_start_and_stop() {
    check(2, |recorder, clock| {
        let outer = session(&recorder);
        let of_thread = recorder.clone();
        let thread = thread::spawn(move || record(&mut of_thread.thread(1, None), &clock, NAMES[0]));
        drop(session(&recorder));
        thread.join().unwrap();
        assert_eq!(names(&outer.stop()), NAMES[..1]);
    });
}

/// A session that keeps a chunk or two.
fn ring(recorder: &Recorder) -> Session {
    let session = Session::builder().on(recorder).activities(Capture::CPU);
    session.max_bytes(1).when_full(WhenFull::Ring).start()
}

#[test]
fn a_ring_has_the_newest_and_counts_the_rest_while_it_is_looked_at() {
    check(2, |recorder, clock| {
        let session = ring(&recorder);
        let mut writer = recorder.thread(1, None);
        let thread = thread::spawn(move || NAMES.iter().for_each(|name| record(&mut writer, &clock, name)));
        let so_far = session.snapshot();
        thread.join().unwrap();
        let trace = session.stop();
        let dropped = trace.lost_events() as usize;
        assert_eq!(names(&trace), NAMES[dropped..]);
        let seen = so_far.lost_events() as usize;
        assert_eq!(names(&so_far), NAMES[seen..seen + so_far.span_count()]);
    });
}

#[test]
fn a_span_is_closed_elsewhere_while_a_ring_drops_what_is_around_it() {
    check(2, |recorder, clock| {
        let session = ring(&recorder);
        let mut writer = recorder.thread(1, None);
        let token = writer.begin(&span("moved")).unwrap();
        let mut closer = recorder.thread(2, None);
        let thread = thread::spawn(move || closer.end(token));
        for name in NAMES {
            record(&mut writer, &clock, name);
        }
        let trace = session.stop();
        thread.join().unwrap();
        assert_eq!(trace.span_count() + trace.lost_events() as usize, 1 + NAMES.len());
        drop(writer);
        drop(Session::builder().on(&recorder).start());
    });
}

#[test]
fn threads_make_room_for_each_other() {
    check(1, |recorder, clock| {
        let session = ring(&recorder);
        let threads: Vec<_> = (1..3)
            .map(|number| {
                let (mut writer, clock) = (recorder.thread(number, None), clock.clone());
                thread::spawn(move || NAMES[..3].iter().for_each(|name| record(&mut writer, &clock, name)))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let trace = session.stop();
        assert_eq!(trace.span_count() + trace.lost_events() as usize, 6);
    });
}

#[test]
fn a_thread_goes_on_while_another_spills_what_it_has_filled() {
    check(1, |recorder, clock| {
        let session = Session::builder().on(&recorder).activities(Capture::CPU).max_bytes(1).start();
        let (mut one, mut other) = (recorder.thread(1, None), recorder.thread(2, None));
        let own_clock = clock.clone();
        let thread = thread::spawn(move || NAMES[..3].iter().for_each(|name| record(&mut one, &own_clock, name)));
        NAMES[..3].iter().for_each(|name| record(&mut other, &clock, name));
        thread.join().unwrap();
        let trace = session.stop();
        assert_eq!((trace.span_count(), trace.lost_events()), (6, 0));
    });
}

#[test]
fn a_reader_sees_each_event_once_while_chunks_are_spilled() {
    check(1, |recorder, clock| {
        let session = Session::builder().on(&recorder).activities(Capture::CPU).max_bytes(1).start();
        let mut writer = recorder.thread(1, None);
        let thread = thread::spawn(move || NAMES.iter().for_each(|name| record(&mut writer, &clock, name)));
        let so_far = session.snapshot();
        assert_eq!(names(&so_far), NAMES[..so_far.span_count()]);
        thread.join().unwrap();
        let trace = session.stop();
        assert_eq!((names(&trace), trace.lost_events()), (NAMES.to_vec(), 0));
    });
}
