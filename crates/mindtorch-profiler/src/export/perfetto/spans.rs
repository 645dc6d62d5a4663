//! Spans of threads.

use super::PerfettoWriter;
use super::arrows::Arrow;
use super::field::event;
use super::lanes::{Function, Lanes, Open};
use super::words::{Category, Key};
use crate::inputs::Inputs;
use crate::names::Stack;
use crate::recorder::{Device, SpanKind};
use std::io;
use std::ops::Range;

impl PerfettoWriter<'_, '_> {
    pub(super) fn write_spans(&mut self) -> io::Result<()> {
        let trace = self.trace;
        let mut lanes = Lanes::default();
        for (thread, rows) in trace.threads.iter().map(|thread| thread.spans.clone()).enumerate() {
            if !rows.is_empty() {
                self.start_lanes(self.tracks.threads[thread]);
                self.write_spans_of_thread(rows, &mut lanes)?;
            }
        }
        Ok(())
    }

    fn write_spans_of_thread(&mut self, rows: Range<usize>, lanes: &mut Lanes) -> io::Result<()> {
        let spans = &self.trace.spans;
        for row in rows {
            let (start, end) = (spans.start[row], spans.end(row));
            self.close(lanes, start);
            let parent = (spans.parent[row] != u32::MAX).then_some(spans.parent[row]);
            let lane = match spans.flags[row].is_closed_elsewhere() {
                true => lanes.free_lane(),
                false => lanes.lane_inside(parent, end),
            };
            let around = match self.has_functions {
                true => {
                    parent.and_then(|parent| lanes.find(parent)).map_or_else(Function::default, |open| open.function)
                }
                false => Function::default(),
            };
            let mut function = around;
            if spans.kind[row] == SpanKind::Function {
                self.functions += 1;
                function = Function { number: self.functions, row: row as u32 };
            }
            let is_shown = self.selection.span(row);
            lanes.open(Open { row: row as u32, end, lane, is_shown, function });
            if is_shown {
                self.write_begin(row, start, lane, around);
                self.out.checkpoint()?;
            }
        }
        self.close(lanes, u64::MAX);
        lanes.clear();
        Ok(())
    }

    /// Begins a sequence for what is on a track and the lanes beside it.
    pub(super) fn start_lanes(&mut self, track: u64) {
        self.lane_tracks.clear();
        self.lane_tracks.push(track);
        self.sequence.start(&mut self.out.buffer, track);
    }

    /// The track of a lane.
    #[inline]
    pub(super) fn track_of_lane(&mut self, lane: u32) -> u64 {
        match self.lane_tracks.get(lane as usize) {
            Some(&track) if track != 0 => track,
            _ => self.add_lane(lane as usize),
        }
    }

    #[cold]
    fn add_lane(&mut self, lane: usize) -> u64 {
        if self.lane_tracks.len() <= lane {
            self.lane_tracks.resize(lane + 1, 0);
        }
        let track = self.tracks.lane(&mut self.out.buffer, &self.sequence, self.lane_tracks[0]);
        self.lane_tracks[lane] = track;
        track
    }

    /// Ends what has ended by `now`.
    #[inline]
    pub(super) fn close(&mut self, lanes: &mut Lanes, now: u64) {
        while let Some(open) = lanes.close(now) {
            if open.is_shown {
                let (out, track) = (&mut self.out.buffer, self.lane_tracks[open.lane as usize]);
                let ended = self.sequence.begin(out, event::SLICE_END, open.end);
                self.sequence.on_track(out, track);
                self.sequence.end(out, ended);
            }
        }
    }

    #[inline]
    fn write_begin(&mut self, row: usize, start: u64, lane: u32, around: Function) {
        let track = self.track_of_lane(lane);
        let (out, sequence, spans) = (&mut self.out.buffer, &mut self.sequence, &self.trace.spans);
        let begun = sequence.begin(out, event::SLICE_BEGIN, start);
        sequence.on_track(out, track);
        let category = match spans.category.get(row) {
            0 if spans.kind[row] == SpanKind::Runtime => sequence.interned.runtime_category(self.accelerator.runtime),
            0 => sequence.interned.category(category_of(spans.kind[row])),
            other => sequence.interned.other_category(other - 1),
        };
        out.number(event::CATEGORY_IIDS, u64::from(category));
        let detail = spans.details.get(row);
        let name = match detail.map_or(0, |detail| detail.overload) {
            overload if overload != 0 && !self.trace.name(overload).is_empty() => {
                sequence.interned.overloaded_name(spans.name[row], overload)
            }
            _ => sequence.interned.name(spans.name[row]),
        };
        out.number(event::NAME_IID, u64::from(name));
        if spans.kind[row] == SpanKind::Function {
            self.write_function(row, around);
        } else {
            sequence.uint(out, Key::ExternalId, row as u64 + 1);
        }
        if detail.is_some() {
            self.write_details(row);
        }
        if self.has_more_arguments {
            self.write_more_arguments(row);
        }
        let flags = spans.flags[row];
        let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
        if flags.is_cut_at_end() {
            sequence.flag(out, Key::Finished, false);
        }
        if flags.is_cut_at_start() {
            sequence.text(out, Key::Cut, "start");
        }
        if flags.is_closed_elsewhere() {
            sequence.flag(out, Key::Async, true);
        }
        if spans.kind[row] == SpanKind::Runtime
            && let Some(correlation) = self.arrows.correlation(row as u32, &self.selection)
        {
            sequence.uint(out, Key::Correlation, u64::from(correlation));
        }
        while let Some(arrow) = self.arrows.take(row as u32, &self.selection) {
            self.write_arrow(arrow);
        }
        self.sequence.end(&mut self.out.buffer, begun);
    }

    /// What is said of functions only.
    #[cold]
    fn write_function(&mut self, row: usize, around: Function) {
        let (out, sequence, spans) = (&mut self.out.buffer, &mut self.sequence, &self.trace.spans);
        sequence.uint(out, Key::EvIdx, row as u64);
        sequence.uint(out, Key::PythonId, u64::from(self.functions));
        let line = spans.line.get(row);
        if around.number != 0 {
            sequence.uint(out, Key::PythonParentId, u64::from(around.number));
            let name = spans.name[around.row as usize];
            if line != 0
                && let Some(text) = sequence.captured.call(&mut sequence.interned, self.trace, name, line)
            {
                sequence.known_text(out, Key::CallFrom, text);
            }
        }
        if let Some(module) = spans.module.get(row).checked_sub(1) {
            sequence.uint(out, Key::PythonModuleId, u64::from(module));
        }
    }

    /// What few spans have.
    fn write_details(&mut self, row: usize) {
        let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
        let Some(detail) = self.trace.spans.details.get(row) else { return };
        if detail.record_function != 0 {
            sequence.uint(out, Key::RecordFunctionId, u64::from(detail.record_function));
        }
        if let Some(number) = detail.sequence() {
            sequence.uint(out, Key::SequenceNumber, number);
            if detail.forward_thread != 0 {
                sequence.uint(out, Key::FwdThreadId, u64::from(detail.forward_thread));
            }
        }
        if detail.flops > 0 {
            sequence.uint(out, Key::Flops, detail.flops);
        }
        let note = self.trace.name(detail.note);
        if !note.is_empty() {
            sequence.text(out, Key::Note, note);
        }
    }

    /// What all spans of some traces have, and none of others.
    fn write_more_arguments(&mut self, row: usize) {
        let (out, sequence, spans) = (&mut self.out.buffer, &mut self.sequence, &self.trace.spans);
        let inputs = spans.inputs.get(row);
        if inputs != 0 {
            out.extend(sequence.captured.inputs(&mut sequence.interned, Inputs(inputs)));
        }
        let stack = spans.stack.get(row);
        if stack != 0 {
            let text = sequence.captured.stack(&mut sequence.interned, Stack(stack));
            sequence.known_text(out, Key::CallStack, text);
        }
        let (device, start) = (spans.device_of(row), spans.start[row]);
        self.write_place(device, start);
        self.write_usage(device, start, spans.end(row));
        self.write_extra(spans.extra.get(row));
    }

    /// Where and in which step something began, in traces where that is not always the same.
    pub(super) fn write_place(&mut self, device: Device, start: u64) {
        let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
        if self.shows_devices {
            let name = if device == Device::Cpu { "CPU" } else { self.trace.accelerator() };
            sequence.text(out, Key::DeviceType, name);
        }
        if self.shows_steps {
            sequence.uint(out, Key::Step, self.steps.step_at(start));
        }
    }

    /// What was in use before and after an event, if memory was collected.
    pub(super) fn write_usage(&mut self, device: Device, start: u64, end: u64) {
        let Some(usage) = &self.usage else { return };
        let (before, after) = usage.around_near(device, start, end, &mut self.usage_near);
        let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
        let amounts = [before, after, after - before];
        if device == Device::Cpu {
            let keys = [Key::MemoryBefore, Key::MemoryAfter, Key::MemoryDelta];
            keys.into_iter().zip(amounts).for_each(|(key, bytes)| sequence.int(out, key, bytes));
        } else {
            self.device_memory_keys.iter().zip(amounts).for_each(|(key, bytes)| sequence.other_int(out, key, bytes));
        }
    }

    /// Arguments of a trace that was read: the number of a text in the trace, one higher.
    pub(super) fn write_extra(&mut self, extra: u32) {
        let Some(extra) = extra.checked_sub(1) else { return };
        self.sequence.members(&mut self.out.buffer, self.trace.name(extra));
    }

    fn write_arrow(&mut self, arrow: Arrow) {
        let field = match arrow {
            Arrow::ToBackward(_) | Arrow::ToDevice(_) => event::FLOW_IDS,
            Arrow::FromForward(_) => event::TERMINATING_FLOW_IDS,
        };
        self.out.buffer.fixed(field, arrow.id());
    }
}

fn category_of(kind: SpanKind) -> Category {
    match kind {
        SpanKind::Op | SpanKind::Backward => Category::Op,
        SpanKind::Annotation => Category::Annotation,
        SpanKind::Runtime => Category::Runtime,
        SpanKind::Function => Category::Function,
    }
}
