//! How much memory was in use, at any time of a trace.

use super::Trace;
use crate::recorder::Device;

/// What was in use on the devices, after each change.
#[derive(Debug)]
pub struct MemoryUsage {
    /// In the order of devices.
    devices: Vec<OfDevice>,
}

#[derive(Debug)]
struct OfDevice {
    device: Device,
    /// In the order of time.
    changes: Vec<(u64, i64)>,
    at_start: i64,
}

impl Trace {
    /// How much memory was in use, at any time.
    pub fn memory_usage(&self) -> MemoryUsage {
        let known = &self.header.memory_in_use;
        let told = known.iter().map(|&(device, _)| device);
        let mut devices: Vec<Device> = self.memory.iter().map(|row| row.device).chain(told).collect();
        devices.sort_unstable();
        devices.dedup();
        let usage = |device| {
            let rows = || self.memory.iter().filter(move |row| row.device == device);
            let mut changes: Vec<(u64, i64)> = rows().map(|row| (row.at_ns, row.allocated)).collect();
            changes.sort_by_key(|&(at, _)| at);
            let known = known.iter().find(|(told, _)| *told == device).map_or(0, |&(_, bytes)| bytes);
            let at_start = rows().min_by_key(|row| row.at_ns).map_or(known, |row| row.allocated - row.bytes);
            OfDevice { device, changes, at_start }
        };
        MemoryUsage { devices: devices.into_iter().map(usage).collect() }
    }
}

impl MemoryUsage {
    /// What was in use before anything that happened at `start_ns`, and after everything that happened at `end_ns`.
    pub fn around(&self, device: Device, start_ns: u64, end_ns: u64) -> (i64, i64) {
        let Ok(found) = self.devices.binary_search_by_key(&device, |usage| usage.device) else { return (0, 0) };
        let usage = &self.devices[found];
        let before = usage.changes.partition_point(|&(at, _)| at < start_ns);
        let after = usage.changes.partition_point(|&(at, _)| at <= end_ns);
        (usage.after_first(before), usage.after_first(after))
    }
}

impl OfDevice {
    fn after_first(&self, count: usize) -> i64 {
        count.checked_sub(1).map_or(self.at_start, |last| self.changes[last].1)
    }
}
