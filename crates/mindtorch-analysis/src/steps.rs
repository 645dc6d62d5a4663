//! The steps of a program: what `profile.step()` marks, in every thread's recording.

use mindtorch_profiler::Trace;
use serde::Serialize;

/// The name of a step's span, up to its number.
const PREFIX: &str = "ProfilerStep#";

/// One step. Times are nanoseconds since the start of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its number in the program.
    pub number: u64,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

impl Step {
    /// How long it took.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// The steps that the trace has whole, in the order of time. One that the window cuts has no length that could be compared.
pub fn steps(trace: &Trace) -> Vec<Step> {
    let mut steps: Vec<Step> = trace
        .spans()
        .filter(|span| span.is_finished() && !span.is_cut_at_start())
        .filter_map(|span| {
            let number = span.name().strip_prefix(PREFIX)?.parse().ok()?;
            Some(Step { number, start_ns: span.start_ns(), end_ns: span.end_ns() })
        })
        .collect();
    steps.sort_by_key(|step| (step.start_ns, step.number));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_by_their_names() {
        let json = r#"{"traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1, "ts": 20, "dur": 5},
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 10, "dur": 9},
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#x", "pid": 1, "tid": 1, "ts": 30, "dur": 9}
        ]}"#;
        let trace = Trace::read(json.as_bytes()).unwrap();
        let found: Vec<_> = steps(&trace).iter().map(|step| (step.number, step.duration_ns())).collect();
        assert_eq!(found, [(3, 9_000), (4, 5_000)]);
    }
}
