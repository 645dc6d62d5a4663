//! How large the text will be, from a sample of its events.

use super::{ChromeTrace, ChromeWriter};
use std::io;

/// Events of each kind that are looked at.
const SAMPLE: usize = 1024;

/// One end of an arrow, and its line's end.
const ARROW_BYTES: u64 = 115;

/// The rows of some of the events of a kind.
struct Sample {
    /// How many there are in all.
    taken: usize,
    rows: Vec<usize>,
}

impl Sample {
    /// A sample of the first `count` rows, of those that are taken. `is_all` says that all are.
    fn new(count: usize, is_all: bool, is_taken: impl Fn(usize) -> bool) -> Self {
        if is_all && count <= SAMPLE {
            return Self { taken: count, rows: (0..count).collect() };
        }
        // Programs repeat themselves, so rows at equal distances may all be of one kind. Multiples of the golden ratio
        // are spread evenly and at no period.
        let spread = |number: usize| (number as u32).wrapping_mul(0x9e37_79b9);
        let below = |number: usize, limit: usize| ((u64::from(spread(number)) * limit as u64) >> 32) as usize;
        if is_all {
            let rows = (0..SAMPLE).map(|number| below(number, count)).collect();
            return Self { taken: count, rows };
        }
        let (mut taken, mut rows) = (0, Vec::new());
        for row in (0..count).filter(|&row| is_taken(row)) {
            taken += 1;
            if rows.len() < SAMPLE {
                rows.push(row);
            } else if let Some(place) = rows.get_mut(below(taken, taken)) {
                *place = row;
            }
        }
        Self { taken, rows }
    }

    fn estimate<'a, 'w>(
        &self,
        writer: &mut ChromeWriter<'a, 'w>,
        write: impl Fn(&mut ChromeWriter<'a, 'w>, usize),
    ) -> u64 {
        let before = writer.json.position();
        for &row in &self.rows {
            write(writer, row);
            // Nothing is kept, so nothing fails.
            let _ = writer.json.checkpoint();
        }
        let bytes = writer.json.position() - before;
        bytes * self.taken as u64 / self.rows.len().max(1) as u64
    }
}

impl ChromeTrace<'_> {
    /// About how many bytes [`ChromeTrace::write`] will write, for those who want to know before: some events of each kind
    /// are written to nowhere. Without a filter this takes some milliseconds whatever the size of the trace.
    pub fn estimated_bytes(&self) -> u64 {
        let trace = self.trace;
        let mut nowhere = io::sink();
        let mut writer = self.begin_alone(&mut nowhere);
        self.write_head(&mut writer.json);
        writer.write_window("");
        let _ = writer.write_labels(&self.name_of_process());
        writer.write_window_end(trace.header.duration_ns);
        let around = writer.json.position();
        let selection = trace.select(self.filter);
        let is_all = selection.is_all();
        let spans = Sample::new(trace.spans.len(), is_all, |row| selection.span(row));
        let device = Sample::new(trace.device.len(), is_all, |row| selection.device(row));
        let shown = if trace.header.hides_memory_events { 0 } else { trace.memory.len() };
        let memory = Sample::new(shown, is_all, |row| selection.memory(row));
        let instants = Sample::new(trace.instants.len(), is_all, |row| selection.instant(row));
        let is_whole = |link: &&(u32, u32)| selection.span(link.0 as usize) && selection.span(link.1 as usize);
        let links = trace.forward_links();
        let links = if is_all { links.len() } else { links.iter().filter(is_whole).count() };
        // Most work whose launch is not shown is not shown either.
        let launches = trace.launches().len() * device.taken / trace.device.len().max(1);
        around
            + spans.estimate(&mut writer, |writer, row| writer.write_span(row, trace.thread_of(row), None))
            + device.estimate(&mut writer, ChromeWriter::write_device_span)
            + memory.estimate(&mut writer, ChromeWriter::write_memory_row)
            + instants.estimate(&mut writer, ChromeWriter::write_instant)
            + 2 * ARROW_BYTES * (links + launches) as u64
    }
}
