//! Events without length: allocations, counters and marks.

use super::PerfettoWriter;
use super::field::event;
use super::words::{Category, Key};
use crate::recorder::Device;
use crate::trace::MemoryRow;
use std::io;

impl PerfettoWriter<'_, '_> {
    /// Allocations and frees on the tracks of threads, and what was in use after each on that of the device.
    pub(super) fn write_memory(&mut self) -> io::Result<()> {
        let mut of_thread = None;
        for (at, row) in self.trace.memory.iter().enumerate() {
            if !self.selection.memory(at) {
                continue;
            }
            self.start_on_thread(&mut of_thread, row.thread);
            if !self.trace.header.hides_memory_events {
                self.write_allocation(at, row);
            }
            let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
            let track = self.tracks.memory(out, sequence, &self.accelerator.label, row.device);
            let counted = sequence.begin(out, event::COUNTER, row.at_ns);
            sequence.on_track(out, track);
            out.signed(event::COUNTER_VALUE, row.allocated);
            sequence.end(out, counted);
            self.out.checkpoint()?;
        }
        Ok(())
    }

    fn write_allocation(&mut self, at: usize, row: &MemoryRow) {
        let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
        let (device_id, device_type) = match row.device {
            Device::Cpu => (-1, 0),
            Device::Npu(index) => (i64::from(index), self.accelerator.type_number),
        };
        let allocated = sequence.begin(out, event::INSTANT, row.at_ns);
        sequence.category(out, Category::Instant);
        out.number(event::NAME_IID, u64::from(sequence.interned.memory_name()));
        sequence.uint(out, Key::TotalReserved, row.reserved);
        sequence.int(out, Key::TotalAllocated, row.allocated);
        sequence.int(out, Key::MemoryBytes, row.bytes);
        sequence.int(out, Key::DeviceId, device_id);
        sequence.uint(out, Key::MemoryDeviceType, device_type);
        sequence.uint(out, Key::Address, row.address);
        // Spans are numbered first, by their rows.
        sequence.uint(out, Key::EvIdx, (self.trace.spans.len() + at) as u64);
        sequence.end(out, allocated);
    }

    pub(super) fn write_instants(&mut self) -> io::Result<()> {
        let mut of_thread = None;
        for (at, row) in self.trace.instants.iter().enumerate() {
            if !self.selection.instant(at) {
                continue;
            }
            self.start_on_thread(&mut of_thread, row.thread);
            let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
            if let Some(value) = row.value {
                let track = self.tracks.counter(out, sequence, self.trace, row.name);
                let counted = sequence.begin(out, event::COUNTER, row.at);
                sequence.on_track(out, track);
                out.double(event::DOUBLE_COUNTER_VALUE, value);
                sequence.end(out, counted);
            } else {
                let marked = sequence.begin(out, event::INSTANT, row.at);
                sequence.category(out, Category::Instant);
                sequence.name(out, row.name);
                sequence.end(out, marked);
            }
            self.out.checkpoint()?;
        }
        Ok(())
    }

    /// Begins a sequence when the thread is another.
    fn start_on_thread(&mut self, current: &mut Option<usize>, thread: usize) {
        if *current != Some(thread) {
            *current = Some(thread);
            self.sequence.start(&mut self.out.buffer, self.tracks.threads[thread]);
        }
    }
}
