//! Traces that were read from files, which only the crate itself can make, are written as the files said.

use crate::recorder::{Device, DeviceSpan, DeviceWork, Memory, Recorder, SpanArgs, SpanKind};
use crate::trace::{DeviceKind, Origin, Trace};
use crate::{ManualClock, MemoryRole, Name, Session, Stack};
use serde_json::{Value, json};

/// An operator, a call of the runtime, a kernel and an allocation.
fn recorded() -> Trace {
    let clock = ManualClock::starting_at(1_790_900_000_123_456_789);
    let recorder = Recorder::with_manual_clock(&clock);
    let session = Session::builder().on(&recorder).profile_memory(true).metadata("of session", "s").start();
    let mut thread = recorder.thread(11, None);
    let op = thread.begin(&SpanArgs::new(SpanKind::Op, Name::new("aten::mm"))).expect("a session collects");
    let launch = thread.begin(&SpanArgs::new(SpanKind::Runtime, Name::new("launch"))).expect("a session collects");
    let begin = recorder.now();
    clock.advance(700);
    let (name, end) = (Name::new("gemm"), recorder.now());
    let launched_by = Some(launch.id());
    thread.device_span(&DeviceSpan {
        name,
        device: 1,
        stream: 7,
        begin,
        end,
        work: DeviceWork::Copy,
        bytes: 1400,
        launched_by,
        extra: Name::EMPTY,
    });
    let device = Device::Npu(1);
    let (stack, role) = (Stack::NONE, MemoryRole::Unknown);
    thread.memory(&Memory { address: 64, bytes: 8, device, allocated: 8, reserved: 0, stack, role });
    thread.end(launch);
    thread.end(op);
    session.stop()
}

fn add_name(trace: &mut Trace, text: &str) -> u32 {
    trace.names.push(text.into());
    trace.names.len() as u32
}

fn read() -> Trace {
    let mut trace = recorded();
    let owned = |text: &str| Some(text.to_owned());
    trace.header.origin = Origin {
        host_name: owned("node7"),
        process_name: owned("train"),
        trace_id: owned("A\"1"),
        accelerator: owned("CUDA"),
        device_properties: owned("[{\"id\":1,\"numSms\":132}]"),
        metadata_json: [
            ("distributedInfo", "{\"rank\":3}"),
            ("schemaVersion", "1"),
            ("cuda_runtime_version", "12080"),
            ("of session", "0"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec(),
        ..Origin::default()
    };
    let category = add_name(&mut trace, "cuda_driver");
    trace.spans.category.set(1, category);
    let extra = add_name(&mut trace, "\"cbid\":211,\"x\":[1,{\"y\":\"\\\"\"}]");
    trace.spans.extra.set(1, extra);
    let extra = add_name(&mut trace, "\"grid\":[1,1,1],\"memory bandwidth (GB/s)\":2.0");
    trace.device[0].extra = extra;
    trace.device[0].kind = DeviceKind::Set;
    trace
}

fn written(trace: &Trace) -> Value {
    let mut text = Vec::new();
    trace.chrome_trace().write(&mut text).expect("a vector takes everything");
    serde_json::from_slice(&text).expect("what is written is JSON")
}

fn event<'a>(file: &'a Value, name: &str) -> &'a Value {
    let events = file["traceEvents"].as_array().expect("a list");
    events.iter().find(|event| event["name"] == name).expect("the event is there")
}

#[test]
fn the_head_is_that_of_the_file() {
    let file = written(&read());
    assert_eq!(file["host_name"], "node7");
    assert_eq!(file["trace_id"], "A\"1");
    assert_eq!(file["deviceProperties"], json!([{"id": 1, "numSms": 132}]));
    assert_eq!(file["distributedInfo"], json!({"rank": 3}));
    assert_eq!(file["cuda_runtime_version"], 12080);
    assert_eq!(file["of session"], "s");
    assert!(file.get("schemaVersion_user").is_none());
    assert_eq!(event(&file, "process_name")["args"]["name"], "train");
}

#[test]
fn what_the_export_is_told_counts_more() {
    let trace = read();
    let mut text = Vec::new();
    let told = [("distributedInfo".to_owned(), "{\"rank\":5}".to_owned())];
    let chrome = trace.chrome_trace().host_name("here").trace_id("B").metadata_json(&told).device_properties_json("[]");
    chrome.write(&mut text).expect("a vector takes everything");
    let file: Value = serde_json::from_slice(&text).expect("what is written is JSON");
    assert_eq!((&file["host_name"], &file["trace_id"]), (&json!("here"), &json!("B")));
    assert_eq!((&file["distributedInfo"], &file["deviceProperties"]), (&json!({"rank": 5}), &json!([])));
}

#[test]
fn a_file_that_says_little_is_not_completed_from_this_process() {
    let mut trace = recorded();
    trace.header.origin.device_properties = Some("[]".to_owned());
    let file = written(&trace);
    assert!(file.get("host_name").is_none());
    assert_eq!((&file["distributedInfo"]["rank"], &file["distributedInfo"]["world_size"]), (&json!(0), &json!(1)));
    assert_eq!(event(&file, "process_name")["args"]["name"], "process");
}

#[test]
fn events_have_the_categories_and_arguments_of_the_file() {
    let file = written(&read());
    let call = event(&file, "launch");
    assert_eq!(call["cat"], "cuda_driver");
    assert_eq!((&call["args"]["cbid"], &call["args"]["x"]), (&json!(211), &json!([1, {"y": "\""}])));
    assert_eq!(event(&file, "aten::mm")["cat"], "cpu_op");
    let work = event(&file, "gemm");
    assert_eq!((&work["cat"], &work["args"]["device_type"]), (&json!("gpu_memset"), &json!("CUDA")));
    assert_eq!((&work["args"]["grid"], &work["args"]["memory bandwidth (GB/s)"]), (&json!([1, 1, 1]), &json!(2.0)));
    assert_eq!(work["args"]["cuda_memory_allocated_after"], 8);
    assert_eq!(event(&file, "[memory]")["args"]["Device Type"], 1);
    let labels: Vec<&Value> = file["traceEvents"].as_array().expect("a list").iter().collect();
    let labels: Vec<&Value> = labels.into_iter().filter(|event| event["name"] == "process_labels").collect();
    assert_eq!(labels[1]["args"]["labels"], "GPU 1");
    // One that was recorded here has other names for all of it.
    let here = written(&recorded());
    assert_eq!(event(&here, "launch")["cat"], "cuda_runtime");
    assert_eq!(event(&here, "gemm")["args"]["memory bandwidth (GB/s)"], 2.0);
    assert_eq!(event(&here, "[memory]")["args"]["Device Type"], 1);
}
