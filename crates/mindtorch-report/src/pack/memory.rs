//! The memory of a process over time, and what it was made of at its peak.

use super::events::Placed;
use super::texts::Texts;
use mindtorch_profiler::{Device, MemoryCategory, Trace};
use serde::Serialize;

/// A screen has fewer.
const MOST_POINTS: usize = 4_000;
/// More blocks than this are counted, not shown.
const MOST_BLOCKS: usize = 200;

/// The memory of one device. Times are those of the page.
#[derive(Debug, Serialize)]
pub(crate) struct MemoryRows {
    process: usize,
    device: String,
    times_ns: Vec<u64>,
    /// For each category, bytes at each time.
    sizes: Vec<Vec<i64>>,
    peak_ns: u64,
    peak_bytes: u64,
    /// The largest first.
    blocks: Vec<Block>,
    others: u64,
    other_bytes: u64,
}

/// A block of memory that was there at the peak.
#[derive(Debug, Serialize)]
struct Block {
    bytes: u64,
    category: u8,
    /// `None` if that was before the recording.
    allocated_ns: Option<u64>,
    /// `None` if it is still there at the end.
    freed_ns: Option<u64>,
    /// The event that allocated it.
    event: Option<usize>,
    /// The number of its stack, from 1; 0 is none.
    stack: u32,
}

/// What memory is for, in order.
pub(crate) fn category_names() -> Vec<&'static str> {
    MemoryCategory::ALL.iter().map(|category| category.name()).collect()
}

/// The memory of each device of which the trace knows anything.
pub(crate) fn memory_rows(process: usize, trace: &Trace, placed: Placed, texts: &mut Texts) -> Vec<MemoryRows> {
    let mut found = Vec::new();
    for device in trace.memory_devices() {
        let timeline = trace.memory_timeline(device);
        let Some(peak) = timeline.peak() else { continue };
        let points = timeline.points(MOST_POINTS);
        let later = |ns: u64| ns + placed.offset_ns;
        let (shown, others) = peak.blocks.split_at(peak.blocks.len().min(MOST_BLOCKS));
        let block = |&(number, category): &(u32, MemoryCategory)| {
            let block = &timeline.blocks()[number as usize];
            Block {
                bytes: block.bytes,
                category: category as u8,
                allocated_ns: block.allocated_ns.map(later),
                freed_ns: block.freed_ns.map(later),
                event: timeline.allocated_by(block).map(|span| placed.number(span.row())),
                stack: texts.stack(timeline.stack(block)),
            }
        };
        found.push(MemoryRows {
            process,
            device: match device {
                Device::Cpu => "host".to_owned(),
                Device::Npu(number) => format!("{} {number}", trace.accelerator()),
            },
            times_ns: points.iter().map(|&(at, _)| later(at)).collect(),
            sizes: (0..MemoryCategory::ALL.len())
                .map(|category| points.iter().map(|(_, sizes)| sizes[category]).collect())
                .collect(),
            peak_ns: later(peak.at_ns),
            peak_bytes: peak.bytes,
            blocks: shown.iter().map(block).collect(),
            others: others.len() as u64,
            other_bytes: others.iter().map(|&(number, _)| timeline.blocks()[number as usize].bytes).sum(),
        });
    }
    found
}
