//! Complete events: spans of threads, and device work.

use super::ChromeWriter;
use super::captured::CapturedTexts;
use super::flows::{Flow, FlowKind};
use super::functions::Functions;
use super::steps::StepCursor;
use crate::capture::Capture;
use crate::names::{Inputs, Stack};
use crate::recorder::{Device, SpanKind};
use crate::trace::DeviceKind;
use std::io;

impl ChromeWriter<'_, '_> {
    pub(super) fn write_spans(&mut self) -> io::Result<()> {
        let trace = self.trace;
        let spans = &trace.spans;
        let mut captured = CapturedTexts::default();
        let mut steps = StepCursor::new(trace);
        let functions = Functions::of(trace);
        let [shows_shapes, shows_stacks] = [Capture::SHAPES, Capture::STACK].map(|flag| trace.capture().contains(flag));
        for thread in &trace.threads {
            let place = format!(",\"pid\":{},\"tid\":{},\"ts\":", trace.header.pid, thread.os_id);
            for row in thread.spans.clone() {
                let start = spans.start[row];
                self.json.raw(head_of(spans.kind[row]));
                self.write_name(row);
                self.json.raw(&place);
                self.json.micros(self.origin_ns + start);
                self.json.raw(",\"dur\":");
                self.json.micros(spans.duration.get(row));
                if spans.kind[row] == SpanKind::Function {
                    functions.write(&mut self.json, row);
                } else {
                    self.json.raw(",\"args\":{\"External id\":");
                    self.json.int(row + 1);
                    self.json.raw(",\"Record function id\":");
                    self.json.int(spans.detail(row).map_or(0, |detail| detail.record_function));
                }
                // Spans are the first events, so their rows are their numbers.
                self.json.raw(",\"Ev Idx\":");
                self.json.int(row);
                self.write_sequence(row);
                let inputs = spans.inputs.get(row);
                if inputs != 0 {
                    self.json.bytes(captured.inputs(Inputs(inputs)));
                } else if shows_shapes && matches!(spans.kind[row], SpanKind::Op | SpanKind::Backward) {
                    self.json.raw(",\"input_shapes\":[]");
                }
                let stack = spans.stack.get(row);
                if stack != 0 {
                    self.json.bytes(captured.stack(Stack(stack)));
                } else if shows_stacks {
                    self.json.raw(",\"stack\":[]");
                }
                self.json.raw(if spans.device_of(row) == Device::Cpu { ON_HOST } else { ON_DEVICE });
                self.json.int(steps.step_at(start));
                if spans.kind[row] == SpanKind::Runtime
                    && let Some(correlation) = self.flows.correlation(row)
                {
                    self.json.raw(",\"correlation\":");
                    self.json.int(correlation);
                }
                self.write_rest_of_args(row);
                self.json.raw("}},\n");
                while let Some(flow) = self.flows.take(row) {
                    self.write_flow(flow, &place, start);
                }
                self.json.checkpoint()?;
            }
        }
        self.numbered = spans.len();
        Ok(())
    }

    /// The name, with the overload if it was kept.
    fn write_name(&mut self, row: usize) {
        let trace = self.trace;
        let name = self.names.get(trace.spans.name[row]);
        let overload = trace.spans.detail(row).map_or(0, |detail| detail.overload);
        match trace.spans.detail(row).map_or("", |detail| trace.name(detail.overload)) {
            "" => self.json.bytes(name),
            _ => {
                // Both are in quotes.
                self.json.bytes(&name[..name.len() - 1]);
                self.json.raw(".");
                self.json.bytes(&self.names.get(overload)[1..]);
            }
        }
    }

    fn write_sequence(&mut self, row: usize) {
        let Some(detail) = self.trace.spans.detail(row) else { return };
        if let Some(sequence) = detail.sequence() {
            self.json.raw(",\"Sequence number\":");
            self.json.int(sequence);
            self.json.raw(",\"Fwd thread id\":");
            self.json.int(detail.forward_thread);
        }
    }

    /// What is only written where there is something to say.
    fn write_rest_of_args(&mut self, row: usize) {
        let trace = self.trace;
        if let Some(detail) = trace.spans.detail(row) {
            if detail.flops > 0 {
                self.json.raw(",\"Flops\":");
                self.json.int(detail.flops);
            }
            if !trace.name(detail.note).is_empty() {
                self.json.raw(",\"note\":");
                self.json.bytes(self.names.get(detail.note));
            }
        }
        let flags = trace.spans.flags[row];
        if flags.is_cut_at_end() {
            self.json.raw(",\"finished\":false");
        }
        if flags.is_cut_at_start() {
            self.json.raw(",\"cut\":\"start\"");
        }
        if flags.is_closed_elsewhere() {
            self.json.raw(",\"async\":true");
        }
        if self.usage.is_some() {
            let (start, end) = (trace.spans.start[row], trace.spans.end(row));
            self.write_usage(trace.spans.device_of(row), start, end);
        }
    }

    /// What was in use before and after an event, if memory was collected.
    fn write_usage(&mut self, device: Device, start: u64, end: u64) {
        let Some(usage) = &self.usage else { return };
        let (before, after) = usage.around(device, start, end);
        let name = if device == Device::Cpu { "cpu" } else { "npu" };
        for (when, bytes) in [("before", before), ("after", after), ("delta", after - before)] {
            for part in [",\"", name, "_memory_allocated_", when, "\":"] {
                self.json.raw(part);
            }
            self.json.int(bytes);
        }
    }

    /// One end of an arrow, at the event before it. `place` is the text from `pid` to before the time.
    fn write_flow(&mut self, flow: Flow, place: &str, at_ns: u64) {
        let (head, tail) = match flow.kind {
            FlowKind::ToBackward => (LEADS_AWAY, FORWARD_TO_BACKWARD),
            FlowKind::FromForward => (LEADS_HERE, BACKWARD_FROM_FORWARD),
            FlowKind::ToDevice => (LEADS_AWAY, HOST_TO_DEVICE),
        };
        self.json.raw(head);
        self.json.int(flow.id);
        self.json.raw(place);
        self.json.micros(self.origin_ns + at_ns);
        self.json.raw(tail);
    }

    pub(super) fn write_device_spans(&mut self) -> io::Result<()> {
        let trace = self.trace;
        let mut steps = StepCursor::new(trace);
        for (row, correlation) in trace.device.iter().zip(1u32..) {
            let category = match row.kind {
                DeviceKind::Kernel => "kernel",
                DeviceKind::Copy => "gpu_memcpy",
                DeviceKind::Set => "gpu_memset",
                DeviceKind::Sync => "cuda_sync",
                DeviceKind::Annotation => "gpu_user_annotation",
            };
            let (pid, tid) = (u32::from(row.device), u64::from(row.stream));
            self.json.raw("{\"ph\":\"X\",\"cat\":\"");
            self.json.raw(category);
            self.json.raw("\",\"name\":");
            self.json.bytes(self.names.get(row.name));
            self.place(pid, tid);
            self.time(row.start);
            self.json.raw(",\"dur\":");
            self.json.micros(row.end - row.start);
            self.json.raw(",\"args\":{");
            if let Some(launcher) = row.launched_by {
                self.json.raw("\"External id\":");
                self.json.int(trace.spans.owner_of_launch(launcher as usize) + 1);
                self.json.raw(",");
            }
            self.json.raw("\"device\":");
            self.json.int(row.device);
            self.json.raw(",\"stream\":");
            self.json.int(row.stream);
            self.json.raw(",\"correlation\":");
            self.json.int(correlation);
            if matches!(row.kind, DeviceKind::Copy | DeviceKind::Set) {
                self.json.raw(",\"bytes\":");
                self.json.int(row.bytes);
            }
            self.json.raw(ON_DEVICE);
            self.json.int(steps.step_at(row.start));
            if row.is_cut {
                self.json.raw(if row.start == 0 { ",\"cut\":\"start\"" } else { ",\"cut\":\"end\"" });
            }
            self.write_usage(Device::Npu(row.device), row.start, row.end);
            self.json.raw("}},\n");
            if row.launched_by.is_some() {
                self.json.raw(LEADS_HERE);
                self.json.int(correlation);
                self.place(pid, tid);
                self.time(row.start);
                self.json.raw(DEVICE_FROM_HOST);
            }
            self.json.checkpoint()?;
        }
        Ok(())
    }
}

const ON_HOST: &str = ",\"device_type\":\"CPU\",\"step\":";
const ON_DEVICE: &str = ",\"device_type\":\"NPU\",\"step\":";
const LEADS_AWAY: &str = "{\"ph\":\"s\",\"id\":";
const LEADS_HERE: &str = "{\"ph\":\"f\",\"id\":";
const FORWARD_TO_BACKWARD: &str = ",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"},\n";
const BACKWARD_FROM_FORWARD: &str = ",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"bp\":\"e\"},\n";
const HOST_TO_DEVICE: &str = ",\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n";
const DEVICE_FROM_HOST: &str = ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},\n";

fn head_of(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Op | SpanKind::Backward => "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":",
        SpanKind::Annotation => "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":",
        SpanKind::Runtime => "{\"ph\":\"X\",\"cat\":\"privateuse1_runtime\",\"name\":",
        SpanKind::Function => "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":",
    }
}
