//! Grouping: which events belong together, and their sums, in one pass.

use super::Average;
use crate::names::{Inputs, STACKS, Stack};
use crate::recorder::{Device, SpanKind};
use crate::trace::Trace;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What events must share, beside their name, to be in one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupBy {
    /// Their inputs.
    pub shapes: bool,
    /// This many innermost frames of their stacks.
    pub stack_depth: usize,
    /// Their overload names.
    pub overload: bool,
}

const NO_GROUP: u32 = u32::MAX;

/// The pass over a trace.
pub(super) struct Grouping<'a> {
    trace: &'a Trace,
    by: GroupBy,
    /// Every event is a group.
    is_single: bool,
    /// The names that groups are known by: `ProfilerStep#7` is one of `ProfilerStep*`.
    keys: Vec<u32>,
    key_texts: Vec<Arc<str>>,
    /// For groups that are told apart by their key alone: the group of each key, for operators and for annotations.
    by_key: Vec<[u32; 2]>,
    by_details: FxHashMap<(u32, bool, Details), u32>,
    /// The stack of its first frames, by stack.
    prefixes: FxHashMap<u32, u32>,
    groups: Vec<Group>,
}

/// What tells groups of one key apart.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Details {
    inputs: u32,
    stack: u32,
    overload: u32,
}

/// A group while it is being summed.
struct Group {
    sums: Average,
    details: Details,
    first_end: u64,
    /// On the thread that is being summed, the group's events cover everything up to here that they will cover.
    covered_until: u64,
    thread: usize,
}

impl<'a> Grouping<'a> {
    pub(super) fn of(trace: &'a Trace, by: GroupBy) -> Vec<Average> {
        let mut grouping = Self::new(trace, by);
        grouping.add_spans();
        grouping.add_device_spans();
        grouping.add_memory_outside_spans();
        grouping.finish()
    }

    pub(super) fn single_events(trace: &'a Trace) -> Vec<Average> {
        let mut grouping = Self::new(trace, GroupBy { shapes: true, stack_depth: usize::MAX, overload: true });
        grouping.is_single = true;
        for row in trace.rows_by_time() {
            let row = row as usize;
            let details = grouping.details(row);
            let group = grouping.new_group(row, details);
            grouping.add_span(group, row, trace.thread_of(row));
        }
        grouping.add_device_spans();
        grouping.add_memory_outside_spans();
        grouping.finish()
    }

    fn new(trace: &'a Trace, by: GroupBy) -> Self {
        let (keys, key_texts) = keys_of(&trace.names);
        let by_key = vec![[NO_GROUP; 2]; key_texts.len()];
        let (by_details, prefixes) = (FxHashMap::default(), FxHashMap::default());
        Self { trace, by, is_single: false, keys, key_texts, by_key, by_details, prefixes, groups: Vec::new() }
    }

    fn add_spans(&mut self) {
        for (thread, info) in self.trace.threads.iter().enumerate() {
            for row in info.spans.clone() {
                let group = self.group_of(row);
                self.add_span(group, row, thread);
            }
        }
    }

    #[inline]
    fn group_of(&mut self, row: usize) -> usize {
        let spans = &self.trace.spans;
        let key = self.keys[spans.name[row] as usize];
        let is_annotation = spans.kind[row] == SpanKind::Annotation;
        let group = if self.by == GroupBy::default() {
            self.by_key[key as usize][usize::from(is_annotation)]
        } else {
            let details = self.details(row);
            self.by_details.get(&(key, is_annotation, details)).copied().unwrap_or(NO_GROUP)
        };
        if group == NO_GROUP { self.register(row, key, is_annotation) } else { group as usize }
    }

    #[cold]
    fn register(&mut self, row: usize, key: u32, is_annotation: bool) -> usize {
        let details = self.details(row);
        let group = self.new_group(row, details);
        if self.by == GroupBy::default() {
            self.by_key[key as usize][usize::from(is_annotation)] = group as u32;
        } else {
            self.by_details.insert((key, is_annotation, details), group as u32);
        }
        group
    }

    fn new_group(&mut self, row: usize, details: Details) -> usize {
        let spans = &self.trace.spans;
        let key = &self.key_texts[self.keys[spans.name[row] as usize] as usize];
        let is_annotation = spans.kind[row] == SpanKind::Annotation;
        self.push(Average { is_annotation, ..empty(Arc::clone(key)) }, details)
    }

    fn details(&mut self, row: usize) -> Details {
        let spans = &self.trace.spans;
        // One higher, so that 0 is no overload, whichever name has number 0.
        let overload = spans.detail(row).map_or(0, |detail| detail.overload + 1);
        Details {
            inputs: if self.by.shapes { spans.inputs.get(row) } else { 0 },
            stack: self.prefix(spans.stack.get(row)),
            overload: if self.by.overload { overload } else { 0 },
        }
    }

    /// The stack that has only the frames by which to group.
    fn prefix(&mut self, stack: u32) -> u32 {
        let depth = self.by.stack_depth;
        if depth == 0 || stack == 0 {
            return 0;
        }
        *self.prefixes.entry(stack).or_insert_with(|| {
            let frames = STACKS.value(stack).unwrap_or_else(|| Arc::from([]));
            STACKS.id(&frames[..depth.min(frames.len())])
        })
    }

    #[inline]
    fn add_span(&mut self, group: usize, row: usize, thread: usize) {
        let spans = &self.trace.spans;
        let (start, end) = (spans.start[row], spans.end[row]);
        let group = &mut self.groups[group];
        if group.thread != thread {
            group.thread = thread;
            group.covered_until = 0;
        }
        let sums = &mut group.sums;
        if sums.count == 0
            || (start, std::cmp::Reverse(end)) < (sums.first_start_ns, std::cmp::Reverse(group.first_end))
        {
            sums.first_start_ns = start;
            group.first_end = end;
            sums.has_parent = (spans.parent[row] as usize) < spans.len();
            sums.is_async = spans.flags[row].is_closed_elsewhere();
        }
        sums.count += 1;
        sums.self_cpu_ns += spans.self_ns[row];
        // Spans come in the order of their starts, so what this one covers beyond the others of its group on this
        // thread is what lies after all of them. A span that went to another thread is no part of this one's time line.
        let is_contained = end <= group.covered_until && start < group.covered_until;
        if spans.flags[row].is_closed_elsewhere() {
            sums.cpu_total_ns += end - start;
        } else {
            sums.cpu_total_ns += end.saturating_sub(start.max(group.covered_until));
            group.covered_until = group.covered_until.max(end);
        }
        if !is_contained {
            sums.device_total_ns += spans.device_ns.total.get(row);
            sums.cpu_memory += spans.cpu_memory.total.get(row);
            sums.device_memory += spans.device_memory.total.get(row);
        }
        sums.self_device_ns += spans.device_ns.own.get(row);
        sums.self_cpu_memory += spans.cpu_memory.own.get(row);
        sums.self_device_memory += spans.device_memory.own.get(row);
        if let Some(detail) = spans.detail(row) {
            sums.flops += detail.flops;
        }
    }

    fn add_device_spans(&mut self) {
        let mut by_name: FxHashMap<u32, usize> = FxHashMap::default();
        for row in &self.trace.device {
            let known = by_name.get(&row.name).copied().filter(|_| !self.is_single);
            let group = known.unwrap_or_else(|| {
                let key = Arc::clone(&self.trace.names[row.name as usize]);
                self.push(Average { is_device: true, first_start_ns: u64::MAX, ..empty(key) }, Details::default())
            });
            by_name.insert(row.name, group);
            let sums = &mut self.groups[group].sums;
            sums.count += 1;
            sums.self_device_ns += row.end - row.start;
            sums.device_total_ns += row.end - row.start;
            sums.first_start_ns = sums.first_start_ns.min(row.start);
        }
    }

    /// Torch shows what was allocated and freed outside of any span as a group of its own.
    fn add_memory_outside_spans(&mut self) {
        let key: Arc<str> = "[memory]".into();
        let mut known = None;
        for row in self.trace.memory.iter().filter(|row| row.span.is_none()) {
            let group = known.filter(|_| !self.is_single).unwrap_or_else(|| {
                self.push(Average { first_start_ns: u64::MAX, ..empty(Arc::clone(&key)) }, Details::default())
            });
            known = Some(group);
            let sums = &mut self.groups[group].sums;
            sums.count += 1;
            sums.first_start_ns = sums.first_start_ns.min(row.at_ns);
            if row.device == Device::Cpu {
                sums.cpu_memory += row.bytes;
                sums.self_cpu_memory += row.bytes;
            } else {
                sums.device_memory += row.bytes;
                sums.self_device_memory += row.bytes;
            }
        }
    }

    fn push(&mut self, sums: Average, details: Details) -> usize {
        self.groups.push(Group { sums, details, first_end: 0, covered_until: 0, thread: usize::MAX });
        self.groups.len() - 1
    }

    fn finish(self) -> Vec<Average> {
        let mut groups = self.groups;
        groups.sort_by_key(|group| (group.sums.first_start_ns, std::cmp::Reverse(group.first_end)));
        let finish = |group: Group| {
            let overload = group.details.overload.checked_sub(1);
            Average {
                inputs: Inputs(group.details.inputs),
                stack: Stack(group.details.stack).frames(),
                overload: overload.map_or_else(Arc::default, |name| Arc::clone(&self.trace.names[name as usize])),
                ..group.sums
            }
        };
        groups.into_iter().map(finish).collect()
    }
}

/// For each name the number of its key, and the keys' texts.
fn keys_of(names: &[Arc<str>]) -> (Vec<u32>, Vec<Arc<str>>) {
    let mut texts: Vec<Arc<str>> = names.to_vec();
    let steps = texts.len() as u32;
    texts.push("ProfilerStep*".into());
    let key = |(number, name): (usize, &Arc<str>)| if is_step(name) { steps } else { number as u32 };
    (names.iter().enumerate().map(key).collect(), texts)
}

/// Whether the name is that of a profiler step, `ProfilerStep#7`.
pub(crate) fn is_step(name: &str) -> bool {
    let number = name.strip_prefix("ProfilerStep#");
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn empty(key: Arc<str>) -> Average {
    Average {
        key,
        count: 0,
        cpu_total_ns: 0,
        self_cpu_ns: 0,
        device_total_ns: 0,
        self_device_ns: 0,
        cpu_memory: 0,
        self_cpu_memory: 0,
        device_memory: 0,
        self_device_memory: 0,
        flops: 0,
        is_device: false,
        is_annotation: false,
        is_async: false,
        has_parent: false,
        inputs: Inputs::NONE,
        stack: Vec::new(),
        overload: Arc::default(),
        first_start_ns: 0,
    }
}
