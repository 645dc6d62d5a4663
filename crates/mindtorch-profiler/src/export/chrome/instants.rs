//! Events without length: allocations, counters and marks.

use super::ChromeWriter;
use crate::recorder::Device;
use std::io;

impl ChromeWriter<'_, '_> {
    pub(super) fn write_memory(&mut self) -> io::Result<()> {
        if self.trace.header.hides_memory_events {
            return Ok(());
        }
        for row in 0..self.trace.memory.len() {
            if self.selection.memory(row) {
                self.write_memory_row(row);
                self.json.checkpoint()?;
            }
        }
        Ok(())
    }

    pub(super) fn write_memory_row(&mut self, row: usize) {
        let change = &self.trace.memory[row];
        self.json.raw("{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\"");
        self.thread(change.thread);
        self.time(change.at_ns);
        let (device_id, device_type) = match change.device {
            Device::Cpu => (-1, 0),
            Device::Npu(index) => (i64::from(self.numbers.device(self.trace, index).1), self.accelerator.type_number),
        };
        self.json.raw(",\"args\":{\"Total Reserved\":");
        self.json.number(change.reserved);
        self.json.raw(",\"Total Allocated\":");
        self.json.int(change.allocated);
        self.json.raw(",\"Bytes\":");
        self.json.int(change.bytes);
        self.json.raw(",\"Device Id\":");
        self.json.int(device_id);
        self.json.raw(",\"Device Type\":");
        self.json.number(device_type);
        self.json.raw(",\"Addr\":");
        self.json.number(change.address);
        // Torch writes this on every instant, and its tools may compare. Memory is numbered behind the spans.
        self.json.raw(",\"finished\":false,\"Ev Idx\":");
        self.json.number(self.numbers.first_id + (self.trace.spans.len() + row) as u64);
        self.json.raw("}},\n");
    }

    pub(super) fn write_instants(&mut self) -> io::Result<()> {
        for row in 0..self.trace.instants.len() {
            if self.selection.instant(row) {
                self.write_instant(row);
                self.json.checkpoint()?;
            }
        }
        Ok(())
    }

    pub(super) fn write_instant(&mut self, row: usize) {
        let instant = &self.trace.instants[row];
        self.json.raw(match instant.value {
            Some(_) => "{\"ph\":\"C\",\"name\":",
            None => "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":",
        });
        self.write_name(instant.name);
        self.thread(instant.thread);
        self.time(instant.at);
        if let Some(value) = instant.value {
            self.json.raw(",\"args\":{\"value\":");
            self.json.float(value);
            self.json.raw("}");
        }
        self.json.raw("},\n");
    }
}
