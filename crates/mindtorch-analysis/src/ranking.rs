//! What took most time: operators, kernels and stacks.

use crate::device_time::work;
use mindtorch_profiler::{Average, Averages, SpanKind, Stack, Trace};
use serde::Serialize;
use std::collections::HashMap;

/// Operators or kernels of one name, and their part of a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// The name.
    pub name: String,
    /// How many there are.
    pub count: u64,
    /// Their time, without what they contain.
    pub self_ns: u64,
    /// Its part of the whole, from 0 to 1.
    pub share: f64,
}

/// Operators that began at one place of the source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackTime {
    /// The frames, innermost first.
    pub frames: Vec<String>,
    /// How many there are.
    pub count: u64,
    /// Their time, without what they contain.
    pub self_ns: u64,
    /// Its part of the self time of all spans, from 0 to 1.
    pub share: f64,
}

/// The operators that took most time on the host by themselves, of the self time of all spans.
pub fn operators_by_host_time(averages: &Averages, count: usize) -> Vec<Ranked> {
    rank_operators(averages, averages.self_cpu_total_ns(), count, |row| row.self_cpu_ns)
}

/// The operators that launched most device time by themselves, of all work that devices did.
pub fn operators_by_device_time(trace: &Trace, averages: &Averages, count: usize) -> Vec<Ranked> {
    let whole = work(trace).map(|work| work.duration_ns()).sum();
    rank_operators(averages, whole, count, |row| row.self_device_ns)
}

fn rank_operators(averages: &Averages, whole: u64, count: usize, time: impl Fn(&Average) -> u64) -> Vec<Ranked> {
    let is_operator = |row: &&Average| matches!(row.kind, Some(SpanKind::Op | SpanKind::Backward)) && time(row) > 0;
    let operators = averages.rows().iter().filter(is_operator);
    let ranked = operators.map(|row| (row.key.to_string(), row.count, time(row)));
    first(ranked.collect(), whole, count)
}

/// The kernels, copies and sets that took most time, of all work that devices did.
pub fn kernels(trace: &Trace, count: usize) -> Vec<Ranked> {
    let mut times: HashMap<&str, (u64, u64)> = HashMap::new();
    let mut whole = 0;
    for work in work(trace) {
        let (count, time) = times.entry(work.name()).or_default();
        (*count, *time) = (*count + 1, *time + work.duration_ns());
        whole += work.duration_ns();
    }
    first(times.into_iter().map(|(name, (count, time))| (name.to_owned(), count, time)).collect(), whole, count)
}

fn first(mut ranked: Vec<(String, u64, u64)>, whole: u64, count: usize) -> Vec<Ranked> {
    ranked.sort_by(|one, other| other.2.cmp(&one.2).then_with(|| one.0.cmp(&other.0)));
    ranked.truncate(count);
    let ranked = ranked.into_iter();
    ranked.map(|(name, count, self_ns)| Ranked { name, count, self_ns, share: share(self_ns, whole) }).collect()
}

/// The places of the source whose operators took most time on the host by themselves. None if no stacks were recorded.
pub fn stacks(trace: &Trace, averages: &Averages, count: usize) -> Vec<StackTime> {
    let mut times: HashMap<Stack, (u64, u64)> = HashMap::new();
    let is_operator = |kind| matches!(kind, SpanKind::Op | SpanKind::Backward);
    for span in trace.spans().filter(|span| is_operator(span.kind()) && span.stack() != Stack::NONE) {
        let (count, time) = times.entry(span.stack()).or_default();
        (*count, *time) = (*count + 1, *time + span.self_ns());
    }
    let whole = averages.self_cpu_total_ns();
    let frames = |stack: Stack| stack.frames().iter().map(|frame| frame.text().to_string()).collect();
    let mut stacks: Vec<(Stack, (u64, u64))> = times.into_iter().collect();
    stacks.sort_by_key(|&(_, (_, time))| std::cmp::Reverse(time));
    // Those that took the same are few, and in an order that does not depend on the run.
    let enough = stacks
        .get(count.wrapping_sub(1))
        .map_or(stacks.len(), |(_, (_, least))| stacks.partition_point(|(_, (_, time))| time >= least));
    let mut stacks: Vec<StackTime> = stacks[..enough]
        .iter()
        .map(|&(stack, (count, self_ns))| StackTime {
            frames: frames(stack),
            count,
            self_ns,
            share: share(self_ns, whole),
        })
        .collect();
    stacks.sort_by(|one, other| other.self_ns.cmp(&one.self_ns).then_with(|| one.frames.cmp(&other.frames)));
    stacks.truncate(count);
    stacks
}

/// A part of a whole; none of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
