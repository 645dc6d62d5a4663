//! The parts of a trace that are not spans of a thread. Times are nanoseconds since the start of the trace.

use crate::names::Stack;
use crate::recorder::Device;

/// A thread that has events in the trace.
#[derive(Clone, Debug)]
pub struct ThreadRow {
    /// The thread's number: from 1, in the order in which threads recorded their first event in this process.
    pub number: u32,
    /// The operating system's number.
    pub os_id: u64,
    /// The thread's name, if it has one.
    pub name: Option<String>,
    /// The thread's spans.
    pub(crate) spans: std::ops::Range<usize>,
    /// Some of them overlap without one containing the other.
    pub(crate) has_overlaps: bool,
}

/// What a device did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// It computed.
    #[default]
    Kernel,
    /// It moved memory.
    Copy,
    /// It filled memory.
    Set,
    /// It waited.
    Sync,
    /// Nothing: a scope of the program, as wide as the work that was launched in it.
    Annotation,
}

/// Work that a device did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceRow {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) name: u32,
    pub(crate) device: u16,
    pub(crate) stream: u32,
    pub(crate) kind: DeviceKind,
    /// Part of it lies outside the window.
    pub(crate) is_cut: bool,
    pub(crate) bytes: u64,
    /// The span that launched it.
    pub(crate) launched_by: Option<u32>,
    /// Arguments of a trace that was read which have no column, as members of a JSON object: index into the trace's names,
    /// one higher.
    pub(crate) extra: u32,
}

/// An allocation or a free.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRow {
    /// When.
    pub at_ns: u64,
    /// The row of the thread in [`Trace::threads`](super::Trace::threads).
    pub thread: usize,
    /// Where the block starts.
    pub address: u64,
    /// Its size: positive when allocated, negative when freed.
    pub bytes: i64,
    /// The device that it is on.
    pub device: Device,
    /// Bytes in use on the device after this.
    pub allocated: i64,
    /// Bytes that the device's allocator holds.
    pub reserved: u64,
    /// Where in the source it happened.
    pub stack: Stack,
    /// The row of the span in which it happened.
    pub span: Option<u32>,
}

/// A counter's value, or a mark, which has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstantRow {
    pub(crate) at: u64,
    pub(crate) thread: usize,
    pub(crate) name: u32,
    pub(crate) value: Option<f64>,
}
