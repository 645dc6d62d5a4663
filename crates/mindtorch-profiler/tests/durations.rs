//! Durations: each span lasts from the reading of the clock at its begin to that at its end. The tests run on a clock that
//! they move, so that durations are known exactly, however fast the machine is.

use mindtorch_profiler::{ManualClock, Recorder, Session, Span, SpanRef, Trace, thread_number};
use std::sync::LazyLock;
use std::thread;

const ROUNDS: usize = 40;

/// The clock of the process's recorder.
static CLOCK: LazyLock<ManualClock> = LazyLock::new(|| {
    let clock = ManualClock::starting_at(1_000_000_000);
    assert!(Recorder::use_manual_clock(&clock), "nothing was recorded before");
    clock
});

/// Two readings of the clock just outside a span and two just inside. The duration lies between their distances.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    least: u64,
    most: u64,
}

/// A part of a program: its name, how long it takes without its parts, and its parts.
struct Part {
    name: &'static str,
    own_ns: u64,
    parts: Vec<Part>,
}

fn part<const N: usize>(name: &'static str, own_ns: u64, parts: [Part; N]) -> Part {
    Part { name, own_ns, parts: parts.into() }
}

fn program() -> Part {
    let loss = part("loss", 150, [part("reduce", 110, [])]);
    let forward = part("forward", 120, [part("layer", 200, []), part("layer", 0, []), loss]);
    part("train", 160, [part("load", 300, []), forward, part("backward", 5_000_000_000, [])])
}

impl Part {
    /// Runs it, and notes the bounds of each span in the order in which they begin.
    fn run(&self, bounds: &mut Vec<Bounds>) {
        let place = bounds.len();
        bounds.push(Bounds::default());
        let before = CLOCK.now_ns();
        let span = Span::enter(self.name);
        let begun = CLOCK.now_ns();
        CLOCK.advance(self.own_ns / 2);
        for part in &self.parts {
            part.run(bounds);
        }
        CLOCK.advance(self.own_ns / 2);
        let least = CLOCK.now_ns() - begun;
        drop(span);
        bounds[place] = Bounds { least, most: CLOCK.now_ns() - before };
    }

    fn total_ns(&self) -> u64 {
        self.own_ns + self.parts.iter().map(Self::total_ns).sum::<u64>()
    }

    /// This and all in it, in the order in which they begin, each with the name of what contains it.
    fn all(&self) -> Vec<(&Self, Option<&'static str>)> {
        let mut all = vec![(self, None)];
        for part in &self.parts {
            all.extend(part.all().into_iter().map(|(part, around)| (part, around.or(Some(self.name)))));
        }
        all
    }
}

fn rounds(program: &Part) -> Vec<Bounds> {
    let mut bounds = Vec::new();
    (0..ROUNDS).for_each(|_| program.run(&mut bounds));
    bounds
}

/// Asserts that a thread's spans are those of the rounds, in order, within their bounds.
fn assert_within(program: &Part, bounds: &[Bounds], spans: &[SpanRef<'_>]) {
    let all = program.all();
    assert_eq!((spans.len(), bounds.len()), (ROUNDS * all.len(), ROUNDS * all.len()));
    for ((span, bounds), (part, around)) in spans.iter().zip(bounds).zip(all.iter().cycle()) {
        assert_eq!((span.name(), span.parent().map(|parent| parent.name())), (part.name, *around));
        let duration = span.duration_ns();
        assert!(bounds.least <= duration && duration <= bounds.most, "{}: {duration} ns, {bounds:?}", part.name);
    }
}

/// Self times and the spans inside add up to the whole, and averages to their events.
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
fn spans_last_as_long_as_the_clock_moves_within_them() {
    let program = program();
    // First one thread, so that nothing else moves the clock and durations are known exactly; then several at once.
    for threads in [1, 4] {
        LazyLock::force(&CLOCK);
        let session = Session::start();
        let run = || (thread_number(), rounds(&program));
        let known = thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let trace = session.stop();
        if threads == 1 {
            for (span, (part, _)) in trace.spans().zip(program.all().iter().cycle()) {
                assert_eq!((span.duration_ns(), span.self_ns()), (part.total_ns(), part.own_ns), "{}", part.name);
            }
        }
        for (number, bounds) in &known {
            let spans: Vec<_> = trace.spans().filter(|span| span.thread().number == *number).collect();
            assert_within(&program, bounds, &spans);
        }
        assert_adds_up(&trace);
    }
}
