//! Chrome traces: what is in the file, event by event. Clocks and threads are the test's own, so that the text is exact.

mod support;

use mindtorch_profiler::{
    Capture, ChromeTrace, Device, DeviceSpan, DeviceWork, EventKind, Filter, Inputs, ManualClock, Memory, MemoryRole,
    Name, Recorder, Session, SessionBuilder, SpanArgs, SpanKind, Stack, ThreadWriter, Trace,
};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, Write};
use support::in_own_process_with;

/// Some second in 2026.
const NOW: u64 = 1_790_900_000_123_456_789;

struct Program {
    clock: ManualClock,
    recorder: Recorder,
}

impl Program {
    fn new() -> Self {
        let clock = ManualClock::starting_at(NOW);
        let recorder = Recorder::with_manual_clock(&clock);
        Self { clock, recorder }
    }

    fn profile(&self, settings: impl FnOnce(SessionBuilder) -> SessionBuilder) -> Session {
        settings(Session::builder()).on(&self.recorder).start()
    }

    /// Runs a span of `ns` nanoseconds.
    fn run(&self, thread: &mut ThreadWriter, args: &SpanArgs, ns: u64) {
        let span = thread.begin(args).unwrap();
        self.clock.advance(ns);
        thread.end(span);
    }
}

fn annotation(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Annotation, Name::new(name))
}

fn op(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Op, Name::new(name))
}

fn text(trace: &Trace) -> String {
    let mut text = Vec::new();
    let chrome = trace.chrome_trace().name("trace.json").host_name("host").process_name("program").rank(0, 1);
    chrome.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The text without what differs between runs.
fn redacted(trace: &Trace) -> String {
    let pid = trace.pid();
    let text = text(trace);
    serde_json::from_str::<Value>(&text).unwrap();
    let index = format!("\"sort_index\":{pid}}}");
    let redact = |line: &str| {
        let line = line.replace(&format!("\"pid\":{pid},"), "\"pid\":PID,");
        if line.contains("process_sort_index") { line.replace(&index, "\"sort_index\":PID}") } else { line }
    };
    text.lines().map(redact).collect::<Vec<_>>().join("\n")
}

fn parsed(trace: &Trace) -> Value {
    serde_json::from_str(&text(trace)).unwrap()
}

fn events(file: &Value) -> &[Value] {
    file["traceEvents"].as_array().unwrap()
}

/// The complete events of threads.
fn spans(file: &Value) -> Vec<&Value> {
    let is_span = |event: &&Value| event["ph"] == "X" && event["cat"] != "Trace";
    events(file).iter().filter(is_span).collect()
}

fn span<'a>(file: &'a Value, name: &str) -> &'a Value {
    spans(file).into_iter().find(|event| event["name"] == name).unwrap()
}

#[test]
fn an_empty_trace_is_the_window_alone() {
    let program = Program::new();
    let session = program.profile(|builder| builder);
    program.clock.advance(2_500);
    insta::assert_snapshot!(redacted(&session.stop()));
}

#[test]
fn spans_of_threads_with_all_that_can_be_captured() {
    let program = Program::new();
    let mut main = program.recorder.thread(11, Some("main"));
    let mut worker = program.recorder.thread(12, None);
    let before = main.begin(&annotation("begun before")).is_none();
    assert!(before, "nobody collects yet");
    let around = program.profile(|builder| builder);
    let carried = main.begin(&annotation("carried in")).unwrap();
    let session = program.profile(|builder| {
        let builder = builder.record_shapes(true).with_stack(true).profile_memory(true).with_flops(true);
        builder.metadata("run", "7").metadata("traceName", "mine")
    });
    let inputs = Inputs::encode()
        .tensor("float", &[2, 3], &[3, 1])
        .list_of(2)
        .tensor("float", &[4], &[1])
        .tensor("long int", &[], &[])
        .value("Scalar", "1")
        .finish();
    let stack = Stack::new(&[Name::new("a/leaf.py(3): leaf"), Name::new("main.py(9): <module>")]);
    program.clock.advance(1_000);
    let add = op("aten::add").inputs(inputs).stack(stack).sequence(6).flops(12).overload(Name::new("Tensor"));
    let outer = main.begin(&add).unwrap();
    main.memory(&Memory {
        address: 0xf00,
        bytes: 64,
        device: Device::Cpu,
        allocated: 164,
        reserved: 0,
        stack: Stack::NONE,
        role: MemoryRole::Unknown,
    });
    program.run(&mut main, &op("aten::empty"), 250);
    main.end(outer);
    main.end(carried);
    session.step();
    let handed_over = main.begin(&annotation("handed over").note(Name::new("batch=32"))).unwrap();
    program.clock.advance(100);
    worker.counter(Name::new("queue"), 2.5);
    worker.mark(Name::new("woken"));
    worker.end(handed_over);
    let _open = worker.begin(&annotation("never ended"));
    program.clock.advance(400);
    drop(around);
    insta::assert_snapshot!(redacted(&session.stop()));
}

#[test]
fn device_work_is_linked_to_its_launch() {
    let program = Program::new();
    let mut main = program.recorder.thread(11, Some("main"));
    let session = program.profile(|builder| builder.profile_memory(true));
    program.clock.advance(1_000);
    let begin = program.recorder.now();
    let launch = main.begin(&SpanArgs::new(SpanKind::Runtime, Name::new("npuLaunchKernel"))).unwrap();
    let memory = Memory {
        address: 1 << 40,
        bytes: 512,
        device: Device::Npu(1),
        allocated: 512,
        reserved: 2048,
        stack: Stack::NONE,
        role: MemoryRole::Unknown,
    };
    main.memory(&memory);
    program.clock.advance(700);
    let kernel = DeviceSpan {
        device: 1,
        stream: 3,
        launched_by: Some(launch.id()),
        ..DeviceSpan::kernel(Name::new("gemm"), begin, program.recorder.now())
    };
    main.end(launch);
    main.device_span(&kernel);
    main.device_span(&DeviceSpan { name: Name::new("copy"), stream: 0, work: DeviceWork::Copy, bytes: 4096, ..kernel });
    main.device_span(&DeviceSpan { name: Name::new("stray"), launched_by: None, ..kernel });
    insta::assert_snapshot!(redacted(&session.stop()));
}

#[test]
fn arrows_lead_from_the_last_forward_operator_to_the_backward_node() {
    let program = Program::new();
    let mut forward = program.recorder.thread(11, None);
    let mut engine = program.recorder.thread(12, None);
    let session = program.profile(|builder| builder);
    for sequence in [5, 6] {
        let linear = forward.begin(&op("aten::linear").sequence(sequence)).unwrap();
        program.run(&mut forward, &op("aten::t").sequence(sequence), 10);
        forward.end(linear);
    }
    for thread in [&mut engine, &mut forward] {
        for sequence in [6, 5, 77] {
            let node = SpanArgs::new(SpanKind::Backward, Name::new("TBackward0")).sequence(sequence);
            let wrapper = thread.begin(&op("autograd::engine::evaluate_function").sequence(sequence)).unwrap();
            program.run(thread, &node.forward_thread(1), 10);
            thread.end(wrapper);
        }
    }
    let trace = session.stop();
    let file = parsed(&trace);
    let mut before = &Value::Null;
    let mut arrows = Vec::new();
    for event in events(&file) {
        match event["ph"].as_str().unwrap() {
            "X" => before = event,
            phase @ ("s" | "f") => {
                assert_eq!((&event["ts"], &event["tid"]), (&before["ts"], &before["tid"]));
                let at = (before["name"].as_str().unwrap(), before["args"]["Sequence number"].as_u64().unwrap());
                arrows.push((event["id"].as_u64().unwrap(), phase, at));
            }
            _ => {}
        }
    }
    arrows.sort_by_key(|&(id, phase, _)| (id, std::cmp::Reverse(phase)));
    let arrow = |id, sequence| [(id, "s", ("aten::t", sequence)), (id, "f", ("TBackward0", sequence))];
    // The nodes that ran on the forward thread come first in the file. Those that ran again have no arrow.
    assert_eq!(arrows, [arrow(1, 6), arrow(2, 5)].concat());
}

#[test]
fn names_are_exact_whatever_is_in_them() {
    let long = "é\"".repeat(350_000);
    let names = [
        "",
        " ",
        "say \"hi\"",
        "a\\b",
        "a\nb",
        "a\tb",
        "café",
        "日本語",
        "a\u{1}b",
        "a\0b",
        "\u{7f}",
        "\u{2028}\u{2029}",
        "😀",
        "\\u0041",
        "</script>",
        "{\"ph\":\"X\"}",
        "\u{feff}",
        "\r\n",
        "'",
        &long,
    ];
    let program = Program::new();
    let mut thread = program.recorder.thread(11, Some("\"quoted\"\n"));
    let session = program.profile(|builder| builder.with_stack(true));
    for name in names {
        let name = Name::new(name);
        program.run(
            &mut thread,
            &SpanArgs::new(SpanKind::Op, name).note(name).overload(name).stack(Stack::new(&[name])),
            1,
        );
        thread.counter(name, 1.0);
        thread.mark(name);
    }
    let trace = session.stop();
    let file = parsed(&trace);
    let written: Vec<&str> = spans(&file).iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(written, names);
    for (event, name) in spans(&file).iter().zip(names).skip(1) {
        assert_eq!(event["args"]["note"], name);
        assert_eq!(event["args"]["Call stack"], name);
        assert_eq!(event["args"]["stack"], json!([name]));
    }
    for phase in ["C", "i"] {
        let of_phase = events(&file).iter().filter(|event| event["ph"] == phase && event["s"] != "g");
        assert!(of_phase.map(|event| event["name"].as_str().unwrap()).eq(names), "{phase}");
    }
    assert!(events(&file).iter().any(|event| event["args"]["name"] == "thread 11 (\"quoted\"\n)"));
}

#[test]
fn frames_are_split_into_file_line_and_function() {
    let program = Program::new();
    let mut thread = program.recorder.thread(11, None);
    let session = program.profile(|builder| builder.with_stack(true));
    let stack = Stack::new(&[Name::new("we\"ird.py(2): f"), Name::new("a (1): b.py(30): <lambda>"), Name::new("main")]);
    program.run(&mut thread, &op("op").stack(stack), 1);
    let trace = session.stop();
    let file = parsed(&trace);
    let args = &span(&file, "op")["args"];
    assert_eq!(args["stack"], json!(["we\"ird.py:2:f", "a (1): b.py:30:<lambda>", "main"]));
    assert_eq!(args["Call stack"], "we\"ird.py(2): f;a (1): b.py(30): <lambda>;main");
}

#[test]
fn metadata_is_kept_whatever_it_is() {
    let hostile = ["", "k\"x", "k\\", "k\nx", "a\u{1}b", "x\\\"y", "日本語", "C:\\temp\\new", "}", "\u{2028}"];
    let program = Program::new();
    let session = program.profile(|mut builder| {
        for text in hostile {
            builder = builder.metadata(text, "first").metadata(text, text);
        }
        builder.metadata("traceEvents", "a").metadata("traceEvents_user", "b").metadata("with_stack", "c")
    });
    let text = text(&session.stop());
    let file: Value = serde_json::from_str(&text).unwrap();
    for key in hostile {
        assert_eq!(file[key], key);
    }
    assert_eq!(file["traceEvents_user_user"], "a");
    assert_eq!(file["traceEvents_user"], "b");
    assert_eq!(file["with_stack_user"], "c");
    assert!(file["traceEvents"].is_array());
    // A parser keeps one of two equal keys: count what was written.
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("{\"ph\"")).collect();
    let written = lines.iter().filter(|line| line.contains("\":")).count();
    assert_eq!(written, file.as_object().unwrap().len(), "{lines:#?}");
}

#[test]
fn cut_and_unfinished_spans_say_so_and_agree_with_the_trace() {
    let program = Program::new();
    let mut thread = program.recorder.thread(11, None);
    let around = program.profile(|builder| builder);
    let before = thread.begin(&annotation("before")).unwrap();
    program.clock.advance(5_000);
    let session = program.profile(|builder| builder);
    program.clock.advance(1_234);
    thread.end(before);
    let open = thread.begin(&annotation("open")).unwrap();
    program.clock.advance(7_001);
    let trace = session.stop();
    program.clock.advance(1_000_000);
    thread.end(open);
    let file = parsed(&trace);
    assert_eq!(span(&file, "before")["dur"], 1.234);
    assert_eq!(span(&file, "before")["args"]["cut"], "start");
    assert!(span(&file, "before")["args"].get("finished").is_none());
    assert_eq!(span(&file, "open")["dur"], 7.001);
    assert_eq!(span(&file, "open")["args"]["finished"], false);
    assert!(span(&file, "open")["args"].get("cut").is_none());
    for (event, span) in spans(&file).iter().zip(trace.spans()) {
        assert_eq!((event["dur"].as_f64().unwrap() * 1e3).round(), span.duration_ns() as f64);
    }
    drop(around);
}

#[test]
fn what_torchs_tools_check_holds() {
    let program = Program::new();
    let mut thread = program.recorder.thread(11, None);
    let session = program.profile(|builder| builder.profile_memory(true));
    for length in 0..2_000 {
        program.run(&mut thread, &annotation("work"), length * 7);
        thread.mark(Name::new("mark"));
    }
    let _open = thread.begin(&annotation("open"));
    program.clock.advance(333);
    let file = parsed(&session.stop());
    let events = events(&file);
    let named = |name: &str| events.iter().find(|event| event["name"] == name).unwrap();
    let end = |event: &Value| event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap_or(0.0);
    let (window, last) = (named("PyTorch Profiler (0)"), events.last().unwrap());
    assert_eq!(last["name"], "Record Window End");
    assert!(window["ts"].as_f64() >= named("Iteration Start: PyTorch Profiler")["ts"].as_f64());
    for event in events {
        assert!(event["ts"].as_f64() >= window["ts"].as_f64(), "{event}");
        assert!(end(event) <= end(last), "{event}");
    }
    assert_eq!(events[0]["ph"], "X");
    assert_eq!(events[0]["pid"], std::process::id());
    let ids: HashSet<u64> = spans(&file).iter().map(|event| event["args"]["External id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), 2_001);
    let base = file["baseTimeNanoseconds"].as_u64().unwrap();
    assert_eq!(base % (7_889_238 * 1_000_000_000), 0);
    assert_eq!(base + (window["ts"].as_f64().unwrap() * 1e3) as u64, NOW);
}

#[test]
fn events_carry_the_step_in_which_they_began() {
    let program = Program::new();
    let mut threads = [program.recorder.thread(11, None), program.recorder.thread(12, None)];
    let session = program.profile(|builder| builder);
    for _ in 0..50 {
        for thread in &mut threads {
            program.run(thread, &annotation("work"), 10);
            program.run(thread, &annotation("more"), 10);
        }
        session.step();
        session.step();
    }
    let trace = session.stop();
    let file = parsed(&trace);
    for (event, span) in spans(&file).iter().zip(trace.spans()) {
        assert_eq!(event["args"]["step"], span.step());
    }
    assert_eq!(spans(&file).last().unwrap()["args"]["step"], 98);
}

#[test]
fn counters_that_are_no_numbers_are_strings() {
    let program = Program::new();
    let mut thread = program.recorder.thread(11, None);
    let session = program.profile(|builder| builder.activities(Capture::CPU));
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.1, -1e300, 3.0] {
        thread.counter(Name::new("loss"), value);
    }
    let file = parsed(&session.stop());
    let counters = events(&file).iter().filter(|event| event["ph"] == "C");
    let values: Vec<Value> = counters.map(|event| event["args"]["value"].clone()).collect();
    assert_eq!(Value::from(values), json!(["NaN", "Infinity", "-Infinity", 0.1, -1e300, 3.0]));
}

#[test]
fn deep_and_many_spans_are_one_event_each() {
    let program = Program::new();
    let mut thread = program.recorder.thread(11, None);
    let session = program.profile(|builder| builder);
    let open: Vec<_> = (0..100_000).map(|_| thread.begin(&annotation("deep")).unwrap()).collect();
    program.clock.advance(1);
    open.into_iter().rev().for_each(|span| thread.end(span));
    assert_eq!(spans(&parsed(&session.stop())).len(), 100_000);
}

#[test]
fn a_trace_can_be_written_again_after_a_failure() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let program = Program::new();
    let mut thread = program.recorder.thread(11, None);
    let session = program.profile(|builder| builder);
    for _ in 0..2_000 {
        program.run(&mut thread, &annotation("work"), 10);
    }
    let trace = session.stop();
    let whole = text(&trace);
    for room in [0, 100_000, 200_000] {
        let error = trace.write_chrome_trace(Full(room), "x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
    assert_eq!(text(&trace), whole);
}

#[test]
fn the_head_says_where_the_process_stands_among_others() {
    let program = Program::new();
    let session = program.profile(|builder| builder);
    let trace = session.stop();
    let head = |chrome: ChromeTrace<'_>| {
        let mut text = Vec::new();
        chrome.write(&mut text).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()
    };
    let of_rank = head(trace.chrome_trace().rank(3, 8).with_modules(true).device_properties_json("[{\"id\":0}]"));
    let expected = json!({"backend": "", "rank": 3, "world_size": 8, "pg_count": 0, "pg_config": []});
    assert_eq!(of_rank["distributedInfo"], expected);
    assert_eq!(of_rank["deviceProperties"], json!([{"id": 0}]));
    assert_eq!(of_rank["with_modules"], 1);
    let told = [("distributedInfo".to_owned(), "{\"backend\":\"nccl\",\"rank\":1}".to_owned())];
    let of_user = head(trace.chrome_trace().rank(3, 8).metadata_json(&told));
    assert_eq!(of_user["distributedInfo"], json!({"backend": "nccl", "rank": 1}));
    assert!(of_user.get("with_modules").is_none());
}

#[test]
fn the_rank_is_that_of_the_environment() {
    let test = "the_rank_is_that_of_the_environment";
    let scenario = || {
        let mut text = Vec::new();
        Session::start().stop().write_chrome_trace(&mut text, "").unwrap();
        let file: Value = serde_json::from_slice(&text).unwrap();
        let info = &file["distributedInfo"];
        let expected = std::env::var("WORLD_SIZE").map_or((0, 1), |_| (2, 4));
        assert_eq!((info["rank"].as_u64(), info["world_size"].as_u64()), (Some(expected.0), Some(expected.1)));
    };
    in_own_process_with(test, &[("RANK", Some("2")), ("WORLD_SIZE", Some("4"))], scenario);
    in_own_process_with(test, &[("RANK", None), ("WORLD_SIZE", None)], scenario);
}

/// Operators on two threads, backward nodes, device work, memory, counters and functions: something of everything.
fn busy_trace(rounds: u64) -> Trace {
    let program = Program::new();
    let mut main = program.recorder.thread(11, Some("main"));
    let mut engine = program.recorder.thread(12, None);
    let session = program.profile(|builder| builder.record_shapes(true).with_stack(true).profile_memory(true));
    let inputs = Inputs::encode().tensor("float", &[2, 3], &[3, 1]).finish();
    for round in 0..rounds {
        let function = SpanArgs::new(SpanKind::Function, Name::new(&format!("train.py({}): step", round % 20)));
        let function = main.begin(&function.call(7, None)).unwrap();
        program.run(&mut main, &op("aten::mm").inputs(inputs).sequence(round), 500 + round % 700);
        let launch = main.begin(&SpanArgs::new(SpanKind::Runtime, Name::new("npuLaunchKernel"))).unwrap();
        let begin = program.recorder.now();
        program.clock.advance(30);
        let kernel = DeviceSpan {
            stream: 1,
            launched_by: Some(launch.id()),
            ..DeviceSpan::kernel(Name::new("gemm"), begin, program.recorder.now())
        };
        main.end(launch);
        main.device_span(&kernel);
        let (bytes, allocated) = (64, 64 * (round as i64 + 1));
        main.memory(&Memory {
            address: 0xf000 + round,
            bytes,
            device: Device::Cpu,
            allocated,
            reserved: 0,
            stack: Stack::NONE,
            role: MemoryRole::Unknown,
        });
        main.end(function);
        let node = SpanArgs::new(SpanKind::Backward, Name::new("MmBackward0")).sequence(round).forward_thread(1);
        program.run(&mut engine, &node, 900);
        if round % 3 == 0 {
            engine.counter(Name::new("loss"), 1.0 / (round as f64 + 1.0));
        }
        program.run(&mut main, &annotation(&format!("note {}", "x".repeat(round as usize % 40))), 10);
        session.step();
    }
    session.stop()
}

fn filtered(trace: &Trace, filter: &Filter) -> Value {
    let mut text = Vec::new();
    trace
        .chrome_trace()
        .name("trace.json")
        .host_name("host")
        .process_name("program")
        .rank(0, 1)
        .filter(filter)
        .write(&mut text)
        .unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn a_filter_takes_some_of_the_events_as_they_are() {
    let trace = busy_trace(50);
    let whole = parsed(&trace);
    let is_arrow = |event: &Value| event["ph"] == "s" || event["ph"] == "f";
    let filters = [
        Filter::new(),
        Filter::new().kinds(&[EventKind::Op]),
        Filter::new().kinds(&[EventKind::Op]).name("aten::*"),
        Filter::new().kinds(&[EventKind::Kernel, EventKind::Copy, EventKind::Runtime]),
        Filter::new().kinds(&[EventKind::Kernel, EventKind::Copy]),
        Filter::new().kinds(&[EventKind::Function, EventKind::Memory, EventKind::Instant]),
        Filter::new().min_duration_ns(520),
        Filter::new().time_range_ns(10_000..20_000),
        Filter::new().name("no such name"),
        Filter::new().thread("no such thread"),
        Filter::new().max_depth(1),
    ];
    let mut sizes = Vec::new();
    for filter in &filters {
        let part = filtered(&trace, filter);
        // What is there is in the whole, in the same order, to the last argument.
        let mut rest = events(&whole).iter();
        for event in events(&part) {
            assert!(rest.any(|other| other == event), "{event} {filter:?}");
        }
        let mut heads = [part.clone(), whole.clone()];
        heads.iter_mut().for_each(|file| drop(file.as_object_mut().unwrap().remove("traceEvents")));
        assert_eq!(heads[0], heads[1]);
        assert_eq!(events(&part).last().unwrap()["name"], "Record Window End");
        // Arrows have two ends.
        let mut ends: Vec<(String, u64)> = Vec::new();
        for event in events(&part).iter().filter(|event| is_arrow(event)) {
            ends.push((event["cat"].to_string(), event["id"].as_u64().unwrap()));
        }
        ends.sort();
        assert!(ends.chunks(2).all(|pair| pair.len() == 2 && pair[0] == pair[1]), "{filter:?}");
        sizes.push((spans(&part).len(), ends.len() / 2));
    }
    assert_eq!(events(&filtered(&trace, &filters[0])), events(&whole));
    assert_eq!(sizes[..6], [(300, 100), (100, 50), (50, 0), (100, 50), (50, 0), (50, 0)]);
    assert!(sizes[6].0 > 50 && sizes[6].0 < 200, "{:?}", sizes[6]);
    assert!(sizes[7].0 > 20 && sizes[7].0 < 60, "{:?}", sizes[7]);
    assert_eq!(sizes[8..10], [(0, 0); 2]);
    assert!(sizes[10].0 > 0 && sizes[10].0 < sizes[0].0, "{:?}", sizes[10]);
}

#[test]
fn the_size_is_estimated_within_a_quarter() {
    let filters = [
        Filter::new().kinds(&[EventKind::Op]),
        Filter::new().kinds(&[EventKind::Function, EventKind::Memory]),
        Filter::new().min_duration_ns(1_100),
        Filter::new().time_range_ns(0..50_000),
    ];
    for rounds in [0, 1, 100, 10_000] {
        let trace = busy_trace(rounds);
        let check = |chrome: ChromeTrace<'_>| {
            let mut text = Vec::new();
            chrome.write(&mut text).unwrap();
            let ratio = chrome.estimated_bytes() as f64 / text.len() as f64;
            assert!((0.8..1.25).contains(&ratio), "{rounds} rounds: {} bytes, {ratio:.3} of them", text.len());
        };
        check(trace.chrome_trace());
        filters.iter().for_each(|filter| check(trace.chrome_trace().filter(filter)));
    }
}
