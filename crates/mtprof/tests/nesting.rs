//! Input that is nested very deep, as no program writes it: every command works on it, without overflowing its stack.

use mindtorch_profiler::spool::{Entry, Spool, SpoolCut, SpoolEdge, record_heads};
use mindtorch_profiler::{Capture, Inputs};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::Ordering;

/// With less than 84 bytes for each level, the main thread's usual 8 MiB overflow.
const LEVELS: usize = 100_000;

fn mtprof(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mtprof"));
    let output = command.arg("--quiet").args(args).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "mtprof {args:?}: {}, {}", output.status, String::from_utf8_lossy(&output.stderr));
    output
}

/// A trace in which each span contains the next.
fn nested_spans(category: &str) -> String {
    let mut text = "{\"traceEvents\": [\n".to_owned();
    for level in 0..LEVELS {
        let comma = if level == 0 { "" } else { ",\n" };
        let (ts, dur) = (1000 + level, 2 * (LEVELS - level));
        let parent = if level == 0 { "null".to_owned() } else { level.to_string() };
        write!(
            text,
            r#"{comma}{{"ph": "X", "cat": "{category}", "name": "f{}", "pid": 1, "tid": 1, "ts": {ts}, "dur": {dur},
                "args": {{"Python id": {}, "Python parent id": {parent}}}}}"#,
            level % 7,
            level + 1,
        )
        .unwrap();
    }
    text + "\n]}"
}

#[test]
fn every_command_reads_deeply_nested_operators() {
    let directory = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| mtprof(directory.path(), args);
    for file in ["rank0.json", "rank1.json"] {
        fs::write(directory.path().join(file), nested_spans("cpu_op")).unwrap();
    }
    run(&["summary", "rank0.json", "--group-by-stack", "5"]);
    for name in ["a.pftrace", "a.speedscope.json", "a.svg", "a.folded", "a.parquet"] {
        run(&["convert", "rank0.json", name]);
    }
    run(&["filter", "rank0.json", "part.json", "--max-depth", "2000"]);
    run(&["report", "rank0.json"]);
    run(&["merge", "rank0.json", "rank1.json", "--output", "merged.json"]);
    run(&["diff", "rank0.json", "rank1.json", "--by", "stack"]);
}

#[test]
fn deeply_nested_functions_are_read() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("trace.json"), nested_spans("python_function")).unwrap();
    mtprof(directory.path(), &["summary", "trace.json", "--group-by-stack", "5"]);
    mtprof(directory.path(), &["convert", "trace.json", "a.folded"]);
    mtprof(directory.path(), &["report", "trace.json"]);
}

#[test]
fn a_spool_with_deeply_nested_inputs_is_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let spool = Spool::create(directory.path()).unwrap();
    let begin = SpoolEdge { cut: SpoolCut::default(), capture: Capture::CPU | Capture::SHAPES, blocks: Vec::new() };
    // Each word is the first of a list of one item.
    let words = vec![1 | 1 << 3; LEVELS];
    spool.log_all([
        Entry::Thread { serial: 1, os_id: 1, name: None },
        Entry::Name { id: 1, text: "aten::cat".into() },
        Entry::Inputs { id: 7, words: words.into() },
        Entry::Edge(begin),
    ]);
    let block = spool.block(1, 0, 8).unwrap();
    let operator = record_heads().next().unwrap() | 1 << 32;
    for (word, value) in block.slots()[0].iter().zip([1000, 2000, operator, 7 << 32]) {
        word.store(value, Ordering::Relaxed);
    }
    let output = mtprof(directory.path(), &["recover", ".", "--output", "recovered.json"]);
    let said = String::from_utf8(output.stdout).unwrap();
    let limit = Inputs::MAX_DEPTH;
    assert!(
        said.contains(&format!("lists nested deeper than {limit}: 1, elided from there, the first has id 7")),
        "{said}"
    );
    let recovered = fs::read_to_string(directory.path().join("recovered.json")).unwrap();
    assert!(
        recovered.contains("\"aten::cat\"")
            && recovered.contains(&format!("{}[]{}", "[".repeat(limit + 1), "]".repeat(limit + 1)))
    );
}
