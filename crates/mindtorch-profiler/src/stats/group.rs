//! Grouping: which events belong together, and their sums, in one pass.

use super::Average;
use super::shapes::Shapes;
use super::times::{Row, Times};
use super::visible::Visible;
use crate::inputs::Inputs;
use crate::names::{STACKS, Stack};
use crate::recorder::{Device, SpanKind};
use crate::trace::{DeviceKind, MemoryRow, Sparse, Trace, key};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
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
    /// The number of the accelerator that device work ran on.
    pub device: bool,
    /// Whether functions of an interpreted language have groups; if not, their time is that of the spans around them.
    pub functions: bool,
}

const NO_GROUP: u32 = u32::MAX;

/// The pass over a trace.
pub(super) struct Grouping<'a> {
    pub(super) trace: &'a Trace,
    by: GroupBy,
    /// Nothing but the key tells groups apart.
    is_by_key: bool,
    /// Every event is a group.
    is_single: bool,
    pub(super) visible: Visible,
    /// The names that groups are known by: `ProfilerStep#7` is one of `ProfilerStep*`.
    keys: Vec<u32>,
    key_texts: Vec<Arc<str>>,
    /// For groups that are told apart by their key alone: the group of each key, for operators and for annotations.
    by_key: Vec<[u32; 2]>,
    by_details: FxHashMap<(u32, bool, Details), u32>,
    shapes: Shapes,
    /// The stack of its first frames, by stack.
    prefixes: FxHashMap<u32, u32>,
    pub(super) groups: Vec<Group>,
    /// One for each group.
    pub(super) times: Vec<Times>,
    /// Whether spans have anything but times to sum.
    has_amounts: bool,
    /// If they have: the group of each row, one higher.
    pub(super) group_of_row: Sparse<u32>,
}

/// What tells groups of one key apart.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Details {
    inputs: u32,
    stack: u32,
    overload: u32,
}

/// A group while it is being summed.
pub(super) struct Group {
    pub(super) sums: Average,
    details: Details,
}

impl<'a> Grouping<'a> {
    pub(super) fn of(trace: &'a Trace, by: GroupBy) -> Self {
        let mut grouping = Self::new(trace, by);
        grouping.add_spans();
        grouping.add_hidden_spans();
        grouping.add_device_spans();
        grouping.add_memory_outside_spans();
        grouping
    }

    pub(super) fn single_events(trace: &'a Trace) -> Self {
        let mut grouping = Self::new(
            trace,
            GroupBy { shapes: true, stack_depth: usize::MAX, overload: true, device: true, functions: true },
        );
        grouping.is_single = true;
        let mut groups: FxHashMap<usize, usize> = FxHashMap::default();
        for row in trace.rows_by_time() {
            let row = row as usize;
            if grouping.visible.owner(row) == Some(row) {
                let details = grouping.details(row);
                let group = grouping.new_group(row, details);
                let span = Row::of(trace, row);
                let self_ns = grouping.visible.self_ns(row, span.self_ns);
                grouping.add_span(group, Row { self_ns, ..span });
                if !grouping.visible.is_all() {
                    groups.insert(row, group);
                }
            }
        }
        for &row in &trace.repeated {
            let owner = grouping.visible.owner(row as usize);
            if let Some(&group) = owner.and_then(|owner| groups.get(&owner)) {
                grouping.add_hidden(group, row as usize);
            }
        }
        grouping.add_device_spans();
        grouping.add_memory_outside_spans();
        grouping
    }

    fn new(trace: &'a Trace, by: GroupBy) -> Self {
        let (keys, key_texts) = keys_of(&trace.names);
        let by_key = vec![[NO_GROUP; 2]; key_texts.len()];
        let (by_details, prefixes, shapes) = (FxHashMap::default(), FxHashMap::default(), Shapes::new(by));
        let spans = &trace.spans;
        let has_amounts = !(spans.details.long_rows().is_empty()
            && spans.device_ns.own.is_empty()
            && spans.cpu_memory.own.is_empty()
            && spans.device_memory.own.is_empty());
        let (groups, times, group_of_row) = (Vec::new(), Vec::new(), Sparse::default());
        let is_by_key = by == GroupBy { functions: by.functions, ..GroupBy::default() };
        let visible = Visible::new(trace, by.functions);
        Self {
            trace,
            by,
            is_by_key,
            is_single: false,
            visible,
            keys,
            key_texts,
            by_key,
            by_details,
            shapes,
            prefixes,
            groups,
            times,
            has_amounts,
            group_of_row,
        }
    }

    fn add_spans(&mut self) {
        let spans = &self.trace.spans;
        for (thread, info) in self.trace.threads.iter().enumerate() {
            let rows = info.spans.clone();
            // Taken apart into slices of one length, the columns are read without checks.
            let names = spans.name[rows.clone()].iter().zip(&spans.kind[rows.clone()]);
            let times = spans.start[rows.clone()].iter().zip(spans.duration.range(rows.clone()));
            let selves = spans.self_ns.range(rows.clone()).zip(&spans.flags[rows.clone()]);
            for (row, ((names, times), selves)) in rows.zip(names.zip(times).zip(selves)) {
                let (((&name, &kind), (&start, duration)), (self_ns, &flags)) = ((names, times), selves);
                let end = start + duration;
                if self.visible.owner(row) != Some(row) {
                    continue;
                }
                let self_ns = self.visible.self_ns(row, self_ns);
                let group = self.group_of(row, name, kind);
                self.add_span(group, Row { row, thread, start, end, self_ns, flags });
            }
        }
    }

    /// Adds what is not shown to what is around it.
    fn add_hidden_spans(&mut self) {
        if self.visible.is_all() {
            return;
        }
        let spans = &self.trace.spans;
        for row in 0..spans.len() {
            if let Some(owner) = self.visible.owner(row).filter(|&owner| owner != row) {
                let group = self.group_of(owner, spans.name[owner], spans.kind[owner]);
                self.add_hidden(group, row);
            }
        }
    }

    /// Adds the own amounts of a span to a group; the totals have them already.
    fn add_hidden(&mut self, group: usize, row: usize) {
        let spans = &self.trace.spans;
        let sums = &mut self.groups[group].sums;
        add(&mut sums.self_device_ns, spans.device_ns.own.get(row));
        add_signed(&mut sums.self_cpu_memory, spans.cpu_memory.own.get(row));
        add_signed(&mut sums.self_device_memory, spans.device_memory.own.get(row));
    }

    #[inline]
    pub(super) fn group_of(&mut self, row: usize, name: u32, kind: SpanKind) -> usize {
        let key = self.keys[name as usize];
        let is_annotation = kind == SpanKind::Annotation;
        let group = if self.is_by_key {
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
        if self.is_by_key {
            self.by_key[key as usize][usize::from(is_annotation)] = group as u32;
        } else {
            self.by_details.insert((key, is_annotation, details), group as u32);
        }
        group
    }

    fn new_group(&mut self, row: usize, details: Details) -> usize {
        let spans = &self.trace.spans;
        let key = &self.key_texts[self.keys[spans.name[row] as usize] as usize];
        let (kind, is_script) = (Some(spans.kind[row]), spans.flags[row].is_script());
        self.push(Average { kind, is_script, ..Average::new(Arc::clone(key)) }, details)
    }

    fn details(&mut self, row: usize) -> Details {
        let spans = &self.trace.spans;
        // One higher, so that 0 is no overload, whichever name has number 0.
        let overload = spans.details.get(row).map(|detail| detail.overload);
        let overload = overload.filter(|&name| !self.trace.name(name).is_empty()).map_or(0, |name| name + 1);
        Details {
            inputs: if self.by.shapes { self.shapes.alike(spans.inputs.get(row)) } else { 0 },
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
    fn add_span(&mut self, group: usize, span: Row) {
        let is_contained = self.times[group].add(span);
        if self.has_amounts {
            self.add_amounts(group, span.row, is_contained);
        }
    }

    fn add_amounts(&mut self, group: usize, row: usize, is_contained: bool) {
        let is_inside = is_contained && self.has_ancestor_in(group, row);
        let spans = &self.trace.spans;
        let sums = &mut self.groups[group].sums;
        if !is_inside {
            add(&mut sums.device_total_ns, spans.device_ns.total.get(row));
            add_signed(&mut sums.cpu_memory, spans.cpu_memory.total.get(row));
            add_signed(&mut sums.device_memory, spans.device_memory.total.get(row));
        }
        add(&mut sums.self_device_ns, spans.device_ns.own.get(row));
        add_signed(&mut sums.self_cpu_memory, spans.cpu_memory.own.get(row));
        add_signed(&mut sums.self_device_memory, spans.device_memory.own.get(row));
        add(&mut sums.flops, spans.details.get(row).map_or(0, |detail| detail.flops));
        self.group_of_row.set(row, group as u32 + 1);
    }

    /// Whether the amounts of the span are among those of another of its group. Where spans nest, one that lies within
    /// another's time is inside it; where they overlap it need not be, and the way up tells.
    pub(super) fn has_ancestor_in(&self, group: usize, row: usize) -> bool {
        let spans = &self.trace.spans;
        if !self.trace.threads[self.trace.thread_of(row)].has_overlaps {
            return true;
        }
        let mut parent = spans.parent[row] as usize;
        while parent < spans.len() {
            if self.group_of_row.get(parent) == group as u32 + 1 {
                return true;
            }
            parent = spans.parent[parent] as usize;
        }
        false
    }

    fn add_device_spans(&mut self) {
        let mut by_key: FxHashMap<(u32, u16, bool), usize> = FxHashMap::default();
        for row in &self.trace.device {
            let device = if self.by.device { row.device } else { 0 };
            // Scopes of the program have groups of their own: their time is not work.
            let is_annotation = row.kind == DeviceKind::Annotation;
            let key = (self.keys[row.name as usize], device, is_annotation);
            let known = by_key.get(&key).copied().filter(|_| !self.is_single);
            let group = known.unwrap_or_else(|| {
                let text =
                    if self.is_single { &self.trace.names[row.name as usize] } else { &self.key_texts[key.0 as usize] };
                let kind = is_annotation.then_some(SpanKind::Annotation);
                let sums = Average { device: Device::Npu(row.device), kind, ..Average::new(Arc::clone(text)) };
                self.push(sums, Details::default())
            });
            by_key.insert(key, group);
            self.times[group].count += 1;
            self.times[group].first_start = self.times[group].first_start.min(row.start);
            let sums = &mut self.groups[group].sums;
            sums.self_device_ns += row.end - row.start;
            sums.device_total_ns += row.end - row.start;
        }
    }

    /// Torch shows what was allocated and freed outside of any span as a group of its own.
    fn add_memory_outside_spans(&mut self) {
        let key: Arc<str> = "[memory]".into();
        let mut known = None;
        let visible = std::mem::replace(&mut self.visible, Visible::ALL);
        let is_outside = |row: &&MemoryRow| row.span.and_then(|span| visible.owner(span as usize)).is_none();
        for row in self.trace.memory.iter().filter(is_outside) {
            let group = known
                .filter(|_| !self.is_single)
                .unwrap_or_else(|| self.push(Average::new(Arc::clone(&key)), Details::default()));
            known = Some(group);
            self.times[group].count += 1;
            self.times[group].first_start = self.times[group].first_start.min(row.at_ns);
            let sums = &mut self.groups[group].sums;
            if row.device == Device::Cpu {
                add_signed(&mut sums.cpu_memory, row.bytes);
                add_signed(&mut sums.self_cpu_memory, row.bytes);
            } else {
                add_signed(&mut sums.device_memory, row.bytes);
                add_signed(&mut sums.self_device_memory, row.bytes);
            }
        }
        self.visible = visible;
    }

    fn push(&mut self, sums: Average, details: Details) -> usize {
        self.groups.push(Group { sums, details });
        self.times.push(Times::NONE);
        self.groups.len() - 1
    }

    pub(super) fn finish(self) -> Vec<Average> {
        let Self { trace, groups, times, visible, .. } = self;
        let mut all: Vec<(Group, Times)> = groups.into_iter().zip(times).collect();
        all.sort_by_key(|(_, times)| (times.first_start, Reverse(times.first_end)));
        let finish = |(group, times): (Group, Times)| {
            let first = trace.span(times.first_row as usize);
            let overload = group.details.overload.checked_sub(1);
            Average {
                count: times.count,
                cpu_total_ns: times.cpu_total - group.sums.overhead_ns,
                self_cpu_ns: times.self_cpu - group.sums.self_overhead_ns,
                first_start_ns: times.first_start,
                has_parent: first.is_some_and(|span| visible.parent(trace, span.row()).is_some()),
                is_async: first.is_some_and(|span| span.is_async()),
                inputs: Inputs(group.details.inputs),
                stack: Stack(group.details.stack).frames(),
                overload: overload.map_or_else(Arc::default, |name| Arc::clone(&trace.names[name as usize])),
                ..group.sums
            }
        };
        all.into_iter().map(finish).collect()
    }
}

/// Sums of what programs report stop at the largest number, rather than start anew.
fn add(sum: &mut u64, amount: u64) {
    *sum = sum.saturating_add(amount);
}

fn add_signed(sum: &mut i64, amount: i64) {
    *sum = sum.saturating_add(amount);
}

/// For each name the number of its key, and the keys' texts.
fn keys_of(names: &[Arc<str>]) -> (Vec<u32>, Vec<Arc<str>>) {
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    let mut texts: Vec<Arc<str>> = Vec::with_capacity(names.len());
    let keys = names.iter().map(|name| {
        let key = key(name);
        *numbers.entry(key).or_insert_with(|| {
            texts.push(if key == &**name { Arc::clone(name) } else { key.into() });
            texts.len() as u32 - 1
        })
    });
    (keys.collect(), texts)
}
