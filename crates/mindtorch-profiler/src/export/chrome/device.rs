//! Complete events: what devices did.

use super::ChromeWriter;
use super::spans::LEADS_HERE;
use crate::recorder::Device;
use crate::trace::DeviceKind;
use std::io;

impl ChromeWriter<'_, '_> {
    pub(super) fn write_device_spans(&mut self) -> io::Result<()> {
        for row in 0..self.trace.device.len() {
            if !self.selection.device(row) {
                continue;
            }
            self.write_device_span(row);
            if let Some(launcher) = self.trace.device[row].launcher()
                && self.selection.span(launcher as usize)
            {
                self.write_arrow_from_host(row);
            }
            self.json.checkpoint()?;
        }
        Ok(())
    }

    pub(super) fn write_device_span(&mut self, row: usize) {
        let trace = self.trace;
        let work = &trace.device[row];
        let category = match work.kind {
            DeviceKind::Kernel => "kernel",
            DeviceKind::Copy => "gpu_memcpy",
            DeviceKind::Set => "gpu_memset",
            DeviceKind::Sync => "cuda_sync",
            DeviceKind::Annotation => "gpu_user_annotation",
        };
        self.json.raw("{\"ph\":\"X\",\"cat\":\"");
        self.json.raw(category);
        self.json.raw("\",\"name\":");
        self.write_name(work.name);
        self.stream(work.device, work.stream);
        self.time(work.start);
        self.json.raw(",\"dur\":");
        self.json.micros(work.end - work.start);
        self.json.raw(",\"args\":{");
        if let Some(launcher) = work.launched_by {
            self.json.raw("\"External id\":");
            self.json.number(self.numbers.first_id + trace.spans.owner_of_launch(launcher as usize) as u64 + 1);
            self.json.raw(",");
        }
        self.json.raw("\"device\":");
        self.json.number(self.numbers.device(trace, work.device).1.into());
        self.json.raw(",\"stream\":");
        self.json.number(work.stream.into());
        if work.kind != DeviceKind::Annotation {
            self.json.raw(",\"correlation\":");
            self.json.number(self.numbers.first_id + row as u64 + 1);
        }
        if matches!(work.kind, DeviceKind::Copy | DeviceKind::Set) {
            self.write_bytes(row);
        }
        self.json.raw(&self.accelerator.on_device);
        self.json.number(self.steps.step_at(work.start));
        if work.is_cut {
            self.json.raw(if work.start == 0 { ",\"cut\":\"start\"" } else { ",\"cut\":\"end\"" });
        }
        self.write_usage(Device::Npu(work.device), work.start, work.end);
        self.write_extra(work.extra);
        self.json.raw("}},\n");
    }

    /// How much was moved, and how quickly. A file that the trace was read from says the latter itself.
    fn write_bytes(&mut self, row: usize) {
        let work = &self.trace.device[row];
        self.json.raw(",\"bytes\":");
        self.json.number(work.bytes);
        let ns = work.end - work.start;
        if ns > 0 && !work.is_cut && !self.trace.says_bandwidth(work) {
            self.json.raw(",\"memory bandwidth (GB/s)\":");
            self.json.float(work.bytes as f64 / ns as f64);
        }
    }

    /// The end of the arrow that begins at the launch of the work before it.
    fn write_arrow_from_host(&mut self, row: usize) {
        let work = &self.trace.device[row];
        self.json.raw(LEADS_HERE);
        self.json.number(self.numbers.first_id + row as u64 + 1);
        self.stream(work.device, work.stream);
        self.time(work.start);
        self.json.raw(",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},\n");
    }
}
