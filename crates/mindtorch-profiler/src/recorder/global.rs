//! The process's recorder, as every thread sees it: a static that says what is collected, and the thread's own writer.

use super::context::{self, ContextInUse};
use super::event::{Device, DeviceSpan, Memory, MemoryUse, SpanArgs, SpanId};
use super::flags::{FLAGS, Flags};
use super::local::{LOCAL, Local};
use super::record::{Head, RecordKind, pair};
use super::writer::{SpanToken, ThreadWriter};
use super::{Recorder, fork};
use crate::capture::Capture;
use crate::clock::{Clock, ManualClock};
use crate::names::{Name, Stack};
use std::sync::OnceLock;
// Not loom's, which cannot be static: the model checker works on recorders of its own.
use std::sync::atomic::{AtomicU32, Ordering};

static MEMORY_EPOCH: AtomicU32 = AtomicU32::new(0);

static GLOBAL: OnceLock<Recorder> = OnceLock::new();

fn new_global(clock: Clock) -> Recorder {
    fork::register();
    // Here, before any thread registers: a child that is forked while a thread is in the middle of this would wait for ever.
    // Miri warns of files in /proc, and its process has no name.
    #[cfg(all(target_os = "linux", not(miri)))]
    let _ = PROCESS_NAME.set(std::fs::read("/proc/self/comm").unwrap_or_default());
    FLAGS.set_clock(&clock);
    Recorder::new(clock, true)
}

#[cfg(target_os = "linux")]
static PROCESS_NAME: OnceLock<Vec<u8>> = OnceLock::new();

impl Recorder {
    /// The recorder of this process.
    pub fn global() -> &'static Self {
        GLOBAL.get_or_init(|| new_global(Clock::system()))
    }

    /// Makes the recorder of this process use a clock that the caller moves, for tests of whole programs. Returns false,
    /// and changes nothing, if the recorder is already in use.
    #[doc(hidden)]
    pub fn use_manual_clock(clock: &ManualClock) -> bool {
        let mut is_used = false;
        GLOBAL.get_or_init(|| {
            is_used = true;
            new_global(Clock::Manual(clock.clone()))
        });
        is_used
    }
}

pub(super) fn publish(capture: Capture) {
    FLAGS.set_capture(capture);
}

/// What is being collected in this process: one relaxed load. Ask before computing anything that is only for the
/// profiler, such as shapes.
#[inline]
pub fn capture() -> Capture {
    FLAGS.capture()
}

/// Runs `write` with this thread's writer; see [`Local::with`].
#[inline(always)]
fn with_writer<T>(write: impl FnOnce(&mut ThreadWriter) -> T) -> Option<T> {
    LOCAL.with(|local| local.with(write))
}

/// A span that ends when it is dropped, on whichever thread that is.
///
/// [`record_function!`](crate::record_function) makes one. With no session that collects its kind it is nothing: making
/// and dropping it costs a load and two branches.
#[derive(Debug)]
#[must_use = "a span ends when it is dropped; bind it to a variable, such as `_span`"]
pub struct Span(pub(super) Option<SpanToken>);

impl Span {
    /// Begins an annotation. Where the name is a literal, [`record_function!`](crate::record_function) is faster.
    ///
    /// ```
    /// use mindtorch_profiler::Span;
    /// for layer in 0..3 {
    ///     let _span = Span::enter(&format!("layer {layer}"));
    /// }
    /// ```
    #[track_caller]
    pub fn enter(name: &str) -> Self {
        let capture = capture();
        if !capture.contains(Capture::CPU) {
            return Self(None);
        }
        let stack = if capture.contains(Capture::STACK) {
            let place = std::panic::Location::caller();
            Stack::of_site(&format!("{}({}): {name}", place.file(), place.line()))
        } else {
            Stack::NONE
        };
        begin_annotation(Name::new(name), stack)
    }

    /// Begins a span, if anyone collects its kind.
    #[inline]
    pub fn begin(args: &SpanArgs) -> Self {
        if !capture().contains(args.kind.needs()) {
            return Self(None);
        }
        if ContextInUse::is_any() {
            return Self::begin_in_context(args);
        }
        Self(with_writer(|writer| writer.begin_always(args)))
    }

    #[cold]
    #[inline(never)]
    fn begin_in_context(args: &SpanArgs) -> Self {
        let context = context::current();
        let args = if context == 0 { *args } else { args.context(context) };
        Self(with_writer(|writer| writer.begin_always(&args)))
    }

    /// A span of nothing, which records nothing.
    #[inline]
    pub fn none() -> Self {
        Self(None)
    }

    /// Ends it, on the thread that began it: what tells threads apart need not be found. If it was another thread, the memory of
    /// the span is not used again.
    #[doc(hidden)]
    #[inline(always)]
    pub fn end_where_it_began(self) {
        self.close_by_owner(&FLAGS);
    }

    #[inline(always)]
    pub(super) fn close_by_owner(mut self, flags: &Flags) {
        if let Some(token) = self.0.take() {
            token.0.close_by_owner(flags.now());
        }
    }

    /// Whether the span is being recorded.
    pub fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// Identifies the span, for device work that it launches. `None` if it is not recorded.
    pub fn id(&self) -> Option<SpanId> {
        self.0.as_ref().map(SpanToken::id)
    }
}

/// Begins an annotation at a place in the source, if that is collected. Not inlined: of a single copy, all is inlined.
#[inline(never)]
pub(crate) fn begin_annotation(name: Name, site: Stack) -> Span {
    let head = Head { kind: RecordKind::Annotation, flags: Head::SITE_ONLY, track: 0, name: name.0 };
    Span(with_writer(|writer| writer.begin_plain(head.pack(), pair(0, site.0))))
}

impl Drop for Span {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(token) = self.0.take() {
            end(token);
        }
    }
}

/// Not inlined, for the sake of spans that are not recorded. The thread may have recorded nothing itself, or be in the
/// middle of being torn down.
#[inline(never)]
fn end(token: SpanToken) {
    token.0.close(FLAGS.now(), LOCAL.with(Local::log));
}

/// Records an allocation or a free, if anyone collects memory.
#[inline]
pub fn memory(memory: &Memory) {
    if capture().contains(Capture::MEMORY) {
        record_memory(memory);
    }
}

/// Not inlined, so that an allocation of which nobody wants to know costs a load and a branch.
#[inline(never)]
fn record_memory(memory: &Memory) {
    with_writer(|writer| writer.memory_always(memory));
}

/// Records what became known of a block of memory, if anyone collects memory.
#[inline]
pub fn memory_use(used: &MemoryUse) {
    if capture().contains(Capture::MEMORY) {
        with_writer(|writer| writer.memory_use(used));
    }
}

/// Records from which blocks of a device the span that this thread began last computes what it allocates, if anyone
/// collects that; see [`ThreadWriter::memory_sources`].
#[inline]
pub fn memory_sources(device: Device, addresses: [u64; 3]) {
    if capture().contains(Capture::MEMORY | Capture::CPU) {
        let [first, second, third] = addresses;
        record_sources(device, first, second, third);
    }
}

#[inline(never)]
fn record_sources(device: Device, first: u64, second: u64, third: u64) {
    with_writer(|writer| writer.memory_sources_always(device, [first, second, third]));
}

/// The number of times that someone began to collect memory. A program that says what its blocks are for when it first uses
/// them does so once in each.
#[inline]
pub fn memory_epoch() -> u32 {
    MEMORY_EPOCH.load(Ordering::Relaxed)
}

pub(super) fn begin_memory_epoch() {
    MEMORY_EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// Records work that a device has finished, if anyone collects it.
#[inline]
pub fn device_span(span: &DeviceSpan) {
    if capture().contains(Capture::DEVICE) {
        with_writer(|writer| writer.device_span(span));
    }
}

/// Records the value of a counter, if anyone collects host events: a line that rises and falls in trace viewers.
#[inline]
pub fn counter(name: Name, value: f64) {
    if capture().contains(Capture::CPU) {
        with_writer(|writer| writer.counter(name, value));
    }
}

/// Records that something happened, if anyone collects host events.
#[inline]
pub fn mark(name: Name) {
    if capture().contains(Capture::CPU) {
        with_writer(|writer| writer.mark(name));
    }
}

/// The name that the system has for this thread, unless it is the process's. Not [`std::thread::current`]'s, which panics
/// in a thread that is being torn down, and does not know the names that other languages give.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library tells a thread's name only while the thread is well")]
pub(super) fn thread_name() -> Option<String> {
    let mut name = [0u8; 16];
    // SAFETY: the buffer has the length that is passed, and the thread is the calling one.
    unsafe { libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len()) };
    let name = name.split(|&byte| byte == 0).next()?;
    let process = PROCESS_NAME.get().map_or(&[][..], |name| name.trim_ascii_end());
    (!name.is_empty() && name != process).then(|| String::from_utf8_lossy(name).into_owned())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn thread_name() -> Option<String> {
    None
}

/// The number that the system has for this thread.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library does not tell the system's thread number")]
pub fn os_thread_id() -> u64 {
    // SAFETY: gettid takes no arguments and cannot fail.
    unsafe { libc::gettid() }.cast_unsigned().into()
}

/// A number of this thread.
#[cfg(not(target_os = "linux"))]
pub fn os_thread_id() -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    std::thread::current().id().hash(&mut hasher);
    hasher.finish() >> 32
}

/// Makes a forked child's recorder as good as new.
pub(super) fn reset_after_fork(registry: &mut super::Registry) {
    publish(Capture::NONE);
    Recorder::global().0.capture.store(0, crate::sync::Ordering::Relaxed);
    registry.windows.clear();
    registry.watched = Capture::NONE;
    // A thread that does not exist in the child may hold the turn and will never unlock it, so the lock is leaked.
    std::mem::forget(std::mem::take(&mut registry.turn));
    // Leaked, not dropped: spans that were open at the fork may still be closed in the child. The memory is the parent's,
    // shared until it is written to, which it is not.
    std::mem::forget(std::mem::take(&mut registry.threads));
}

/// The number that traces have for this thread, by which a backward node refers to the thread of its forward operator.
pub fn thread_number() -> u32 {
    with_writer(|writer| writer.thread_number()).unwrap_or(0)
}
