//! When most memory was in use.

use super::evidence::Evidence;
use super::{Bytes, Fact, Finding};
use mindtorch_profiler::{Device, Trace};

/// The peak of each device whose memory was recorded, and the largest blocks that there were.
pub(super) fn peaks(trace: &Trace) -> Vec<Finding> {
    let found = trace.memory_devices().into_iter().filter_map(|device| {
        let timeline = trace.memory_timeline(device);
        let peak = timeline.peak()?;
        let device = match device {
            Device::Cpu => "host".to_owned(),
            Device::Npu(number) => format!("{} {number}", trace.accelerator()),
        };
        let evidence = peak.blocks.iter().take(Evidence::MOST).map(|&(number, category)| {
            let block = &timeline.blocks()[number as usize];
            let span = timeline.allocated_by(block);
            let by = span.map_or(String::new(), |span| format!(", allocated by {}", span.name()));
            let label = format!("{} ({}){by}", Bytes(block.bytes), category.name());
            let (start_ns, end_ns) = (block.allocated_ns.unwrap_or(0), block.freed_ns.unwrap_or(trace.duration_ns()));
            Evidence { span: span.map(|span| span.row()), ..Evidence::of_time(label, start_ns, end_ns) }
        });
        let fact = Fact::MemoryPeak { device, bytes: peak.bytes, at_ns: peak.at_ns, blocks: peak.blocks.len() as u64 };
        Some(Finding { evidence: evidence.collect(), fact })
    });
    found.collect()
}
