//! The memory timeline: which blocks there were on a device, from when to when, and what for.
//!
//! It follows from the allocations and frees of the trace, and from what the program said of its blocks (`MemoryRole`):
//! `lives.rs` finds the blocks, `categories.rs` what they were for, `events.rs` puts both in order. At each moment the bytes
//! of all categories add up to what the device's allocator had handed out: what was there before the recording and was
//! never mentioned in it is one block without an address, of category unknown.

mod categories;
mod category;
mod events;
mod lives;

pub use category::{MemoryAction, MemoryCategory};

use super::Trace;
use super::span::SpanRef;
use crate::names::Stack;
use crate::recorder::Device;
use lives::Lives;

/// Which blocks of memory there were on a device, over time; from [`Trace::memory_timeline`].
#[derive(Debug)]
pub struct MemoryTimeline<'a> {
    pub(crate) trace: &'a Trace,
    device: Device,
    blocks: Vec<MemoryBlock>,
    events: Vec<MemoryEvent>,
}

/// A block of memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBlock {
    /// Where it starts. 0 for all that was there before the recording and of which the recording says nothing.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// When it was allocated, unless that was before memory was recorded.
    pub allocated_ns: Option<u64>,
    /// When it was freed, unless that was not recorded.
    pub freed_ns: Option<u64>,
    /// What it was for, at last.
    pub category: MemoryCategory,
    /// The row of the span in which it was allocated.
    span: Option<u32>,
    stack: Stack,
}

/// Something that happened to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEvent {
    /// When.
    pub at_ns: u64,
    /// What.
    pub action: MemoryAction,
    /// The number of the block in [`MemoryTimeline::blocks`].
    pub block: u32,
    /// How often the block had changed before.
    pub version: u32,
    /// What the block was for before this.
    pub before: MemoryCategory,
    /// What it is for after this.
    pub after: MemoryCategory,
}

/// The moment at which most memory was in use.
#[derive(Clone, Debug)]
pub struct MemoryPeak {
    /// When.
    pub at_ns: u64,
    /// How much.
    pub bytes: u64,
    /// The blocks that there were, by number, and what each was for then; the largest first.
    pub blocks: Vec<(u32, MemoryCategory)>,
    /// How many events there were up to it.
    pub(crate) events: usize,
}

/// Bytes of each category, in the order of [`MemoryCategory::ALL`].
pub(crate) type Sizes = [i64; MemoryCategory::ALL.len()];

impl Trace {
    /// Which blocks of memory there were on a device, over time.
    ///
    /// ```
    /// use mindtorch_profiler::{Device, ManualClock, Memory, MemoryCategory, MemoryRole, Recorder, Session, Stack};
    /// let clock = ManualClock::starting_at(1_000);
    /// let recorder = Recorder::with_manual_clock(&clock);
    /// let session = Session::builder().profile_memory(true).on(&recorder).start();
    /// let mut thread = recorder.thread(1, None);
    /// let block = Memory {
    ///     address: 0x1000,
    ///     bytes: 64,
    ///     device: Device::Cpu,
    ///     allocated: 64,
    ///     reserved: 0,
    ///     stack: Stack::NONE,
    ///     role: MemoryRole::Activation,
    /// };
    /// clock.advance(10);
    /// thread.memory(&block);
    /// clock.advance(10);
    /// thread.memory(&Memory { bytes: -64, allocated: 0, ..block });
    /// let trace = session.stop();
    /// let timeline = trace.memory_timeline(Device::Cpu);
    /// let block = timeline.blocks()[0];
    /// assert_eq!((block.allocated_ns, block.freed_ns), (Some(10), Some(20)));
    /// assert_eq!(block.category, MemoryCategory::Activation);
    /// assert_eq!(timeline.peak().map(|peak| (peak.at_ns, peak.bytes)), Some((10, 64)));
    /// ```
    pub fn memory_timeline(&self, device: Device) -> MemoryTimeline<'_> {
        let lives = Lives::find(self);
        let categories = categories::find(self, &lives);
        let listed = events::list(&lives, &categories, device);
        let block = |(number, category): (u32, MemoryCategory)| {
            let life = &lives.blocks[number as usize];
            MemoryBlock {
                address: life.address,
                bytes: life.bytes,
                allocated_ns: life.born_ns,
                freed_ns: life.died_ns,
                category,
                span: life.row.and_then(|row| self.memory[row as usize].span),
                stack: life.row.map_or(Stack::NONE, |row| self.memory[row as usize].stack),
            }
        };
        let blocks = listed.blocks.into_iter().map(block).collect();
        MemoryTimeline { trace: self, device, blocks, events: listed.events }
    }

    /// The devices of whose memory the trace knows anything, in order.
    pub fn memory_devices(&self) -> Vec<Device> {
        let seen = |device: &Device| self.notes.views.iter().any(|view| view.activities.contains(device.activity()));
        let in_use = self.header.memory_in_use.iter().filter(|(_, bytes)| *bytes != 0).map(|&(device, _)| device);
        let kept = self.notes.views.iter().flat_map(|view| view.blocks.iter()).map(|block| block.device);
        let used = self.notes.uses.iter().map(|row| row.used.device);
        let mut devices: Vec<Device> = in_use.chain(kept).filter(seen).chain(used).collect();
        devices.extend(self.memory.iter().map(|row| row.device));
        devices.sort_unstable();
        devices.dedup();
        devices
    }
}

impl MemoryTimeline<'_> {
    /// The device.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The blocks: as they were first mentioned.
    pub fn blocks(&self) -> &[MemoryBlock] {
        &self.blocks
    }

    /// What happened to them, in the order of time. What was there at the beginning comes first.
    pub fn events(&self) -> &[MemoryEvent] {
        &self.events
    }

    /// The operator that allocated a block; if none did, the innermost span in which it was allocated.
    pub fn allocated_by(&self, block: &MemoryBlock) -> Option<SpanRef<'_>> {
        self.trace.span(block.span? as usize)
    }

    /// Where in the source a block was allocated.
    pub fn stack(&self, block: &MemoryBlock) -> Stack {
        if block.stack != Stack::NONE {
            return block.stack;
        }
        self.allocated_by(block).map_or(Stack::NONE, |span| span.stack())
    }

    /// The bytes of each category, in the order of [`MemoryCategory::ALL`], after each event.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (&MemoryEvent, Sizes)> {
        let mut sizes = Sizes::default();
        self.events.iter().map(move |event| {
            let bytes = self.blocks[event.block as usize].bytes.cast_signed();
            if event.action.takes_away() {
                sizes[event.before as usize] -= bytes;
            }
            if event.action.adds() {
                sizes[event.after as usize] += bytes;
            }
            (event, sizes)
        })
    }

    /// The first moment at which most memory was in use. `None` if there never was any.
    pub fn peak(&self) -> Option<MemoryPeak> {
        let mut peak: Option<MemoryPeak> = None;
        for (at, (event, sizes)) in self.sizes().enumerate() {
            let bytes = sizes.iter().sum::<i64>().unsigned_abs();
            if peak.as_ref().is_none_or(|peak| peak.bytes < bytes) {
                peak = Some(MemoryPeak { at_ns: event.at_ns, bytes, blocks: Vec::new(), events: at + 1 });
            }
        }
        let mut peak = peak.filter(|peak| peak.bytes > 0)?;
        peak.blocks = self.alive_after(peak.events);
        Some(peak)
    }

    fn alive_after(&self, events: usize) -> Vec<(u32, MemoryCategory)> {
        let mut alive: Vec<Option<MemoryCategory>> = vec![None; self.blocks.len()];
        for event in &self.events[..events] {
            alive[event.block as usize] = event.action.adds().then_some(event.after);
        }
        let mut blocks: Vec<_> =
            alive.into_iter().enumerate().filter_map(|(block, category)| Some((block as u32, category?))).collect();
        blocks.sort_by_key(|&(block, _)| std::cmp::Reverse(self.blocks[block as usize].bytes));
        blocks
    }
}
