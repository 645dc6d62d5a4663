//! Events without length: allocations, counters and marks.

use super::ChromeWriter;
use crate::recorder::Device;
use std::io;

/// Torch's number for an accelerator that is none of those that it knows by name.
const PRIVATE_USE_1: u32 = 20;

impl ChromeWriter<'_, '_> {
    pub(super) fn write_memory(&mut self) -> io::Result<()> {
        if self.trace.header.hides_memory_events {
            return Ok(());
        }
        for row in &self.trace.memory {
            self.json.raw("{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\"");
            self.thread(row.thread);
            self.time(row.at_ns);
            let (device_id, device_type) = match row.device {
                Device::Cpu => (-1, 0),
                Device::Npu(index) => (i32::from(index), PRIVATE_USE_1),
            };
            self.json.raw(",\"args\":{\"Total Reserved\":");
            self.json.int(row.reserved);
            self.json.raw(",\"Total Allocated\":");
            self.json.int(row.allocated);
            self.json.raw(",\"Bytes\":");
            self.json.int(row.bytes);
            self.json.raw(",\"Device Id\":");
            self.json.int(device_id);
            self.json.raw(",\"Device Type\":");
            self.json.int(device_type);
            self.json.raw(",\"Addr\":");
            self.json.int(row.address);
            // Torch writes this on every instant, and its tools may compare.
            self.json.raw(",\"finished\":false,");
            self.number();
            self.json.raw("}},\n");
            self.json.checkpoint()?;
        }
        Ok(())
    }

    pub(super) fn write_instants(&mut self) -> io::Result<()> {
        for row in &self.trace.instants {
            self.json.raw(match row.value {
                Some(_) => "{\"ph\":\"C\",\"name\":",
                None => "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":",
            });
            self.json.bytes(self.names.get(row.name));
            self.thread(row.thread);
            self.time(row.at);
            if let Some(value) = row.value {
                self.json.raw(",\"args\":{\"value\":");
                self.json.float(value);
                self.json.raw("}");
            }
            self.json.raw("},\n");
            self.json.checkpoint()?;
        }
        Ok(())
    }
}
