//! Traces in Perfetto's own format: what is in the file, case by case.

#[path = "support/perfetto.rs"]
mod perfetto;
#[path = "support/protobuf.rs"]
mod protobuf;

use mindtorch_profiler::{
    DeviceSpan, EventKind, Filter, Inputs, ManualClock, Name, Recorder, Session, SpanArgs, SpanKind, Stack,
    ThreadWriter, Trace,
};
use perfetto::{File, Slice};
use serde_json::{Value, json};
use std::io::Read;

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

    fn profile(&self) -> Session {
        Session::builder().on(&self.recorder).start()
    }

    /// Runs a span of `ns` nanoseconds.
    fn run(&self, thread: &mut ThreadWriter, args: &SpanArgs, ns: u64) {
        let span = thread.begin(args).unwrap();
        self.clock.advance(ns);
        thread.end(span);
    }
}

fn op(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Op, Name::new(name))
}

fn written(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    trace.perfetto_trace().host_name("host").process_name("program").write(&mut bytes).unwrap();
    bytes
}

fn read(trace: &Trace) -> File {
    File::read(&written(trace))
}

/// The spans of threads.
fn spans(file: &File) -> Vec<&Slice> {
    file.slices.iter().filter(|slice| slice.name != "PyTorch Profiler (0)").collect()
}

#[test]
fn an_empty_trace_is_the_window_alone() {
    let program = Program::new();
    let session = program.profile();
    program.clock.advance(2_500);
    let file = read(&session.stop());
    assert!(spans(&file).is_empty() && file.counters.is_empty());
    let window = file.slice("PyTorch Profiler (0)");
    assert_eq!((window.start, window.end, &*window.category), (NOW, NOW + 2_500, "Trace"));
    let marks: Vec<(&str, u64)> = file.instants.iter().map(|slice| (slice.name.as_str(), slice.start)).collect();
    assert_eq!(marks, [("Iteration Start: PyTorch Profiler", NOW), ("Record Window End", NOW + 2_500)]);
}

#[test]
fn spans_that_overlap_are_on_tracks_of_their_own_with_what_they_contain() {
    let program = Program::new();
    let mut thread = program.recorder.thread(11, Some("main"));
    let mut other = program.recorder.thread(12, None);
    let session = program.profile();
    let first = thread.begin(&op("first")).unwrap();
    program.clock.advance(10);
    let second = thread.begin(&op("second")).unwrap();
    program.clock.advance(10);
    program.run(&mut thread, &op("inside second"), 5);
    thread.end(first);
    program.run(&mut thread, &op("after first"), 5);
    program.clock.advance(10);
    thread.end(second);
    let handed_over = thread.begin(&op("handed over")).unwrap();
    program.run(&mut thread, &op("meanwhile"), 5);
    other.end(handed_over);
    let file = read(&session.stop());
    let place = |name| {
        let slice = file.slice(name);
        let parent = slice.parent.map(|parent| file.slices[parent].name.as_str());
        (file.tracks[&slice.track].name.as_str(), parent, slice.end - slice.start)
    };
    let (main, beside) = ("thread 11 (main)", "overlapping");
    assert_eq!(place("first"), (main, None, 25));
    assert_eq!(place("second"), (beside, None, 30));
    assert_eq!(place("inside second"), (beside, Some("second"), 5));
    assert_eq!(place("after first"), (beside, Some("second"), 5));
    assert_eq!(place("handed over"), (beside, None, 5));
    assert_eq!(place("meanwhile"), (main, None, 5));
    assert_eq!(file.path(file.slice("second").track)[1].tid, Some(11));
    assert_eq!(file.slice("second").track, file.slice("handed over").track, "a track that is free is used again");
}

#[test]
fn spans_without_length_keep_their_nesting() {
    let program = Program::new();
    let mut thread = program.recorder.thread(11, None);
    let session = program.profile();
    let outer = thread.begin(&op("outer")).unwrap();
    let inner = thread.begin(&op("inner")).unwrap();
    program.run(&mut thread, &op("instant"), 0);
    program.run(&mut thread, &op("next instant"), 0);
    program.clock.advance(3);
    thread.end(inner);
    thread.end(outer);
    program.run(&mut thread, &op("at the end"), 0);
    let file = read(&session.stop());
    let nested = spans(&file).into_iter().map(|slice| {
        (slice.name.as_str(), slice.parent.map(|parent| file.slices[parent].name.as_str()), slice.end - slice.start)
    });
    let expected = [
        ("outer", None, 3),
        ("inner", Some("outer"), 3),
        ("instant", Some("inner"), 0),
        ("next instant", Some("inner"), 0),
        ("at the end", None, 0),
    ];
    assert!(nested.eq(expected));
}

#[test]
fn names_are_exact_whatever_is_in_them() {
    let long = "é\"".repeat(350_000);
    let names = ["", " ", "say \"hi\"", "a\\b", "a\nb", "café", "日本語", "a\0b", "\u{2028}", "😀", "</script>", &long];
    let program = Program::new();
    let mut thread = program.recorder.thread(11, Some("\"quoted\"\n"));
    let session = Session::builder().on(&program.recorder).with_stack(true).start();
    for name in names {
        let name = Name::new(name);
        program.run(&mut thread, &SpanArgs::new(SpanKind::Op, name).note(name).stack(Stack::new(&[name])), 1);
        thread.counter(name, 1.0);
        thread.mark(name);
    }
    let trace = session.stop();
    let file = read(&trace);
    assert!(spans(&file).iter().map(|slice| slice.name.as_str()).eq(names));
    for (slice, name) in spans(&file).iter().zip(names).skip(1) {
        assert_eq!((&slice.args["note"], &slice.args["Call stack"]), (&json!(name), &json!(name)));
    }
    let marks = file.instants.iter().filter(|slice| slice.category == "cpu_instant_event");
    assert!(marks.map(|slice| slice.name.as_str()).eq(names));
    assert!(file.counters.iter().map(|(track, ..)| file.tracks[track].name.as_str()).eq(names));
    let of_thread = file.tracks.values().find(|track| track.tid == Some(11)).unwrap();
    assert_eq!((&*of_thread.name, of_thread.pid), ("thread 11 (\"quoted\"\n)", Some(trace.pid().into())));
}

#[test]
fn the_window_says_what_is_known_of_the_recording() {
    let program = Program::new();
    let session = Session::builder().on(&program.recorder).record_shapes(true).metadata("run", "7 \"x\"").start();
    let trace = session.stop();
    let metadata = [
        ("nested", r#"{"a":[1,-2,2.5e3,true,null,"é\n\ud83d\ude00\u00e9"],"b":{},"c":[[]]}"#),
        ("large", "18446744073709551615"),
        ("broken", "{oops"),
        ("trailing", "1 2"),
        ("host_name", "\"mine\""),
    ];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let mut bytes = Vec::new();
    let perfetto = trace.perfetto_trace().host_name("node7").trace_id("A1").rank(3, 8).metadata_json(&metadata);
    perfetto.device_properties_json("[{\"id\":0}]").with_modules(true).write(&mut bytes).unwrap();
    let expected = json!({
        "trace_id": "A1", "host_name": "node7", "host_name_user": "mine", "record_shapes": 1, "with_modules": 1,
        "deviceProperties": [{"id": 0}], "distributedInfo": {"rank": 3, "world_size": 8}, "run": "7 \"x\"",
        "nested": {"a": [1, -2, 2500.0, true, "null", "é\n😀é"], "b": "{}", "c": ["[]"]},
        "large": u64::MAX, "broken": "{oops", "trailing": "1 2", "device_type": "CPU", "step": 0,
    });
    let file = File::read(&bytes);
    assert_eq!(Value::Object(file.slice("PyTorch Profiler (0)").args.clone()), expected);
}

#[test]
fn a_filter_takes_events_and_arrows_between_them() {
    let program = Program::new();
    let mut thread = program.recorder.thread(11, None);
    let session = program.profile();
    for sequence in 0..6 {
        let around = thread.begin(&op("around").sequence(100 + sequence)).unwrap();
        program.run(&mut thread, &op("aten::mm").sequence(sequence), 10 * sequence);
        let launch = thread.begin(&SpanArgs::new(SpanKind::Runtime, Name::new("launch"))).unwrap();
        let (begin, launched_by) = (program.recorder.now(), Some(launch.id()));
        program.clock.advance(7);
        thread.end(launch);
        let (name, end) = (Name::new("gemm"), program.recorder.now());
        let work = DeviceSpan { stream: 1, launched_by, ..DeviceSpan::kernel(name, begin, end) };
        thread.device_span(&work);
        let node = SpanArgs::new(SpanKind::Backward, Name::new("MmBackward0")).sequence(sequence).forward_thread(1);
        program.run(&mut thread, &node, 40);
        thread.end(around);
        thread.mark(Name::new("mark"));
    }
    let trace = session.stop();
    let read = |filter: &Filter| {
        let mut bytes = Vec::new();
        trace.perfetto_trace().filter(filter).write(&mut bytes).unwrap();
        File::read(&bytes)
    };
    let file = read(&Filter::new().kinds(&[EventKind::Op, EventKind::Kernel]).name("*mm").min_duration_ns(7));
    let shown = |slice: &&Slice| (slice.name.clone(), slice.end - slice.start);
    let expected = (1..6).map(|number| ("aten::mm".to_owned(), 10 * number));
    let products: Vec<(String, u64)> = spans(&file).iter().map(shown).filter(|(name, _)| name == "aten::mm").collect();
    assert!(products.into_iter().eq(expected));
    let count = |name: &str| spans(&file).iter().filter(|slice| slice.name == name).count();
    assert_eq!((count("MmBackward0"), count("gemm"), spans(&file).len()), (0, 6, 11));
    assert!(file.slices.iter().all(|slice| slice.flows_in.is_empty() && slice.flows_out.is_empty()));
    let file = read(&Filter::new().kinds(&[EventKind::Op]).min_duration_ns(20));
    let arrows = file.slices.iter().filter(|slice| !slice.flows_out.is_empty());
    assert_eq!(arrows.map(|slice| slice.args["Sequence number"].as_u64()).collect::<Vec<_>>(), [2, 3, 4, 5].map(Some));
    let ends = file.slices.iter().filter(|slice| !slice.flows_in.is_empty());
    assert_eq!(ends.map(|slice| slice.args["Sequence number"].as_u64()).collect::<Vec<_>>(), [2, 3, 4, 5].map(Some));
    let file = read(&Filter::new().kinds(&[EventKind::Runtime, EventKind::Kernel]));
    let correlations = || spans(&file).into_iter().map(|slice| slice.args["correlation"].as_u64().unwrap());
    assert_eq!(correlations().count(), 12);
    assert!((1..=6).all(|number| correlations().filter(|&of| of == number).count() == 2));
    let arrow = |slice: &&Slice| (slice.flows_in.len(), slice.flows_out.len());
    assert_eq!(spans(&file).iter().map(arrow).filter(|&ends| ends == (1, 0)).count(), 6);
    assert_eq!(spans(&file).iter().map(arrow).filter(|&ends| ends == (0, 1)).count(), 6);
}

#[test]
fn what_a_trace_that_was_read_says_beside_is_kept() {
    let json = r#"{"schemaVersion":1,"of the file":{"a":[1]},"traceEvents":[
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":8,"ts":10.000,"dur":5.000,
         "args":{"cbid":211,"correlation":9}},
        {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":20,"ts":12.000,"dur":5.500,
         "args":{"device":0,"stream":20,"correlation":9,"grid":[4,1,1],"est. achieved occupancy %":31.5}},
        {"ph":"X","cat":"other","name":"odd","pid":7,"tid":8,"ts":16.000,"dur":1.001,"args":{"who":{"x":"y"}}}
    ]}"#;
    let file = read(&Trace::read(json.as_bytes()).unwrap());
    let kernel = file.slice("gemm");
    assert_eq!(kernel.end - kernel.start, 5_500);
    assert_eq!((&kernel.args["grid"], &kernel.args["est. achieved occupancy %"]), (&json!([4, 1, 1]), &json!(31.5)));
    assert_eq!(kernel.flows_in, file.slice("cudaLaunchKernel").flows_out);
    assert_eq!(file.slice("cudaLaunchKernel").args["cbid"], 211);
    assert_eq!((&*file.slice("odd").category, &file.slice("odd").args["who"]), ("other", &json!({"x": "y"})));
    assert_eq!(file.slice("PyTorch Profiler (0)").args["of the file"], json!({"a": [1]}));
}

#[test]
fn threads_with_the_number_of_one_that_ended_are_apart_and_parts_of_a_recording_are_not() {
    let program = Program::new();
    let mut first = program.recorder.thread(11, Some("first"));
    let session = program.profile();
    let _open = first.begin(&op("left open")).unwrap();
    drop(first);
    let mut second = program.recorder.thread(11, Some("second"));
    program.run(&mut second, &op("one"), 10);
    let part = session.stop();
    let session = program.profile();
    program.run(&mut second, &op("two"), 10);
    let trace = Trace::joined(&[&part, &session.stop()]).unwrap();
    let file = read(&trace);
    let tracks = ["left open", "one", "two"].map(|name| file.slice(name).track);
    assert!(tracks[0] != tracks[1] && tracks[1] == tracks[2]);
    assert!(tracks.iter().all(|&track| file.path(track).iter().any(|track| track.tid == Some(11))));
    assert!(file.slices.iter().all(|slice| slice.parent.is_none()));
}

#[test]
fn a_file_is_written_by_its_name_and_a_fifth_of_the_json_at_most() {
    let program = Program::new();
    let mut thread = program.recorder.thread(1_234_567, None);
    let session = Session::builder().on(&program.recorder).record_shapes(true).start();
    let names: Vec<Name> = (0..100).map(|number| Name::new(&format!("operator::number_{number}"))).collect();
    let sizes = |number: i64| Inputs::encode().tensor("float", &[64, number], &[number, 1]).finish();
    for number in 0..20_000 {
        let args = SpanArgs::new(SpanKind::Op, names[number % names.len()]);
        let has_inputs = number % 2 == 0;
        let args = if has_inputs { args.inputs(sizes(number as i64 % 50)) } else { args };
        let around = thread.begin(&args).unwrap();
        program.clock.advance(900);
        program.run(&mut thread, &args, 800);
        thread.end(around);
    }
    let trace = session.stop();
    let directory = tempfile::tempdir().unwrap();
    let [packets, compressed, json] = ["a.pftrace", "a.pftrace.gz", "a.json"].map(|name| directory.path().join(name));
    trace.export_perfetto_trace(&packets).unwrap();
    trace.export_perfetto_trace(&compressed).unwrap();
    trace.export_chrome_trace(&json).unwrap();
    let written = std::fs::read(&packets).unwrap();
    let mut unpacked = Vec::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(&compressed).unwrap()).read_to_end(&mut unpacked).unwrap();
    assert!(written == unpacked);
    assert_eq!(File::read(&written).slices.len(), 40_001);
    let json = std::fs::metadata(&json).unwrap().len();
    assert!(written.len() as u64 * 5 < json, "{} of {json} bytes", written.len());
    assert!(trace.export_perfetto_trace(directory.path().join("nowhere/a.pftrace")).is_err());
}
