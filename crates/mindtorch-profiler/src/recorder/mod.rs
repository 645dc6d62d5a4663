//! The recorder: every thread appends to its own stream; sessions note where in the streams they began and ended.
//!
//! [`Recorder`] holds what is shared: the threads, what is being collected, and which parts of the streams somebody
//! still needs. All of that is behind one lock that recording never takes, but for a thread's first event.

mod available_memory;
mod bound;
mod chunk;
mod context;
mod elsewhere;
mod event;
mod flags;
mod fork;
mod global;
mod here;
mod kept;
mod local;
mod losses;
mod make_room;
mod packing;
mod record;
mod registry;
mod ring;
mod role;
mod slots;
// Miri cannot fork, and takes minutes for as many events as these record.
#[cfg(all(test, not(any(loom, miri))))]
mod spill_tests;
mod spool;
mod stored;
mod window;
mod writer;

pub(crate) use bound::Bound;
pub use bound::WhenFull;
pub(crate) use chunk::Chunk;
pub use context::{ContextInUse, set_context, set_context_source};
pub(crate) use elsewhere::Elsewhere;
pub use event::{Device, DeviceSpan, DeviceWork, Memory, MemoryUse, SpanArgs, SpanId, SpanKind, Ticks, TimeScale};
pub(crate) use global::begin_annotation;
pub use global::{
    Span, capture, counter, device_span, mark, memory, memory_epoch, memory_sources, memory_use, os_thread_id,
    thread_number,
};
pub use here::Here;
pub use kept::{keep_memory, release_memory};
pub use losses::Losses;
pub(crate) use packing::{unpack_last, unpack_memory, unpack_numbers};
pub(crate) use record::{Head, RecordKind, RecordKinds, Words, pair, unpair};
pub use role::MemoryRole;
pub(crate) use stored::{LoadedChunk, Piece};
pub(crate) use window::{CarriedSpan, Cut, OpenedWindow, Stream, WindowId, WindowReading};
pub use writer::{SpanToken, ThreadWriter};

use crate::capture::Capture;
use crate::clock::{Clock, ManualClock, TickScale};
use crate::quiet::Quiet;
use crate::sync::{Arc, AtomicBool, AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering};
use chunk::{FIRST, Spares};
use registry::{Registry, ThreadEntry};
use std::collections::VecDeque;
use window::Window;

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

    /// What [`Self::ticks_at`] goes by now, for who translates often, or there and back.
    pub fn time_scale(&self) -> TimeScale {
        TimeScale(self.0.clock.scale())
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
        self.tell_thread(&log);
        let pieces = VecDeque::from([Piece::Resident(Arc::clone(&chunk))]);
        registry.threads.push(ThreadEntry { log: Arc::clone(&log), pieces });
        drop(registry);
        ThreadWriter::new(self.clone(), log, chunk)
    }

    /// Begins to collect `capture`; what is collected from now on is kept until the window is released.
    pub(crate) fn open_window(&self, capture: Capture, bound: Bound) -> OpenedWindow {
        let mut registry = self.lock();
        let id = registry.next_window;
        registry.next_window += 1;
        self.publish(registry.capture() | capture);
        let from = Arc::new(self.cut(&registry));
        let carried = registry.open_spans(&from);
        let blocks = self.begin_memory(&registry, capture);
        self.0.spares.lower_mark(bound.max_bytes);
        registry.windows.push(Window::new(id, capture, Arc::clone(&from), bound));
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
    /// memory. `None` if the window is not known, or has ended.
    pub(crate) fn change_window(&self, id: WindowId, capture: Capture) -> Option<(Arc<Cut>, Vec<MemoryUse>)> {
        let mut registry = self.lock();
        let at = registry.window(id).filter(|&at| registry.windows[at].to.is_none())?;
        let cut = Arc::new(self.cut(&registry));
        registry.windows[at].capture = capture;
        if registry.windows[at].bound.when_full == WhenFull::Ring {
            registry.windows[at].changes.push((Arc::clone(&cut), capture));
        }
        self.publish(registry.capture());
        let blocks = self.begin_memory(&registry, capture);
        Some((cut, blocks))
    }

    /// Stops collecting for a window. What it holds stays held. Gives where it ended; nothing if it is not known.
    pub(crate) fn close_window(&self, id: WindowId) -> Option<Arc<Cut>> {
        let mut registry = self.lock();
        let at = registry.window(id)?;
        let cut = Arc::new(self.cut(&registry));
        let window = &mut registry.windows[at];
        window.capture = Capture::NONE;
        // One that had to stop ended then.
        let to = Arc::clone(window.to.get_or_insert(cut));
        self.publish(registry.capture());
        Some(to)
    }

    /// What a window holds, up to now if it is open. `None` if the window is not known.
    pub(crate) fn read_window(&self, id: WindowId) -> Option<WindowReading> {
        let mut registry = self.lock();
        let at = registry.window(id)?;
        let to = registry.windows[at].to.clone().unwrap_or_else(|| Arc::new(self.cut(&registry)));
        let Registry { threads, windows, .. } = &mut *registry;
        let window = &windows[at];
        let streams = threads.iter_mut().map(|thread| thread.stream(window, &to)).collect();
        Some(WindowReading { streams, to, carried: window.carried.clone(), losses: window.losses.clone() })
    }

    /// Whether a window has taken the memory that it may take, and what it does not have for that reason.
    pub(crate) fn fullness(&self, id: WindowId) -> (bool, Losses) {
        let registry = self.lock();
        let window = registry.window(id).map(|at| &registry.windows[at]);
        window.map_or_else(Default::default, |window| (window.was_full(), window.losses.clone()))
    }

    /// Ends a window's hold on what was recorded.
    pub(crate) fn release_window(&self, id: WindowId) {
        let mut registry = self.lock();
        let Some(at) = registry.window(id) else { return };
        let window = registry.windows.remove(at);
        self.publish(registry.capture());
        let unneeded = registry.prune();
        let _quiet = Quiet::new();
        drop(registry);
        // Outside the lock: returning a long recording and its file to the system takes a while.
        drop((window, unneeded));
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

    fn try_lock(&self) -> Option<Locked<'_>> {
        let quiet = Quiet::new();
        let registry = self.0.registry.try_lock().ok()?;
        Some(Locked { registry, _quiet: quiet })
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
