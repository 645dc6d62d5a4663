//! When most memory was in use, and what for.

use mindtorch_profiler::{Device, MemoryCategory, Trace};
use serde::Serialize;
use std::collections::HashMap;

/// The first moment at which most memory was in use on a device.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryPeak {
    /// The device: `"cpu"`, `"cuda:0"`.
    pub device: String,
    /// When, since the start of the trace.
    pub at_ns: u64,
    /// How much.
    pub bytes: u64,
    /// How much of it was there before the recording began.
    pub from_before_bytes: u64,
    /// What it was for, as far as that is known; the most first. Of files, no more is known than what was temporary.
    pub categories: Vec<MemoryPart>,
    /// Who had allocated it: operators, and where there was none, the spans around; the most first.
    pub allocated_by: Vec<MemoryPart>,
}

/// A part of the memory in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryPart {
    /// The category or the operator; none for memory that was allocated outside of all spans.
    pub name: Option<String>,
    /// How many blocks.
    pub blocks: usize,
    /// How much.
    pub bytes: u64,
}

impl MemoryPeak {
    /// The peak of each device that the trace knows memory of, with at most so many allocating operators each.
    pub fn of_all(trace: &Trace, operators: usize) -> Vec<Self> {
        trace.memory_devices().into_iter().filter_map(|device| Self::of(trace, device, operators)).collect()
    }

    fn of(trace: &Trace, device: Device, operators: usize) -> Option<Self> {
        let timeline = trace.memory_timeline(device);
        let peak = timeline.peak()?;
        let mut from_before_bytes = 0;
        let mut categories = Parts::default();
        let mut allocated_by = Parts::default();
        for &(number, category) in &peak.blocks {
            let block = &timeline.blocks()[number as usize];
            if category != MemoryCategory::Unknown {
                categories.add(Some(category.name()), block.bytes);
            }
            if block.allocated_ns.is_none() {
                from_before_bytes += block.bytes;
            } else {
                allocated_by.add(timeline.allocated_by(block).map(|span| span.name()), block.bytes);
            }
        }
        let mut allocated_by = allocated_by.sorted();
        allocated_by.truncate(operators);
        Some(Self {
            device: device_name(trace, device),
            at_ns: peak.at_ns,
            bytes: peak.bytes,
            from_before_bytes,
            categories: categories.sorted(),
            allocated_by,
        })
    }
}

/// Torch's name of a device.
pub fn device_name(trace: &Trace, device: Device) -> String {
    match device {
        Device::Cpu => "cpu".to_owned(),
        Device::Npu(number) => format!("{}:{number}", trace.accelerator().to_lowercase()),
    }
}

#[derive(Default)]
struct Parts<'a>(HashMap<Option<&'a str>, (usize, u64)>);

impl<'a> Parts<'a> {
    fn add(&mut self, name: Option<&'a str>, size: u64) {
        let (blocks, bytes) = self.0.entry(name).or_default();
        (*blocks, *bytes) = (*blocks + 1, *bytes + size);
    }

    fn sorted(self) -> Vec<MemoryPart> {
        let part =
            |(name, (blocks, bytes)): (Option<&str>, _)| MemoryPart { name: name.map(str::to_owned), blocks, bytes };
        let mut parts: Vec<MemoryPart> = self.0.into_iter().map(part).collect();
        parts.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.name.cmp(&other.name)));
        parts
    }
}
