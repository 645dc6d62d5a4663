//! Complete events: spans of threads.

use super::ChromeWriter;
use super::flows::{Flow, FlowKind};
use crate::export::json::{push_escaped, push_text};
use crate::inputs::Inputs;
use crate::names::Stack;
use crate::recorder::{Device, SpanKind};
use crate::trace::SpanFlags;
use std::io;

impl ChromeWriter<'_, '_> {
    pub(super) fn write_spans(&mut self) -> io::Result<()> {
        let trace = self.trace;
        for (thread, of_thread) in trace.threads.iter().enumerate() {
            for row in of_thread.spans.clone() {
                if !self.selection.span(row) {
                    continue;
                }
                let has_flows = self.flows.reach(row);
                let correlation = if has_flows { self.flows.correlation(row) } else { None };
                self.write_span(row, thread, correlation);
                if has_flows {
                    while let Some(flow) = self.flows.take(row, &self.selection) {
                        self.write_flow(flow, thread, trace.spans.start[row]);
                    }
                }
                self.json.checkpoint()?;
            }
        }
        Ok(())
    }

    /// The event of a span, which may be told the number of the device work that it launched.
    pub(super) fn write_span(&mut self, row: usize, thread: usize, correlation: Option<u32>) {
        let spans = &self.trace.spans;
        let (kind, start) = (spans.kind[row], spans.start[row]);
        self.begin_span(row, thread);
        let detail = spans.details.get(row);
        let step = self.steps.step_at(start);
        let is_plain = detail.is_none() && self.is_plain(row);
        let first_id = self.numbers.first_id;
        let mut line = self.json.line();
        line.micros(self.origin_ns + start);
        line.raw(b",\"dur\":");
        line.micros(spans.duration.get(row));
        if kind != SpanKind::Function {
            line.raw(b",\"args\":{\"External id\":");
            // A call of the runtime has the number of the operator that made it, by which programs find that.
            line.number(first_id + spans.owner_of_launch(row) as u64 + 1);
            line.raw(b",\"Record function id\":");
            line.number(detail.map_or(0, |detail| detail.record_function.into()));
            // Spans are the first events, so their rows are their numbers.
            line.raw(b",\"Ev Idx\":");
            line.number(first_id + row as u64);
        }
        if is_plain {
            line.raw(b",\"device_type\":\"CPU\",\"step\":");
            line.number(step);
            line.raw(b"}},\n");
        }
        let length = line.length();
        self.json.keep(length);
        if is_plain {
            return;
        }
        if kind == SpanKind::Function {
            self.write_function(row, thread);
            self.json.raw(",\"Ev Idx\":");
            self.json.number(first_id + row as u64);
        }
        if let Some(detail) = detail
            && let Some(sequence) = detail.sequence()
        {
            self.json.raw(",\"Sequence number\":");
            self.json.number(sequence);
            self.json.raw(",\"Fwd thread id\":");
            self.json.number(self.numbers.thread(detail.forward_thread));
        }
        self.write_captured(row);
        self.json.raw(self.accelerator.place(spans.device_of(row)));
        self.json.number(step);
        if kind == SpanKind::Runtime
            && let Some(correlation) = correlation
        {
            self.json.raw(",\"correlation\":");
            self.json.number(first_id + u64::from(correlation));
        }
        self.write_rest_of_args(row);
        self.json.raw("}},\n");
    }

    /// Whether there is nothing to say of a span without details but where it is: most spans of most traces are such.
    #[inline]
    fn is_plain(&self, row: usize) -> bool {
        let spans = &self.trace.spans;
        self.captures_little
            && matches!(spans.kind[row], SpanKind::Op | SpanKind::Backward | SpanKind::Annotation)
            && spans.flags[row] == SpanFlags::default()
            && spans.device_of(row) == Device::Cpu
            && spans.inputs.get(row) == 0
            && spans.stack.get(row) == 0
            && spans.extra.get(row) == 0
    }

    /// All up to the time, which the spans of a thread with one name have in common.
    #[inline]
    fn begin_span(&mut self, row: usize, thread: usize) {
        let trace = self.trace;
        let spans = &trace.spans;
        let kind = spans.kind[row];
        let (name, category) = (spans.name[row], spans.category.get(row));
        let overload =
            spans.details.get(row).map(|detail| detail.overload).filter(|&name| !trace.name(name).is_empty());
        // A category is the number of a name; what has none has that of its kind. Numbers of threads are one higher, so
        // that no key is all zero.
        let category_key = if category == 0 { u32::MAX - kind as u32 } else { category };
        let key = [name, overload.map_or(0, |name| name + 1), category_key, thread as u32 + 1];
        let (accelerator, process) = (&self.accelerator, self.numbers.process(thread));
        let head = self.texts.get(key, |out| {
            out.extend_from_slice(b"{\"ph\":\"X\",\"cat\":");
            match (category.checked_sub(1), kind) {
                (Some(category), _) => push_text(out, trace.name(category)),
                (None, SpanKind::Op | SpanKind::Backward) => out.extend_from_slice(b"\"cpu_op\""),
                (None, SpanKind::Annotation) => out.extend_from_slice(b"\"user_annotation\""),
                (None, SpanKind::Runtime) => push_text(out, accelerator.runtime),
                (None, SpanKind::Function) => out.extend_from_slice(b"\"python_function\""),
            }
            out.extend_from_slice(b",\"name\":\"");
            push_escaped(out, trace.name(name));
            if let Some(overload) = overload {
                out.push(b'.');
                push_escaped(out, trace.name(overload));
            }
            let place = format!("\",\"pid\":{process},\"tid\":{},\"ts\":", trace.threads[thread].os_id);
            out.extend_from_slice(place.as_bytes());
        });
        self.json.bytes(head);
    }

    /// Inputs and stack, where they were asked for.
    fn write_captured(&mut self, row: usize) {
        let spans = &self.trace.spans;
        let inputs = spans.inputs.get(row);
        if inputs != 0 {
            self.json.bytes(self.captured.inputs(Inputs(inputs)));
        } else if self.shows_shapes && matches!(spans.kind[row], SpanKind::Op | SpanKind::Backward) {
            self.json.raw(",\"input_shapes\":[]");
        }
        let stack = spans.stack.get(row);
        if stack != 0 {
            self.json.bytes(self.captured.stack(Stack(stack)));
        } else if self.shows_stacks {
            self.json.raw(",\"stack\":[]");
        }
    }

    /// What is only written where there is something to say.
    #[inline]
    fn write_rest_of_args(&mut self, row: usize) {
        let trace = self.trace;
        if let Some(detail) = trace.spans.details.get(row) {
            if detail.flops > 0 {
                self.json.raw(",\"Flops\":");
                self.json.number(detail.flops);
            }
            let note = trace.name(detail.note);
            if !note.is_empty() {
                self.json.raw(",\"note\":");
                self.json.text(note);
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
        self.write_extra(trace.spans.extra.get(row));
    }

    /// Arguments that were read from a file and have no column, as they were there.
    #[inline]
    pub(super) fn write_extra(&mut self, extra: u32) {
        if let Some(members) = extra.checked_sub(1) {
            self.json.raw(",");
            self.json.raw(self.trace.name(members));
        }
    }

    /// What was in use before and after an event, if memory was collected.
    pub(super) fn write_usage(&mut self, device: Device, start: u64, end: u64) {
        let Some(usage) = &self.usage else { return };
        let (before, after) = usage.around_near(device, start, end, &mut self.usage_near);
        for (key, bytes) in self.accelerator.memory_keys(device).into_iter().zip([before, after, after - before]) {
            self.json.raw(key);
            self.json.int(bytes);
        }
    }

    /// One end of an arrow, at the event before it.
    fn write_flow(&mut self, flow: Flow, thread: usize, at_ns: u64) {
        let (head, tail) = match flow.kind {
            FlowKind::ToBackward => (LEADS_AWAY, FORWARD_TO_BACKWARD),
            FlowKind::FromForward => (LEADS_HERE, BACKWARD_FROM_FORWARD),
            FlowKind::ToDevice => (LEADS_AWAY, HOST_TO_DEVICE),
        };
        self.json.raw(head);
        self.json.number(self.numbers.first_id + u64::from(flow.id));
        self.thread(thread);
        self.time(at_ns);
        self.json.raw(tail);
    }
}

const LEADS_AWAY: &str = "{\"ph\":\"s\",\"id\":";
pub(super) const LEADS_HERE: &str = "{\"ph\":\"f\",\"id\":";
const FORWARD_TO_BACKWARD: &str = ",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"},\n";
const BACKWARD_FROM_FORWARD: &str = ",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"bp\":\"e\"},\n";
const HOST_TO_DEVICE: &str = ",\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n";
