//! Data frames: the columns say of every event what the trace says.
#![cfg(feature = "arrow")]

#[path = "support/arrow.rs"]
mod arrow;

use arrow::{column, next, read, schema_of};
use mindtorch_profiler::{
    Averages, DataFrame, Device, DeviceSpan, DeviceWork, GroupBy, Inputs, ManualClock, Memory, MemoryRole, Name,
    Recorder, Session, SpanArgs, SpanKind, Stack, ThreadWriter, Trace, TraceEvent,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

const EPOCH: u64 = 1_790_900_000_000_000_000;

fn op(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Op, Name::new(name))
}

fn scope(name: &str) -> SpanArgs {
    SpanArgs::new(SpanKind::Annotation, Name::new(name))
}

fn stack(frames: &[&str]) -> Stack {
    Stack::new(&frames.iter().map(|frame| Name::new(frame)).collect::<Vec<_>>())
}

fn record(captures_all: bool, program: impl FnOnce(&ManualClock, &Recorder, &mut ThreadWriter)) -> Arc<Trace> {
    let clock = ManualClock::starting_at(EPOCH);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder()
        .record_shapes(captures_all)
        .with_stack(captures_all)
        .with_flops(captures_all)
        .profile_memory(captures_all)
        .overload_names(captures_all)
        .on(&recorder)
        .start();
    program(&clock, &recorder, &mut recorder.thread(7, Some("main")));
    Arc::new(session.stop())
}

/// A program with some of everything, on two threads.
fn everything(captures_all: bool) -> Arc<Trace> {
    record(captures_all, |clock, recorder, thread| {
        let mut other = recorder.thread(8, None);
        let memory = |bytes: i64, device| Memory {
            address: 64,
            bytes,
            device,
            allocated: bytes,
            reserved: 0,
            stack: Stack::NONE,
            role: MemoryRole::Unknown,
        };
        thread.memory(&memory(100, Device::Cpu));
        clock.advance(10);
        let step = thread.begin(&scope("ProfilerStep#3")).unwrap();
        clock.advance(5);
        let inputs = Inputs::encode()
            .tensor("float", &[2, 3], &[3, 1])
            .list_of(2)
            .tensor("long int", &[4], &[1])
            .tensor("float", &[], &[])
            .value("Scalar", "1")
            .value("", "")
            .finish();
        let frames = stack(&["leaf.py(3): leaf", "main.py(9): <module>"]);
        let args = op("aten::mm").inputs(inputs).stack(frames).sequence(5).flops(36).overload(Name::new("out"));
        let mm = thread.begin(&args.note(Name::new("a \"note\""))).unwrap();
        let theirs = other.begin(&scope("elsewhere")).unwrap();
        clock.advance(7);
        thread.memory(&memory(300, Device::Cpu));
        let launch = thread.begin(&SpanArgs::new(SpanKind::Runtime, Name::new("launch"))).unwrap();
        let begin = recorder.now();
        clock.advance(3);
        let kernel = DeviceSpan {
            device: 1,
            stream: 2,
            launched_by: Some(launch.id()),
            ..DeviceSpan::kernel(Name::new("gemm"), begin, recorder.now())
        };
        thread.device_span(&kernel);
        thread.device_span(&DeviceSpan {
            name: Name::new("Memcpy"),
            work: DeviceWork::Copy,
            bytes: 64,
            launched_by: None,
            ..kernel
        });
        thread.end(launch);
        thread.end(mm);
        let backward = SpanArgs::new(SpanKind::Backward, Name::new("MmBackward0")).sequence(5).forward_thread(1);
        let backward = thread.begin(&backward).unwrap();
        clock.advance(2);
        thread.end(backward);
        thread.end(step);
        other.end(theirs);
        let _open = thread.begin(&scope("open")).unwrap();
        clock.advance(1);
    })
}

/// What the trace says of an event, by the methods that Rust programs use.
fn expected(trace: &Trace, event: TraceEvent) -> Map<String, Value> {
    let (start, end) = trace.time_range(event);
    let rows = trace.span_count();
    let mut row = json!({
        "start_ns": start, "end_ns": end, "duration_ns": end - start, "step": trace.step_at(start),
        "is_async": false, "is_finished": true, "is_cut_at_start": false,
    });
    let row = row.as_object_mut().unwrap();
    let mut add = |values: Value| row.extend(values.as_object().unwrap().clone());
    match event {
        TraceEvent::Span(at) => {
            let span = trace.span(at as usize).unwrap();
            let kind = match span.kind() {
                SpanKind::Op | SpanKind::Backward => "op",
                SpanKind::Annotation => "scope",
                SpanKind::Function => "function",
                SpanKind::Runtime => "runtime",
            };
            add(json!({
                "name": span.key(), "kind": kind, "self_duration_ns": span.self_ns(),
                "thread_id": span.thread().os_id, "thread": span.thread().number,
                "correlation_id": at + 1, "sequence_number": span.sequence(),
                "is_async": span.is_async(), "is_finished": span.is_finished(),
            }));
        }
        TraceEvent::Device(at) => {
            let work = trace.device_span(at as usize).unwrap();
            add(json!({
                "name": work.name(), "device_type": "NPU", "device_index": work.device(),
                "self_duration_ns": work.duration_ns(), "thread_id": work.stream(), "thread": null,
                "correlation_id": rows + at as usize + 1,
                "linked_correlation_id": work.operator().map(|span| span.row() + 1),
                "device_time_ns": work.duration_ns(), "self_device_time_ns": work.duration_ns(),
            }));
        }
        TraceEvent::Memory(at) => {
            let memory = &trace.memory()[at as usize];
            add(json!({
                "name": "[memory]", "kind": "memory", "self_duration_ns": 0,
                "correlation_id": rows + trace.device_spans().len() + at as usize + 1,
                "cpu_memory_usage": memory.bytes, "self_cpu_memory_usage": memory.bytes, "device_memory_usage": 0,
            }));
        }
    }
    row.clone()
}

fn names(rows: &[Map<String, Value>]) -> Vec<&str> {
    rows.iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn every_event_is_a_row_with_what_the_trace_says() {
    let trace = everything(true);
    let read = read(DataFrame::of_events(Arc::clone(&trace)).arrow_stream());
    let order = trace.event_order();
    assert_eq!(trace.event_count(), order.events().len());
    assert_eq!(
        names(&read.rows),
        ["[memory]", "ProfilerStep*", "elsewhere", "aten::mm", "launch", "gemm", "Memcpy", "MmBackward0", "open"]
    );
    for (row, &event) in read.rows.iter().zip(order.events()) {
        for (name, value) in expected(&trace, event) {
            assert_eq!(row[&name], value, "{name} of {row:?}");
        }
    }
    assert_eq!(read.metadata["start_epoch_ns"], EPOCH.to_string());
}

#[test]
fn what_was_captured_is_there() {
    let trace = everything(true);
    let rows = read(DataFrame::of_events(trace).arrow_stream()).rows;
    let mm = &rows[3];
    let expected = json!({
        "parent": 1, "device_type": "NPU", "device_index": 1, "flops": 36, "sequence_number": 5,
        "device_time_ns": 3, "self_device_time_ns": 3,
        "cpu_memory_usage": 300, "self_cpu_memory_usage": 300, "self_device_memory_usage": 0,
        "memory_allocated_before": 0, "memory_allocated_after": 0,
        "input_shapes": [[2, 3], [4], [], [], []],
        "input_strides": [[3, 1], [1], [], [], []],
        "input_types": ["float", "long int", "float", "Scalar", ""],
        "concrete_inputs": [null, null, null, "1", null],
        "input_arguments": [0, 1, 1, 2, 3],
        "stack": "leaf.py(3): leaf\nmain.py(9): <module>", "overload": "out", "note": "a \"note\"",
        "forward_thread": null, "linked_correlation_id": null, "bytes": null, "category": null, "extra": null,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(mm[name], *value, "{name}");
    }
    assert_eq!((&rows[7]["forward_thread"], &rows[7]["input_shapes"]), (&json!(1), &json!([])));
    assert_eq!((&rows[6]["kind"], &rows[6]["bytes"]), (&json!("copy"), &json!(64)));
    assert_eq!((&rows[8]["is_finished"], &rows[8]["parent"]), (&json!(false), &json!(null)));
    assert_eq!((&rows[1]["input_shapes"], &rows[1]["stack"]), (&json!(null), &json!("")));
}

#[test]
fn what_was_not_captured_is_null() {
    let rows = read(DataFrame::of_events(everything(false)).arrow_stream()).rows;
    assert_eq!(rows.len(), 8);
    for row in rows {
        for name in ["input_shapes", "input_types", "concrete_inputs", "stack", "flops", "cpu_memory_usage"] {
            assert_eq!(row[name], json!(null), "{name}");
        }
        assert_ne!(row["start_ns"], json!(null));
    }
}

#[test]
fn some_rows_have_parents_among_themselves() {
    let trace = everything(true);
    let order = Arc::new(trace.event_order());
    let frame = DataFrame::of_ordered_events(trace, order, Some(vec![4, 3, 99, 7]));
    assert_eq!(frame.len(), 3);
    let rows = read(frame.arrow_stream()).rows;
    assert_eq!(names(&rows), ["launch", "aten::mm", "MmBackward0"]);
    let parents: Vec<&Value> = rows.iter().map(|row| &row["parent"]).collect();
    assert_eq!(parents, [&json!(1), &json!(null), &json!(null)]);
}

#[test]
fn averages_have_torchs_units() {
    let trace = everything(true);
    let by = GroupBy { shapes: true, stack_depth: 1, overload: true, ..GroupBy::default() };
    let averages: Arc<Averages> = Arc::new(trace.averages(by));
    let rows = read(DataFrame::of_averages(Arc::clone(&averages), None).arrow_stream()).rows;
    assert_eq!(rows.len(), averages.rows().len());
    for (row, average) in rows.iter().zip(averages.rows()) {
        assert_eq!(row["key"], *average.key);
        assert_eq!(row["count"], average.count);
        assert_eq!(row["cpu_time_total"], average.cpu_total_ns as f64 / 1e3);
        assert_eq!(row["self_device_time_total"], average.self_device_ns as f64 / 1e3);
        assert_eq!(row["cpu_time"], average.cpu_mean_us());
        assert_eq!(row["cpu_memory_usage"], average.cpu_memory);
    }
    let mm = rows.iter().find(|row| row["key"] == "aten::mm").unwrap();
    assert_eq!((&mm["stack"], &mm["overload_name"]), (&json!("leaf.py(3): leaf"), &json!("out")));
    assert_eq!((&mm["input_shapes"], &mm["flops"]), (&json!([[2, 3], [4], [], [], []]), &json!(36)));
    let some = DataFrame::of_averages(averages, Some(vec![2, 0]));
    let keys: Vec<Value> = read(some.arrow_stream()).rows.iter().map(|row| row["key"].clone()).collect();
    assert_eq!(keys, [rows[2]["key"].clone(), rows[0]["key"].clone()]);
}

#[test]
fn batches_are_bounded_in_rows_and_bytes() {
    let many = record(false, |clock, _, thread| {
        for _ in 0..150_000 {
            let span = thread.begin(&scope("s")).unwrap();
            clock.advance(1);
            thread.end(span);
        }
    });
    let mut stream = DataFrame::of_events(many).arrow_stream();
    let batches: Vec<i64> = std::iter::from_fn(|| next(&mut stream)).map(|batch| batch.length).collect();
    assert_eq!(batches, [65_536, 65_536, 18_928]);
    let long = record(true, |clock, _, thread| {
        for call in 0..50 {
            let frame = format!("{}.py({call}): f", "x".repeat(1 << 20));
            let span = thread.begin(&scope("s").stack(stack(&[&frame]))).unwrap();
            clock.advance(1);
            thread.end(span);
        }
    });
    let mut stream = DataFrame::of_events(long).arrow_stream();
    let mut rows = 0;
    while let Some(batch) = next(&mut stream) {
        assert!(batch.length <= 17, "{}", batch.length);
        rows += batch.length;
    }
    assert_eq!(rows, 50);
}

#[test]
fn starts_of_one_thread_are_the_traces_own() {
    let trace = record(false, |clock, _, thread| {
        for _ in 0..100_000 {
            let span = thread.begin(&scope("s")).unwrap();
            clock.advance(1);
            thread.end(span);
        }
    });
    // Both tables have the same memory, so neither has a copy.
    let frame = DataFrame::of_events(Arc::clone(&trace));
    let addresses = |frame: &DataFrame| {
        let mut stream = frame.arrow_stream();
        let schema = schema_of(&mut stream);
        let batches: Vec<_> = std::iter::from_fn(|| next(&mut stream)).collect();
        let starts = batches.iter().map(|batch| arrow::buffer(column(&schema, batch, "start_ns"), 1).addr());
        starts.collect::<Vec<usize>>()
    };
    let first = addresses(&frame);
    assert_eq!(first, addresses(&DataFrame::of_events(trace)));
    assert_eq!(first[1] - first[0], 65_536 * 8);
}

#[test]
fn batches_outlive_everything_and_may_be_given_back_anywhere() {
    let trace = everything(true);
    let weak = Arc::downgrade(&trace);
    let frame = DataFrame::of_events(trace);
    let mut stream = frame.arrow_stream();
    drop(frame);
    let (schema, batch) = (schema_of(&mut stream), next(&mut stream).unwrap());
    drop(stream);
    std::thread::spawn(move || {
        assert_eq!(batch.length, 9);
        drop((batch, schema));
    })
    .join()
    .unwrap();
    assert!(weak.upgrade().is_none(), "nothing keeps the trace that nobody reads");
}

#[test]
fn parts_may_be_taken_out_of_a_batch() {
    let mut stream = DataFrame::of_events(everything(true)).arrow_stream();
    let batch = next(&mut stream).unwrap();
    let taken = arrow::take(&batch, 0);
    drop((stream, batch));
    assert_eq!(taken.length, 9);
    assert!(!taken.dictionary.is_null());
}

#[test]
fn no_events_are_a_table_too() {
    let read = read(DataFrame::default().arrow_stream());
    assert!(read.rows.is_empty() && read.batches.is_empty());
}

#[cfg(feature = "parquet")]
mod files {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    fn value(field: &Field) -> Value {
        match field {
            Field::Null => Value::Null,
            Field::Bool(flag) => (*flag).into(),
            Field::Long(number) => (*number).into(),
            Field::Double(number) => (*number).into(),
            Field::Str(text) => text.as_str().into(),
            Field::ListInternal(list) => list.elements().iter().map(value).collect::<Vec<_>>().into(),
            other => panic!("no such type was expected: {other}"),
        }
    }

    /// What a file has, as its format's own reader finds it.
    fn rows_of(path: &std::path::Path) -> (Vec<Map<String, Value>>, Map<String, Value>) {
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let metadata = metadata.iter().map(|entry| (entry.key.clone(), entry.value.clone().into())).collect();
        let rows = reader.get_row_iter(None).unwrap().map(|row| {
            let row = row.unwrap();
            row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
        });
        (rows.collect(), metadata)
    }

    #[test]
    fn files_have_what_streams_have() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.parquet");
        for captures_all in [true, false] {
            let trace = everything(captures_all);
            trace.export_parquet(&path).unwrap();
            let (rows, metadata) = rows_of(&path);
            let read = read(DataFrame::of_events(trace).arrow_stream());
            assert_eq!((rows, metadata), (read.rows, read.metadata));
        }
        let by = GroupBy { shapes: true, stack_depth: 1, overload: true, ..GroupBy::default() };
        let averages = everything(true).averages(by);
        averages.export_parquet(&path).unwrap();
        assert_eq!(rows_of(&path).0, read(DataFrame::of_averages(Arc::new(averages), None).arrow_stream()).rows);
    }

    #[test]
    fn several_groups_of_rows_are_one_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.parquet");
        let trace = record(false, |clock, _, thread| {
            for number in 0..70_000 {
                let span = thread.begin(&scope(if number % 3 == 0 { "a" } else { "b" })).unwrap();
                clock.advance(number % 7 + 1);
                thread.end(span);
            }
        });
        trace.export_parquet(&path).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        let names_and_starts = reader.get_row_iter(None).unwrap().map(|row| {
            let row = row.unwrap();
            let values: Vec<Value> = row.get_column_iter().map(|(_, field)| value(field)).collect();
            (values[0].as_str().unwrap().to_owned(), values[3].as_u64().unwrap())
        });
        assert!(names_and_starts.eq(trace.spans().map(|span| (span.name().to_owned(), span.start_ns()))));
    }

    #[test]
    fn nothing_is_a_file_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nothing.parquet");
        DataFrame::default().export_parquet(&path).unwrap();
        assert!(rows_of(&path).0.is_empty());
    }

    #[test]
    fn a_refused_file_is_the_systems_error() {
        let error = everything(true).export_parquet("/no/such/folder/events.parquet").unwrap_err();
        assert!(error.to_string().starts_with("cannot write /no/such/folder/events.parquet"), "{error}");
    }
}
