//! The pass over a trace that makes a recording.

use super::key::{By, Key, KeyKind, without_numbers};
use super::series::{Series, block_medians};
use super::{BLOCKS, KeySamples, PerStep, Totals};
use crate::statistics::median;
use crate::steps::Step;
use mindtorch_profiler::{Inputs, SpanKind, SpanRef, Stack, Trace};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What the trace says of every key, in the order of keys.
pub(super) fn keys(trace: &Trace, steps: &[Step], by: By) -> Vec<KeySamples> {
    let mut collector = Collector::new(trace, steps, by);
    collector.add_spans();
    collector.add_device_spans();
    merged(collector.keys).into_iter().map(|(key, sums)| sums.finish(key, steps.len())).collect()
}

/// Of one key, while it is being summed.
#[derive(Default)]
struct Sums {
    totals: Totals,
    count: Series,
    total: Series,
    cpu: Series,
    device: Series,
    /// The thread, and until when its time is that of an event of this key already.
    covered: (usize, u64),
}

impl Sums {
    fn merge(&mut self, other: &Self) {
        self.totals.count += other.totals.count;
        self.totals.total_ns += other.totals.total_ns;
        self.totals.self_cpu_ns += other.totals.self_cpu_ns;
        self.totals.self_device_ns += other.totals.self_device_ns;
        self.count.extend(&other.count);
        self.total.extend(&other.total);
        self.cpu.extend(&other.cpu);
        self.device.extend(&other.device);
    }

    fn finish(self, key: Key, steps: usize) -> KeySamples {
        let per_step = |series: &Series| median(&series.dense(steps));
        let blocks = |series: &Series| block_medians(&series.dense(steps), BLOCKS);
        KeySamples {
            key,
            totals: self.totals,
            per_step: PerStep {
                count: per_step(&self.count),
                total_ns: per_step(&self.total),
                self_cpu_ns: per_step(&self.cpu),
                self_device_ns: per_step(&self.device),
            },
            cpu_ns: blocks(&self.cpu),
            device_ns: if self.device.is_empty() { Vec::new() } else { blocks(&self.device) },
        }
    }
}

struct Collector<'a> {
    trace: &'a Trace,
    steps: &'a [Step],
    by: By,
    keys: Vec<(Key, Sums)>,
    /// By the place of the name in memory, which is one for each name of a trace, and what else tells keys apart.
    known: FxHashMap<(usize, SpanKind, Inputs, Stack), usize>,
}

impl<'a> Collector<'a> {
    fn new(trace: &'a Trace, steps: &'a [Step], by: By) -> Self {
        Self { trace, steps, by, keys: Vec::new(), known: FxHashMap::default() }
    }

    /// The number of the step that contains this time.
    fn step_at(&self, at: u64) -> Option<u32> {
        let next = self.steps.partition_point(|step| step.start_ns <= at);
        let last = next.checked_sub(1)?;
        (at < self.steps[last].end_ns).then_some(last as u32)
    }

    fn key_of(&mut self, span: &SpanRef<'_>) -> usize {
        let inputs = if self.by == By::Shape { span.inputs() } else { Inputs::NONE };
        let stack = if self.by == By::Stack { span.stack() } else { Stack::NONE };
        let place = (span.name().as_ptr() as usize, span.kind(), inputs, stack);
        *self.known.entry(place).or_insert_with(|| {
            self.keys.push((Key::of_span(span, self.by), Sums::default()));
            self.keys.len() - 1
        })
    }

    /// Adds the threads' spans. Functions of Python are where others were called from: their time is that of the span around
    /// them, and so is that of an operator which repeats the one around it, as in torch's table.
    fn add_spans(&mut self) {
        let trace = self.trace;
        let mut repeated = trace.repeated_operators().iter().copied().peekable();
        let has_hidden = trace.has_functions() || repeated.peek().is_some();
        // For every row the row that is shown for it, one higher; 0 is none.
        let mut owners: Vec<u32> = Vec::with_capacity(if has_hidden { trace.span_count() } else { 0 });
        let (mut thread, mut thread_number, mut last_start) = (0, None, 0);
        for span in trace.spans() {
            let row = span.row();
            if has_hidden {
                let is_repeated = repeated.next_if_eq(&(row as u32)).is_some();
                let is_hidden = is_repeated || span.kind() == SpanKind::Function;
                let around = || span.parent().map_or(0, |parent| owners[parent.row()]);
                owners.push(if is_hidden { around() } else { row as u32 + 1 });
            }
            let owner = owners.get(row).map_or(row, |&owner| (owner as usize).wrapping_sub(1));
            let Some(shown) = trace.span(owner) else { continue };
            // Rows are thread by thread, in the order of beginning: only one that begins earlier can be another thread's.
            if thread_number.is_none() || span.start_ns() < last_start || span.parent().is_none() {
                let number = Some(span.thread().number);
                thread += usize::from(number != thread_number);
                thread_number = number;
            }
            last_start = span.start_ns();
            let step = self.step_at(shown.start_ns());
            let key = self.key_of(&shown);
            let sums = &mut self.keys[key].1;
            sums.totals.self_cpu_ns += span.self_ns();
            sums.totals.self_device_ns += span.self_device_ns();
            let is_within = sums.covered.0 == thread && span.start_ns() < sums.covered.1;
            let is_shown = owner == row;
            if is_shown {
                sums.totals.count += 1;
                if !is_within {
                    sums.totals.total_ns += span.duration_ns();
                    sums.covered = (thread, span.end_ns());
                }
            }
            let Some(step) = step else { continue };
            sums.cpu.add(step, span.self_ns());
            sums.device.add(step, span.self_device_ns());
            if is_shown {
                sums.count.add(step, 1);
                sums.total.add(step, if is_within { 0 } else { span.duration_ns() });
            }
        }
    }

    /// Adds what devices did, in the steps that launched it.
    fn add_device_spans(&mut self) {
        let mut known: FxHashMap<usize, usize> = FxHashMap::default();
        for work in self.trace.device_spans() {
            if work.kind() == mindtorch_profiler::DeviceKind::Annotation {
                continue;
            }
            let launched_at = work.launched_by().map_or(work.start_ns(), |span| span.start_ns());
            let step = self.step_at(launched_at);
            let key = *known.entry(work.name().as_ptr() as usize).or_insert_with(|| {
                self.keys.push((Key::of_device_span(&work), Sums::default()));
                self.keys.len() - 1
            });
            let sums = &mut self.keys[key].1;
            sums.totals.count += 1;
            sums.totals.total_ns += work.duration_ns();
            sums.totals.self_device_ns += work.duration_ns();
            let Some(step) = step else { continue };
            sums.count.add(step, 1);
            sums.total.add(step, work.duration_ns());
            sums.device.add(step, work.duration_ns());
        }
    }
}

/// Those of one key as one. A scope of the program that is in one step only, and whose name has a number, is taken to have
/// another name in every step: `batch 17` is `batch *`.
fn merged(keys: Vec<(Key, Sums)>) -> BTreeMap<Key, Sums> {
    let mut merged: BTreeMap<Key, Sums> = BTreeMap::new();
    for (mut key, sums) in keys {
        if key.kind == KeyKind::Annotation && sums.count.is_in_one_step() {
            key.name = without_numbers(&key.name).unwrap_or(key.name);
        }
        merged.entry(key).or_default().merge(&sums);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::super::{Recording, Totals};
    use super::*;

    fn event(category: &str, name: &str, thread: u32, start: f64, duration: f64) -> String {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": {thread}, "ts": {start}, "dur": {duration}}}"#
        )
    }

    fn recording(events: &[String]) -> Recording {
        let json = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
        Recording::of(&Trace::read(json.as_bytes()).unwrap(), By::Op)
    }

    fn named<'a>(recording: &'a Recording, name: &str) -> &'a KeySamples {
        recording.keys.iter().find(|samples| samples.key.name == name).unwrap()
    }

    #[test]
    fn times_are_those_of_steps_and_totals_those_of_everything() {
        let mut events = vec![event("cpu_op", "aten::mm", 1, 1.0, 2.0)];
        for step in 0..3 {
            let start = 10.0 + 100.0 * f64::from(step);
            events.push(event("user_annotation", &format!("ProfilerStep#{step}"), 1, start, 90.0));
            events.push(event("user_annotation", &format!("batch {step}"), 1, start + 1.0, 80.0));
            events.push(event("cpu_op", "aten::linear", 1, start + 2.0, 30.0));
            events.push(event("cpu_op", "aten::mm", 1, start + 4.0, 20.0 + f64::from(step)));
            events.push(event("cpu_op", "aten::mm", 2, start + 4.0, 5.0));
        }
        let recording = recording(&events);
        assert_eq!((recording.steps, &recording.step_ns[..]), (3, &[90_000.0; 3][..]));
        let product = named(&recording, "aten::mm");
        assert_eq!(product.cpu_ns, [25_000.0, 26_000.0, 27_000.0]);
        assert_eq!((product.per_step.count, product.per_step.total_ns), (2.0, 26_000.0));
        let all = Totals { count: 7, total_ns: 80_000, self_cpu_ns: 80_000, self_device_ns: 0 };
        assert_eq!(product.totals, all);
        assert_eq!(named(&recording, "aten::linear").per_step.self_cpu_ns, 9_000.0);
        assert_eq!(named(&recording, "ProfilerStep*").totals.count, 3);
        assert_eq!(named(&recording, "batch *").totals.count, 3);
    }

    #[test]
    fn time_of_a_key_within_itself_counts_once() {
        let events = [
            event("user_annotation", "ProfilerStep#0", 1, 0.0, 100.0),
            event("cpu_op", "aten::to", 1, 10.0, 50.0),
            event("cpu_op", "aten::_to_copy", 1, 12.0, 40.0),
            event("cpu_op", "aten::to", 1, 15.0, 20.0),
            event("cpu_op", "aten::to", 2, 20.0, 7.0),
        ];
        let recording = recording(&events);
        let samples = named(&recording, "aten::to");
        assert_eq!((samples.totals.count, samples.totals.total_ns, samples.totals.self_cpu_ns), (3, 57_000, 37_000));
    }

    #[test]
    fn functions_give_their_time_to_the_span_around_them() {
        let events = [
            event("user_annotation", "ProfilerStep#0", 1, 0.0, 100.0),
            event("python_function", "train.py(3): step", 1, 10.0, 50.0),
            event("cpu_op", "aten::mm", 1, 20.0, 30.0),
        ];
        let recording = recording(&events);
        let names: Vec<&str> = recording.keys.iter().map(|samples| samples.key.name.as_str()).collect();
        assert_eq!(names, ["ProfilerStep*", "aten::mm"]);
        assert_eq!(named(&recording, "ProfilerStep*").totals.self_cpu_ns, 70_000);
    }
}
