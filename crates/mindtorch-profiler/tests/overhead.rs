//! The profiler's own time: what belongs here says that averages without it are those of a program that nobody records.

mod support;

use mindtorch_profiler::{
    Average, Averages, Calibration, Capture, Device, EventCost, EventKind, Filter, GroupBy, ManualClock, Memory,
    MemoryRole, MemoryUse, Name, Overhead, Recorder, Session, SpanArgs, SpanKind, Stack, ThreadWriter, Trace,
    record_function,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const NAMES: [&str; 4] = ["a", "b", "ab", "c"];
const KINDS: [SpanKind; 5] =
    [SpanKind::Op, SpanKind::Backward, SpanKind::Annotation, SpanKind::Runtime, SpanKind::Function];

/// No two events cost the same.
const COSTS: Overhead = Overhead {
    op: EventCost { inner_ns: 12, outer_ns: 37 },
    backward: EventCost { inner_ns: 5, outer_ns: 103 },
    annotation: EventCost { inner_ns: 11, outer_ns: 13 },
    runtime: EventCost { inner_ns: 7, outer_ns: 19 },
    function: EventCost { inner_ns: 211, outer_ns: 401 },
    memory_ns: 17,
    memory_use_ns: 23,
};

/// What a program does.
#[derive(Clone, Debug)]
enum Act {
    Work(u64),
    Span(SpanKind, &'static str, Vec<Act>),
    Allocate,
    UseMemory,
}

/// Plays programs by a clock on which recording takes what it is said to cost.
struct Stage {
    clock: ManualClock,
    thread: ThreadWriter,
    costs: Overhead,
}

impl Stage {
    fn play(&mut self, acts: &[Act]) {
        for act in acts {
            match act {
                Act::Work(ns) => self.clock.advance(*ns),
                Act::Span(kind, name, inside) => self.span(*kind, name, inside),
                Act::Allocate => {
                    let (address, device, stack, role) = (64, Device::Cpu, Stack::NONE, MemoryRole::Unknown);
                    self.thread.memory(&Memory { address, bytes: 8, device, allocated: 8, reserved: 0, stack, role });
                    self.clock.advance(self.costs.memory_ns);
                }
                Act::UseMemory => {
                    let (address, device, role) = (64, Device::Cpu, MemoryRole::Unknown);
                    self.thread.memory_use(&MemoryUse { address, bytes: 8, device, role, is_written: false });
                    self.clock.advance(self.costs.memory_use_ns);
                }
            }
        }
    }

    /// A span takes a nanosecond before and after what is in it, so that it is inside what contains it whatever else costs.
    fn span(&mut self, kind: SpanKind, name: &str, inside: &[Act]) {
        let EventCost { inner_ns, outer_ns } = self.costs.of(kind);
        self.clock.advance(outer_ns / 3);
        let token = self.thread.begin(&SpanArgs::new(kind, Name::new(name))).unwrap();
        self.clock.advance(inner_ns / 2 + 1);
        self.play(inside);
        self.clock.advance(inner_ns - inner_ns / 2 + 1);
        self.thread.end(token);
        self.clock.advance(outer_ns - outer_ns / 3);
    }
}

/// The trace of a program, each part on a thread of its own, where recording costs this much.
fn trace_of(threads: &[Vec<Act>], costs: Overhead) -> Trace {
    let clock = ManualClock::starting_at(1_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().on(&recorder).with_stack(true).profile_memory(true).start();
    for (number, acts) in threads.iter().enumerate() {
        let thread = recorder.thread(number as u64, None);
        Stage { clock: clock.clone(), thread, costs }.play(acts);
    }
    session.stop()
}

fn free() -> Overhead {
    Overhead::default()
}

/// Counts and times by what tells groups apart.
fn times(averages: &Averages) -> BTreeMap<(String, String), (u64, u64, u64)> {
    let key = |row: &Average| (row.key.to_string(), format!("{:?}", row.is_annotation()));
    averages.rows().iter().map(|row| (key(row), (row.count, row.cpu_total_ns, row.self_cpu_ns))).collect()
}

fn groupings() -> [GroupBy; 2] {
    [GroupBy::default(), GroupBy { functions: true, ..GroupBy::default() }]
}

#[test]
fn a_span_loses_what_it_costs_inside_and_the_one_around_it_the_rest() {
    let inner = || Act::Span(SpanKind::Op, "inner", vec![Act::Work(100), Act::Allocate]);
    let outer = vec![Act::Work(1000), inner(), inner(), Act::Allocate];
    let trace = trace_of(&[vec![Act::Span(SpanKind::Annotation, "outer", outer)]], COSTS);
    let row = |averages: &Averages, key: &str| averages.rows().iter().find(|row| &*row.key == key).cloned().unwrap();
    let whole = trace.key_averages();
    let in_each = 12 + 17;
    let in_outer = 11 + 2 * 37 + 17;
    assert_eq!(
        (row(&whole, "inner").self_cpu_ns, row(&whole, "outer").self_cpu_ns),
        (204 + 2 * in_each, 1002 + in_outer)
    );
    assert_eq!((whole.overhead_ns(), row(&whole, "outer").overhead_ns), (None, 0));

    let averages = trace.averages_without(GroupBy::default(), &COSTS);
    let (inner, outer) = (row(&averages, "inner"), row(&averages, "outer"));
    assert_eq!((inner.count, inner.cpu_total_ns, inner.self_cpu_ns), (2, 204, 204));
    assert_eq!((outer.count, outer.cpu_total_ns, outer.self_cpu_ns), (1, 1206, 1002));
    assert_eq!((inner.self_overhead_ns, inner.overhead_ns), (2 * in_each, 2 * in_each));
    assert_eq!((outer.self_overhead_ns, outer.overhead_ns), (in_outer, in_outer + 2 * in_each));
    assert_eq!(averages.overhead_ns(), Some(in_outer + 2 * in_each));
    // The outer one's own cost outside of it is nobody's time.
    assert_eq!(COSTS.total_ns(&trace), in_outer + 2 * in_each + 13);
    assert!(averages.to_string().ends_with("Profiler overhead subtracted: 0.160us\n"), "{averages}");
    assert!(!whole.to_string().contains("overhead"), "{whole}");
}

#[test]
fn no_time_falls_below_nothing() {
    let acts = vec![Act::Span(SpanKind::Op, "a", vec![Act::Span(SpanKind::Op, "b", vec![Act::Work(50)])])];
    let costs = Overhead { op: EventCost { inner_ns: 1_000, outer_ns: 1_000 }, ..COSTS };
    let averages = trace_of(&[acts], free()).averages_without(GroupBy::default(), &costs);
    for row in averages.rows() {
        assert_eq!((row.cpu_total_ns, row.self_cpu_ns), (0, 0));
    }
    assert_eq!(averages.overhead_ns(), Some(54));
}

fn act() -> impl Strategy<Value = Act> {
    let leaf = prop_oneof![(1..500u64).prop_map(Act::Work), Just(Act::Allocate), Just(Act::UseMemory)];
    leaf.prop_recursive(6, 60, 6, |inside| {
        let inside = prop::collection::vec(inside, 0..6);
        let (kind, name) = (prop::sample::select(&KINDS[..]), prop::sample::select(&NAMES[..]));
        (kind, name, inside).prop_map(|(kind, name, inside)| Act::Span(kind, name, inside))
    })
}

fn threads() -> impl Strategy<Value = Vec<Vec<Act>>> {
    prop::collection::vec(prop::collection::vec(act(), 0..6), 1..3)
}

fn filter() -> impl Strategy<Value = Filter> {
    let kinds = [EventKind::Op, EventKind::Annotation, EventKind::Runtime, EventKind::Function, EventKind::Memory];
    prop_oneof![
        prop::sample::select(&["a*", "b", "?", "*b", "[memory]", "*"][..]).prop_map(|name| Filter::new().name(name)),
        prop::sample::subsequence(kinds.to_vec(), 0..5).prop_map(|kinds| Filter::new().kinds(&kinds)),
    ]
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn any_program_looks_as_if_recording_it_cost_nothing(program in threads()) {
        for by in groupings() {
            let expected = trace_of(&program, free()).averages(by);
            prop_assert_eq!(times(&trace_of(&program, COSTS).averages_without(by, &COSTS)), times(&expected));
        }
    }

    #[test]
    fn so_does_any_part_of_it(program in threads(), filters in prop::collection::vec(filter(), 1..3)) {
        let part = |costs| filters.iter().fold(trace_of(&program, costs), |trace, filter| trace.filtered(filter));
        for by in groupings() {
            let expected = part(free()).averages(by);
            prop_assert_eq!(times(&part(COSTS).averages_without(by, &COSTS)), times(&expected));
        }
    }

    #[test]
    fn recordings_that_are_joined_lose_the_same(one in threads(), other in threads()) {
        let joined = |costs: Overhead| {
            let part = |program: &[Vec<Act>]| trace_of(program, costs).filtered(&Filter::new().name("a*"));
            Trace::joined(&[&part(&one), &part(&other)]).unwrap()
        };
        let expected = joined(free()).key_averages();
        prop_assert_eq!(times(&joined(COSTS).averages_without(GroupBy::default(), &COSTS)), times(&expected));
    }
}

#[test]
fn what_is_left_out_does_not_count_as_self_time_where_functions_are_hidden() {
    let inside = vec![Act::Work(10), Act::Span(SpanKind::Op, "gone", vec![Act::Work(500)])];
    let acts = vec![Act::Span(SpanKind::Op, "kept", vec![Act::Span(SpanKind::Function, "kept.py", inside)])];
    let part = trace_of(&[acts], free()).filtered(&Filter::new().name("kept*"));
    let averages = part.key_averages();
    assert_eq!((averages.rows()[0].cpu_total_ns, averages.rows()[0].self_cpu_ns), (516, 14));
}

#[test]
fn a_file_does_not_say_what_recording_cost() {
    let trace = trace_of(&[vec![Act::Span(SpanKind::Op, "a", vec![Act::Work(50)])]], free());
    assert!(!trace.is_of_file() && trace.overhead().is_some());
    let mut text = Vec::new();
    trace.chrome_trace().write(&mut text).unwrap();
    let loaded = Trace::read(&text[..]).unwrap();
    assert!(loaded.is_of_file() && loaded.overhead().is_none());
    assert!(loaded.filtered(&Filter::new()).overhead().is_none());
}

/// Runs a scenario in a process of its own, where recording takes `STEP_NS` for each reading of the clock, and no other
/// test has a session.
fn in_stepping_process(test: &str, scenario: impl FnOnce(&ManualClock)) {
    support::in_own_process(test, || {
        let clock = ManualClock::starting_at(1_000_000).with_step(STEP_NS);
        assert!(Recorder::use_manual_clock(&clock), "nothing was recorded before");
        scenario(&clock);
    });
}

const STEP_NS: u64 = 100;
/// A span takes two readings of the clock. A share of the one that ends a round of measurements is rounded up.
const OF_A_SPAN: EventCost = EventCost { inner_ns: STEP_NS, outer_ns: STEP_NS + 1 };

#[test]
fn measuring_is_seen_by_no_session() {
    in_stepping_process("measuring_is_seen_by_no_session", |_| {
        let session = Session::builder().record_shapes(true).with_stack(true).profile_memory(true).start();
        {
            let _around = record_function!("around the measuring");
            let calibration =
                Calibration::new(Capture::ACTIVITIES | Capture::SHAPES | Capture::MEMORY | Capture::STACK);
            drop(record_function!("not seen"));
            let overhead = calibration.overhead();
            assert!(KINDS.iter().all(|&kind| overhead.of(kind) == OF_A_SPAN), "{overhead:?}");
            assert_eq!((overhead.memory_ns, overhead.memory_use_ns), (STEP_NS + 1, STEP_NS + 1));
            drop(calibration);
            drop(record_function!("after the measuring"));
        }
        let trace = session.stop();
        let thread = |name: &str| trace.spans().find(|span| span.name() == name).unwrap();
        let (around, after) = (thread("around the measuring"), thread("after the measuring"));
        assert_eq!(after.parent().map(|parent| parent.row()), Some(around.row()));
        assert!(!around.is_async() && !after.is_async());
        assert!(trace.spans().all(|span| !["not seen", "measured", "warming"].contains(&span.name())));
        assert_eq!((trace.memory().len(), trace.lost_events()), (0, 0));
    });
}

#[test]
fn what_is_not_collected_costs_nothing() {
    in_stepping_process("what_is_not_collected_costs_nothing", |_| {
        let overhead = Calibration::new(Capture::CPU).overhead();
        let nothing = EventCost::default();
        assert_eq!((overhead.op, overhead.annotation), (OF_A_SPAN, OF_A_SPAN));
        assert_eq!((overhead.runtime, overhead.function), (nothing, nothing));
        assert_eq!((overhead.memory_ns, overhead.memory_use_ns), (0, 0));
    });
}

#[test]
fn averages_without_the_measured_overhead_are_those_of_an_unrecorded_program() {
    const SCOPES: u64 = 20_000;
    const WORK_NS: u64 = 50;
    in_stepping_process("averages_without_the_measured_overhead_are_those_of_an_unrecorded_program", |clock| {
        let many_scopes = || {
            for _ in 0..SCOPES {
                let _span = record_function!("one of many");
                clock.advance(WORK_NS);
            }
        };
        let begin = clock.now_ns();
        many_scopes();
        let truth = clock.now_ns() - begin;
        assert_eq!(truth, SCOPES * WORK_NS, "nobody records");

        let session = Session::builder().activities(Capture::CPU).start();
        {
            let _around = record_function!("around them");
            many_scopes();
        }
        let trace = session.stop();
        let overhead = trace.overhead().unwrap();
        let (whole, less) = (trace.key_averages(), trace.averages_without(GroupBy::default(), &overhead));
        assert_eq!((&*less.rows()[0].key, less.rows()[1].count), ("around them", SCOPES));
        assert_eq!(whole.rows()[0].cpu_total_ns, truth + 2 * STEP_NS * SCOPES + STEP_NS);
        assert_eq!(less.rows()[0].cpu_total_ns, truth);
    });
}
