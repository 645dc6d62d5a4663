//! The writing end: one thread's records, appended without locks.

use super::chunk::{Chunk, FIRST, FULL, OpenSpan};
use super::event::{Device, DeviceSpan, Memory, MemoryUse, SpanArgs, SpanId};
use super::packing::{memory_in_one_slot, memory_in_two_slots, span_in_one_slot, span_in_two_slots};
use super::record::{Head, RecordKind, Words, pair};
use super::{Recorder, ThreadLog};
use crate::capture::Capture;
use crate::clock::read_tsc;
use crate::names::Name;
use crate::quiet::Quiet;
use crate::sync::Arc;

/// How many slots ahead of the next the processor is told of: in the time that these take it finds one in any of its caches.
const AHEAD: usize = 8;

/// Writes the records of one thread.
///
/// Programs do not need it: [`Span`](crate::Span) and the functions beside it use the writer of the thread that they run
/// on. It is for those that record on behalf of threads which are not threads of this process, and for tests that play
/// several threads in one. Dropping it ends the thread.
#[derive(Debug)]
pub struct ThreadWriter {
    recorder: Recorder,
    log: Arc<ThreadLog>,
    chunk: Arc<Chunk>,
    /// The next slot of the chunk.
    next: u32,
    /// Spans begun in the chunk.
    opened: u32,
    /// Whether the recorder's clock is the time-stamp counter.
    is_tsc: bool,
}

/// A span that was begun with [`ThreadWriter::begin`]: give it to [`ThreadWriter::end`] of any thread. One that never
/// gets there stays open, which a trace shows.
#[derive(Debug)]
pub struct SpanToken(pub(super) OpenSpan);

impl SpanToken {
    /// Identifies the span, for device spans that it launches.
    pub fn id(&self) -> SpanId {
        let (thread, position) = self.0.position();
        SpanId::new(thread, position)
    }
}

impl ThreadWriter {
    pub(super) fn new(recorder: Recorder, log: Arc<ThreadLog>, chunk: Arc<Chunk>) -> Self {
        let is_tsc = recorder.clock().is_tsc();
        Self { recorder, log, chunk, next: 0, opened: 0, is_tsc }
    }

    /// The number that traces have for this thread.
    pub fn thread_number(&self) -> u32 {
        self.log.serial
    }

    /// What the recorder collects now.
    pub fn capture(&self) -> Capture {
        self.recorder.capture()
    }

    /// Begins a span, if anyone collects its kind.
    pub fn begin(&mut self, args: &SpanArgs) -> Option<SpanToken> {
        self.capture().contains(args.kind.needs()).then(|| self.begin_always(args))
    }

    #[inline]
    pub(super) fn begin_always(&mut self, args: &SpanArgs) -> SpanToken {
        match span_in_one_slot(args) {
            Some((head, last)) => self.begin_plain(head.pack(), last),
            None => self.begin_detailed(args),
        }
    }

    #[inline(never)]
    fn begin_detailed(&mut self, args: &SpanArgs) -> SpanToken {
        let (head, last, second) = span_in_two_slots(args);
        self.begin_in_two(head.pack(), last, second)
    }

    #[inline(always)]
    pub(super) fn begin_in_two(&mut self, head: u64, last: u64, second: Words) -> SpanToken {
        let index = self.reserve(2);
        self.chunk.slot(index + 1).write(second);
        let begin = self.ticks();
        self.chunk.slot(index).write([begin, 0, head, last]);
        self.publish_span(index, 2)
    }

    #[inline(always)]
    pub(super) fn begin_plain(&mut self, head: u64, last: u64) -> SpanToken {
        let index = self.reserve(1);
        let begin = self.ticks();
        self.chunk.slot(index).write([begin, 0, head, last]);
        self.publish_span(index, 1)
    }

    /// Ends a span, which this thread or another began.
    #[inline]
    pub fn end(&mut self, span: SpanToken) {
        span.0.close(self.ticks(), self.log.address());
    }

    /// Records an allocation or a free, if anyone collects memory.
    pub fn memory(&mut self, memory: &Memory) {
        if self.capture().contains(Capture::MEMORY) {
            self.memory_always(memory);
        }
    }

    /// The room and the time come first: little has to be kept over the calls that they rarely are.
    #[inline(always)]
    pub(super) fn memory_always(&mut self, memory: &Memory) {
        let index = self.reserve(1);
        let ticks = self.ticks();
        match memory_in_one_slot(memory) {
            Some((head, last)) => self.write_one(index, [ticks, memory.address, head.pack(), last]),
            None => self.memory_detailed(memory, ticks),
        }
    }

    /// The same, of the host's memory of which no more is known: in numbers, so that there need not be a struct in memory.
    #[inline(always)]
    pub(super) fn host_memory(&mut self, address: u64, bytes: i64, allocated: i64) {
        let index = self.reserve(1);
        let ticks = self.ticks();
        match memory_in_one_slot(&Memory::of_host(address, bytes, allocated)) {
            Some((head, last)) => self.write_one(index, [ticks, address, head.pack(), last]),
            None => self.much_host_memory(address, bytes, allocated, ticks),
        }
    }

    #[cold]
    #[inline(never)]
    fn much_host_memory(&mut self, address: u64, bytes: i64, allocated: i64, ticks: u64) {
        self.memory_detailed(&Memory::of_host(address, bytes, allocated), ticks);
    }

    #[inline(never)]
    fn memory_detailed(&mut self, memory: &Memory, ticks: u64) {
        let (head, last, second) = memory_in_two_slots(memory);
        let index = self.reserve(2);
        self.write_pair(index, [ticks, memory.address, head.pack(), last], second);
    }

    /// Records what became known of a block of memory, if anyone collects memory.
    pub fn memory_use(&mut self, used: &MemoryUse) {
        if self.capture().contains(Capture::MEMORY) {
            let more = u32::from(used.role as u8) << 8 | u32::from(used.is_written) << 16;
            let name = used.device.kind_bits() | more;
            let head = Head { kind: RecordKind::Use, flags: 0, track: used.device.index(), name };
            let index = self.reserve(1);
            let ticks = self.ticks();
            self.write_one(index, [ticks, used.address, head.pack(), used.bytes]);
        }
    }

    /// Records from which blocks of a device the span that this thread began last computes what it allocates, if anyone
    /// collects memory and host work. An address of 0 is none; more than three take another call.
    pub fn memory_sources(&mut self, device: Device, addresses: [u64; 3]) {
        if self.capture().contains(Capture::MEMORY | Capture::CPU) {
            self.memory_sources_always(device, addresses);
        }
    }

    #[inline(always)]
    pub(super) fn memory_sources_always(&mut self, device: Device, addresses: [u64; 3]) {
        let head = Head { kind: RecordKind::Sources, flags: 0, track: device.index(), name: device.kind_bits() };
        let [first, second, third] = addresses;
        let index = self.reserve(1);
        self.write_one(index, [first, second, head.pack(), third]);
    }

    /// Records work that a device has finished, if anyone collects it. The times are the device's own, in ticks of
    /// [`Recorder::now`](super::Recorder::now).
    pub fn device_span(&mut self, span: &DeviceSpan) {
        if self.capture().contains(Capture::DEVICE) {
            let kind = span.work.record_kind();
            let head = Head { kind, flags: Head::DETAILED, track: span.stream, name: span.name.0 };
            let launched_by = span.launched_by.map_or(0, SpanId::bits);
            let index = self.reserve(2);
            let device = pair(u32::from(span.device), span.extra.0);
            let first = [span.begin.0, span.end.0.max(1), head.pack(), device];
            self.write_pair(index, first, [launched_by, span.bytes, 0, 0]);
        }
    }

    /// Records the value of a counter, if anyone collects host events.
    pub fn counter(&mut self, name: Name, value: f64) {
        self.instant(RecordKind::Counter, name, value.to_bits());
    }

    /// Records that something happened, if anyone collects host events.
    pub fn mark(&mut self, name: Name) {
        self.instant(RecordKind::Mark, name, 0);
    }

    fn instant(&mut self, kind: RecordKind, name: Name, value: u64) {
        if self.capture().contains(Capture::CPU) {
            let index = self.reserve(1);
            let head = Head { kind, flags: 0, track: 0, name: name.0 };
            let ticks = self.ticks();
            self.write_one(index, [ticks, value, head.pack(), 0]);
        }
    }

    #[inline]
    fn write_one(&mut self, index: usize, words: Words) {
        self.chunk.slot(index).write(words);
        self.publish(index + 1);
    }

    #[inline]
    fn write_pair(&mut self, index: usize, first: Words, second: Words) {
        self.chunk.slot(index + 1).write(second);
        self.chunk.slot(index).write(first);
        self.publish(index + 2);
    }

    #[inline(always)]
    fn ticks(&self) -> u64 {
        if self.is_tsc { read_tsc() } else { self.other_ticks() }
    }

    /// Apart, so that who has the counter need not go around it.
    #[cold]
    #[inline(never)]
    fn other_ticks(&self) -> u64 {
        self.recorder.clock().ticks()
    }

    /// The index of the first of `slots` free slots in the current chunk.
    #[inline]
    fn reserve(&mut self, slots: usize) -> usize {
        if self.next as usize + slots > self.chunk.limit() {
            self.turn_over();
        }
        self.next as usize
    }

    #[inline]
    fn publish(&mut self, next: usize) {
        self.chunk.prepare(next + AHEAD);
        self.next = next as u32;
        self.log.publish(self.chunk.base() + next as u64);
    }

    #[inline]
    fn publish_span(&mut self, index: usize, slots: usize) -> SpanToken {
        self.opened += 1;
        self.publish(index + slots);
        SpanToken(OpenSpan::new(&self.chunk, index))
    }

    pub(super) fn address(&self) -> usize {
        self.log.address()
    }

    #[cold]
    #[inline(never)]
    fn turn_over(&mut self) {
        let _quiet = Quiet::new();
        let slots = (self.chunk.capacity() * 4).clamp(FIRST, FULL);
        let base = self.chunk.base() + u64::from(self.next);
        let next = Chunk::new(self.recorder.spares(), &self.log, base, slots);
        self.chunk.seal(self.next as usize, self.opened, Some(&next));
        self.chunk = next;
        self.next = 0;
        self.opened = 0;
        if self.recorder.spares().is_over_mark() {
            self.recorder.make_room();
        }
    }
}

impl Drop for ThreadWriter {
    fn drop(&mut self) {
        self.chunk.seal(self.next as usize, self.opened, None);
        self.log.end();
    }
}
