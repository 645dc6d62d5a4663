//! The truth: what belongs here compares the times that a profile tells with those that the program knows by a clock of its own.
//!
//! The program reads its clock just before and just after a span begins, and the same where it ends. The span lies between
//! these readings, always. If they are close together the program knows how long the span was; if they are not, something
//! else took the processor in between. So every span is held to what is known of it, and of many rounds that in which the
//! program knows best is held to 1 %. A machine that does other things does not make this fail.

use mindtorch_profiler::{Session, Span, SpanRef, Trace, os_thread_id};
use std::thread;
use std::time::{Duration, Instant};

/// What the two clocks may differ by.
const TOLERANCE: f64 = 0.01;
const ROUNDS: usize = 40;

/// What the program knows of a span: between which bounds its duration is.
#[derive(Clone, Copy, Debug)]
struct Known {
    least: Duration,
    most: Duration,
}

impl Known {
    /// How far the bounds are apart, as a part of the lower one.
    fn doubt(&self) -> f64 {
        self.most.as_secs_f64() / self.least.as_secs_f64() - 1.0
    }

    /// Whether a duration is within the bounds.
    fn holds(&self, duration_ns: u64) -> bool {
        let duration = duration_ns as f64 / 1e9;
        duration >= self.least.as_secs_f64() * (1.0 - TOLERANCE)
            && duration <= self.most.as_secs_f64() * (1.0 + TOLERANCE)
    }
}

/// A part of a program: what it is called, for how long it is busy itself, and its parts.
struct Part {
    name: &'static str,
    busy: Duration,
    parts: Vec<Part>,
}

fn part<const N: usize>(name: &'static str, busy_us: u64, parts: [Part; N]) -> Part {
    Part { name, busy: Duration::from_micros(busy_us), parts: parts.into() }
}

fn program() -> Part {
    let loss = part("loss", 150, [part("reduce", 110, [])]);
    let forward = part("forward", 120, [part("layer", 200, []), part("layer", 130, []), loss]);
    part("train", 160, [part("load", 300, []), forward, part("backward", 400, [])])
}

fn be_busy(duration: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < duration {
        std::hint::spin_loop();
    }
}

impl Part {
    /// Runs it, and notes what is known of each span, in the order in which they begin.
    fn run(&self, known: &mut Vec<(&'static str, Known)>) {
        let place = known.len();
        known.push((self.name, Known { least: Duration::ZERO, most: Duration::ZERO }));
        let before = Instant::now();
        let span = Span::enter(self.name);
        let begun = Instant::now();
        be_busy(self.busy / 2);
        for part in &self.parts {
            part.run(known);
        }
        be_busy(self.busy / 2);
        let least = begun.elapsed();
        drop(span);
        known[place].1 = Known { least, most: before.elapsed() };
    }

    /// The names of this and all in it, in the order in which they begin, each with the name of what contains it.
    fn names(&self, around: Option<&'static str>, names: &mut Vec<(&'static str, Option<&'static str>)>) {
        names.push((self.name, around));
        self.parts.iter().for_each(|part| part.names(Some(self.name), names));
    }
}

type Round = Vec<(&'static str, Known)>;

/// Runs the program some times. What is known of each.
fn rounds(program: &Part) -> Vec<Round> {
    let round = |_| {
        let mut known = Vec::new();
        program.run(&mut known);
        known
    };
    (0..ROUNDS).map(round).collect()
}

/// Compares what was recorded of a thread with what it knows.
fn assert_true(program: &Part, rounds: &[Round], told: &[SpanRef<'_>]) {
    let mut names = Vec::new();
    program.names(None, &mut names);
    assert_eq!(told.len(), rounds.len() * names.len());
    let told: Vec<&[SpanRef<'_>]> = told.chunks_exact(names.len()).collect();
    for (round, told) in rounds.iter().zip(&told) {
        let found = told.iter().map(|span| (span.name(), span.parent().map(|parent| parent.name())));
        assert_eq!(found.collect::<Vec<_>>(), names);
        for ((name, known), span) in round.iter().zip(*told) {
            assert!(known.holds(span.duration_ns()), "{name}: {} ns, {known:?}", span.duration_ns());
        }
    }
    for (place, (name, _)) in names.iter().enumerate() {
        let doubt = |round: &usize| rounds[*round][place].1.doubt();
        let best = (0..rounds.len()).min_by(|one, other| doubt(one).total_cmp(&doubt(other))).unwrap();
        let (known, duration) = (rounds[best][place].1, told[best][place].duration_ns());
        assert!(known.doubt() < TOLERANCE, "the program itself does not know how long {name} took: {known:?}");
        for clock in [known.least, known.most] {
            let ratio = duration as f64 / clock.as_nanos() as f64;
            assert!((ratio - 1.0).abs() < TOLERANCE, "{name}: {duration} ns, {known:?}");
        }
    }
}

/// Self times and what is inside add up to the whole, to the nanosecond.
fn assert_adds_up(trace: &Trace) {
    for span in trace.spans() {
        let inside = trace.spans().filter(|other| other.parent().is_some_and(|parent| parent.row() == span.row()));
        assert_eq!(span.self_ns() + inside.map(|span| span.duration_ns()).sum::<u64>(), span.duration_ns());
    }
    for row in trace.key_averages().rows() {
        let of_name = || trace.spans().filter(|span| span.name() == &*row.key);
        assert_eq!(row.count, of_name().count() as u64);
        assert_eq!(row.cpu_total_ns, of_name().map(|span| span.duration_ns()).sum::<u64>());
        assert_eq!(row.self_cpu_ns, of_name().map(|span| span.self_ns()).sum::<u64>());
    }
}

#[test]
fn times_are_those_of_the_programs_own_clock() {
    for threads in [1, 4] {
        let program = program();
        let session = Session::start();
        let run = || (os_thread_id(), rounds(&program));
        let known = thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let trace = session.stop();
        for (thread, rounds) in &known {
            let told: Vec<_> = trace.spans().filter(|span| span.thread().os_id == *thread).collect();
            assert_true(&program, rounds, &told);
        }
        assert_adds_up(&trace);
    }
}
