//! The parts of a trace that are not spans of a thread. Times are nanoseconds since the start of the trace.

use crate::capture::Capture;
use crate::column::Column;
use crate::names::Stack;
use crate::recorder::{Device, MemoryRole, MemoryUse, RecordKind};
use crate::sync::Arc;

/// A thread that has events in the trace.
#[derive(Clone, Debug)]
pub struct ThreadRow {
    /// The thread's number: from 1, in the order in which threads recorded their first event in this process.
    pub number: u32,
    /// The operating system's number.
    pub os_id: u64,
    /// The thread's name, if it has one.
    pub name: Option<String>,
    /// The rank of its process, in a trace that was read from a file of several: see [`Trace::ranks`](super::Trace::ranks).
    pub rank: Option<u32>,
    /// The thread's spans.
    pub(crate) spans: std::ops::Range<usize>,
    /// Some of them overlap without one containing the other.
    pub(crate) has_overlaps: bool,
}

/// A process among those of a trace that was read from a file of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankRow {
    /// Its number among those that work together.
    pub rank: u32,
    /// What the file calls it.
    pub name: String,
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

impl DeviceKind {
    pub(super) fn of_record(kind: RecordKind) -> Self {
        match kind {
            RecordKind::Copy => Self::Copy,
            RecordKind::Set => Self::Set,
            RecordKind::Sync => Self::Sync,
            _ => Self::Kernel,
        }
    }
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
    /// The span that launched it; of an annotation, the scope that it is.
    pub(crate) launched_by: Option<u32>,
    /// What has no column, as members of a JSON object: index into the trace's names, one higher.
    pub(crate) extra: u32,
}

impl DeviceRow {
    /// The span that launched it: a scope was launched by nobody.
    pub(crate) fn launcher(&self) -> Option<u32> {
        self.launched_by.filter(|_| self.kind != DeviceKind::Annotation)
    }
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
    /// What it was for, as far as that was known then.
    pub role: MemoryRole,
    /// The row of the span in which it happened.
    pub span: Option<u32>,
}

/// What became known of blocks of memory, besides that they were allocated and freed.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryNotes {
    /// Thread by thread.
    pub(crate) uses: Column<UseRow>,
    /// In the order of spans.
    pub(crate) sources: Column<SourcesRow>,
    /// When devices' memory began to be seen, in the order of time, and the blocks that were known to be there.
    pub(crate) views: Vec<MemoryView>,
}

/// Something that became known of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UseRow {
    pub(crate) at_ns: u64,
    pub(crate) used: MemoryUse,
    /// The row in the trace's memory of the next allocation or free of the thread, or of one after it.
    pub(crate) before: u32,
    pub(crate) span: Option<u32>,
}

/// The blocks from which a span computed what it allocated; an address of 0 is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourcesRow {
    pub(crate) span: u32,
    pub(crate) device: Device,
    pub(crate) addresses: [u64; 3],
}

/// A time from which on memory is seen.
#[derive(Clone, Debug)]
pub(crate) struct MemoryView {
    pub(crate) at_ns: u64,
    /// Of which devices.
    pub(crate) activities: Capture,
    pub(crate) blocks: Arc<Vec<MemoryUse>>,
}

/// A counter's value, or a mark, which has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstantRow {
    pub(crate) at: u64,
    pub(crate) thread: usize,
    pub(crate) name: u32,
    pub(crate) value: Option<f64>,
}
