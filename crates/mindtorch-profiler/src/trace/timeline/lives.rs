//! The lives of blocks: one walk over what was recorded of memory, in the order of time. Of all devices, since what a device
//! computes with came from another.

use super::super::rows::{MemoryView, UseRow};
use super::super::{MemoryRow, Trace};
use crate::recorder::{Device, MemoryRole, MemoryUse, SpanKind};
use rustc_hash::FxHashMap;

/// A block, from its birth to its death.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) device: Device,
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) born_ns: Option<u64>,
    pub(super) died_ns: Option<u64>,
    /// The row of the allocation in the trace's memory.
    pub(super) row: Option<u32>,
    /// The row of the span in which it was freed.
    pub(super) freed_in: Option<u32>,
    /// What it was allocated for.
    pub(super) role: MemoryRole,
}

/// What happens in a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Preexists,
    Born,
    /// Something was said of it.
    Said(MemoryRole),
    /// It was written to, for this.
    Written(MemoryRole),
    Dies,
}

/// Something that happens to a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) at_ns: u64,
    pub(super) block: u32,
    pub(super) turn: Turn,
}

/// All blocks.
#[derive(Debug, Default)]
pub(super) struct Lives {
    pub(super) blocks: Vec<Life>,
    /// In the order of time.
    pub(super) steps: Vec<Step>,
    /// Blocks whose role is not known when they are allocated or written, and what they were computed from, in the order of
    /// time.
    pub(super) flows: Vec<(u32, u32)>,
}

/// A row of the trace that is about memory.
#[derive(Clone, Copy)]
enum Item<'a> {
    Memory(u32, &'a MemoryRow),
    Use(&'a UseRow),
}

impl Item<'_> {
    fn at_ns(&self) -> u64 {
        match self {
            Self::Memory(_, row) => row.at_ns,
            Self::Use(row) => row.at_ns,
        }
    }

    fn device(&self) -> Device {
        match self {
            Self::Memory(_, row) => row.device,
            Self::Use(row) => row.used.device,
        }
    }
}

impl Lives {
    pub(super) fn find(trace: &Trace) -> Self {
        let mut walk = Walk { lives: Self::default(), trace, alive: FxHashMap::default(), insertions: Vec::new() };
        let mut devices: Vec<Seen<'_>> = Vec::new();
        for device in trace.memory_devices() {
            let mut seen = Seen::new(trace, device);
            walk.begin(&mut seen);
            devices.push(seen);
        }
        for item in items(trace) {
            let Ok(at) = devices.binary_search_by_key(&item.device(), |seen| seen.device) else { continue };
            let seen = &mut devices[at];
            while seen.views.first().is_some_and(|next| next.at_ns <= item.at_ns()) {
                walk.end(seen, true);
                walk.begin(seen);
            }
            walk.take(seen, item);
        }
        for seen in &mut devices {
            while !seen.views.is_empty() {
                walk.end(seen, true);
                walk.begin(seen);
            }
            walk.end(seen, false);
        }
        walk.finish()
    }
}

/// What is known of memory, in the order of time: of one thread in the order of recording.
fn items(trace: &Trace) -> Vec<Item<'_>> {
    let mut uses = trace.notes.uses.iter().peekable();
    let mut items = Vec::with_capacity(trace.memory.len() + trace.notes.uses.len());
    for (row, memory) in trace.memory.iter().enumerate() {
        while let Some(used) = uses.next_if(|used| used.before as usize <= row) {
            items.push(Item::Use(used));
        }
        items.push(Item::Memory(row as u32, memory));
    }
    items.extend(uses.map(Item::Use));
    items.sort_by_key(Item::at_ns);
    items
}

/// A device, from when on its memory is seen without a break.
struct Seen<'a> {
    device: Device,
    /// The times that are still to come.
    views: Vec<&'a MemoryView>,
    since_ns: u64,
    /// How many bytes were in use then, as far as that is known.
    in_use: i64,
    /// Whether that is what its allocator counted.
    is_counted: bool,
    /// How many are in use now.
    total: i64,
    /// The blocks that were there then.
    existed: Vec<u32>,
    /// Where their steps belong.
    first_step: usize,
}

impl<'a> Seen<'a> {
    fn new(trace: &'a Trace, device: Device) -> Self {
        let views = trace.notes.views.iter().filter(|view| view.activities.contains(device.activity())).collect();
        let told = trace.header.memory_in_use.iter().find(|(told, _)| *told == device);
        let in_use = told.map_or(0, |&(_, bytes)| bytes);
        let (total, existed) = (in_use, Vec::new());
        Self { device, views, since_ns: 0, in_use, is_counted: false, total, existed, first_step: 0 }
    }
}

struct Walk<'a> {
    lives: Lives,
    trace: &'a Trace,
    alive: FxHashMap<(Device, u64), u32>,
    /// Steps of blocks that were there in the beginning, which shows only later, and where they belong.
    insertions: Vec<(usize, Vec<Step>)>,
}

impl Walk<'_> {
    /// From here on a device's memory is seen. A trace that was read does not say when; it has all.
    fn begin(&mut self, seen: &mut Seen<'_>) {
        seen.first_step = self.lives.steps.len();
        if seen.views.is_empty() {
            return;
        }
        let view = seen.views.remove(0);
        seen.since_ns = view.at_ns;
        let device = seen.device;
        for block in view.blocks.iter().filter(|block| block.device == device) {
            self.find_or_add(seen, block);
        }
    }

    /// Up to here it was. If it will be again, then what there is then says who is still there.
    fn end(&mut self, seen: &mut Seen<'_>, is_interrupted: bool) {
        let known: u64 = seen.existed.iter().map(|&block| self.lives.blocks[block as usize].bytes).sum();
        if let Some(rest) =
            u64::try_from(seen.in_use).ok().and_then(|bytes| bytes.checked_sub(known)).filter(|&rest| rest > 0)
        {
            let block = self.add(seen.device, 0, rest, MemoryRole::Unknown);
            seen.existed.push(block);
            self.alive.insert((seen.device, 0), block);
        }
        let exists = |block| Step { at_ns: seen.since_ns, block, turn: Turn::Preexists };
        self.insertions.push((seen.first_step, seen.existed.drain(..).map(exists).collect()));
        if !is_interrupted {
            return;
        }
        let until = seen.views.first().map_or(seen.since_ns, |next| next.at_ns);
        let mut left: Vec<u32> =
            self.alive.iter().filter(|((device, _), _)| *device == seen.device).map(|(_, &block)| block).collect();
        left.sort_unstable();
        left.into_iter().for_each(|block| self.push(until, block, Turn::Dies));
        self.alive.retain(|(device, _), _| *device != seen.device);
        (seen.in_use, seen.is_counted) = (seen.total, false);
    }

    fn finish(mut self) -> Lives {
        self.insertions.sort_by_key(|(at, _)| *at);
        for (at, steps) in self.insertions.into_iter().rev() {
            self.lives.steps.splice(at..at, steps);
        }
        self.lives
    }

    fn take(&mut self, seen: &mut Seen<'_>, item: Item<'_>) {
        match item {
            Item::Memory(row, memory) => {
                if !seen.is_counted {
                    (seen.in_use, seen.is_counted) = (memory.allocated - memory.bytes, true);
                    seen.total = seen.in_use;
                }
                seen.total += memory.bytes;
                if memory.bytes > 0 { self.allocate(row, memory) } else { self.free(seen, memory) }
            }
            Item::Use(row) => self.learn(seen, row),
        }
    }

    fn add(&mut self, device: Device, address: u64, bytes: u64, role: MemoryRole) -> u32 {
        let (born_ns, died_ns, row, freed_in) = (None, None, None, None);
        self.lives.blocks.push(Life { device, address, bytes, born_ns, died_ns, row, freed_in, role });
        self.lives.blocks.len() as u32 - 1
    }

    fn push(&mut self, at_ns: u64, block: u32, turn: Turn) {
        self.lives.steps.push(Step { at_ns, block, turn });
    }

    fn allocate(&mut self, row: u32, memory: &MemoryRow) {
        let block = self.add(memory.device, memory.address, memory.bytes.unsigned_abs(), memory.role);
        let life = &mut self.lives.blocks[block as usize];
        (life.born_ns, life.row) = (Some(memory.at_ns), Some(row));
        if let Some(lost) = self.alive.insert((memory.device, memory.address), block) {
            // Its free was lost. It is not there any more, but the bytes still count as handed out.
            let bytes = self.lives.blocks[lost as usize].bytes;
            let counted = self.add(memory.device, 0, bytes, MemoryRole::Unknown);
            self.push(memory.at_ns, lost, Turn::Dies);
            self.push(memory.at_ns, counted, Turn::Born);
        }
        self.push(memory.at_ns, block, Turn::Born);
        if memory.role == MemoryRole::Unknown {
            self.follow(block, memory.span);
        }
    }

    fn free(&mut self, seen: &mut Seen<'_>, memory: &MemoryRow) {
        let block = self.alive.remove(&(memory.device, memory.address)).unwrap_or_else(|| {
            let block = self.add(memory.device, memory.address, memory.bytes.unsigned_abs(), memory.role);
            seen.existed.push(block);
            block
        });
        let life = &mut self.lives.blocks[block as usize];
        (life.died_ns, life.freed_in) = (Some(memory.at_ns), memory.span);
        self.push(memory.at_ns, block, Turn::Dies);
    }

    fn learn(&mut self, seen: &mut Seen<'_>, row: &UseRow) {
        let block = self.find_or_add(seen, &row.used);
        if row.used.is_written {
            self.push(row.at_ns, block, Turn::Written(row.used.role));
            if row.used.role == MemoryRole::Unknown {
                self.follow(block, row.span);
            }
        } else if row.used.role != MemoryRole::Unknown {
            self.push(row.at_ns, block, Turn::Said(row.used.role));
        }
    }

    fn find_or_add(&mut self, seen: &mut Seen<'_>, used: &MemoryUse) -> u32 {
        if let Some(&block) = self.alive.get(&(used.device, used.address)) {
            return block;
        }
        let block = self.add(used.device, used.address, used.bytes, used.role);
        seen.existed.push(block);
        self.alive.insert((used.device, used.address), block);
        block
    }

    /// Notes what a block was computed from: what the operator around it was given.
    fn follow(&mut self, block: u32, span: Option<u32>) {
        let (spans, sources) = (&self.trace.spans, &self.trace.notes.sources);
        let mut around = span;
        while let Some(row) = around.filter(|&row| (row as usize) < spans.len()) {
            if !matches!(spans.kind[row as usize], SpanKind::Op | SpanKind::Backward) {
                return;
            }
            let first = sources.partition_point(|source| source.span < row);
            let of_span = sources[first..].iter().take_while(|source| source.span == row);
            let places = of_span.flat_map(|source| source.addresses.map(|address| (source.device, address)));
            let found = places.filter_map(|place| self.alive.get(&place));
            let known = self.lives.flows.len();
            self.lives.flows.extend(found.filter(|&&source| source != block).map(|&source| (block, source)));
            if self.lives.flows.len() > known {
                return;
            }
            around = Some(spans.parent[row as usize]);
        }
    }
}
