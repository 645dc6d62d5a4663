//! The file that a report is.

use flate2::read::DeflateDecoder;
use mindtorch_analysis::{By, Diff, DiffOptions};
use mindtorch_profiler::Trace;
use mindtorch_report::Report;
use serde_json::Value;
use std::io::Read;

fn trace(names: &[&str], start_us: u64) -> Trace {
    let event = |(at, name): (usize, &&str)| serde_json::json!({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start_us + 10 * at as u64, "dur": 5});
    let events: Vec<Value> = names.iter().enumerate().map(event).collect();
    Trace::read(serde_json::json!({ "traceEvents": events }).to_string().as_bytes()).unwrap()
}

fn written(report: &Report<'_>) -> String {
    let mut page = Vec::new();
    report.write(&mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// What the page is told, as it reads it.
fn contents(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"contents\">").unwrap();
    let (text, _) = rest.split_once('<').unwrap();
    let mut json = String::new();
    DeflateDecoder::new(&from_base64(text)[..]).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn from_base64(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|&letter| letter != b'=').map(value).collect();
    let bits =
        |group: &[u8]| group.iter().fold(0_u32, |bits, &six| bits << 6 | u32::from(six)) << (6 * (4 - group.len()));
    letters.chunks(4).flat_map(|group| bits(group).to_be_bytes()[1..group.len()].to_vec()).collect()
}

#[test]
fn names_are_nowhere_that_a_browser_reads_them_as_html() {
    let hostile = "</script><script>alert(1)</script>";
    let trace = trace(&[hostile], 0);
    let page = written(&Report::new().title(hostile).trace(hostile, &trace));
    assert!(!page.contains("alert(1)<") && !page.contains(hostile));
    assert_eq!(page.matches("<title>&lt;/script&gt;").count(), 1);
    let contents = contents(&page);
    assert_eq!(contents["names"][0][0], hostile);
    assert_eq!(contents["processes"][0]["name"], hostile);
}

#[test]
fn the_page_asks_for_nothing() {
    let page = written(&Report::new().trace("a", &trace(&["x"], 0)));
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";
    assert!(page.contains(policy));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for mark in ["title", "style", "data", "script", "end"] {
        assert!(!page.contains(&format!("{{{{{mark}}}}}")), "{mark}");
    }
}

#[test]
fn traces_of_one_time_are_on_one_clock_and_others_begin_at_their_own_beginning() {
    let [first, second, much_later] = [0, 7, 1_000_000].map(|start| trace(&["a", "b"], 1_000_000 + start));
    let offsets = |report: &Report<'_>| -> Vec<u64> {
        let contents = contents(&written(report));
        contents["processes"].as_array().unwrap().iter().map(|process| process["offset_ns"].as_u64().unwrap()).collect()
    };
    assert_eq!(offsets(&Report::new().trace("0", &first).trace("1", &second)), [0, 7_000]);
    assert_eq!(offsets(&Report::new().trace("0", &first).trace("1", &much_later)), [0, 0]);
    assert_eq!(offsets(&Report::diff(("0", &first), ("1", &second))), [0, 0]);
}

#[test]
fn titles_say_what_is_shown() {
    let trace = trace(&["a"], 0);
    let title = |report: &Report<'_>| contents(&written(report))["title"].as_str().unwrap().to_owned();
    assert_eq!(title(&Report::new()), "Report");
    assert_eq!(title(&Report::new().trace("rank 0", &trace).trace("rank 1", &trace)), "rank 0, rank 1");
    assert_eq!(title(&Report::diff(("old", &trace), ("new", &trace))), "old → new");
    let many = (0..8).fold(Report::new(), |report, rank| report.trace(&format!("rank {rank}"), &trace));
    assert_eq!(title(&many), "rank 0 and 7 more");
    assert_eq!(title(&many.title("All ranks")), "All ranks");
}

#[test]
fn findings_lead_to_events_of_the_page() {
    let (first, second) = (trace(&["a", "b"], 0), trace(&["b"], 0));
    let contents = contents(&written(&Report::new().trace("0", &first).trace("1", &second)));
    let findings = contents["findings"].as_array().unwrap();
    let of_second = findings.iter().find(|finding| finding["process"] == 1).unwrap();
    assert_eq!(of_second["text"], "b took 5.0 µs itself, 100.0 % of what all spans took, in 1 span.");
    assert_eq!(of_second["events"], serde_json::json!([2]));
}

#[test]
fn a_file_is_there_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.html");
    let trace = trace(&["a"], 0);
    let report = Report::new().trace("a", &trace);
    report.export(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), written(&report));
    let error = report.export(directory.path().join("none/report.html")).unwrap_err();
    assert!(error.to_string().contains("none/report.html"), "{error}");
}

/// A trace of steps, in each of which two operators take so long.
fn steps(count: u64, lengths_us: [u64; 2]) -> Trace {
    let event = |category: &str, name: &str, start: u64, length: u64| serde_json::json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": length});
    let step = |number: u64| {
        let start = 1_000 * number;
        [
            event("user_annotation", &format!("ProfilerStep#{number}"), start, 1_000),
            event("cpu_op", "aten::mm", start + 1, lengths_us[0] + number % 3),
            event("cpu_op", "aten::exp", start + 500, lengths_us[1] + number % 2),
        ]
    };
    let events: Vec<Value> = (0..count).flat_map(step).collect();
    Trace::read(serde_json::json!({ "traceEvents": events }).to_string().as_bytes()).unwrap()
}

#[test]
fn what_changed_is_told_as_the_analysis_tells_it() {
    let (before, after, few) = (steps(24, [200, 100]), steps(24, [200, 300]), steps(3, [200, 300]));
    let told = Diff::between(&before, &after, By::Op, &DiffOptions::default());
    let page = contents(&written(&Report::diff(("a", &before), ("b", &after))));
    let difference = &page["difference"];
    assert_eq!(
        (&difference["is_tested"], &difference["headline"]["verdict"]),
        (&true.into(), &told.headline().verdict.into())
    );
    let rows = difference["rows"].as_array().unwrap();
    assert_eq!(rows.len(), told.rows.len());
    for (row, told) in rows.iter().zip(&told.rows) {
        assert_eq!((&row["name"], &row["verdict"]), (&told.key.name.as_str().into(), &told.verdict.word().into()));
        assert_eq!(row["effect_ns"].as_f64(), Some(told.effect_ns));
        assert_eq!(row["interval"], serde_json::json!(told.told().map(|change| change.interval)));
    }
    assert_eq!(rows.iter().find(|row| row["name"] == "aten::exp").unwrap()["verdict"], "slower");
    let page = contents(&written(&Report::diff(("a", &before), ("b", &few))));
    assert_eq!(page["difference"]["is_tested"], false);
    assert!(contents(&written(&Report::new().trace("a", &before).trace("b", &after)))["difference"].is_null());
}
