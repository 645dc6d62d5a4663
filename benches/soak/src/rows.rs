//! What is done for long.

use crate::figures::Figures;
use crate::{table, usage};
use mindtorch_profiler::{Averages, Capture, GroupBy, Recording, Session, WhenFull, record_function};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
const RING: u64 = 64 * MIB;
const SPILL: u64 = 256 * MIB;
/// More than an analysis needs beside what is in files.
const SMALL: u64 = 16 * MIB;
const THREADS: u64 = 64;
const CHUNK_BYTES: u64 = 66 << 10;
/// What a recorder keeps for the next recording.
const SPARES: u64 = 16 * MIB;
/// What a process takes that records nothing, with its threads' stacks.
const MOST_BESIDES: u64 = 32 * MIB;
/// What a process that should not grow may have more after a while: what its allocator keeps for later.
const MOST_GROWTH: u64 = 4 * MIB;

/// One thing that is done for long.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) size: u64,
    /// What the size counts.
    pub(crate) unit: &'static str,
    pub(crate) run: fn(u64) -> Figures,
}

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "threads",
        what: "64 threads at full rate, ring of 64 MiB",
        size: 10_000,
        unit: "milliseconds",
        run: threads,
    },
    Row { name: "ring", what: "one thread, ring of 64 MiB", size: 1_000_000_000, unit: "events", run: ring },
    Row { name: "spill", what: "one thread, spilling over 256 MiB", size: 200_000_000, unit: "events", run: spill },
    Row {
        name: "sequence",
        what: "sessions of 10 events, one after another",
        size: 100_000,
        unit: "sessions",
        run: sequence,
    },
    Row {
        name: "at-once",
        what: "sessions open at once, 20 events after each",
        size: 1_000,
        unit: "sessions",
        run: at_once,
    },
    Row { name: "clock", what: "scopes of 5 ms, beside the program's clock", size: 200, unit: "scopes", run: clock },
    Row {
        name: "overhead",
        what: "empty scopes, with the overhead subtracted",
        size: 1_000_000,
        unit: "scopes",
        run: overhead,
    },
];

/// Says how far it has come, every tenth of the way, and knows how the memory grew since the first.
struct Progress {
    total: u64,
    next: u64,
    after_a_tenth: u64,
}

impl Progress {
    fn new(total: u64) -> Self {
        Self { total, next: total.div_ceil(10), after_a_tenth: 0 }
    }

    fn reach(&mut self, done: u64) {
        if done < self.next {
            return;
        }
        if self.after_a_tenth == 0 {
            self.after_a_tenth = usage::resident();
        }
        self.next = done + self.total.div_ceil(10);
        eprintln!("  {:>3} %  {} MiB", done * 100 / self.total, table::mib(usage::resident()));
    }

    fn growth(&self) -> u64 {
        usage::resident().saturating_sub(self.after_a_tenth)
    }
}

fn record(events: u64) {
    for _ in 0..events {
        let _span = record_function!("work");
    }
}

/// Records on this thread, with a look at the memory now and then.
fn record_with(progress: &mut Progress, events: u64) {
    const BATCH: u64 = 1 << 20;
    let mut done = 0;
    while done < events {
        let batch = BATCH.min(events - done);
        record(batch);
        done += batch;
        progress.reach(done);
    }
}

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

/// What a recording takes. Its trace, which takes more, comes after.
fn held(recording: &Recording, progress: &Progress) -> Figures {
    Figures {
        memory_held: recording.memory_held() as u64,
        file_bytes: usage::unnamed_files(),
        peak: usage::peak(),
        growth: progress.growth(),
        dropped: recording.losses().events(),
        ..Figures::default()
    }
}

/// Makes the trace, and sees that every event is in it or was counted as dropped.
fn account(recording: Recording, figures: Figures) -> Figures {
    let trace = recording.into_trace();
    let (kept, dropped) = (trace.span_count() as u64, trace.losses().events());
    assert_eq!(kept + dropped, figures.done, "{kept} kept and {dropped} dropped");
    assert_eq!(dropped, figures.dropped, "the recording and the trace do not agree");
    Figures { kept, with_trace: usage::private(), ..figures }
}

fn assert_steady(growth: u64) {
    assert!(growth < MOST_GROWTH, "the process has grown by {growth} bytes since the first tenth");
}

fn threads(milliseconds: u64) -> Figures {
    let session = Session::builder().max_bytes(RING).when_full(WhenFull::Ring).start();
    let (is_over, recorded) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut progress = Progress::new(milliseconds);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    record(1000);
                    recorded.fetch_add(1000, Ordering::Relaxed);
                }
            });
        }
        while began.elapsed().as_millis() < milliseconds.into() {
            std::thread::sleep(Duration::from_millis(milliseconds / 10));
            progress.reach((began.elapsed().as_millis() as u64).min(milliseconds));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let (done, nanoseconds) = (recorded.into_inner(), nanoseconds(began));
    let recording = session.finish();
    let figures = Figures { done, nanoseconds, ..held(&recording, &progress) };
    // An eighth, and a chunk of each thread's, come on top.
    let most_held = RING + RING / 8 + THREADS * CHUNK_BYTES;
    assert!(figures.memory_held < most_held, "{}", figures.memory_held);
    assert!(figures.peak < most_held + SPARES + MOST_BESIDES, "the process had {} bytes", figures.peak);
    account(recording, figures)
}

fn ring(events: u64) -> Figures {
    let (recording, figures) = bounded(events, RING, WhenFull::Ring);
    assert_steady(figures.growth);
    account(recording, figures)
}

/// What is made of the recording is in files, too: the process cannot have more memory of its own than before.
fn spill(events: u64) -> Figures {
    let (recording, figures) = bounded(events, SPILL, WhenFull::Spill);
    usage::limit_growth_to(SMALL);
    let began = Instant::now();
    let trace = recording.into_trace();
    eprintln!("  the trace took {} ns an event", nanoseconds(began) / events);
    let began = Instant::now();
    let averages = trace.key_averages();
    eprintln!("  averages took {} ns an event", nanoseconds(began) / events);
    assert!(averages.rows().iter().map(|row| row.count).eq([events]), "every event is among the averages");
    assert_eq!((trace.losses().events(), figures.dropped), (0, 0));
    Figures { kept: trace.span_count() as u64, with_trace: usage::private(), ..figures }
}

fn bounded(events: u64, max_bytes: u64, when_full: WhenFull) -> (Recording, Figures) {
    let session = Session::builder().max_bytes(max_bytes).when_full(when_full).start();
    let mut progress = Progress::new(events);
    let began = Instant::now();
    record_with(&mut progress, events);
    let nanoseconds = nanoseconds(began);
    let recording = session.finish();
    let figures = Figures { done: events, nanoseconds, ..held(&recording, &progress) };
    assert!(recording.was_full(), "so few events say nothing of what happens when it is full");
    assert!(figures.memory_held < max_bytes + 2 * MIB, "{} of {max_bytes}", figures.memory_held);
    (recording, figures)
}

fn sequence(sessions: u64) -> Figures {
    const EVENTS: u64 = 10;
    let mut progress = Progress::new(sessions);
    let (mut kept, mut memory_held) = (0, 0);
    let began = Instant::now();
    for done in 1..=sessions {
        let session = Session::start();
        record(EVENTS);
        let recording = session.finish();
        memory_held = memory_held.max(recording.memory_held() as u64);
        let trace = recording.into_trace();
        assert_eq!((trace.span_count() as u64, trace.losses().events()), (EVENTS, 0));
        kept += EVENTS;
        progress.reach(done);
    }
    let (nanoseconds, growth, peak) = (nanoseconds(began), progress.growth(), usage::peak());
    assert_steady(growth);
    Figures {
        done: sessions,
        nanoseconds,
        kept,
        memory_held,
        peak,
        with_trace: usage::private(),
        growth,
        ..Figures::default()
    }
}

fn at_once(sessions: u64) -> Figures {
    const EVENTS: u64 = 20;
    let mut progress = Progress::new(sessions);
    let mut open = Vec::new();
    let began = Instant::now();
    for done in 1..=sessions {
        open.push(Session::start());
        record(EVENTS);
        progress.reach(done);
    }
    let recordings: Vec<Recording> = open.into_iter().map(Session::finish).collect();
    let figures = Figures { done: sessions, nanoseconds: nanoseconds(began), ..held(&recordings[0], &progress) };
    let mut kept = 0;
    for (after, recording) in recordings.into_iter().enumerate() {
        let trace = recording.into_trace();
        let seen = (trace.span_count() as u64, trace.losses().events());
        assert_eq!(seen, ((sessions - after as u64) * EVENTS, 0), "session {after}");
        kept += seen.0;
    }
    Figures { kept, with_trace: usage::private(), ..figures }
}

/// Compares the durations of scopes with readings of the system's clock just outside and just inside of each.
fn clock(scopes: u64) -> Figures {
    const BUSY: Duration = Duration::from_millis(5);
    /// The largest relative difference between the two clocks.
    const MOST_ERROR: f64 = 0.01;
    let session = Session::start();
    let mut known = Vec::new();
    let began = Instant::now();
    for _ in 0..scopes {
        let before = Instant::now();
        let span = record_function!("known");
        let begun = Instant::now();
        while begun.elapsed() < BUSY {
            std::hint::spin_loop();
        }
        let least = begun.elapsed();
        drop(span);
        known.push((least.as_nanos() as f64, before.elapsed().as_nanos() as f64));
    }
    let nanoseconds = nanoseconds(began);
    let trace = session.stop();
    assert_eq!(trace.span_count(), known.len());
    let durations = trace.spans().map(|span| span.duration_ns() as f64);
    let (mut outside, mut best) = (0.0f64, f64::INFINITY);
    for (duration, (least, most)) in durations.zip(known) {
        outside = outside.max(1.0 - duration / least).max(duration / most - 1.0);
        // Another program may have had the processor between a scope's readings and the program's: the closest counts.
        best = best.min((duration / least - 1.0).abs().max((duration / most - 1.0).abs()));
    }
    let percent = 100.0 * MOST_ERROR;
    eprintln!("  at most {:.4} % beyond the program's clock (limit {percent} %)", 100.0 * outside);
    eprintln!("  the closest is within {:.4} % of it (limit {percent} %)", 100.0 * best);
    assert!(outside < MOST_ERROR && best < MOST_ERROR, "the profiler's clock and the system's do not agree");
    Figures { done: scopes, nanoseconds, kept: trace.span_count() as u64, peak: usage::peak(), ..Figures::default() }
}

/// Compares averages with and without the overhead with the time of the same program without a recording.
fn overhead(scopes: u64) -> Figures {
    const ROUNDS: u64 = 50;
    let round = scopes / ROUNDS;
    let total = |averages: &Averages| averages.rows()[0].cpu_total_ns;
    let time = || {
        let began = Instant::now();
        record(round);
        nanoseconds(began)
    };
    let record_round = || {
        let session = Session::builder().activities(Capture::CPU).start();
        {
            let _around = record_function!("around");
            record(round);
        }
        session.stop()
    };
    let began = Instant::now();
    // Other programs make a round slower, never quicker: the quickest counts.
    let truth = (0..ROUNDS).map(|_| time()).min().expect("there are rounds");
    let traces = (0..ROUNDS).map(|_| record_round());
    let trace = traces.min_by_key(|trace| total(&trace.key_averages())).expect("there are rounds");
    let nanoseconds = nanoseconds(began);
    let overhead = trace.overhead().expect("it was recorded here");
    let whole = total(&trace.key_averages());
    let less = total(&trace.averages_without(GroupBy::default(), &overhead));
    eprintln!(
        "  {round} scopes took {truth} ns unrecorded, {whole} ns recorded, {less} ns with the overhead subtracted"
    );
    assert!(less.abs_diff(truth) < whole.abs_diff(truth), "subtracting the overhead leads away from the truth");
    Figures { done: scopes, nanoseconds, kept: trace.span_count() as u64, peak: usage::peak(), ..Figures::default() }
}
