//! draft
mod capture;
mod clock;
mod intern;
mod macros;
mod names;
mod recorder;
mod session;
mod sync;
mod trace;

pub use capture::Capture;
pub use clock::ManualClock;
pub use macros::CallSite;
pub use names::{Input, Inputs, InputsEncoder, Name, Stack};
pub use recorder::{
    Device, DeviceSpan, Memory, Recorder, Span, SpanArgs, SpanId, SpanKind, SpanToken, ThreadWriter, Ticks, capture,
    counter, device_span, mark, memory,
};
pub use session::{Recording, Session, SessionBuilder};
pub use trace::{DeviceSpanRef, MemoryRow, SpanRef, ThreadRow, Trace};
