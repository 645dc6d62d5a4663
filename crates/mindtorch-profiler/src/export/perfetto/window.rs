//! The window of the recording: a span as long as it, with what is said of the recording as a whole.

use super::field::event;
use super::words::{Category, Key};
use super::{PerfettoTrace, PerfettoWriter};
use crate::capture::Capture;
use crate::export::chrome::{MetadataValue, distinct_metadata, host_name};

impl PerfettoWriter<'_, '_> {
    pub(super) fn write_window(&mut self, of: &PerfettoTrace<'_>) {
        let (header, origin) = (&self.trace.header, &self.trace.header.origin);
        let (out, sequence) = (&mut self.out.buffer, &mut self.sequence);
        let begun = sequence.begin(out, event::SLICE_BEGIN, 0);
        sequence.category(out, Category::Window);
        sequence.fixed_name(out, "PyTorch Profiler (0)");
        let trace_id = if of.trace_id.is_empty() { origin.trace_id.as_deref().unwrap_or("") } else { of.trace_id };
        if !trace_id.is_empty() {
            sequence.other_text(out, "trace_id", trace_id);
        }
        let host = of.host_name.or(origin.host_name.as_deref()).map_or_else(host_name, str::to_owned);
        sequence.other_text(out, "host_name", &host);
        let switches = [
            ("profile_memory", Capture::MEMORY),
            ("with_stack", Capture::STACK),
            ("record_shapes", Capture::SHAPES),
            ("with_flops", Capture::FLOPS),
        ];
        for (key, _) in switches.iter().filter(|(_, flag)| header.capture.contains(*flag)) {
            sequence.other_json(out, key, "1");
        }
        // What is the same for all events is said here only.
        if !self.shows_devices {
            sequence.text(out, Key::DeviceType, "CPU");
        }
        if !self.shows_steps {
            sequence.uint(out, Key::Step, header.first_step as u64);
        }
        if header.lost > 0 {
            sequence.other_json(out, "lost_events", &header.lost.to_string());
        }
        if let Some(properties) = &origin.device_properties {
            sequence.other_json(out, "deviceProperties", properties);
        }
        let of_file: Vec<(String, String)> = origin.metadata_json.iter().chain(of.metadata).cloned().collect();
        for (key, value) in distinct_metadata(&header.metadata, &of_file) {
            match value {
                MetadataValue::Text(text) => sequence.other_text(out, &key, text),
                MetadataValue::Json(json) => sequence.other_json(out, &key, json),
            }
        }
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
}
