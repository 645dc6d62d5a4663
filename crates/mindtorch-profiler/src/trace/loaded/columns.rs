//! The columns of a trace that is read, thread by thread.

use super::order::Order;
use super::{Clock, Loose, LooseMemory, LooseSpan, LooseThread};
use crate::column::Column;
use crate::names::{Name, Stack};
use crate::recorder::{Device, MemoryRole, SpanKind};
use crate::trace::columns::{SpanColumns, Sparse};
use crate::trace::nesting::{NO_PARENT, Nesting};
use crate::trace::rows::{InstantRow, MemoryRow, ThreadRow};
use crate::trace::sites::SiteStacks;

/// Where the stacks of spans come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stacks {
    /// The file has them, if any.
    AsTheyAre,
    /// The file has them, but those of backward nodes are where the engine was called. As in torch's events, they are to be
    /// those of the forward operators.
    OfTorch,
    /// The functions around spans.
    OfFunctions,
}

impl Stacks {
    fn of(loose: &Loose) -> Self {
        if loose.is_ours {
            return Self::AsTheyAre;
        }
        if loose.spans.iter().any(|span| span.stack != 0) {
            return Self::OfTorch;
        }
        let has_functions = loose.spans.iter().any(|span| span.kind == SpanKind::Function);
        if has_functions { Self::OfFunctions } else { Self::AsTheyAre }
    }
}

/// The columns that grow thread by thread.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) spans: SpanColumns,
    pub(super) memory: Column<MemoryRow>,
    pub(super) instants: Column<InstantRow>,
    nesting: Nesting,
    sites: SiteStacks,
    /// By row: whether it has the stack of a forward operator if it is in a backward node.
    pub(super) inherits_stack: Sparse<bool>,
}

impl Columns {
    pub(super) fn add_threads(&mut self, loose: &Loose, order: &Order, clock: Clock) -> Vec<ThreadRow> {
        let stacks = Stacks::of(loose);
        let mut memory = order.memory(loose).into_iter().peekable();
        let mut spans = order.spans(loose).peekable();
        let mut threads = Vec::with_capacity(order.threads().len());
        for (thread, &from) in order.threads().iter().enumerate() {
            let first = self.spans.len();
            while let Some(span) = spans.next_if(|span| span.thread == from) {
                let start = clock.ns(span.start);
                while let Some(row) = memory.next_if(|row| row.thread == from && clock.ns(row.at) < start) {
                    self.add_memory(thread, row, clock);
                }
                self.add_span(loose, span, start, stacks);
            }
            while let Some(row) = memory.next_if(|row| row.thread == from) {
                self.add_memory(thread, row, clock);
            }
            let has_overlaps = self.nesting.finish(&mut self.spans.self_ns);
            let LooseThread { os_id, name, rank, .. } = &loose.threads[from as usize];
            let (spans, name) = (first..self.spans.len(), name.clone());
            threads.push(ThreadRow { number: 0, os_id: *os_id, name, rank: *rank, spans, has_overlaps });
        }
        for row in order.instants(loose) {
            let Some(thread) = order.rank(row.thread) else { continue };
            self.instants.push(InstantRow { at: clock.ns(row.at), thread, name: row.name, value: row.value });
        }
        loose.number_threads(order, clock, &self.spans, &mut threads);
        threads
    }

    #[inline]
    fn add_span(&mut self, loose: &Loose, span: &LooseSpan, start: u64, stacks: Stacks) {
        let spans = &mut self.spans;
        let row = spans.len();
        spans.start.push(start);
        spans.duration.push(span.duration);
        spans.self_ns.push(0);
        spans.name.push(span.name);
        spans.kind.push(span.kind);
        spans.flags.push(span.flags);
        let parent = if span.flags.is_closed_elsewhere() {
            NO_PARENT
        } else {
            self.nesting.enter(row as u32, start, start + span.duration, &mut spans.self_ns)
        };
        spans.parent.push(parent);
        spans.inputs.set(row, span.inputs);
        spans.stack.set(row, span.stack);
        if span.rest != 0 {
            let rest = &loose.rest[span.rest as usize - 1];
            spans.line.set(row, rest.line);
            spans.module.set(row, rest.module);
            spans.category.set(row, rest.category);
            spans.extra.set(row, rest.extra);
            if let Some(detail) = rest.detail() {
                spans.details.set(row, detail);
            }
        }
        if stacks == Stacks::OfFunctions {
            self.add_stack_around(loose, row, parent);
        }
        if stacks != Stacks::AsTheyAre && span.kind != SpanKind::Function {
            self.inherits_stack.set(row, true);
        }
    }

    /// A span of a file without stacks has that of the functions around it. A function is a frame of what it contains, not
    /// of itself.
    fn add_stack_around(&mut self, loose: &Loose, row: usize, parent: u32) {
        let around = self.sites.innermost(parent);
        self.spans.stack.set(row, around);
        if self.spans.kind[row] == SpanKind::Function {
            let name = &loose.names[self.spans.name[row] as usize];
            let with_itself = self.sites.below(Stack::new(&[Name::new(name)]).0, parent);
            self.sites.enter(row, with_itself, parent);
        } else {
            self.sites.enter(row, 0, parent);
        }
    }

    fn add_memory(&mut self, thread: usize, row: &LooseMemory, clock: Clock) {
        let at_ns = clock.ns(row.at);
        let owner = self.nesting.owner(at_ns, &mut self.spans.self_ns);
        let span = (owner != NO_PARENT).then_some(owner);
        if let Some(row_of_span) = span {
            let row_of_span = row_of_span as usize;
            let is_cpu = row.device == Device::Cpu;
            let column = if is_cpu { &mut self.spans.cpu_memory } else { &mut self.spans.device_memory };
            let own = column.own.entry(row_of_span);
            *own = own.saturating_add(row.bytes);
            if let Device::Npu(index) = row.device {
                self.spans.set_device(row_of_span, index);
            }
        }
        let LooseMemory { address, bytes, device, allocated, reserved, .. } = *row;
        // Files do not say what memory is for, or where in the source it was allocated.
        let (stack, role) = (Stack::NONE, MemoryRole::Unknown);
        self.memory.push(MemoryRow { at_ns, thread, address, bytes, device, allocated, reserved, stack, role, span });
    }
}
