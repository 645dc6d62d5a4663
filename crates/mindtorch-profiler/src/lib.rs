//! A profiler with the model of `torch.profiler`, for Rust programs and for what is built on them.
//!
//! It records spans, memory, device work and counters on all threads, at about the cost of reading the clock twice, and
//! answers with torch's table, a Chrome trace or a flame graph.
//!
//! ```
//! use mindtorch_profiler::{Session, record_function};
//!
//! let session = Session::start();
//! let sum: u64 = {
//!     let _span = record_function!("sum");
//!     (0..1000).sum()
//! };
//! println!("{}", session.stop().key_averages());
//! # assert_eq!(sum, 499_500);
//! ```
//!
//! # Spans
//! [`record_function!`] begins a span that ends when the guard is dropped, on whichever thread that is. Spans nest by
//! time. [`Span::begin`] takes more than a name: a kind, input shapes, a stack, a sequence number.
//!
//! ```
//! use mindtorch_profiler::{Inputs, Name, Session, Span, SpanArgs, SpanKind};
//! let session = Session::builder().record_shapes(true).with_flops(true).start();
//! {
//!     let inputs = Inputs::encode().tensor("float", &[8, 4], &[4, 1]).tensor("float", &[4, 2], &[2, 1]).finish();
//!     let args = SpanArgs::new(SpanKind::Op, Name::new("aten::mm")).inputs(inputs).flops(2 * 8 * 4 * 2);
//!     let _span = Span::begin(&args);
//! }
//! let trace = session.stop();
//! assert_eq!(trace.spans().next().unwrap().flops(), 128);
//! ```
//!
//! # Sessions
//! A [`Session`] is a window: it sees what all threads record between its start and its stop. Sessions may nest and
//! overlap; each has its own flags, and none disturbs another. [`Session::snapshot`] looks at one that is running.
//!
//! ```
//! use mindtorch_profiler::{Session, record_function};
//! let outer = Session::start();
//! drop(record_function!("before"));
//! let inner = Session::start();
//! drop(record_function!("within"));
//! assert_eq!(inner.stop().span_count(), 1);
//! assert_eq!(outer.snapshot().span_count(), 2);
//! ```
//!
//! # Traces
//! A [`Trace`] has the spans with their parents and self times. [`Trace::key_averages`] groups them, and the result
//! prints as torch's table; [`Trace::export_chrome_trace`] writes a file for `chrome://tracing` or Perfetto,
//! [`Trace::export_perfetto_trace`] one for Perfetto alone that is a fifth of its size or less, [`Trace::export_stacks`]
//! one for flame graphs.
//!
//! ```
//! # use mindtorch_profiler::{Session, SortKey, TableOptions, record_function};
//! # let session = Session::start();
//! # drop(record_function!("work"));
//! let trace = session.stop();
//! let by_self_time = TableOptions { sort_by: Some(SortKey::SelfCpuTimeTotal), ..TableOptions::default() };
//! println!("{}", trace.key_averages().table(&by_self_time));
//! # let directory = std::env::temp_dir().join(format!("mindtorch-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("trace.json.gz");
//! trace.export_chrome_trace(&path)?;
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Memory
//! With [`ProfiledAllocator`] as the global allocator, sessions that ask for it see every allocation and free, and the
//! table says which span they belong to. Runtimes with memory of their own report it with [`memory()`].
//!
//! # `tracing`
//! With the feature `tracing`, the layer in `tracing_layer` records the spans of programs that are instrumented with the
//! `tracing` crate.
//!
//! # Cost
//! On a 2-core Intel Xeon virtual machine, where two reads of the clock take 21 ns (`make bench`, medians):
//!
//! | | |
//! |---|---|
//! | a span, no session | less than 0.1 ns more than an empty loop: a load and a branch |
//! | a span while recording | 33 ns, 32 bytes |
//! | a span with a sequence number, flops or a note | 64 bytes |
//! | stopping a session | about two microseconds, and some nanoseconds a thread, however much was recorded |
//! | building the trace | 26 ns an event of 1 million, 36 of 10 million |
//! | averages | 8 to 12 ns an event |
//! | Chrome trace | 48 to 63 ns an event, to a sink |
//!
//! Recording takes no lock and allocates only when a thread has filled a chunk (32 slots, then 128, 512 and 2048). A name
//! that is not a literal is looked up among those that the thread used lately; one that is not there takes a lock. An
//! event that cannot be kept, as in a thread that is being torn down, is counted: [`Trace::lost_events`].

mod allocator;
mod capture;
mod clock;
mod column;
mod error;
mod export;
mod flops;
mod inputs;
mod intern;
mod load;
mod macros;
mod markup;
mod names;
mod overhead;
mod prefetch;
mod quiet;
mod recorder;
mod session;
#[doc(hidden)]
pub mod spool;
mod spooling;
mod stats;
mod sync;
mod trace;
#[cfg(feature = "tracing")]
pub mod tracing_layer;

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub use allocator::ProfiledAllocator;
pub use capture::Capture;
pub use clock::ManualClock;
pub use error::Error;
#[cfg(feature = "arrow")]
pub use export::{ArrowArray, ArrowArrayStream, ArrowSchema, DataFrame};
pub use export::{
    ChromeTrace, MergedChromeTrace, PerfettoTrace, RankLabel, StackMetric, TimelineForm, frame_parts, open_patiently,
    set_interruption, write_file,
};
pub use flops::flops;
pub use inputs::{Input, Inputs, InputsEncoder, float_text};
pub use load::LoadError;
pub use macros::CallSite;
pub use markup::markup_text;
pub use names::{Name, Stack};
pub use overhead::{Calibration, EventCost, Overhead, Sample};
#[doc(hidden)]
pub use prefetch::prefetch;
#[doc(hidden)]
pub use recorder::Here;
pub use recorder::{
    ContextInUse, Device, DeviceSpan, DeviceWork, Losses, Memory, MemoryRole, MemoryUse, Recorder, Span, SpanArgs,
    SpanId, SpanKind, SpanToken, ThreadWriter, Ticks, TimeScale, WhenFull, capture, counter, device_span, keep_memory,
    mark, memory, memory_epoch, memory_sources, memory_use, os_thread_id, release_memory, set_context,
    set_context_source, thread_number,
};
pub use session::{OpenScope, Recording, Session, SessionBuilder};
pub use stats::{
    Average, Averages, GroupBy, SortKey, TableForm, TableOptions, TimeUnit, UnknownSortKey, format_memory, format_time,
};
pub use trace::{
    DeviceKind, DeviceSpanRef, EventKind, EventOrder, Filter, MemoryAction, MemoryBlock, MemoryCategory, MemoryEvent,
    MemoryPeak, MemoryRow, MemoryTimeline, MemoryUsage, RankRow, Recovered, SpanRef, ThreadRow, Trace, TraceEvent,
};
