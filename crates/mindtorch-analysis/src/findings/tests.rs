use super::*;

/// A Chrome trace of these lines, each an event's category, name, thread, start and duration in microseconds, and arguments.
fn trace(lines: &[(&str, &str, u32, u64, u64, &str)]) -> Trace {
    let events: Vec<String> = lines
        .iter()
        .map(|(category, name, thread, start, duration, arguments)| {
            format!(
                r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":{thread},"ts":{start},"dur":{duration},"args":{{{arguments}}}}}"#
            )
        })
        .collect();
    Trace::read(format!(r#"{{"traceEvents":[{}]}}"#, events.join(",")).as_bytes()).unwrap()
}

fn texts(found: &[Finding]) -> Vec<String> {
    found.iter().map(|finding| finding.fact.to_string()).collect()
}

const KERNEL: &str = r#""device":0,"stream":7,"correlation":"#;

#[test]
fn a_device_that_waits_is_told_of_with_what_the_host_did() {
    let launch = |number: u32| format!(r#""correlation":{number}"#);
    let kernel = |number: u32| format!("{KERNEL}{number}");
    let trace = trace(&[
        ("cpu_op", "aten::mm", 1, 0, 10, ""),
        ("cuda_runtime", "cudaLaunchKernel", 1, 2, 5, &launch(1)),
        ("cpu_op", "aten::item", 1, 20, 70, ""),
        ("cuda_runtime", "cudaStreamSynchronize", 1, 25, 60, ""),
        ("cpu_op", "aten::mm", 1, 90, 10, ""),
        ("cuda_runtime", "cudaLaunchKernel", 1, 92, 5, &launch(2)),
        ("kernel", "gemm", 7, 10, 20, &kernel(1)),
        ("kernel", "gemm", 7, 100, 10, &kernel(2)),
    ]);
    let found = findings(&trace);
    assert_eq!(
        texts(&found)[..4],
        [
            "NPU 0 had nothing to do for 70.0 µs, 70.0 % of the 100.0 µs from its first work to its last, in 1 gap.",
            "aten::item waited for devices for 70.0 µs, 63.6 % of the recording, in 1 call.",
            "cudaStreamSynchronize took 60.0 µs itself, 66.7 % of what all spans took, in 1 span.",
            "aten::item took 10.0 µs itself, 11.1 % of what all spans took, in 1 span.",
        ]
    );
    let gap = &found[0].evidence[0];
    assert_eq!((gap.start_ns, gap.end_ns), (30_000, 100_000));
    assert_eq!(gap.label, "70.0 µs before gemm; the thread that launched it was in cudaStreamSynchronize");
    assert_eq!(trace.span(found[1].evidence[0].span.unwrap()).unwrap().name(), "aten::item");
    assert!(texts(&found).contains(&"gemm took 30.0 µs on devices, 100.0 % of their work, in 2 runs.".to_owned()));
}

#[test]
fn steps_that_took_much_longer_are_told_of() {
    let names: Vec<String> = (0..12).map(|step| format!("ProfilerStep#{step}")).collect();
    let duration = |step: u64| if step == 7 { 900 } else { 100 + step };
    let lines: Vec<_> = (0..12)
        .map(|step| ("user_annotation", names[step as usize].as_str(), 1, step * 1000, duration(step), ""))
        .collect();
    let found = findings(&trace(&lines));
    assert_eq!(found[0].fact, Fact::SlowSteps { count: 1, of: 12, median_ns: 105_500, excess_ns: 794_500 });
    assert_eq!((found[0].evidence[0].start_ns, found[0].evidence[0].label.as_str()), (7_000_000, "step 7: 900.0 µs"));
    let alike: Vec<_> = lines
        .iter()
        .map(|&(category, name, thread, start, _, arguments)| (category, name, thread, start, 100, arguments))
        .collect();
    assert!(findings(&trace(&alike)).iter().all(|finding| !matches!(finding.fact, Fact::SlowSteps { .. })));
}

#[test]
fn many_short_operators_are_counted_without_those_around_them() {
    let mut lines = vec![("cpu_op", "aten::linear", 1, 0, 5_000, "")];
    lines.extend((0..200).map(|at| ("cpu_op", "aten::add", 1, at * 20, 4, "")));
    let found = findings(&trace(&lines));
    let short = found.iter().find(|finding| matches!(finding.fact, Fact::ShortOperators { .. })).unwrap();
    assert_eq!(short.fact, Fact::ShortOperators { count: 200, of: 200, below_ns: 10_000, total_ns: 800_000 });
    assert_eq!(short.evidence[0].label, "aten::add: 200 of them");
    let few = findings(&trace(&lines[..50]));
    assert!(few.iter().all(|finding| !matches!(finding.fact, Fact::ShortOperators { .. })));
}

#[test]
fn facts_are_values_with_their_kind() {
    let found = findings(&trace(&[("cpu_op", "aten::mm", 1, 0, 10, "")]));
    let json = serde_json::to_value(&found[0]).unwrap();
    assert_eq!((json["kind"].as_str(), json["self_ns"].as_u64()), (Some("self_time"), Some(10_000)));
    assert_eq!(json["evidence"][0]["span"].as_u64(), Some(0));
}

#[test]
fn nothing_is_found_in_nothing() {
    assert_eq!(findings(&trace(&[])), []);
}
