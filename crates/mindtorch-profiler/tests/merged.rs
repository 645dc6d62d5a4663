//! Traces of several processes in one file: what is written, and that reading it keeps them apart.

use mindtorch_profiler::{Device, MergedChromeTrace, RankLabel, Trace};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

const BASE: u64 = 1_790_857_026_000_000_000;

/// The file of a rank: a forward operator that launches a kernel, its backward node on another thread, a copy, memory. Every rank
/// has the same numbers for everything.
fn rank_trace(rank: u32) -> Trace {
    let ts = |at: f64| 1_000_000.0 + f64::from(rank) * 50.0 + at;
    let file = json!({
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": format!("gpu of {rank}")}],
        "profile_memory": 1,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "host_name": format!("node{rank}"),
        "baseTimeNanoseconds": BASE,
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "ts": 0, "args": {"name": "python"}},
            {"ph": "M", "name": "process_labels", "pid": 77, "tid": 0, "ts": 0, "args": {"labels": "CPU"}},
            {"ph": "M", "name": "thread_name", "pid": 77, "tid": 5, "ts": 0, "args": {"name": "thread 5 (python)"}},
            {"ph": "M", "name": "thread_name", "pid": 77, "tid": 6, "ts": 0, "args": {"name": "thread 6 (engine)"}},
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 77, "tid": 5, "ts": ts(0.0), "dur": 90.0},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 77, "tid": 5, "ts": ts(1.0), "dur": 10.0,
             "args": {"External id": 9, "Sequence number": 4, "Fwd thread id": 0}},
            {"ph": "s", "id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 77, "tid": 5, "ts": ts(1.0)},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 5, "ts": ts(2.0), "dur": 3.125,
             "args": {"External id": 9, "correlation": 21}},
            {"ph": "s", "id": 21, "cat": "ac2g", "name": "ac2g", "pid": 77, "tid": 5, "ts": ts(2.0)},
            {"ph": "X", "cat": "cpu_op", "name": "MmBackward0", "pid": 77, "tid": 6, "ts": ts(30.0), "dur": 10.0,
             "args": {"External id": 10, "Sequence number": 4, "Fwd thread id": 1}},
            {"ph": "f", "id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 77, "tid": 6, "ts": ts(30.0), "bp": "e"},
            {"ph": "X", "cat": "kernel", "name": format!("gemm of {rank}"), "pid": 0, "tid": 7, "ts": ts(12.0), "dur": 7.0,
             "args": {"External id": 9, "correlation": 21, "device": 0, "stream": 7, "grid": [1, 1, 1]}},
            {"ph": "i", "s": "t", "name": "[memory]", "pid": 77, "tid": 5, "ts": ts(3.0),
             "args": {"Total Allocated": 64, "Bytes": 64, "Device Id": 0, "Device Type": 1, "Addr": 4096}},
        ],
    });
    Trace::read(file.to_string().as_bytes()).unwrap()
}

/// Both ranks; the clock of the second is 50 µs ahead.
fn merged() -> Vec<u8> {
    let mut text = Vec::new();
    let mut file = MergedChromeTrace::new(&mut text);
    let notes = [("clock".to_owned(), "\"steps\"".to_owned())];
    for (rank, offset_ns) in [(0, 0), (1, -50_000)] {
        file = file.add(&rank_trace(rank), RankLabel { rank, offset_ns, notes: &notes }).unwrap();
    }
    file.finish("merged.json").unwrap();
    text
}

fn parsed(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn events(file: &Value) -> &Vec<Value> {
    file["traceEvents"].as_array().unwrap()
}

/// The events of a rank that have this phase.
fn of_rank<'a>(file: &'a Value, rank: u64, phase: &str) -> Vec<&'a Value> {
    let of_rank = |pid: &Value| pid.as_u64().is_some_and(|pid| pid / 100_000 == rank + 1);
    events(file).iter().filter(|event| event["ph"] == phase && of_rank(&event["pid"])).collect()
}

#[test]
fn every_rank_is_a_process_with_its_devices_behind_it() {
    let file = parsed(&merged());
    let labels = |name: &str, key: &str| -> BTreeMap<u64, Value> {
        let named = events(&file).iter().filter(|event| event["name"] == name && event["pid"].is_number());
        named.map(|event| (event["pid"].as_u64().unwrap(), event["args"][key].clone())).collect()
    };
    let names: BTreeMap<u64, Value> = [
        (100_000, json!("rank 0 (node0, pid 77)")),
        (100_001, json!("rank 0 GPU 0")),
        (200_000, json!("rank 1 (node1, pid 77)")),
        (200_001, json!("rank 1 GPU 0")),
    ]
    .into();
    assert_eq!(labels("process_name", "name"), names);
    let order = labels("process_sort_index", "sort_index");
    assert!(order.iter().all(|(pid, index)| index == pid), "{order:?}");
}

#[test]
fn numbers_that_tie_events_together_are_of_one_rank() {
    let file = parsed(&merged());
    let mut seen: HashSet<(&str, u64)> = HashSet::new();
    for rank in 0..2 {
        let mut of_this = HashSet::new();
        for event in of_rank(&file, rank, "X") {
            for key in ["External id", "Ev Idx", "correlation"] {
                of_this.extend(event["args"][key].as_u64().map(|id| (key, id)));
            }
        }
        for event in of_rank(&file, rank, "s").into_iter().chain(of_rank(&file, rank, "f")) {
            of_this.insert(("flow", event["id"].as_u64().unwrap()));
        }
        assert!(of_this.len() > 6, "{of_this:?}");
        for id in of_this {
            assert!(seen.insert(id), "{id:?} is of two ranks");
        }
        let named = |name: &str| {
            let events = of_rank(&file, rank, "X");
            events.into_iter().find(|event| event["name"].as_str().unwrap().starts_with(name)).unwrap()
        };
        let (launch, kernel) = (named("cudaLaunchKernel"), named("gemm"));
        assert_eq!(launch["args"]["correlation"], kernel["args"]["correlation"]);
        assert_eq!(named("aten::mm")["args"]["External id"], kernel["args"]["External id"]);
        assert_eq!((&kernel["args"]["device"], &kernel["args"]["grid"]), (&json!(0), &json!([1, 1, 1])));
    }
}

#[test]
fn times_are_moved_and_lengths_are_not() {
    let file = parsed(&merged());
    let base = file["baseTimeNanoseconds"].as_u64().unwrap();
    assert!(base <= BASE);
    let times = |rank: u64| -> Vec<(u64, String)> {
        let nanoseconds = |event: &Value| (event["ts"].as_f64().unwrap() * 1e3).round() as u64 + base;
        of_rank(&file, rank, "X").into_iter().map(|event| (nanoseconds(event), event["dur"].to_string())).collect()
    };
    assert_eq!(times(0), times(1));
    assert_eq!(times(0)[0], (BASE + 1_000_000_000, "90.0".to_owned()));
}

#[test]
fn what_the_heads_say_is_kept_under_the_ranks() {
    let file = parsed(&merged());
    assert_eq!((&file["profile_memory"], &file["traceName"]), (&json!(1), &json!("merged.json")));
    for (rank, offset) in [(0, 0), (1, -50_000)] {
        let row = &file["ranks"][rank];
        assert_eq!((&row["rank"], &row["pid"], &row["offset_ns"]), (&json!(rank), &json!(77), &json!(offset)));
        assert_eq!((&row["clock"], &row["head"]["process_name"]), (&json!("steps"), &json!("python")));
        assert_eq!(row["head"]["host_name"], format!("node{rank}"));
        assert_eq!(row["head"]["deviceProperties"][0]["name"], format!("gpu of {rank}"));
        assert_eq!(row["head"]["distributedInfo"]["rank"], rank);
    }
}

fn check_apart(trace: &Trace) {
    let ranks: Vec<(u32, &str)> = trace.ranks().iter().map(|row| (row.rank, &*row.name)).collect();
    assert_eq!(ranks, [(0, "rank 0 (node0, pid 77)"), (1, "rank 1 (node1, pid 77)")]);
    let threads: Vec<_> = trace.threads().iter().map(|thread| (thread.rank, thread.name.as_deref())).collect();
    assert_eq!(threads, [(Some(0), None), (Some(0), Some("engine")), (Some(1), None), (Some(1), Some("engine"))]);
    let numbers: HashSet<u64> = trace.threads().iter().map(|thread| thread.os_id).collect();
    assert_eq!(numbers.len(), 4);
    for work in trace.device_spans() {
        let rank = u32::from(work.name() == "gemm of 1");
        assert_eq!(trace.rank_of_device(work.device()), Some((rank, 0)));
        assert_eq!(work.launched_by().unwrap().thread().rank, Some(rank));
        assert_eq!(work.operator().unwrap().name(), "aten::mm");
    }
    let links: Vec<_> = trace.forward_links().iter().map(|&(from, to)| [from, to]).collect();
    assert_eq!(links.len(), 2);
    for (link, rank) in links.into_iter().zip([0, 1]) {
        assert_eq!(link.map(|row| trace.span(row as usize).unwrap().thread().rank), [Some(rank); 2]);
    }
    let memory: Vec<_> = trace.memory().iter().map(|row| (trace.threads()[row.thread].rank, row.device)).collect();
    assert_eq!(memory, [(Some(0), Device::Npu(0)), (Some(1), Device::Npu(1))]);
}

#[test]
fn a_file_that_is_read_keeps_its_ranks_apart() {
    let trace = Trace::read(&*merged()).unwrap();
    check_apart(&trace);
    assert_eq!(trace.start_epoch_ns(), BASE + 1_000_000_000);
    assert_eq!(trace.span_count(), 8);
}

#[test]
fn what_was_read_is_written_with_its_ranks() {
    let trace = Trace::read(&*merged()).unwrap();
    let mut text = Vec::new();
    trace.chrome_trace().write(&mut text).unwrap();
    let file = parsed(&text);
    assert_eq!(of_rank(&file, 1, "X").len(), 5);
    assert_eq!(file["ranks"][1]["head"]["host_name"], "node1");
    check_apart(&Trace::read(&*text).unwrap());
}

#[test]
fn a_file_of_no_rank_is_a_trace() {
    let mut text = Vec::new();
    MergedChromeTrace::new(&mut text).finish("nothing").unwrap();
    let trace = Trace::read(&*text).unwrap();
    assert_eq!((trace.ranks().len(), trace.span_count()), (0, 0));
}

#[test]
fn ranks_and_times_that_a_file_has_no_room_for_are_refused() {
    let refusal = |label: RankLabel<'_>| {
        let mut text = Vec::new();
        let file = MergedChromeTrace::new(&mut text).add(&rank_trace(0), RankLabel::default()).unwrap();
        file.add(&rank_trace(1), label).map(|_| ()).unwrap_err().to_string()
    };
    let high = refusal(RankLabel { rank: 50_000, ..RankLabel::default() });
    assert_eq!(high, "rank 50000 is too high: a file has room for ranks up to 42948");
    let year_ns = 365 * 86_400_000_000_000;
    for offset_ns in [-year_ns, year_ns] {
        let apart = refusal(RankLabel { rank: 1, offset_ns, notes: &[] });
        assert!(apart.contains("the times of rank 1 are") && apart.contains("not of one run"), "{apart}");
    }
}
