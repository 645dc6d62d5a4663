//! A trace beside its budget.

use super::{Budget, Bytes, Checked, Nanoseconds, OpBudget, Part};
use crate::device_time::DeviceTime;
use crate::memory_peak::MemoryPeak;
use crate::recording::{KeyKind, KeySamples, Recording};
use crate::statistics::quantile;
use mindtorch_profiler::{Filter, Trace};
use std::fmt::Display;

impl Budget {
    /// Every limit beside what the trace shows, in the order of the budget's parts. `recording` is that of the trace, by
    /// operator.
    pub fn check(&self, trace: &Trace, recording: &Recording) -> Vec<Checked> {
        let mut checks = Checks(Vec::new());
        self.check_steps(recording, &mut checks);
        for (pattern, budget) in &self.op {
            check_op(pattern, budget, recording, &mut checks);
        }
        let peaks = if self.memory.is_empty() { Vec::new() } else { MemoryPeak::of_all(trace, 0) };
        for (name, budget) in &self.memory {
            let peak = || peaks.iter().find(|peak| peak.device == *name).map(|peak| Bytes(peak.bytes as f64));
            checks.add(format!("memory {name} peak"), budget.peak, peak, |bytes| bytes.0, NO_MEMORY);
        }
        let idle = |device: &DeviceTime| device.idle_ns as f64 / (device.end_ns - device.start_ns).max(1) as f64;
        let idle = || DeviceTime::of_all(trace, 0).iter().map(idle).max_by(f64::total_cmp).map(Part);
        checks.add("idle device".to_owned(), self.idle.device, idle, |part| part.0, "the trace has no device work");
        let events = || Some(Count((trace.span_count() + trace.device_spans().len()) as f64));
        let allowed = self.events.count.map(|count| Count(count as f64));
        checks.add("events".to_owned(), allowed, events, |count| count.0, "");
        checks.0
    }

    fn check_steps(&self, recording: &Recording, checks: &mut Checks) {
        let durations: Vec<f64> = recording.each_step.iter().map(|step| step.duration_ns() as f64).collect();
        for (name, allowed, part) in [("median", self.step.median, 0.5), ("p95", self.step.p95, 0.95)] {
            let measured = || (!durations.is_empty()).then(|| Nanoseconds(quantile(&durations, part)));
            checks.add(format!("step {name}"), allowed, measured, |time| time.0, NO_STEPS);
        }
    }
}

const NO_STEPS: &str = "the trace has no whole step: call profile.step() after each";
const NO_MEMORY: &str = "the trace has no memory of this device: record with profile_memory=True";
const NO_SUCH_OP: &str = "no operator has such a name";

#[derive(Clone, Copy)]
struct Count(f64);

impl Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

struct Checks(Vec<Checked>);

impl Checks {
    /// Compares, if there is a limit. What cannot be known is not within its limit: a check that nothing can fail checks nothing.
    fn add<T: Display + Copy>(
        &mut self,
        what: String,
        allowed: Option<T>,
        measured: impl FnOnce() -> Option<T>,
        value: impl Fn(T) -> f64,
        unknown: &str,
    ) {
        let Some(allowed) = allowed else { return };
        let limit = value(allowed);
        let checked = match measured() {
            None => {
                Checked { text: format!("{what}: {unknown}"), what, measured: None, allowed: limit, exceeded: true }
            }
            Some(found) => {
                let number = value(found);
                let text = if number > limit {
                    let excess = if limit > 0.0 {
                        format!(", {:.1} % too much", (number / limit - 1.0) * 100.0)
                    } else {
                        String::new()
                    };
                    format!("{what}: {found}, allowed {allowed}{excess}")
                } else {
                    format!("{what}: {found}, within {allowed}")
                };
                Checked { what, measured: Some(number), allowed: limit, exceeded: number > limit, text }
            }
        };
        self.0.push(checked);
    }
}

fn check_op(pattern: &str, budget: &OpBudget, recording: &Recording, checks: &mut Checks) {
    let filter = Filter::new().name(pattern);
    let is_meant = |samples: &&KeySamples| samples.key.kind != KeyKind::Device && filter.takes_name(&samples.key.name);
    let found: Vec<&KeySamples> = recording.keys.iter().filter(is_meant).collect();
    let sum = |of: &dyn Fn(&KeySamples) -> f64| {
        (!found.is_empty()).then(|| found.iter().map(|samples| of(samples)).sum::<f64>())
    };
    let per_call = |of: &dyn Fn(&KeySamples) -> f64| {
        let count: u64 = found.iter().map(|samples| samples.totals.count).sum();
        (count > 0).then(|| found.iter().map(|samples| of(samples)).sum::<f64>() / count as f64)
    };
    let mut add = |name: &str, allowed, measured: Option<f64>, unknown| {
        checks.add(
            format!("op {pattern} {name}"),
            allowed,
            || measured.map(Nanoseconds),
            |time: Nanoseconds| time.0,
            unknown,
        );
    };
    let has_steps = recording.steps > 0;
    let per_step = |of: &dyn Fn(&KeySamples) -> f64| if has_steps { sum(of) } else { None };
    let unknown = if has_steps { NO_SUCH_OP } else { NO_STEPS };
    add("self_per_step", budget.self_per_step, per_step(&|samples| samples.per_step.self_cpu_ns), unknown);
    add("total_per_step", budget.total_per_step, per_step(&|samples| samples.per_step.total_ns), unknown);
    add("device_per_step", budget.device_per_step, per_step(&|samples| samples.per_step.self_device_ns), unknown);
    add("self_per_call", budget.self_per_call, per_call(&|samples| samples.totals.self_cpu_ns as f64), NO_SUCH_OP);
    add("total_per_call", budget.total_per_call, per_call(&|samples| samples.totals.total_ns as f64), NO_SUCH_OP);
    let count = per_step(&|samples| samples.per_step.count);
    let allowed = budget.count_per_step.map(Count);
    checks.add(format!("op {pattern} count_per_step"), allowed, || count.map(Count), |count| count.0, unknown);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::By;

    fn trace() -> Trace {
        let mut events = Vec::new();
        for step in 0..4 {
            let start = step * 1000;
            events.push(format!(
                r#"{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": {start}, "dur": 900}}"#
            ));
            for (name, at, duration) in [("aten::mm", 10, 100), ("aten::addmm", 200, 50)] {
                let at = start + at;
                events.push(format!(
                    r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {at}, "dur": {duration}}}"#
                ));
            }
        }
        Trace::read(format!(r#"{{"traceEvents": [{}]}}"#, events.join(",")).as_bytes()).unwrap()
    }

    fn texts(budget: &str, exceeded: bool) -> Vec<String> {
        let trace = trace();
        let checked = budget.parse::<Budget>().unwrap().check(&trace, &Recording::of(&trace, By::Op));
        checked.into_iter().filter(|check| check.exceeded == exceeded).map(|check| check.text).collect()
    }

    #[test]
    fn what_exceeds_its_limit_is_named_with_both() {
        let budget = r#"
            [step]
            median = "800 us"
            p95 = "1 ms"
            [op."aten::*mm"]
            self_per_step = "120 us"
            total_per_call = "80 us"
            count_per_step = 1
            [events]
            count = 100
        "#;
        assert_eq!(
            texts(budget, true),
            [
                "step median: 900.000 us, allowed 800.000 us, 12.5 % too much",
                "op aten::*mm self_per_step: 150.000 us, allowed 120.000 us, 25.0 % too much",
                "op aten::*mm count_per_step: 2, allowed 1, 100.0 % too much",
            ]
        );
        assert_eq!(
            texts(budget, false),
            [
                "step p95: 900.000 us, within 1.000 ms",
                "op aten::*mm total_per_call: 75.000 us, within 80.000 us",
                "events: 12, within 100",
            ]
        );
    }

    #[test]
    fn what_is_not_known_is_not_within_its_limit() {
        let unknown = texts(
            "[op.\"aten::conv*\"]\nself_per_call = \"1 ms\"\n[memory.cpu]\npeak = \"1 GiB\"\n[idle]\ndevice = \"5 %\"",
            true,
        );
        assert_eq!(unknown.len(), 3);
        assert!(
            unknown[0].contains("no operator")
                && unknown[1].contains("profile_memory")
                && unknown[2].contains("device"),
            "{unknown:?}"
        );
    }

    #[test]
    fn a_wrong_budget_names_line_and_key() {
        for (text, wanted) in [
            ("[step]\nmedain = \"1 ms\"", "medain"),
            ("[step]\n\nmedian = \"1 min\"", "1 min"),
            ("[op.x]\nself_per_step = 3", "self_per_step"),
        ] {
            let error = text.parse::<Budget>().unwrap_err().to_string();
            assert!(error.contains("line") && error.contains(wanted), "{error}");
        }
    }
}
