//! Device work, on the tracks of streams.

use super::PerfettoWriter;
use super::arrows::Arrow;
use super::field::event;
use super::lanes::{Function, Lanes, Open};
use super::words::{Category, Key};
use crate::recorder::Device;
use crate::trace::DeviceKind;
use std::cmp::Reverse;
use std::io;

impl PerfettoWriter<'_, '_> {
    pub(super) fn write_device_spans(&mut self) -> io::Result<()> {
        let device = &self.trace.device;
        let stream_of = |row: u32| (device[row as usize].device, device[row as usize].stream);
        let mut rows: Vec<u32> = (0..device.len() as u32).filter(|&row| self.selection.device(row as usize)).collect();
        // Work is in the order in which it was reported; on a track it must be in the order of time.
        rows.sort_by_key(|&row| {
            let work = &device[row as usize];
            (work.device, work.stream, work.start, Reverse(work.end))
        });
        let mut lanes = Lanes::default();
        for of_stream in rows.chunk_by(|&one, &other| stream_of(one) == stream_of(other)) {
            self.write_stream(of_stream, &mut lanes)?;
        }
        Ok(())
    }

    /// Writes the work of a stream. What lies within other work is shown inside it.
    fn write_stream(&mut self, rows: &[u32], lanes: &mut Lanes) -> io::Result<()> {
        let of = &self.trace.device[rows[0] as usize];
        let accelerator = &self.accelerator.label;
        let track = self.tracks.stream(&mut self.out.buffer, &self.sequence, accelerator, (of.device, of.stream));
        self.start_lanes(track);
        for &row in rows {
            let work = &self.trace.device[row as usize];
            self.close(lanes, work.start);
            let lane = match lanes.innermost() {
                Some(around) if around.end < work.end => lanes.free_lane(),
                _ => 0,
            };
            lanes.open(Open { row, end: work.end, lane, is_shown: true, function: Function::default() });
            self.write_work(row, lane);
            self.out.checkpoint()?;
        }
        self.close(lanes, u64::MAX);
        lanes.clear();
        Ok(())
    }

    fn write_work(&mut self, row: u32, lane: u32) {
        let work = &self.trace.device[row as usize];
        let track = self.track_of_lane(lane);
        let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
        let begun = sequence.begin(out, event::SLICE_BEGIN, work.start);
        sequence.on_track(out, track);
        sequence.category(
            out,
            match work.kind {
                DeviceKind::Kernel => Category::Kernel,
                DeviceKind::Copy => Category::Copy,
                DeviceKind::Set => Category::Set,
                DeviceKind::Sync => Category::Sync,
                DeviceKind::Annotation => Category::DeviceAnnotation,
            },
        );
        sequence.name(out, work.name);
        if let Some(launcher) = work.launched_by {
            let owner = self.trace.spans.owner_of_launch(launcher as usize);
            sequence.uint(out, Key::ExternalId, owner as u64 + 1);
        }
        sequence.uint(out, Key::Device, u64::from(work.device));
        sequence.uint(out, Key::Stream, u64::from(work.stream));
        if work.kind != DeviceKind::Annotation {
            sequence.uint(out, Key::Correlation, u64::from(row) + 1);
        }
        if matches!(work.kind, DeviceKind::Copy | DeviceKind::Set) {
            sequence.uint(out, Key::Bytes, work.bytes);
            let ns = work.end - work.start;
            // A file that the trace was read from says this itself.
            if ns > 0 && !work.is_cut && !self.trace.says_bandwidth(work) {
                sequence.double(out, Key::Bandwidth, work.bytes as f64 / ns as f64);
            }
        }
        if work.is_cut {
            sequence.text(out, Key::Cut, if work.start == 0 { "start" } else { "end" });
        }
        let device = Device::Npu(work.device);
        self.write_place(device, work.start);
        self.write_usage(device, work.start, work.end);
        self.write_extra(work.extra);
        if work.launcher().is_some_and(|launcher| self.selection.span(launcher as usize)) {
            self.out.buffer.fixed(event::TERMINATING_FLOW_IDS, Arrow::ToDevice(row).id());
        }
        self.sequence.end(&mut self.out.buffer, begun);
    }
}
