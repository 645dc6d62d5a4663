//! Reading traces that torch wrote: what they say is what torch itself says of the same recording. The files in
//! `data/torch` are torch's, and so is `truth.json.gz`, which has its events and averages.

use flate2::read::GzDecoder;
use mindtorch_profiler::{
    Capture, Device, DeviceKind, Error, EventKind, Filter, GroupBy, Input, LoadError, SpanKind, SpanRef, Trace,
};
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/torch").join(name)
}

fn load(name: &str) -> Trace {
    Trace::load(path(name)).unwrap()
}

fn text(name: &str) -> Vec<u8> {
    let bytes = std::fs::read(path(name)).unwrap();
    if !name.ends_with(".gz") {
        return bytes;
    }
    let mut text = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
    text
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&text(name)).unwrap()
}

fn truth(name: &str) -> Value {
    json("truth.json.gz")[name].take()
}

fn load_error(text: &[u8]) -> LoadError {
    match Trace::read(text) {
        Err(Error::Load(error)) => error,
        other => panic!("it should not load: {other:?}"),
    }
}

fn spans_by_time(trace: &Trace) -> Vec<SpanRef<'_>> {
    trace.rows_by_time().map(|row| trace.span(row as usize).unwrap()).collect()
}

/// Torch shows operators that are one call with the one around them as one, and so does `repeated_operators`.
fn shown(trace: &Trace) -> Vec<SpanRef<'_>> {
    let repeated = trace.repeated_operators();
    spans_by_time(trace).into_iter().filter(|span| !repeated.contains(&(span.row() as u32))).collect()
}

fn shapes(span: &SpanRef<'_>) -> Value {
    let dims = |input: &Input| match input {
        Input::Tensor { dims, .. } => serde_json::json!(dims),
        // Torch shows nothing of a list here.
        Input::TensorList(_) => serde_json::json!([]),
        Input::Value { .. } => serde_json::json!([]),
    };
    span.inputs().decode().iter().map(dims).collect()
}

fn frames(span: &SpanRef<'_>) -> Vec<String> {
    span.stack().frames().iter().map(|frame| frame.text().to_string()).collect()
}

#[test]
fn events_are_those_that_torch_has() {
    for name in ["mlp_sgd", "memory", "threads", "threads_default", "stack", "stack_verbose", "flops"] {
        let trace = load(&format!("{name}.json.gz"));
        let truth = truth(name);
        let expected: Vec<&Value> =
            truth["events"].as_array().unwrap().iter().filter(|event| event["name"] != "[memory]").collect();
        let found = shown(&trace);
        assert_eq!(found.len(), expected.len(), "{name}");
        let has_own_stacks = name == "stack_verbose";
        // Torch has events in the order of time and those of equal times in any; a pair tells which is which.
        let mut places: HashMap<(u64, u64, &str), Vec<&Value>> = HashMap::new();
        for event in &expected {
            let times = (event["start"].as_u64().unwrap(), event["end"].as_u64().unwrap());
            places.entry((times.0, times.1, event["name"].as_str().unwrap())).or_default().push(event);
        }
        for span in &found {
            let candidates = places.get_mut(&(span.start_ns(), span.end_ns(), span.name()));
            let event = candidates.and_then(Vec::pop).unwrap_or_else(|| panic!("{name}: torch has no {}", span.name()));
            let what = format!("{name}: {}", span.name());
            assert_eq!(span.sequence().map_or(-1, |number| number as i64), event["sequence"], "{what}");
            assert_eq!(span.overload(), event["overload"], "{what}");
            assert_eq!(span.kind() == SpanKind::Function, event["function"], "{what}");
            if span.kind() != SpanKind::Function {
                assert_eq!(span.kind() == SpanKind::Annotation, event["annotation"], "{what}");
            }
            if trace.capture().contains(Capture::SHAPES) {
                assert_eq!(shapes(span), event["shapes"], "{what}");
            }
            if has_own_stacks {
                // Torch's events leave out the frames of its own that its files have.
                let is_inner = |frame: &str| frame.ends_with("backward") || frame.ends_with("_make_grads");
                let is_shown = |frame: &String| !(frame.contains("autograd/__init__") && is_inner(frame));
                let frames: Vec<String> = frames(span).into_iter().filter(is_shown).collect();
                assert_eq!(serde_json::json!(frames), event["stack"], "{what}");
            }
        }
        assert!(places.values().all(Vec::is_empty), "{name}");
    }
}

#[test]
fn trees_self_times_and_memory_are_those_that_torch_has() {
    for name in ["mlp_sgd", "memory", "threads", "threads_default", "flops"] {
        let trace = load(&format!("{name}.json.gz"));
        let truth = truth(name);
        let all = truth["events"].as_array().unwrap();
        let key = |event: &Value| {
            (event["start"].as_u64(), event["end"].as_u64(), event["name"].as_str().unwrap().to_owned())
        };
        let events = trace.events();
        for (span, average) in shown(&trace).iter().zip(events.rows().iter().filter(|row| &*row.key != "[memory]")) {
            assert_eq!(&*average.key, span.name());
            let own = (Some(span.start_ns()), Some(span.end_ns()), span.name().to_owned());
            let event = all.iter().find(|event| key(event) == own).unwrap();
            let parent = event["parent"].as_u64().map(|at| key(&all[at as usize]));
            let repeated = trace.repeated_operators();
            let mut around = span.parent();
            while let Some(parent) = around.filter(|parent| repeated.contains(&(parent.row() as u32))) {
                around = parent.parent();
            }
            let found = around.map(|parent| (Some(parent.start_ns()), Some(parent.end_ns()), parent.name().to_owned()));
            assert_eq!(found, parent, "{name}: {}", span.name());
            assert_eq!(average.self_cpu_ns, event["self"].as_u64().unwrap(), "{name}: {}", span.name());
            assert_eq!(average.cpu_memory, event["memory"].as_i64().unwrap(), "{name}: {}", span.name());
            assert_eq!(average.self_cpu_memory, event["self_memory"].as_i64().unwrap(), "{name}: {}", span.name());
        }
    }
}

#[test]
fn averages_are_those_that_torch_has() {
    for name in ["mlp_sgd", "threads", "threads_default", "flops"] {
        let truth = truth(name);
        let expected = truth["averages"].as_array().unwrap();
        let averages = load(&format!("{name}.json.gz")).key_averages();
        assert_eq!(averages.rows().len(), expected.len(), "{name}");
        for row in averages.rows() {
            let of_torch = expected.iter().find(|average| average["key"] == *row.key).unwrap();
            assert_eq!(row.count, of_torch["count"], "{name}: {}", row.key);
            assert_eq!(row.self_cpu_ns, of_torch["self"], "{name}: {}", row.key);
            assert_eq!(row.cpu_memory, of_torch["memory"], "{name}: {}", row.key);
        }
    }
}

#[test]
fn both_exporters_of_torch_say_the_same() {
    let native = load("mlp_sgd.json.gz");
    let python = load("mlp_sgd_python.json.gz");
    assert_eq!(native.span_count(), python.span_count());
    // Only the native exporter tells when the recording began.
    let later = python.start_epoch_ns() - native.start_epoch_ns();
    for (one, other) in native.spans().zip(python.spans()) {
        assert_eq!((one.name(), one.kind(), one.inputs()), (other.name(), other.kind(), other.inputs()));
        assert_eq!((one.start_ns(), one.end_ns()), (other.start_ns() + later, other.end_ns() + later));
        assert_eq!((one.self_ns(), one.sequence()), (other.self_ns(), other.sequence()));
    }
    assert_eq!(native.forward_links(), python.forward_links());
}

/// The arrows of a file as (forward, backward), each a name and a time.
fn arrows(file: &Value) -> Vec<[(String, String); 2]> {
    let events = file["traceEvents"].as_array().unwrap();
    let mut ends: HashMap<u64, [Option<(String, String)>; 2]> = HashMap::new();
    for pair in events.windows(2) {
        // An arrow follows the event that it touches, but several may follow one.
        let is_arrow = pair[1]["cat"] == "fwdbwd";
        let touched = events.iter().find(|event| {
            event["ph"] == "X"
                && event["cat"] == "cpu_op"
                && event["ts"] == pair[1]["ts"]
                && event["tid"] == pair[1]["tid"]
        });
        if let (true, Some(event)) = (is_arrow, touched) {
            let end = usize::from(pair[1]["ph"] == "f");
            let what = (event["name"].as_str().unwrap().to_owned(), event["ts"].to_string());
            ends.entry(pair[1]["id"].as_u64().unwrap()).or_default()[end] = Some(what);
        }
    }
    ends.into_values().filter_map(|[from, to]| Some([from?, to?])).collect()
}

#[test]
fn links_are_the_arrows_of_the_file() {
    for name in ["mlp_sgd.json.gz", "mlp_sgd_python.json.gz", "gpu_plain.json.gz", "gpu_full.json.gz"] {
        let trace = load(name);
        let file = json(name);
        let base = trace.start_epoch_ns() - file["baseTimeNanoseconds"].as_u64().unwrap();
        let end = |row: u32| {
            let span = trace.span(row as usize).unwrap();
            let micros = (span.start_ns() + base) as f64 / 1000.0;
            (span.name().to_owned(), serde_json::json!(micros).to_string())
        };
        let mut found: Vec<_> =
            trace.forward_links().iter().map(|&(forward, backward)| [end(forward), end(backward)]).collect();
        let mut expected = arrows(&file);
        found.sort();
        expected.sort();
        assert!(!expected.is_empty());
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn device_work_is_that_of_the_call_which_launched_it() {
    for name in ["gpu_plain.json.gz", "gpu_full.json.gz"] {
        let trace = load(name);
        assert_eq!(trace.accelerator(), "CUDA");
        let file = json(name);
        let events = file["traceEvents"].as_array().unwrap();
        let of_category = |category: &'static str| events.iter().filter(move |event| event["cat"] == category);
        let work = |kind: DeviceKind| trace.device_spans().filter(move |work| work.kind() == kind);
        for (kind, category) in [
            (DeviceKind::Kernel, "kernel"),
            (DeviceKind::Copy, "gpu_memcpy"),
            (DeviceKind::Set, "gpu_memset"),
            (DeviceKind::Annotation, "gpu_user_annotation"),
        ] {
            assert_eq!(work(kind).count(), of_category(category).count());
            for (found, event) in work(kind).zip(of_category(category)) {
                let (args, number) = (&event["args"], |value: &Value| value.as_u64().unwrap());
                assert_eq!(found.name(), event["name"]);
                assert_eq!(found.bytes(), args["bytes"].as_u64().unwrap_or(0));
                assert_eq!((u64::from(found.device()), u64::from(found.stream())), (0, number(&event["tid"])));
                if kind == DeviceKind::Annotation {
                    assert!(found.launched_by().is_none());
                    continue;
                }
                let launcher = events.iter().find(|event| {
                    let is_call = event["cat"] == "cuda_runtime" || event["cat"] == "cuda_driver";
                    is_call && event["args"]["correlation"] == args["correlation"]
                });
                let operator = events
                    .iter()
                    .find(|event| event["cat"] == "cpu_op" && event["args"]["External id"] == args["External id"]);
                let call = found.launched_by().unwrap();
                assert_eq!(call.kind(), SpanKind::Runtime);
                assert_eq!(call.name(), launcher.unwrap()["name"]);
                assert_eq!(found.operator().unwrap().name(), operator.unwrap()["name"]);
            }
        }
    }
}

/// Torch's text for a time.
fn torch_time(ns: u64) -> String {
    let us = ns as f64 / 1000.0;
    if us >= 1e6 {
        format!("{:.3}s", us / 1e6)
    } else if us >= 1e3 {
        format!("{:.3}ms", us / 1e3)
    } else {
        format!("{us:.3}us")
    }
}

#[test]
fn device_times_are_those_of_the_table_that_torch_printed() {
    let trace = load("gpu_plain.json.gz");
    let averages = trace.averages(GroupBy::default());
    let table = json("gpu_plain_table.json.gz");
    let mut compared = 0;
    for row in table.as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        // Torch counts device time for what is launched in an operator, and shows scopes on the device as rows of their own.
        let Some(found) = averages.rows().iter().find(|found| *found.key == *name && name.starts_with("aten::")) else {
            continue;
        };
        compared += 1;
        assert_eq!(found.count, row["count"], "{name}");
        assert_eq!(torch_time(found.self_device_ns), row["self_cuda"], "{name}");
        assert_eq!(torch_time(found.device_total_ns), row["cuda"], "{name}");
        assert_eq!(torch_time(found.self_cpu_ns), row["self_cpu"], "{name}");
        assert_eq!(torch_time(found.cpu_total_ns), row["cpu"], "{name}");
    }
    assert!(compared > 30, "{compared}");
    // Scopes on the device have a row of their own, and are no work.
    let steps: Vec<_> = averages.rows().iter().filter(|row| &*row.key == "ProfilerStep*").collect();
    assert_eq!(steps.iter().map(|row| (row.is_device(), row.count)).collect::<Vec<_>>(), [(false, 3), (true, 6)]);
    assert!(averages.to_string().contains("Self CUDA time total: 182.615us"));
}

#[test]
fn memory_belongs_to_the_spans_that_it_happened_in() {
    let trace = load("gpu_full.json.gz");
    let file = json("gpu_full.json.gz");
    let events = file["traceEvents"].as_array().unwrap();
    let expected = events.iter().filter(|event| event["name"] == "[memory]").count();
    assert_eq!(trace.memory().len(), expected);
    let device: i64 = trace.memory().iter().filter(|row| row.device != Device::Cpu).map(|row| row.bytes).sum();
    let of_file = events.iter().filter(|event| event["args"]["Device Type"] == 1);
    assert_eq!(device, of_file.map(|event| event["args"]["Bytes"].as_i64().unwrap()).sum::<i64>());
    let rows = trace.memory().iter().filter(|row| row.span.is_some());
    for row in rows {
        let span = trace.span(row.span.unwrap() as usize).unwrap();
        assert!(span.start_ns() <= row.at_ns && row.at_ns <= span.end_ns());
    }
    assert!(trace.capture().contains(Capture::MEMORY));
}

#[test]
fn functions_have_lines_modules_and_make_stacks() {
    let trace = load("stack.json.gz");
    let module = trace.spans().find(|span| span.module().is_some()).unwrap();
    assert_eq!(module.name(), "nn.Module: Net_0");
    assert!(trace.spans().any(|span| span.kind() == SpanKind::Function && span.caller_line() > 0));
    let verbose = load("stack_verbose.json.gz");
    let operators = |trace: &Trace| -> Vec<(String, Vec<String>)> {
        let ops = trace.spans().filter(|span| span.kind() == SpanKind::Op && span.stack().frames().len() > 1);
        ops.map(|span| (span.name().to_owned(), frames(&span)))
            .filter(|(name, _)| name.starts_with("aten::linear"))
            .collect()
    };
    // Found from the functions around, or told by the file: the same frames.
    let (found, told) = (operators(&trace), operators(&verbose));
    assert!(!told.is_empty());
    for ((name, found), (of_torch, told)) in found.iter().zip(&told) {
        assert_eq!(name, of_torch);
        let functions = |frames: &[String]| {
            frames.iter().map(|frame| frame.rsplit(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(functions(&found[..3]), functions(&told[..3]));
    }
}

#[test]
fn steps_are_those_of_the_annotations() {
    let trace = load("schedule.json.gz");
    let steps: Vec<usize> =
        trace.spans().filter(|span| span.name().starts_with("ProfilerStep#")).map(|span| span.step()).collect();
    let named: Vec<usize> =
        trace.spans().filter_map(|span| span.name().strip_prefix("ProfilerStep#")?.parse().ok()).collect();
    assert_eq!(steps, named);
    assert!(named.len() == 2);
    for span in trace.spans().filter(|span| !span.name().starts_with("ProfilerStep#")) {
        let mut around = span;
        while let Some(parent) = around.parent() {
            around = parent;
        }
        if let Some(number) = around.name().strip_prefix("ProfilerStep#") {
            assert_eq!(span.step(), number.parse::<usize>().unwrap());
        }
    }
}

#[test]
fn the_head_of_a_file_is_kept() {
    let trace = load("metadata.json");
    let flags = Capture::SHAPES | Capture::MEMORY | Capture::FLOPS;
    assert!(trace.capture().contains(flags) && !trace.capture().contains(Capture::STACK));
    let file = json("metadata.json");
    let base = file["baseTimeNanoseconds"].as_u64().unwrap();
    let window = file["traceEvents"].as_array().unwrap().iter().find(|event| event["cat"] == "Trace").unwrap();
    let micros = |value: &Value| (value.as_f64().unwrap() * 1000.0).round() as u64;
    assert_eq!(trace.start_epoch_ns(), base + micros(&window["ts"]));
    assert_eq!(trace.duration_ns(), micros(&window["dur"]));
    assert_eq!(u64::from(trace.pid()), file["traceEvents"][0]["pid"].as_u64().unwrap());
    assert_eq!(trace.skipped_events(), 0);
}

#[test]
fn overloads_are_part_of_a_name_in_the_file_only() {
    let trace = load("overloads.json");
    let named: Vec<(&str, &str)> = trace.spans().map(|span| (span.name(), span.overload())).collect();
    assert!(named.contains(&("aten::add", "Tensor")), "{named:?}");
    assert!(named.iter().all(|(name, _)| !name.contains('.')), "{named:?}");
}

#[test]
fn the_list_of_an_event_list_is_a_trace() {
    let trace = load("event_list.json.gz");
    let whole = load("mlp_sgd.json.gz");
    let of = |trace: &Trace| -> Vec<(String, u64)> {
        shown(trace).iter().map(|span| (span.name().to_owned(), span.duration_ns())).collect()
    };
    assert_eq!(of(&trace), of(&whole));
}

#[test]
fn events_come_in_any_order_and_of_any_kind() {
    let file = br#"[
        {"name": "late", "ph": "X", "cat": "cpu_op", "pid": 1, "tid": 2, "ts": 30, "dur": 5.5},
        {"name": "outer", "ph": "B", "pid": 1, "tid": 1, "ts": 10},
        {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 12.5e0, "dur": 1e0},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 20},
        {"ph": "B", "name": "never ended", "pid": 1, "tid": 1, "ts": 25},
        {"ph": "E", "pid": 1, "tid": 9, "ts": 26},
        {"ph": "X", "cat": "cpu_op", "name": "early", "pid": 1, "tid": 2, "ts": 10.25, "dur": 1},
        {"ph": "C", "name": "queue", "pid": 1, "tid": 1, "ts": 11, "args": {"value": 2.5}},
        {"ph": "C", "name": "memory", "pid": 1, "tid": 1, "ts": 11, "args": {"used": 1, "free": 3}},
        {"ph": "i", "name": "mark", "s": "t", "pid": 1, "tid": 1, "ts": 13},
        {"ph": "b", "cat": "x", "name": "async", "id": 1, "pid": 1, "tid": 1, "ts": 13},
        {"ph": "X", "name": "no time", "pid": 1, "tid": 1}
    "#;
    let trace = Trace::read(&file[..]).unwrap();
    let spans: Vec<(&str, u64, u64)> =
        trace.spans().map(|span| (span.name(), span.start_ns(), span.end_ns())).collect();
    let expected = [
        ("early", 250, 1_250),
        ("late", 20_000, 25_500),
        ("outer", 0, 10_000),
        ("inner", 2_500, 3_500),
        ("never ended", 15_000, 25_500),
    ];
    assert_eq!(spans, expected);
    assert_eq!(trace.span(3).unwrap().parent().unwrap().name(), "outer");
    assert!(!trace.span(4).unwrap().is_finished());
    let counters: Vec<(&str, u64, f64)> = trace.counters().collect();
    assert_eq!(counters, [("queue", 1_000, 2.5), ("memory.used", 1_000, 1.0), ("memory.free", 1_000, 3.0)]);
    assert_eq!(trace.marks().collect::<Vec<_>>(), [("mark", 3_000)]);
    let on_threads: Vec<(u64, &str, u64)> =
        trace.thread_marks().map(|(thread, name, at)| (thread.os_id, name, at)).collect();
    assert_eq!(on_threads, [(1, "mark", 3_000)]);
    // The asynchronous one, the one without a time, and the end of nothing.
    assert_eq!(trace.skipped_events(), 3);
}

#[test]
fn files_may_be_compressed_in_parts_and_come_byte_by_byte() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    let plain = text("metadata.json");
    let mut parts = Vec::new();
    for part in plain.chunks(1_000) {
        let mut encoder = GzEncoder::new(&mut parts, Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    struct ByteByByte<'a>(&'a [u8]);
    impl Read for ByteByByte<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = buffer.len().min(1);
            self.0.read(&mut buffer[..length])
        }
    }
    for trace in [Trace::read(&parts[..]), Trace::read(ByteByByte(&parts)), Trace::read(ByteByByte(&plain))] {
        assert_eq!(trace.unwrap().span_count(), 5);
    }
}

/// A file that is many pieces long, so that events lie across their edges.
fn long_file(events: usize) -> Vec<u8> {
    let mut text = b"{\"traceEvents\": [".to_vec();
    for at in 0..events {
        let comma = if at == 0 { "" } else { "," };
        let padding = " ".repeat(at % 97);
        let event = format!(
            "{comma}\n{padding}{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op {}\", \"pid\": 1, \"tid\": 1, \"ts\": {at}.000, \
             \"dur\": 0.500, \"args\": {{\"External id\": {at}, \"own\": [{}, \"{padding}\"]}}}}",
            at % 1_000,
            at % 10
        );
        text.extend_from_slice(event.as_bytes());
    }
    text.extend_from_slice(b"]}");
    text
}

#[test]
fn events_that_lie_across_pieces_are_whole() {
    let text = long_file(20_000);
    assert!(text.len() > 2 << 20);
    let trace = Trace::read(&text[..]).unwrap();
    assert_eq!(trace.span_count(), 20_000);
    for (at, span) in trace.spans().enumerate() {
        assert_eq!((span.name(), span.start_ns()), (format!("op {}", at % 1_000).as_str(), at as u64 * 1_000));
    }
}

#[test]
fn an_event_may_be_longer_than_a_piece() {
    let name = "x".repeat(3 << 20);
    let text = format!("[{{\"ph\":\"X\",\"name\":\"{name}\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1}}]");
    assert_eq!(Trace::read(text.as_bytes()).unwrap().span(0).unwrap().name(), name);
}

#[test]
fn a_file_that_is_cut_off_says_where_and_gives_what_was_before() {
    let text = text("metadata_python.json");
    let whole = Trace::read(&text[..]).unwrap().span_count();
    let mut counts = Vec::new();
    for length in 0..text.len() - 2 {
        let error = load_error(&text[..length]);
        assert_eq!(error.offset(), length as u64);
        counts.push(error.partial().map_or(0, Trace::span_count));
    }
    assert!(counts.is_sorted() && counts.contains(&1) && *counts.last().unwrap() == whole);
    let long = long_file(20_000);
    let error = load_error(&long[..long.len() / 2]);
    assert_eq!(error.offset(), long.len() as u64 / 2);
    let count = error.into_partial().unwrap().span_count();
    assert!((9_000..11_000).contains(&count), "{count}");
}

#[test]
fn a_file_that_is_broken_says_what_was_expected() {
    for (text, offset, what) in [
        ("", 0, "the file is empty: this is not a Chrome trace"),
        ("hello", 0, "expected `{` or `[`: this is not a Chrome trace, found `h`"),
        ("{\"a\": 1}", 7, "expected `traceEvents`: this is not a Chrome trace, found `}`"),
        ("{\"traceEvents\": 7}", 16, "expected a list of events, found `7`"),
        ("[1]", 1, "among the events, expected an event, found `1`"),
        ("[{\"ph\": \"X\" 5}]", 12, "among the events, expected `,` or `}`, found `5`"),
        ("[{\"ph\": \"M\"} 5]", 13, "among the events, expected `,` or `]`, found `5`"),
        (
            "[{\"ts\": 1, \"ph\": \"X\", \"args\": {\"x\": [1 2]}}]",
            39,
            "among the events, expected `,` or an end, found `2`",
        ),
        ("[{\"ph\": \"M\", \"x\": {1}}]", 19, "among the events, expected a key, found `1`"),
        ("[{\"ph\": \"M\"}] x", 14, "expected the end of the file, found `x`"),
        ("{\"a\": [1, }, \"traceEvents\": []}", 10, "expected `]`, found `}`"),
        ("{\"baseTimeNanoseconds\": -1, \"traceEvents\": []}", 24, "expected nanoseconds since 1970, found `-`"),
        ("[{\"ph\": tru\u{1}}]", 8, "among the events, expected a value, found `t`"),
    ] {
        let error = load_error(text.as_bytes());
        assert_eq!((error.offset(), error.what()), (offset, what), "{text}");
    }
    let deep = format!("{{\"x\": {}1", "[".repeat(100_000));
    assert!(load_error(deep.as_bytes()).what().contains("nested less than 128 deep"));
    let far = "[{\"ph\":\"i\",\"name\":\"a\",\"ts\":-4e15},{\"ph\":\"i\",\"name\":\"b\",\"ts\":4e15}]";
    assert_eq!(load_error(far.as_bytes()).what(), "the times of the events are centuries apart");
}

#[test]
fn broken_compression_is_told_from_broken_text() {
    let compressed = std::fs::read(path("mlp_sgd.json.gz")).unwrap();
    let error = load_error(&compressed[..compressed.len() / 2]);
    assert!(error.what().starts_with("the gzip data is broken or cut off"), "{}", error.what());
    assert!(error.partial().unwrap().span_count() > 10);
    let mut corrupt = compressed;
    let middle = corrupt.len() / 2;
    corrupt[middle..middle + 8].fill(0xff);
    let error = load_error(&corrupt);
    assert!(error.offset() > 0);
}

#[test]
fn errors_name_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.json");
    assert!(Trace::load(&missing).unwrap_err().to_string().contains("missing.json"));
    let broken = directory.path().join("broken.json");
    std::fs::write(&broken, "[{\"ph\":\"i\",\"name\":\"a\",\"ts\":1}, {").unwrap();
    let error = Trace::load(&broken).unwrap_err().to_string();
    assert!(
        error.contains("broken.json") && error.contains("at byte 32") && error.contains("within an event"),
        "{error}"
    );
}

#[test]
fn a_filter_takes_threads_by_name_or_number_and_spans_by_depth() {
    let trace = load("gpu_full.json.gz");
    let names = |trace: &Trace| trace.threads().iter().map(|thread| thread.os_id).collect::<Vec<_>>();
    assert!(trace.threads().len() > 1);
    for thread in trace.threads() {
        let part = trace.filtered(&Filter::new().thread(&thread.os_id.to_string()));
        assert_eq!(names(&part), [thread.os_id]);
        assert_eq!(part.span_count(), trace.spans_of(thread).len());
        let launched = trace
            .device_spans()
            .filter_map(|work| work.launched_by())
            .filter(|span| span.thread().os_id == thread.os_id);
        let work = part.device_spans().filter(|work| work.kind() != DeviceKind::Annotation);
        assert_eq!(work.count(), launched.count());
        let memory = trace.memory().iter().filter(|row| trace.threads()[row.thread].os_id == thread.os_id);
        assert_eq!(part.memory().len(), memory.count());
    }
    let all = trace.threads().iter().fold(Filter::new(), |filter, thread| filter.thread(&thread.os_id.to_string()));
    assert_eq!(trace.filtered(&all).span_count(), trace.span_count());
    assert_eq!(trace.filtered(&Filter::new().thread("no such thread")).threads().len(), 0);
    let depth = |span: SpanRef<'_>| std::iter::successors(Some(span), |span| span.parent()).count();
    for most in [1, 2, 3, usize::MAX] {
        let part = trace.filtered(&Filter::new().max_depth(most));
        assert_eq!(part.span_count(), trace.spans().filter(|&span| depth(span) <= most).count());
        assert_eq!(part.device_spans().len(), trace.device_spans().len());
    }
    assert!(trace.spans().any(|span| depth(span) > 3));
}

#[test]
fn what_a_filter_takes_is_a_trace() {
    let trace = load("gpu_full.json.gz");
    let part = trace.filtered(&Filter::new().kinds(&[EventKind::Op, EventKind::Kernel]).name("*mm*").name("void *"));
    let expected: Vec<SpanRef<'_>> = trace
        .spans()
        .filter(|span| matches!(span.kind(), SpanKind::Op | SpanKind::Backward))
        .filter(|span| span.name().contains("mm") || span.name().starts_with("void "))
        .collect();
    assert_eq!(part.span_count(), expected.len());
    for (found, span) in part.spans().zip(&expected) {
        assert_eq!((found.name(), found.start_ns(), found.self_ns()), (span.name(), span.start_ns(), span.self_ns()));
        assert_eq!((found.device_ns(), found.inputs(), found.stack()), (span.device_ns(), span.inputs(), span.stack()));
        let mut around = span.parent();
        while let Some(parent) = around.filter(|parent| !expected.iter().any(|taken| taken.row() == parent.row())) {
            around = parent.parent();
        }
        assert_eq!(found.parent().map(|parent| parent.start_ns()), around.map(|parent| parent.start_ns()));
    }
    let kernels: Vec<_> =
        trace.device_spans().filter(|work| work.name().contains("mm") || work.name().starts_with("void ")).collect();
    assert_eq!(part.device_spans().len(), kernels.len());
    for (found, work) in part.device_spans().zip(&kernels) {
        // The call of the runtime was not taken; the operator around it may have been.
        let mut around = work.launched_by();
        while let Some(span) = around.filter(|span| !expected.iter().any(|taken| taken.row() == span.row())) {
            around = span.parent();
        }
        assert_eq!(found.launched_by().map(|span| span.start_ns()), around.map(|span| span.start_ns()));
    }
    assert!(part.memory().is_empty() && !part.capture().contains(Capture::MEMORY));
    assert_eq!(part.duration_ns(), trace.duration_ns());
    let all = trace.filtered(&Filter::new());
    assert_eq!((all.span_count(), all.memory().len()), (trace.span_count(), trace.memory().len()));
    assert_eq!(all.forward_links(), trace.forward_links());
    assert_eq!(all.repeated_operators(), trace.repeated_operators());
    assert!(
        all.spans()
            .zip(trace.spans())
            .all(|(one, other)| one.parent().map(|p| p.row()) == other.parent().map(|p| p.row()))
    );
    assert_eq!(all.key_averages().to_string(), trace.key_averages().to_string());
}

/// The complete events of a file, by category, name and time.
fn complete(file: &Value) -> HashMap<(String, String, String, String), Vec<Value>> {
    let mut found: HashMap<_, Vec<Value>> = HashMap::new();
    for event in file["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X") {
        let text = |key: &str| event[key].to_string();
        found.entry((text("cat"), text("name"), text("ts"), text("dur"))).or_default().push(event.clone());
    }
    found
}

#[test]
fn what_torch_wrote_is_written_again() {
    for name in
        ["gpu_full.json.gz", "gpu_plain.json.gz", "modules.json.gz", "observer.json.gz", "stack_verbose.json.gz"]
    {
        let trace = load(name);
        let mut ours = Vec::new();
        trace.chrome_trace().name(name).write(&mut ours).unwrap();
        let (torch, ours): (Value, Value) = (json(name), serde_json::from_slice(&ours).unwrap());
        for key in ["deviceProperties", "trace_id", "host_name", "baseTimeNanoseconds", "cuda_driver_version"] {
            assert_eq!(ours[key], torch[key], "{name}: {key}");
        }
        let (torch, mut ours) = (complete(&torch), complete(&ours));
        // These are numbered anew; and backward nodes have the stacks of their operators.
        let is_renumbered = |key: &str| {
            let ids = ["External id", "correlation", "Ev Idx", "Python id", "Python parent id", "Python thread"];
            ids.contains(&key) || key == "Call stack"
        };
        for (what, events) in torch {
            let found = ours.remove(&what).unwrap_or_else(|| panic!("{name}: {what:?} is missing"));
            assert_eq!(found.len(), events.len(), "{name}: {what:?}");
            for (event, found) in events.iter().zip(&found) {
                assert_eq!((&found["pid"], &found["tid"]), (&event["pid"], &event["tid"]), "{name}: {what:?}");
                for (key, value) in event["args"].as_object().unwrap().iter().filter(|(key, _)| !is_renumbered(key)) {
                    // Where a function was called is known by the line and the function around it. That of a module is none
                    // that has a file, and the outermost has none around it.
                    if key != "CallFrom" || found["args"].get(key).is_some() {
                        assert_eq!(found["args"].get(key), Some(value), "{name}: {what:?}: {key}");
                    }
                }
            }
        }
        assert!(ours.is_empty(), "{name}: {:?}", ours.keys());
    }
}
