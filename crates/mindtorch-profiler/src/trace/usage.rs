//! How much memory was in use, at any time of a trace.

use super::Trace;
use super::rows::MemoryRow;
use crate::column::Column;
use crate::recorder::Device;

/// What was in use on the devices, after each change. Cheap to copy: it looks into the trace.
#[derive(Clone, Copy, Debug)]
pub struct MemoryUsage<'a> {
    memory: &'a [MemoryRow],
    /// In the order of devices.
    devices: &'a [ChangesOfDevice],
}

/// The changes on one device.
#[derive(Debug)]
pub(crate) struct ChangesOfDevice {
    device: Device,
    /// Rows of the trace's memory, in the order of time.
    rows: Column<u32>,
    at_start: i64,
}

impl ChangesOfDevice {
    pub(super) fn all(trace: &Trace) -> Vec<Self> {
        let known = &trace.header.memory_in_use;
        let mut devices: Vec<Device> = known.iter().map(|&(device, _)| device).collect();
        for row in &trace.memory {
            if !devices.contains(&row.device) {
                devices.push(row.device);
            }
        }
        devices.sort_unstable();
        devices.dedup();
        let changes = |device| {
            let is_here = |row: &u32| trace.memory[*row as usize].device == device;
            let mut rows: Column<u32> = (0..trace.memory.len() as u32).filter(is_here).collect();
            // Of changes at the same time, the later row is the later change.
            rows.sort_unstable_by_key(|&row| (trace.memory[row as usize].at_ns, row));
            rows.shrink_to_fit();
            let known = known.iter().find(|(told, _)| *told == device).map_or(0, |&(_, bytes)| bytes);
            let before = |row: &MemoryRow| row.allocated - row.bytes;
            let at_start = rows.first().map_or(known, |&first| before(&trace.memory[first as usize]));
            Self { device, rows, at_start }
        };
        devices.into_iter().map(changes).collect()
    }
}

impl Trace {
    /// How much memory was in use, at any time. Worked out once.
    pub fn memory_usage(&self) -> MemoryUsage<'_> {
        MemoryUsage { memory: &self.memory, devices: self.memory_changes() }
    }
}

impl MemoryUsage<'_> {
    /// What was in use before anything that happened at `start_ns`, and after everything that happened at `end_ns`.
    pub fn around(&self, device: Device, start_ns: u64, end_ns: u64) -> (i64, i64) {
        self.around_near(device, start_ns, end_ns, &mut 0)
    }

    /// The same, looked for from where `near` says, which then says where it was found: quick if one asks for times that
    /// lie close to each other.
    pub(crate) fn around_near(&self, device: Device, start_ns: u64, end_ns: u64, near: &mut usize) -> (i64, i64) {
        let Ok(found) = self.devices.binary_search_by_key(&device, |changes| changes.device) else { return (0, 0) };
        let changes = &self.devices[found];
        let at = |place: usize| self.memory[changes.rows[place] as usize].at_ns;
        let before = partition_point_near(changes.rows.len(), *near, |place| at(place) < start_ns);
        let after = partition_point_near(changes.rows.len(), before, |place| at(place) <= end_ns);
        *near = before;
        let after_first = |count: usize| {
            let last = count.checked_sub(1).map(|last| changes.rows[last] as usize);
            last.map_or(changes.at_start, |row| self.memory[row].allocated)
        };
        (after_first(before), after_first(after))
    }
}

/// The first of `len` places for which `is_before` does not hold; it holds for all places before that one. The number of
/// questions grows with the logarithm of the distance from `near`.
fn partition_point_near(len: usize, near: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let near = near.min(len);
    let (mut low, mut high);
    let mut step = 1;
    if near < len && is_before(near) {
        low = near + 1;
        while low + step <= len && is_before(low + step - 1) {
            low += step;
            step *= 2;
        }
        high = len.min(low + step - 1);
    } else {
        high = near;
        while high >= step && !is_before(high - step) {
            high -= step;
            step *= 2;
        }
        low = (high + 1).saturating_sub(step);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::partition_point_near;

    #[test]
    fn a_place_is_found_from_anywhere() {
        for len in 0..20 {
            for point in 0..=len {
                for near in 0..22 {
                    let is_before = |place: usize| {
                        assert!(place < len);
                        place < point
                    };
                    assert_eq!(partition_point_near(len, near, is_before), point, "{len} {near}");
                }
            }
        }
    }
}
