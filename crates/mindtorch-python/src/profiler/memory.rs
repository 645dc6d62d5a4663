//! How much memory was in use, at any time of a trace.

use mindtorch_profiler::{Device, Trace};

/// What was in use on a device, after each change.
pub(super) struct Usage {
    device: Device,
    /// In the order of time.
    changes: Vec<(u64, i64)>,
    at_start: i64,
}

impl Usage {
    /// What a trace tells of a device. `known_at_start` is what was in use when the recording began, for a device of which
    /// the trace tells nothing.
    pub(super) fn of(trace: &Trace, device: Device, known_at_start: i64) -> Self {
        let rows = || trace.memory().iter().filter(|row| row.device == device);
        let mut changes: Vec<(u64, i64)> = rows().map(|row| (row.at_ns, row.allocated)).collect();
        changes.sort_by_key(|&(at, _)| at);
        let first = rows().min_by_key(|row| row.at_ns);
        let at_start = first.map_or(known_at_start, |row| row.allocated - row.bytes);
        Self { device, changes, at_start }
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    /// Before anything that happened at `ns`.
    pub(super) fn before(&self, ns: u64) -> i64 {
        self.after_first(self.changes.partition_point(|&(at, _)| at < ns))
    }

    /// After everything that happened at `ns`.
    pub(super) fn after(&self, ns: u64) -> i64 {
        self.after_first(self.changes.partition_point(|&(at, _)| at <= ns))
    }

    fn after_first(&self, count: usize) -> i64 {
        count.checked_sub(1).map_or(self.at_start, |last| self.changes[last].1)
    }
}
