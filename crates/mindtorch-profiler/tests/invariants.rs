//! Random programs against the model: what belongs here holds for every sequence of events and sessions.

#[path = "support/model.rs"]
mod model;
#[path = "support/program.rs"]
mod program;

use mindtorch_profiler::{EventCost, Filter, GroupBy, Overhead, SpanKind, Trace};
use model::{Model, Row, Seen, seen};
use program::{World, program};
use proptest::prelude::*;
use std::path::PathBuf;

/// What holds for every trace, whatever was recorded.
fn assert_consistent(trace: &Trace) {
    let rows = seen(trace).rows;
    assert!(rows.is_sorted_by_key(|row| (row.thread, row.start)));
    for (at, row) in rows.iter().enumerate() {
        assert!(row.start <= row.end && row.end <= trace.duration_ns());
        assert!(row.self_ns <= row.end - row.start);
        if let Some(parent) = row.parent {
            let of = &rows[parent];
            assert!(parent < at && of.thread == row.thread && of.start <= row.start && row.end <= of.end);
            assert!(!row.is_async && !of.is_async);
        }
        let children = || rows.iter().filter(|child| child.parent == Some(at));
        for device in 0..2 {
            let of_children: i64 = children().map(|child| child.memory[device]).sum();
            assert_eq!(row.memory[device], row.self_memory[device] + of_children);
        }
        assert_eq!(row.device_ns, row.self_device_ns + children().map(|child| child.device_ns).sum::<u64>());
    }
    for of_thread in rows.chunk_by(|one, other| one.thread == other.thread) {
        assert_eq!(of_thread.iter().map(|row| row.self_ns).sum::<u64>(), covered(of_thread));
    }
    let launched = trace.device_spans().filter(|span| span.launched_by().is_some());
    let device_ns: u64 = launched.map(|span| span.duration_ns()).sum();
    assert_eq!(rows.iter().map(|row| row.self_device_ns).sum::<u64>(), device_ns);
}

/// How long any of the spans was open. They come in the order of their starts.
fn covered(rows: &[Row]) -> u64 {
    let (mut total, mut until) = (0, 0);
    for row in rows.iter().filter(|row| !row.is_async) {
        total += row.end.saturating_sub(until.max(row.start));
        until = until.max(row.end);
    }
    total
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(3_000))]

    #[test]
    fn every_session_sees_exactly_its_part_of_any_program(program in program()) {
        World::new(|model: &Model, window: usize, to, trace: &Trace| {
            let (mut seen, expected) = (seen(trace), model.expected(&model.windows[window], to));
            // A span without a stack of its own has that of others, which is not for this model.
            for (row, _) in seen.rows.iter_mut().zip(&expected.rows).filter(|(_, expected)| expected.frame.is_none()) {
                row.frame = None;
            }
            assert_eq!(seen, expected);
            assert_consistent(trace);
        })
        .run(&program, 1);
    }

    #[test]
    fn events_at_the_same_instant_give_consistent_traces(program in program()) {
        World::new(|_: &Model, _, _, trace: &Trace| assert_consistent(trace)).run(&program, 0);
    }
}

/// Steps of a clock: those of one that runs, those that someone made who set it, and those of one that is broken.
fn jumps() -> impl Strategy<Value = Vec<i64>> {
    const HOUR: i64 = 3_600_000_000_000;
    let jump = prop_oneof![
        8 => 0..5i64,
        2 => -2_000..2_000i64,
        1 => -HOUR..HOUR,
        1 => Just(i64::MIN),
        // Far, but so that sums of all times are still numbers.
        1 => Just(1 << 46),
    ];
    prop::collection::vec(jump, 1..20)
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn a_clock_that_jumps_gives_consistent_traces(program in program(), jumps in jumps()) {
        World::new(|_: &Model, _, _, trace: &Trace| {
            assert_consistent(trace);
            assert!(trace.device_spans().all(|span| span.start_ns() <= span.end_ns()));
            assert_times_are_positive(&json(trace));
        })
        .run_with_jumps(&program, &jumps);
    }
}

fn assert_times_are_positive(text: &[u8]) {
    let file: serde_json::Value = serde_json::from_slice(text).unwrap();
    for event in file["traceEvents"].as_array().unwrap() {
        for time in ["ts", "dur"].iter().filter_map(|key| event.get(key)) {
            assert!(time.as_f64().is_some_and(|time| time >= 0.0), "{event}");
        }
    }
}

/// What holds of averages without the profiler's own time, whatever that is said to be: spans that overlap, are cut or go to
/// other threads, and costs far beyond what there is.
fn assert_consistent_without(trace: &Trace, overhead: &Overhead) {
    for functions in [false, true] {
        let by = GroupBy { functions, ..GroupBy::default() };
        let (whole, less) = (trace.averages(by), trace.averages_without(by, overhead));
        assert_eq!(whole.rows().len(), less.rows().len());
        for (whole, less) in whole.rows().iter().zip(less.rows()) {
            assert_eq!((&whole.key, whole.count), (&less.key, less.count));
            assert_eq!(whole.cpu_total_ns, less.cpu_total_ns + less.overhead_ns);
            assert_eq!(whole.self_cpu_ns, less.self_cpu_ns + less.self_overhead_ns);
            assert!(less.self_cpu_ns <= less.cpu_total_ns, "{less:?}");
            assert_eq!((whole.self_device_ns, whole.cpu_memory), (less.self_device_ns, less.cpu_memory));
        }
        let subtracted: u64 = less.rows().iter().map(|row| row.self_overhead_ns).sum();
        assert_eq!(less.overhead_ns(), Some(subtracted));
    }
}

fn overhead() -> impl Strategy<Value = Overhead> {
    let cost = || (0..20u64, 0..60u64).prop_map(|(inner_ns, outer_ns)| EventCost { inner_ns, outer_ns });
    let costs = (cost(), cost(), cost(), cost(), cost(), 0..20u64, 0..20u64);
    costs.prop_map(|(op, backward, annotation, runtime, function, memory_ns, memory_use_ns)| Overhead {
        op,
        backward,
        annotation,
        runtime,
        function,
        memory_ns,
        memory_use_ns,
    })
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn averages_stay_consistent_whatever_is_subtracted(program in program(), overhead in overhead()) {
        World::new(|_: &Model, _, _, trace: &Trace| {
            assert_consistent_without(trace, &overhead);
            assert_consistent_without(&trace.filtered(&Filter::new().name("*e*")), &overhead);
        })
        .run(&program, 1);
    }
}

// What is written and read again is the same. What a Chrome trace does not tell is left out of the comparison, by name.

fn json(trace: &Trace) -> Vec<u8> {
    let mut text = Vec::new();
    trace.chrome_trace().name("trace.json").host_name("host").process_name("program").write(&mut text).unwrap();
    text
}

fn again(trace: &Trace) -> Trace {
    Trace::read(&json(trace)[..]).unwrap()
}

/// What a file tells of a trace.
fn told(trace: &Trace) -> Seen {
    let mut seen = seen(trace);
    // The file has the system's numbers of threads, not ours.
    let numbers = seen.threads.clone();
    let rank = |number: usize| numbers.iter().position(|&known| known == number).unwrap();
    seen.threads = (0..numbers.len()).collect();
    for (row, span) in seen.rows.iter_mut().zip(trace.spans()) {
        row.thread = rank(row.thread);
        // A node is known by the thread of its forward operator.
        if span.kind() == SpanKind::Backward && span.forward_thread() == 0 {
            row.kind = SpanKind::Op;
        }
        // The overload is part of the name; only the names of operators can be told apart.
        if !row.overload.is_empty() {
            row.name = format!("{}.{}", row.name, std::mem::take(&mut row.overload));
        }
    }
    // Where memory was allocated is not written.
    seen.memory.iter_mut().for_each(|(_, _, _, _, frame)| *frame = None);
    seen
}

fn assert_round_trip(trace: &Trace) {
    let loaded = again(trace);
    assert_eq!(told(&loaded), told(trace));
    assert_eq!(loaded.start_epoch_ns(), trace.start_epoch_ns());
    assert_eq!(loaded.duration_ns(), trace.duration_ns());
    assert_eq!(loaded.pid(), trace.pid());
    assert_same_text(&json(&loaded), &json(trace));
}

fn assert_same_text(one: &[u8], other: &[u8]) {
    if one != other {
        let (one, other) = (String::from_utf8_lossy(one), String::from_utf8_lossy(other));
        for (one, other) in one.lines().zip(other.lines()) {
            assert_eq!(one, other);
        }
        assert_eq!(one.lines().count(), other.lines().count());
    }
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn any_program_reads_as_it_was_written(program in program()) {
        World::new(|_: &Model, _, _, trace: &Trace| assert_round_trip(trace)).run(&program, 1);
    }

    /// With events at the same instant a file does not tell which came first, but reading what was read changes nothing more.
    #[test]
    fn what_was_read_once_reads_the_same_again(program in program()) {
        World::new(|_: &Model, _, _, trace: &Trace| {
            let once = again(trace);
            assert_same_text(&json(&again(&once)), &json(&once));
        })
        .run(&program, 0);
    }
}

#[test]
fn traces_of_torch_read_the_same_from_our_files() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/torch");
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("truth") || name.contains("table") {
            continue;
        }
        count += 1;
        let trace = Trace::load(&path).unwrap();
        let loaded = again(&trace);
        assert_eq!(told(&loaded), told(&trace), "{name}");
        assert_eq!(loaded.forward_links(), trace.forward_links(), "{name}");
        assert_eq!(loaded.repeated_operators(), trace.repeated_operators(), "{name}");
        let by = GroupBy { shapes: true, stack_depth: 5, overload: true, device: true, functions: true };
        let (one, other) = (loaded.averages(by), trace.averages(by));
        assert_eq!(one.rows().len(), other.rows().len(), "{name}");
        for (one, other) in one.rows().iter().zip(other.rows()) {
            assert_eq!((&one.key, one.count, one.self_cpu_ns), (&other.key, other.count, other.self_cpu_ns), "{name}");
            assert_eq!((one.device_total_ns, one.cpu_memory), (other.device_total_ns, other.cpu_memory), "{name}");
        }
        assert_same_text(&json(&again(&loaded)), &json(&loaded));
    }
    assert!(count > 15);
}
