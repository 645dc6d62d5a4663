//! The recorder: every thread appends to its own stream; sessions note where in the streams they began and ended.
//!
//! [`Recorder`] holds what is shared: the threads, what is being collected, and which parts of the streams somebody
//! still needs. All of that is behind one lock that recording never takes, but for a thread's first event.

mod chunk;
mod context;
mod elsewhere;
mod event;
mod fork;
mod global;
mod kept;
mod packing;
mod record;
mod role;
mod writer;

pub(crate) use chunk::Chunk;
pub use context::{ContextInUse, set_context, set_context_source};
pub(crate) use elsewhere::Elsewhere;
pub use event::{Device, DeviceSpan, Memory, MemoryUse, SpanArgs, SpanId, SpanKind, Ticks};
pub(crate) use global::begin_annotation;
pub use global::{
    Span, capture, counter, device_span, mark, memory, memory_epoch, memory_sources, memory_use, os_thread_id,
    thread_number,
};
pub use kept::{keep_memory, release_memory};
pub(crate) use packing::{unpack_last, unpack_memory, unpack_numbers};
pub(crate) use record::{Head, RecordKind, RecordKinds, Words, pair, unpair};
pub use role::MemoryRole;
pub use writer::{SpanToken, ThreadWriter};

use crate::capture::Capture;
use crate::clock::{Clock, ManualClock, TickScale};
use crate::quiet::Quiet;
use crate::sync::{Arc, AtomicBool, AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering};
use chunk::{FIRST, Spares};
use kept::KeptMemory;
use std::collections::VecDeque;

/// Collects the events of all threads.
///
/// A program has one, [`Recorder::global`], which spans and sessions use unless told otherwise. Tests make their own, so
/// that they do not see each other's events.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    /// The union of what the open windows collect.
    capture: AtomicU32,
    /// Events that could not be recorded.
    lost: AtomicU64,
    is_global: bool,
    spares: Arc<Spares>,
    registry: Mutex<Registry>,
}

/// Who writes, and who still needs what was written.
#[derive(Debug, Default)]
struct Registry {
    /// In order of serial number.
    threads: Vec<ThreadEntry>,
    last_serial: u32,
    windows: Vec<Window>,
    next_window: u64,
    /// What is collected by those who are not sessions.
    watched: Capture,
    kept: KeptMemory,
}

#[derive(Debug)]
struct ThreadEntry {
    log: Arc<ThreadLog>,
    /// In order of position. The last one may have a successor that was not taken yet.
    chunks: VecDeque<Arc<Chunk>>,
}

/// A thread that records, or did. Aligned so that no two threads write to one cache line, nor to a pair of lines that the
/// processor fetches together.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct ThreadLog {
    /// Threads are numbered from 1 in the order of their first event, as in torch. 0 is no thread.
    pub(crate) serial: u32,
    /// The operating system's number for the thread.
    pub(crate) os_id: u64,
    pub(crate) name: Option<String>,
    /// The position after everything that the thread has published.
    position: AtomicU64,
    ended: AtomicBool,
}

impl ThreadLog {
    pub(crate) fn new(serial: u32, os_id: u64, name: Option<&str>) -> Self {
        Self {
            serial,
            os_id,
            name: name.map(str::to_owned),
            position: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }
    }

    fn position(&self) -> u64 {
        self.position.load(Ordering::Acquire)
    }

    /// Tells threads apart, also those of different recorders.
    #[inline]
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Publishes everything below `position`. The thread itself only.
    #[inline]
    fn publish(&self, position: u64) {
        self.position.store(position, Ordering::Release);
    }

    fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }
}

/// Where every thread's stream stood at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) ticks: u64,
    pub(crate) lost: u64,
    /// Thread serial number and position, in order of serial number. A thread that is not here had not begun.
    positions: Vec<(u32, u64)>,
}

impl Cut {
    pub(crate) fn position(&self, thread: u32) -> u64 {
        self.positions.binary_search_by_key(&thread, |&(serial, _)| serial).map_or(0, |at| self.positions[at].1)
    }
}

/// The part of the streams that a session needs: from one cut to another, or to the end for now.
#[derive(Debug)]
struct Window {
    id: u64,
    capture: Capture,
    from: Arc<Cut>,
    to: Option<Arc<Cut>>,
}

/// Names a window of a recorder. After a fork, the child's recorder has none of its parent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowId(u64);

/// A window that has just begun.
pub(crate) struct OpenedWindow {
    pub(crate) id: WindowId,
    pub(crate) from: Arc<Cut>,
    /// The spans that are open now, which the window cuts.
    pub(crate) carried: Vec<CarriedSpan>,
    /// The blocks of memory that are known to be there, if it collects memory.
    pub(crate) blocks: Vec<MemoryUse>,
}

/// A span that was open when a window began.
#[derive(Clone, Debug)]
pub(crate) struct CarriedSpan {
    pub(crate) log: Arc<ThreadLog>,
    pub(crate) chunk: Arc<Chunk>,
    pub(crate) index: usize,
}

/// One thread's part of a window: the slots at `from..to`, which lie in `chunks`.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) log: Arc<ThreadLog>,
    pub(crate) chunks: Vec<Arc<Chunk>>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Stream {
    pub(crate) fn empty(log: Arc<ThreadLog>) -> Self {
        Self { log, chunks: Vec::new(), from: 0, to: 0 }
    }
}

impl Recorder {
    fn new(clock: Clock, is_global: bool) -> Self {
        Self(Arc::new(Shared {
            clock,
            capture: AtomicU32::new(0),
            lost: AtomicU64::new(0),
            is_global,
            spares: Spares::new(),
            registry: Mutex::new(Registry::default()),
        }))
    }

    /// A recorder of its own, with a clock that the caller moves.
    pub fn with_manual_clock(clock: &ManualClock) -> Self {
        Self::new(Clock::Manual(clock.clone()), false)
    }

    /// A recorder of its own that keeps the time of the process's.
    pub(crate) fn apart() -> Self {
        Self::new(Self::global().clock().clone(), false)
    }

    /// The current time, as records have it.
    pub fn now(&self) -> Ticks {
        Ticks(self.0.clock.ticks())
    }

    /// A time of another clock, in nanoseconds since the epoch, as records have it: for devices that keep time themselves.
    pub fn ticks_at(&self, epoch_ns: u64) -> Ticks {
        Ticks(self.0.clock.scale().ticks(epoch_ns))
    }

    /// What is being collected.
    pub fn capture(&self) -> Capture {
        Capture::from_bits(self.0.capture.load(Ordering::Relaxed))
    }

    /// Sets or clears flags of [`capture`](crate::capture) that are no session's: for those who collect something
    /// themselves, and want it to cost one load and a branch while they do not. A forked child starts without.
    pub fn watch(&self, what: Capture, on: bool) {
        let mut registry = self.lock();
        registry.watched = if on { registry.watched | what } else { registry.watched & !what };
        self.publish(registry.capture());
    }

    /// Registers a thread by the numbers and the name that traces will show.
    pub fn thread(&self, os_id: u64, name: Option<&str>) -> ThreadWriter {
        let mut registry = self.lock();
        registry.last_serial += 1;
        let serial = registry.last_serial;
        let log = Arc::new(ThreadLog::new(serial, os_id, name));
        let chunk = Chunk::new(&self.0.spares, &log, 0, FIRST);
        registry.threads.push(ThreadEntry { log: Arc::clone(&log), chunks: VecDeque::from([Arc::clone(&chunk)]) });
        drop(registry);
        ThreadWriter::new(self.clone(), log, chunk)
    }

    /// Begins to collect `capture`; what is collected from now on is kept until the window is released.
    pub(crate) fn open_window(&self, capture: Capture) -> OpenedWindow {
        let mut registry = self.lock();
        let id = registry.next_window;
        registry.next_window += 1;
        self.publish(registry.capture() | capture);
        let from = Arc::new(self.cut(&registry));
        let carried = registry.open_spans(&from);
        let blocks = self.begin_memory(&registry, capture);
        registry.windows.push(Window { id, capture, from: Arc::clone(&from), to: None });
        OpenedWindow { id: WindowId(id), from, carried, blocks }
    }

    /// If `capture` has memory: begins to collect that, and gives the blocks that are known to be there.
    fn begin_memory(&self, registry: &Registry, capture: Capture) -> Vec<MemoryUse> {
        if !capture.contains(Capture::MEMORY) {
            return Vec::new();
        }
        if self.0.is_global {
            global::begin_memory_epoch();
        }
        registry.kept.blocks()
    }

    /// Whether the window is known: not so once it is released, nor in a forked child.
    pub(crate) fn has_window(&self, id: WindowId) -> bool {
        self.lock().window(id).is_some()
    }

    /// Changes what an open window collects. Also gives the blocks of memory that are known to be there, if it collects
    /// memory. `None` if the window is not known.
    pub(crate) fn change_window(&self, id: WindowId, capture: Capture) -> Option<(Arc<Cut>, Vec<MemoryUse>)> {
        let mut registry = self.lock();
        let at = registry.window(id)?;
        let cut = Arc::new(self.cut(&registry));
        registry.windows[at].capture = capture;
        self.publish(registry.capture());
        let blocks = self.begin_memory(&registry, capture);
        Some((cut, blocks))
    }

    /// Stops collecting for a window. What it holds stays held. Does nothing if the window is not known.
    pub(crate) fn close_window(&self, id: WindowId) {
        let mut registry = self.lock();
        let Some(at) = registry.window(id) else { return };
        let cut = Arc::new(self.cut(&registry));
        let window = &mut registry.windows[at];
        window.capture = Capture::NONE;
        window.to = Some(cut);
        self.publish(registry.capture());
    }

    /// The streams of a window, up to now if it is open, and where it ends. `None` if the window is not known.
    pub(crate) fn read_window(&self, id: WindowId) -> Option<(Vec<Stream>, Arc<Cut>)> {
        let mut registry = self.lock();
        let at = registry.window(id)?;
        let to = registry.windows[at].to.clone().unwrap_or_else(|| Arc::new(self.cut(&registry)));
        let from = Arc::clone(&registry.windows[at].from);
        let streams = registry.threads.iter_mut().map(|thread| thread.stream(&from, &to)).collect();
        Some((streams, to))
    }

    /// Ends a window's hold on what was recorded.
    pub(crate) fn release_window(&self, id: WindowId) {
        let mut registry = self.lock();
        let Some(at) = registry.window(id) else { return };
        registry.windows.remove(at);
        self.publish(registry.capture());
        let unneeded = registry.prune();
        let _quiet = Quiet::new();
        drop(registry);
        // Outside the lock: returning a long recording to the system takes a while.
        drop(unneeded);
    }

    fn publish(&self, capture: Capture) {
        self.0.capture.store(capture.bits(), Ordering::Relaxed);
        if self.0.is_global {
            global::publish(capture);
        }
    }

    fn cut(&self, registry: &Registry) -> Cut {
        let positions = registry.threads.iter().map(|thread| (thread.log.serial, thread.log.position())).collect();
        Cut { ticks: self.0.clock.ticks(), lost: self.0.lost.load(Ordering::Relaxed), positions }
    }

    /// No panic happens under the lock, so that it is never poisoned; were it, the registry would still be whole.
    fn lock(&self) -> Locked<'_> {
        let quiet = Quiet::new();
        let registry = self.0.registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Locked { registry, _quiet: quiet }
    }

    pub(crate) fn scale(&self) -> TickScale {
        self.0.clock.scale()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    fn spares(&self) -> &Arc<Spares> {
        &self.0.spares
    }

    fn count_lost(&self) {
        self.0.lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// The registry's lock. While it is held, allocations of this thread are not recorded: recording one might need the lock.
struct Locked<'a> {
    registry: MutexGuard<'a, Registry>,
    _quiet: Quiet,
}

impl std::ops::Deref for Locked<'_> {
    type Target = Registry;
    fn deref(&self) -> &Registry {
        &self.registry
    }
}

impl std::ops::DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }
}

impl Registry {
    fn window(&self, id: WindowId) -> Option<usize> {
        self.windows.iter().position(|window| window.id == id.0)
    }

    fn capture(&self) -> Capture {
        self.windows.iter().fold(self.watched, |union, window| union | window.capture)
    }

    /// The spans that were begun before the cut and have not ended.
    fn open_spans(&mut self, cut: &Cut) -> Vec<CarriedSpan> {
        let mut open = Vec::new();
        for thread in &mut self.threads {
            thread.take_successors();
            let position = cut.position(thread.log.serial);
            for chunk in thread.chunks.iter().filter(|chunk| chunk.is_pinned()) {
                open_spans_in(chunk, position, |index| {
                    open.push(CarriedSpan { log: Arc::clone(&thread.log), chunk: Arc::clone(chunk), index });
                });
            }
        }
        open
    }

    /// Takes out the chunks that no window needs and that may be dropped, and the threads that left nothing.
    fn prune(&mut self) -> Vec<Arc<Chunk>> {
        let mut unneeded = Vec::new();
        let Self { threads, windows, .. } = self;
        threads.retain_mut(|thread| {
            let is_over = thread.log.ended.load(Ordering::Acquire);
            thread.take_successors();
            let serial = thread.log.serial;
            let needed = needed_ranges(windows, serial);
            let mut needed = needed.iter().peekable();
            let last = thread.chunks.back().cloned();
            thread.chunks.retain(|chunk| {
                let (base, end) = (chunk.base(), chunk.end());
                // Chunks and ranges are both in order, and the ranges apart: one walk over both is enough.
                while needed.next_if(|(_, to)| *to <= base).is_some() {}
                let needed = needed.peek().is_some_and(|(from, _)| *from < end);
                // The last chunk leads to those that come after it.
                let is_last = last.as_ref().is_some_and(|last| Arc::ptr_eq(last, chunk));
                let keep = needed || chunk.is_pinned() || (is_last && !is_over);
                if !keep {
                    unneeded.push(Arc::clone(chunk));
                }
                keep
            });
            !(is_over && thread.chunks.is_empty())
        });
        unneeded
    }
}

/// A recorder of a test's may go while spans of it are open. Their tokens point into their chunks, which are leaked, so
/// that a token stays good.
impl Drop for Registry {
    fn drop(&mut self) {
        for thread in &mut self.threads {
            thread.take_successors();
            thread.chunks.drain(..).filter(|chunk| chunk.is_pinned()).for_each(std::mem::forget);
        }
    }
}

/// What windows need of a thread's stream: ranges of positions, in order, that do not touch.
fn needed_ranges(windows: &[Window], thread: u32) -> Vec<(u64, u64)> {
    let range = |window: &Window| {
        let to = window.to.as_ref().map_or(u64::MAX, |to| to.position(thread));
        (window.from.position(thread), to)
    };
    let mut ranges: Vec<(u64, u64)> = windows.iter().map(range).filter(|(from, to)| from < to).collect();
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let touches = next.0 <= kept.1;
        if touches {
            kept.1 = kept.1.max(next.1);
        }
        touches
    });
    ranges
}

impl ThreadEntry {
    fn take_successors(&mut self) {
        while let Some(next) = self.chunks.back().and_then(|last| last.take_next()) {
            self.chunks.push_back(next);
        }
    }

    fn stream(&mut self, from: &Cut, to: &Cut) -> Stream {
        self.take_successors();
        let (from, to) = (from.position(self.log.serial), to.position(self.log.serial));
        let chunks = self.chunks.iter().filter(|chunk| chunk.base() < to && from < chunk.end()).cloned().collect();
        Stream { log: Arc::clone(&self.log), chunks, from, to }
    }
}

/// Calls `found` with the index of each span of `chunk` that is open and lies before `position`.
fn open_spans_in(chunk: &Chunk, position: u64, mut found: impl FnMut(usize)) {
    let published = (position.min(chunk.end()).saturating_sub(chunk.base())) as usize;
    let mut index = 0;
    while index < published {
        let [_, end, head, _] = chunk.read(index);
        let head = Head::unpack(head);
        if head.kind.is_span() && end == 0 {
            found(index);
        }
        index += 1 + usize::from(head.is_detailed());
    }
}
