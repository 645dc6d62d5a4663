//! The page: a file of its own, with the timeline in it as JSON.
//!
//! `page/page.html` has the place `/*DATA*/`, where this goes; times are nanoseconds since the start of the recording:
//!
//! ```text
//! {"title": text, "device": "npu:0", "start_epoch_ns": "the start, as text", "duration_ns": number,
//!  "categories": ["Parameter", …],
//!  "times_ns": [rising …], "sizes": [[bytes at each time …] for each category …],
//!  "peak": {"at_ns": number, "bytes": number,
//!           "blocks": [{"address": "0x7f…", "bytes": number, "category": index, "allocated_ns": number or null,
//!                       "freed_ns": number or null, "operator": text, "stack": [frames, innermost first]} largest first …],
//!           "blocks_left_out": {"count": number, "bytes": number}},
//!  "steps": [{"number": number, "start_ns": number} …]}
//! ```
//!
//! `allocated_ns` is null if that was before the recording, `freed_ns` if the block was still there at its end. The block
//! with the address `0x0` is all that was there before and of which nothing is known.

use super::super::json::{JsonWriter, push_text};
use super::points;
use crate::recorder::Device;
use crate::trace::{MemoryBlock, MemoryCategory, MemoryPeak, MemoryTimeline, Sizes};
use std::io::{self, Write};

/// The page, with places for the style, the data and the script, in this order.
const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: [&str; 6] = [
    include_str!("page/text.js"),
    include_str!("page/series.js"),
    include_str!("page/drawing.js"),
    include_str!("page/chart.js"),
    include_str!("page/blocks.js"),
    // It begins, so it comes last.
    include_str!("page/page.js"),
];
/// A screen has fewer.
const MOST_POINTS: usize = 20_000;
/// More blocks than this are counted, not shown.
const MOST_BLOCKS: usize = 1000;

pub(super) fn write(timeline: &MemoryTimeline<'_>, title: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let (head, rest) = TEMPLATE.split_once("/*STYLE*/").unwrap_or_default();
    let (body, rest) = rest.split_once("/*DATA*/").unwrap_or_default();
    let (end_of_data, end) = rest.split_once("/*SCRIPT*/").unwrap_or_default();
    let mut writer = Page { json: JsonWriter::new(out), timeline };
    [head, STYLE, body].iter().for_each(|text| writer.json.raw(text));
    writer.data(title)?;
    writer.json.raw(end_of_data);
    SCRIPT.iter().for_each(|text| writer.json.raw(text));
    writer.json.raw(end);
    writer.json.finish()
}

struct Page<'a, 'w> {
    json: JsonWriter<'w>,
    timeline: &'a MemoryTimeline<'a>,
}

impl Page<'_, '_> {
    fn data(&mut self, title: Option<&str>) -> io::Result<()> {
        let trace = self.timeline.trace;
        let device = device_name(self.timeline.device());
        self.json.raw("{\"title\":");
        match title {
            Some(title) => self.text(title),
            None => self.text(&format!("Memory timeline: {device}")),
        }
        self.json.raw(",\"device\":");
        self.text(&device);
        self.json.raw(",\"start_epoch_ns\":\"");
        self.json.int(trace.start_epoch_ns());
        self.json.raw("\",\"duration_ns\":");
        self.json.int(trace.duration_ns());
        self.json.raw(",\"categories\":");
        self.list(MemoryCategory::ALL, |page, category| page.text(category.name()))?;
        let peak = self.timeline.peak();
        let points = points::to_show(self.timeline, peak.as_ref().map_or(0, |peak| peak.events), MOST_POINTS);
        self.json.raw(",\"times_ns\":");
        self.list(&points, |page, (at, _)| page.json.int(*at))?;
        self.sizes(&points)?;
        self.peak(peak.as_ref())?;
        self.json.raw(",\"steps\":");
        self.list(&trace.steps, |page, step| {
            page.json.raw("{\"number\":");
            page.json.int(step.number);
            page.json.raw(",\"start_ns\":");
            page.json.int(step.start);
            page.json.raw("}");
        })?;
        self.json.raw("}");
        Ok(())
    }

    fn sizes(&mut self, points: &[(u64, Sizes)]) -> io::Result<()> {
        self.json.raw(",\"sizes\":[");
        for category in MemoryCategory::ALL {
            self.json.raw(if category as u8 > 0 { "," } else { "" });
            self.list(points, |page, (_, sizes)| page.json.int(sizes[category as usize]))?;
        }
        self.json.raw("]");
        Ok(())
    }

    fn peak(&mut self, peak: Option<&MemoryPeak>) -> io::Result<()> {
        let (at_ns, bytes) = peak.map_or((0, 0), |peak| (peak.at_ns, peak.bytes));
        self.json.raw(",\"peak\":{\"at_ns\":");
        self.json.int(at_ns);
        self.json.raw(",\"bytes\":");
        self.json.int(bytes);
        let all = peak.map_or(&[][..], |peak| &peak.blocks);
        let (shown, others) = all.split_at(all.len().min(MOST_BLOCKS));
        self.json.raw(",\"blocks\":");
        self.list(shown, |page, &(block, category)| page.block(&page.timeline.blocks()[block as usize], category))?;
        self.json.raw(",\"blocks_left_out\":{\"count\":");
        self.json.int(others.len());
        self.json.raw(",\"bytes\":");
        self.json.int(others.iter().map(|&(block, _)| self.timeline.blocks()[block as usize].bytes).sum::<u64>());
        self.json.raw("}}");
        Ok(())
    }

    fn block(&mut self, block: &MemoryBlock, category: MemoryCategory) {
        self.json.raw(&format!("{{\"address\":\"{:#x}\",\"bytes\":", block.address));
        self.json.int(block.bytes);
        self.json.raw(",\"category\":");
        self.json.int(category as u8);
        self.json.raw(",\"allocated_ns\":");
        self.time(block.allocated_ns);
        self.json.raw(",\"freed_ns\":");
        self.time(block.freed_ns);
        self.json.raw(",\"operator\":");
        let timeline = self.timeline;
        self.text(timeline.allocated_by(block).map_or("", |span| span.name()));
        self.json.raw(",\"stack\":[");
        for (at, frame) in timeline.stack(block).frames().into_iter().enumerate() {
            self.json.raw(if at > 0 { "," } else { "" });
            self.text(&frame.text());
        }
        self.json.raw("]}");
    }

    fn time(&mut self, at_ns: Option<u64>) {
        match at_ns {
            Some(at_ns) => self.json.int(at_ns),
            None => self.json.raw("null"),
        }
    }

    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut item: impl FnMut(&mut Self, T)) -> io::Result<()> {
        self.json.raw("[");
        for (at, found) in items.into_iter().enumerate() {
            self.json.raw(if at > 0 { "," } else { "" });
            item(self, found);
            self.json.checkpoint()?;
        }
        self.json.raw("]");
        Ok(())
    }

    /// A string literal in which nothing can end the script that it is part of.
    fn text(&mut self, text: &str) {
        let mut literal = Vec::with_capacity(text.len() + 2);
        push_text(&mut literal, text);
        for (at, part) in literal.split(|&byte| byte == b'<').enumerate() {
            self.json.raw(if at > 0 { "\\u003c" } else { "" });
            self.json.bytes(part);
        }
    }
}

/// As torch names devices.
fn device_name(device: Device) -> String {
    match device {
        Device::Cpu => "cpu".to_owned(),
        Device::Npu(index) => format!("npu:{index}"),
    }
}
