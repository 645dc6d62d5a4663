//! The process's recorder and real threads: what belongs here needs the thread-local writers behind `Span`.
//!
//! The tests run side by side and share the recorder, so each looks only at names of its own. Threads that are spawned
//! after a session started, or are told by a barrier, know that it did: what they record is counted exactly.

use mindtorch_profiler::{Capture, Name, Session, Span, SpanArgs, SpanKind, Trace, counter, mark, record_function};
use std::cell::RefCell;
use std::sync::{
    Barrier,
    atomic::{AtomicBool, Ordering},
    mpsc,
};
use std::thread;

fn count(trace: &Trace, name: &str) -> usize {
    trace.spans().filter(|span| span.name() == name).count()
}

#[test]
fn ten_thousand_short_lived_threads_are_all_recorded() {
    const BATCHES: usize = if cfg!(miri) { 2 } else { 200 };
    const THREADS: usize = if cfg!(miri) { 4 } else { 50 };
    let session = Session::start();
    for batch in 0..BATCHES {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let _outer = record_function!("short-lived outer");
                    let _inner = record_function!("short-lived inner");
                });
            }
        });
        if batch == BATCHES / 2 {
            // Another session comes and goes, and takes nothing away.
            drop(Session::start());
        }
    }
    let trace = session.stop();
    assert_eq!(count(&trace, "short-lived outer"), BATCHES * THREADS);
    let inner = trace.spans().filter(|span| span.name() == "short-lived inner");
    let mut threads = std::collections::HashSet::new();
    for span in inner {
        assert_eq!(span.parent().map(|parent| parent.name()), Some("short-lived outer"));
        assert!(span.is_finished() && !span.is_async());
        threads.insert(span.thread().number);
    }
    assert_eq!(threads.len(), BATCHES * THREADS);
}

#[test]
fn threads_that_started_before_and_after_the_session_are_seen() {
    let (started, stopping) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            // Recorded or not, depending on other tests' sessions, but before this one's.
            drop(Span::enter("before the session"));
            started.wait();
            stopping.wait();
            drop(Span::enter("old thread"));
        });
        started.wait();
        let session = Session::start();
        stopping.wait();
        let later = thread::Builder::new().name("later".to_owned());
        later.spawn_scoped(scope, || drop(Span::enter("new thread"))).unwrap().join().unwrap();
        // The old thread is known to be done when a snapshot has its span.
        let trace = loop {
            let so_far = session.snapshot();
            if so_far.spans().any(|span| span.name() == "old thread" && span.is_finished()) {
                break session.stop();
            }
            thread::yield_now();
        };
        assert_eq!(count(&trace, "old thread"), 1);
        assert_eq!(count(&trace, "before the session"), 0);
        let new = trace.spans().find(|span| span.name() == "new thread").unwrap();
        assert_eq!(new.thread().name.as_deref(), Some("later"));
    });
}

#[test]
fn a_span_moves_to_another_thread_and_ends_there() {
    let session = Session::start();
    let to_recording = Span::enter("moved to a recording thread");
    let to_silent = Span::enter("moved to a silent thread");
    let id = to_silent.id();
    assert!(id.is_some() && to_recording.is_recorded());
    thread::spawn(move || {
        let _own = Span::enter("own of the closer");
        drop(to_recording);
    })
    .join()
    .unwrap();
    thread::spawn(move || drop(to_silent)).join().unwrap();
    let after = Span::enter("after the moves");
    drop(after);
    let trace = session.stop();
    for name in ["moved to a recording thread", "moved to a silent thread"] {
        let span = trace.spans().find(|span| span.name() == name).unwrap();
        assert!(span.is_async() && span.is_finished() && span.self_ns() == 0, "{name}");
        assert_eq!(
            span.thread().os_id,
            trace.spans().find(|span| span.name() == "after the moves").unwrap().thread().os_id
        );
    }
    let after = trace.spans().find(|span| span.name() == "after the moves").unwrap();
    assert!(after.parent().is_none() && !after.is_async());
}

#[test]
fn spans_outlive_the_thread_and_the_session_that_began_them() {
    const ORPHANS: usize = if cfg!(miri) { 4 } else { 100 };
    let (give, take) = mpsc::channel();
    let session = Session::start();
    for number in 0..ORPHANS {
        let give = give.clone();
        let work = move || give.send(Span::enter(&format!("orphan {number}"))).unwrap();
        thread::spawn(work).join().unwrap();
    }
    let orphans: Vec<Span> = take.try_iter().collect();
    let first = session.stop();
    let second = Session::start();
    drop(orphans);
    let second = second.stop();
    for (trace, is_finished) in [(&first, false), (&second, true)] {
        let orphans: Vec<_> = trace.spans().filter(|span| span.name().starts_with("orphan ")).collect();
        assert_eq!(orphans.len(), ORPHANS);
        for span in orphans {
            assert_eq!([span.is_finished(), span.is_async(), span.is_cut_at_start()], [is_finished; 3]);
        }
    }
}

#[test]
fn a_panic_that_ends_a_thread_ends_its_spans() {
    let session = Session::start();
    let ended = thread::spawn(|| {
        let _outer = Span::enter("unwound by a panic");
        // Left behind, as by code that was not unwound.
        std::mem::forget(Span::enter("forgotten in a panic"));
        std::panic::resume_unwind(Box::new("quietly"));
    });
    assert!(ended.join().is_err());
    drop(Span::enter("after a panic"));
    let trace = session.stop();
    let of = |name: &str| trace.spans().find(|span| span.name() == name).unwrap();
    assert!(of("unwound by a panic").is_finished() && !of("forgotten in a panic").is_finished());
    assert!(of("after a panic").parent().is_none());
    assert!(of("forgotten in a panic").end_ns() <= trace.duration_ns());
}

/// Records when its thread is torn down.
struct LastWords(RefCell<Option<Span>>);

impl Drop for LastWords {
    fn drop(&mut self) {
        let _span = Span::enter("last words");
        mark(Name::new("last mark"));
        counter(Name::new("last counter"), 1.0);
        drop(Span::enter(&format!("last words with a new name {:?}", thread::current().id())));
        self.0.take();
    }
}

thread_local! { static LAST: LastWords = const { LastWords(RefCell::new(None)) } }

#[test]
fn events_of_a_thread_that_is_torn_down_are_recorded_or_counted() {
    const THREADS: usize = if cfg!(miri) { 6 } else { 50 };
    const EVENTS: usize = 4;
    let session = Session::start();
    for number in 0..THREADS {
        let work = move || {
            // Thread-locals are torn down in the order opposite to their first use: the writer before or after, or
            // first used in the teardown.
            if number % 3 == 0 {
                drop(Span::enter("early words"));
            }
            LAST.with(|last| {
                if number % 2 == 0 {
                    last.0.replace(Some(Span::enter("ends in the teardown")));
                }
            });
        };
        thread::spawn(work).join().unwrap();
    }
    let trace = session.stop();
    let spans = trace.spans().filter(|span| span.name().starts_with("last words")).count();
    let marks = trace.marks().filter(|(name, _)| *name == "last mark").count();
    let counters = trace.counters().filter(|(name, ..)| *name == "last counter").count();
    assert_eq!(spans + marks + counters + trace.lost_events() as usize, THREADS * EVENTS);
    let late: Vec<_> = trace.spans().filter(|span| span.name() == "ends in the teardown").collect();
    assert_eq!(late.len(), THREADS / 2);
    assert!(late.iter().all(|span| span.is_finished()));
}

#[test]
fn sessions_come_and_go_while_threads_record_as_fast_as_they_can() {
    const THREADS: usize = if cfg!(miri) { 2 } else { 4 };
    const ROUNDS: usize = if cfg!(miri) { 2 } else { 100 };
    let done = AtomicBool::new(false);
    let whole = Session::builder().profile_memory(true).start();
    let recorded: Vec<usize> = thread::scope(|scope| {
        let hammer = || {
            let mut recorded = 0;
            while !done.load(Ordering::Relaxed) {
                let _outer = record_function!("hammer outer");
                let args = SpanArgs::new(SpanKind::Op, Name::new("hammer inner")).sequence(recorded as u64);
                drop(Span::begin(&args));
                recorded += 1;
            }
            recorded
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(hammer)).collect();
        for round in 0..ROUNDS {
            let session = Session::builder().activities(Capture::CPU).with_stack(round % 2 == 0).start();
            let so_far = session.snapshot();
            let trace = session.stop();
            assert!(count(&so_far, "hammer inner") <= count(&trace, "hammer inner"));
            assert_sequences_follow_each_other(&trace);
        }
        done.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let trace = whole.stop();
    assert_eq!(count(&trace, "hammer inner"), recorded.iter().sum::<usize>());
    assert_sequences_follow_each_other(&trace);
}

/// Each thread numbered its spans: none may be missing in the middle, or have another's details.
fn assert_sequences_follow_each_other(trace: &Trace) {
    let inner: Vec<_> = trace.spans().filter(|span| span.name() == "hammer inner").collect();
    for pair in inner.windows(2) {
        let [one, next] = [pair[0], pair[1]];
        if one.thread().number == next.thread().number {
            assert_eq!(one.sequence().map(|sequence| sequence + 1), next.sequence());
            assert!(one.end_ns() <= next.start_ns());
        }
    }
}
