//! The window of the recording: a span as long as it, with what is said of the recording as a whole.

use super::field::event;
use super::words::{Category, Key};
use super::{PerfettoTrace, PerfettoWriter};
use crate::capture::Capture;
use crate::export::chrome::{MetadataValue, Rank, distinct_metadata, host_name};

impl PerfettoWriter<'_, '_> {
    pub(super) fn write_window(&mut self, of: &PerfettoTrace<'_>) {
        let (out, sequence, header) = (&mut self.out.buffer, &mut self.sequence, &self.trace.header);
        let begun = sequence.begin(out, event::SLICE_BEGIN, 0);
        sequence.category(out, Category::Window);
        sequence.fixed_name(out, "PyTorch Profiler (0)");
        // What is the same for all events is said here only.
        if !self.shows_devices {
            sequence.text(out, Key::DeviceType, "CPU");
        }
        if !self.shows_steps {
            sequence.uint(out, Key::Step, header.first_step as u64);
        }
        self.write_head(of);
        self.write_metadata(of);
        let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
        sequence.end(out, begun);
        let started = sequence.begin(out, event::INSTANT, 0);
        sequence.fixed_name(out, "Iteration Start: PyTorch Profiler");
        sequence.end(out, started);
        let ended = sequence.begin(out, event::SLICE_END, header.duration_ns);
        sequence.end(out, ended);
        let closed = sequence.begin(out, event::INSTANT, header.duration_ns);
        sequence.fixed_name(out, "Record Window End");
        sequence.end(out, closed);
    }

    /// What the head of a Chrome trace says.
    fn write_head(&mut self, of: &PerfettoTrace<'_>) {
        let (out, sequence, header) = (&mut self.out.buffer, &mut self.sequence, &self.trace.header);
        let origin = &header.origin;
        let trace_id = if of.trace_id.is_empty() { origin.trace_id.as_deref() } else { Some(of.trace_id) };
        // That of this machine, unless the trace was read from a file, which may not say.
        let found_host = || if origin.is_file() { origin.host_name.clone() } else { Some(host_name()) };
        let host = of.host_name.map(str::to_owned).or_else(found_host);
        for (key, text) in [("trace_id", trace_id), ("host_name", host.as_deref())] {
            if let Some(text) = text {
                sequence.other_text(out, key, text);
            }
        }
        let captures = |flag| header.capture.contains(flag);
        let switches = [
            ("profile_memory", captures(Capture::MEMORY)),
            ("with_stack", captures(Capture::STACK)),
            ("record_shapes", captures(Capture::SHAPES)),
            ("with_modules", of.with_modules),
            ("with_flops", captures(Capture::FLOPS)),
        ];
        for (key, _) in switches.iter().filter(|(_, is_on)| *is_on) {
            sequence.other_int(out, key, 1);
        }
        let losses = &header.losses;
        if losses.events() > 0 {
            sequence.other_int(out, "lost_events", losses.events() as i64);
        }
        if !losses.dropped.is_empty() {
            sequence.other_json(out, "dropped_events", &losses.dropped_json());
        }
        if let Some(why) = &losses.stopped {
            sequence.other_text(out, "recording_ended_early", why);
        }
        if let Some(properties) = of.device_properties.or(origin.device_properties.as_deref()) {
            sequence.other_json(out, "deviceProperties", properties);
        }
    }

    fn write_metadata(&mut self, of: &PerfettoTrace<'_>) {
        let (out, sequence, header) = (&mut self.out.buffer, &mut self.sequence, &self.trace.header);
        let entries = distinct_metadata(&header.origin.metadata_json, &header.metadata, of.metadata);
        if !entries.iter().any(|(key, _)| key == "distributedInfo") {
            // What was read from a file has nothing to do with this process.
            let found = if header.origin.is_file() { Rank::ALONE } else { Rank::of_environment() };
            let Rank { rank, world_size } = of.rank.unwrap_or(found);
            let json = format!("{{\"rank\":{rank},\"world_size\":{world_size}}}");
            sequence.other_json(out, "distributedInfo", &json);
        }
        for (key, value) in entries {
            match value {
                MetadataValue::Text(text) => sequence.other_text(out, &key, text),
                MetadataValue::Json(json) => sequence.other_json(out, &key, json),
            }
        }
    }
}
