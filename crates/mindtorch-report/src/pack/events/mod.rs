//! The events of all traces as columns: of each trace thread after thread, then stream after stream, then the marks of thread
//! after thread, all in the order of time.

mod marks;

use super::column::{Column, PackedColumn};
use super::lanes::Lanes;
use super::levels::{Drawn, Level, levels};
use super::texts::{Kind, Texts};
use marks::ThreadRows;
use mindtorch_profiler::{DeviceSpanRef, SpanRef, ThreadRow, Trace};
use serde::Serialize;

/// A thread or a stream.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// The number of the process that it belongs to.
    pub(crate) process: usize,
    pub(crate) label: String,
    pub(crate) is_device: bool,
    /// The first of its events, and how many it has.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// When the first begins. All others are told from the one before.
    pub(crate) start_ns: u64,
    pub(crate) lanes: usize,
    /// The number of the row whose marks these are, if they are marks.
    pub(crate) marks_of: Option<usize>,
}

/// Where the spans of one trace are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    /// The number that the trace's first span has in the page.
    pub(crate) first_span: usize,
    /// What is added to the trace's times.
    pub(crate) offset_ns: u64,
}

/// All columns.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) rows: Vec<Row>,
    start: Vec<u64>,
    duration: Vec<u64>,
    name: Vec<u32>,
    lane: Vec<u32>,
    /// What the spans directly within it took.
    within: Vec<u64>,
    own: Vec<Option<u64>>,
    start_deltas: Column,
    parents: Column,
    flags: Column,
    inputs: Column,
    stacks: Column,
    flops: Column,
    host_memory: Column,
    device_memory: Column,
    bytes: Column,
    launchers: Column,
    last_launcher: i64,
    forward: Column,
    backward: Column,
    last_link: (i64, i64),
}

impl Events {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.start.len()
    }

    /// Adds what a trace has, and says where its spans are, and each of its devices' work.
    pub(crate) fn add(
        &mut self,
        process: usize,
        trace: &Trace,
        offset_ns: u64,
        texts: &mut Texts,
    ) -> (Placed, Vec<usize>) {
        texts.forget_places();
        let placed = Placed { first_span: self.len(), offset_ns };
        let rows = self.threads(process, trace, placed, texts);
        let work = self.streams(process, trace, placed, texts);
        for &(forward, backward) in trace.forward_links() {
            let link = (placed.number(forward as usize) as i64, placed.number(backward as usize) as i64);
            self.forward.push_signed(link.0 - self.last_link.0);
            self.backward.push_signed(link.1 - self.last_link.1);
            self.last_link = link;
        }
        self.marks(process, trace, placed, texts, rows);
        (placed, work)
    }

    fn threads(&mut self, process: usize, trace: &Trace, placed: Placed, texts: &mut Texts) -> ThreadRows {
        let mut rows = ThreadRows::default();
        let repeated = trace.repeated_operators();
        let mut spans = trace.spans().peekable();
        while let Some(first) = spans.peek().copied() {
            let thread = first.thread();
            rows.insert(std::ptr::from_ref(thread), self.rows.len());
            let mut lanes = self.begin_row(process, thread_label(thread), false);
            while let Some(span) = spans.next_if(|span| std::ptr::eq(span.thread(), thread)) {
                self.span(&span, placed, &mut lanes, texts);
                self.flags.push(flags(&span, repeated));
            }
            self.end_row(&lanes);
        }
        rows
    }

    fn span(&mut self, span: &SpanRef<'_>, placed: Placed, lanes: &mut Lanes, texts: &mut Texts) {
        let number = self.len();
        let (start, duration) = (span.start_ns() + placed.offset_ns, span.duration_ns());
        let parent = span.parent().map(|parent| placed.number(parent.row()));
        let lowest = parent.map_or(0, |parent| self.lane[parent] as usize + 1);
        let lane = lanes.place(lowest, start, start + duration);
        let name = texts.name(span.name(), Kind::of_span(span.kind()));
        self.push(start, duration, name, lane);
        if let Some(parent) = parent {
            self.within[parent] += duration;
        }
        self.own[number] = Some(span.self_ns());
        self.parents.push(parent.map_or(0, |parent| (number - parent) as u64));
        self.inputs.push(texts.inputs(span.inputs()).into());
        self.stacks.push(texts.stack(span.stack()).into());
        self.flops.push(span.flops());
        self.host_memory.push_signed(span.self_cpu_memory());
        self.device_memory.push_signed(span.self_device_memory());
        self.bytes.push(0);
    }

    fn streams(&mut self, process: usize, trace: &Trace, placed: Placed, texts: &mut Texts) -> Vec<usize> {
        let mut work: Vec<(usize, DeviceSpanRef<'_>)> = trace.device_spans().enumerate().collect();
        let stream_of = |work: &DeviceSpanRef<'_>| (work.device(), work.stream());
        work.sort_by_key(|(_, work)| (stream_of(work), work.start_ns(), std::cmp::Reverse(work.end_ns())));
        let mut numbers = vec![0; work.len()];
        for stream in work.chunk_by(|(_, one), (_, next)| stream_of(one) == stream_of(next)) {
            let (device, number) = stream_of(&stream[0].1);
            let mut lanes = self.begin_row(process, format!("{} {device} stream {number}", trace.accelerator()), true);
            for (row, work) in stream {
                numbers[*row] = self.len();
                self.device_work(work, placed, &mut lanes, texts);
            }
            self.end_row(&lanes);
        }
        numbers
    }

    fn device_work(&mut self, work: &DeviceSpanRef<'_>, placed: Placed, lanes: &mut Lanes, texts: &mut Texts) {
        let start = work.start_ns() + placed.offset_ns;
        let lane = lanes.place(0, start, start + work.duration_ns());
        self.push(start, work.duration_ns(), texts.name(work.name(), Kind::of_device(work.kind())), lane);
        self.push_bare(u64::from(work.is_cut()), work.bytes());
        // One higher, so that 0 is none.
        let launcher = work.launched_by().map_or(0, |span| placed.number(span.row()) as i64 + 1);
        self.launchers.push_signed(launcher - self.last_launcher);
        self.last_launcher = launcher;
    }

    fn begin_row(&mut self, process: usize, label: String, is_device: bool) -> Lanes {
        let first = self.len();
        self.rows.push(Row { process, label, is_device, first, count: 0, start_ns: 0, lanes: 0, marks_of: None });
        Lanes::default()
    }

    fn end_row(&mut self, lanes: &Lanes) {
        let end = self.len();
        if let Some(row) = self.rows.last_mut() {
            row.count = end - row.first;
            row.start_ns = self.start[row.first];
            row.lanes = lanes.count();
        }
    }

    fn push(&mut self, start: u64, duration: u64, name: u32, lane: usize) {
        let is_first = self.rows.last().is_some_and(|row| row.first == self.start.len());
        let before = self.start.last().copied().filter(|_| !is_first).unwrap_or(start);
        self.start_deltas.push(start - before);
        self.start.push(start);
        self.duration.push(duration);
        self.name.push(name);
        self.lane.push(lane as u32);
        self.within.push(0);
        self.own.push(None);
    }

    /// Adds what there is to say of an event that nothing called.
    fn push_bare(&mut self, flags: u64, bytes: u64) {
        self.flags.push(flags);
        self.bytes.push(bytes);
        for column in [
            &mut self.parents,
            &mut self.inputs,
            &mut self.stacks,
            &mut self.flops,
            &mut self.host_memory,
            &mut self.device_memory,
        ] {
            column.push(0);
        }
    }

    /// The levels of detail, and the columns with their names.
    pub(crate) fn pack(self) -> (Vec<Row>, Vec<Level>, Vec<(&'static str, PackedColumn)>) {
        let levels = self.levels();
        // What a span took itself is mostly what is left when those within it are taken off.
        let mut own = Column::default();
        for ((&own_ns, &duration), &within) in self.own.iter().zip(&self.duration).zip(&self.within) {
            let left = duration.cast_signed() - within.cast_signed();
            own.push_signed(own_ns.map_or(0, |own_ns| own_ns.cast_signed() - left));
        }
        let columns = [
            ("start", self.start_deltas),
            ("duration", self.duration.iter().copied().collect()),
            ("name", self.name.iter().map(|&name| name.into()).collect()),
            ("lane", self.lane.iter().map(|&lane| lane.into()).collect()),
            ("parent", self.parents),
            ("own", own),
            ("flags", self.flags),
            ("inputs", self.inputs),
            ("stack", self.stacks),
            ("flops", self.flops),
            ("host_memory", self.host_memory),
            ("device_memory", self.device_memory),
            ("bytes", self.bytes),
            ("launcher", self.launchers),
            ("forward", self.forward),
            ("backward", self.backward),
        ];
        (self.rows, levels, columns.map(|(name, column)| (name, column.pack())).into())
    }

    fn levels(&self) -> Vec<Level> {
        let mut bases = Vec::new();
        let mut count = 0;
        for row in &self.rows {
            bases.push(count);
            count += row.lanes;
        }
        let mut lanes = vec![0_u32; count + 1];
        let lane_of = |row: usize, event: usize| bases[row] + self.lane[event] as usize;
        let numbered = || self.rows.iter().enumerate();
        for (number, row) in numbered() {
            (row.first..row.first + row.count).for_each(|event| lanes[lane_of(number, event) + 1] += 1);
        }
        for lane in 0..count {
            lanes[lane + 1] += lanes[lane];
        }
        let mut next = lanes.clone();
        let mut events = vec![0_u32; self.len()];
        for (number, row) in numbered() {
            for event in row.first..row.first + row.count {
                let place = &mut next[lane_of(number, event)];
                events[*place as usize] = event as u32;
                *place += 1;
            }
        }
        levels(&Drawn {
            start: &self.start,
            duration: &self.duration,
            name: &self.name,
            events: &events,
            lanes: &lanes,
        })
    }
}

impl Placed {
    /// The number in the page of the span in this row of the trace.
    pub(crate) fn number(self, row: usize) -> usize {
        self.first_span + row
    }
}

/// Bits: it begins before the recording, does not end in it, ends on another thread, is one call with the operator around it.
fn flags(span: &SpanRef<'_>, repeated: &[u32]) -> u64 {
    let is_repeated = repeated.binary_search(&(span.row() as u32)).is_ok();
    let flags = [span.is_cut_at_start(), !span.is_finished(), span.is_async(), is_repeated];
    flags.iter().rev().fold(0, |bits, &flag| bits << 1 | u64::from(flag))
}

fn thread_label(thread: &ThreadRow) -> String {
    match &thread.name {
        Some(name) if !name.is_empty() => format!("{name} ({})", thread.os_id),
        _ => format!("thread {}", thread.os_id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const TRACE: &str = r#"{"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 10, "dur": 50},
        {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 12, "dur": 20},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 15, "dur": 5, "args": {"correlation": 1}},
        {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 40, "dur": 10},
        {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 2, "ts": 11, "dur": 1},
        {"ph": "X", "cat": "kernel", "name": "later", "pid": 0, "tid": 7, "ts": 60, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 2}},
        {"ph": "X", "cat": "kernel", "name": "sooner", "pid": 0, "tid": 7, "ts": 30, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 1}}
    ]}"#;

    /// Numbers by the name of their column.
    type Columns = HashMap<&'static str, Vec<u64>>;

    fn packed() -> (Vec<Row>, Columns, Texts, Vec<usize>) {
        let trace = Trace::read(TRACE.as_bytes()).unwrap();
        let (mut events, mut texts) = (Events::default(), Texts::default());
        let (placed, _) = events.add(0, &trace, 0, &mut texts);
        assert_eq!(placed.first_span, 0);
        // The same again, of another process that began a microsecond later.
        let (placed, work) = events.add(1, &trace, 1_000, &mut texts);
        assert_eq!((placed.first_span, placed.number(2)), (7, 9));
        let (rows, levels, columns) = events.pack();
        assert!(levels.is_empty(), "so few can be drawn as they are");
        (rows, columns.into_iter().map(|(name, column)| (name, column.numbers())).collect(), texts, work)
    }

    #[test]
    fn events_are_in_the_order_of_rows_and_time() {
        let (rows, columns, texts, work) = packed();
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.process, row.is_device, row.first, row.count, row.start_ns, row.lanes))
            .collect();
        let first = [(0, false, 0, 4, 0, 3), (0, false, 4, 1, 1_000, 1), (0, true, 5, 2, 20_000, 1)];
        assert_eq!(shown[..3], first);
        assert_eq!(
            shown[3..],
            first.map(|(_, device, at, count, start, lanes)| (1, device, at + 7, count, start + 1_000, lanes))
        );
        let name = |event: usize| texts.names[columns["name"][event] as usize].0.as_str();
        let names = ["outer", "inner", "cudaLaunchKernel", "inner", "inner", "sooner", "later"];
        assert_eq!((0..14).map(name).collect::<Vec<_>>(), [names, names].concat());
        assert_eq!(columns["start"][..7], [0, 2_000, 3_000, 25_000, 0, 0, 30_000]);
        assert_eq!(columns["duration"][..7], [50_000, 20_000, 5_000, 10_000, 1_000, 4_000, 4_000]);
        assert_eq!(columns["lane"][..7], [0, 1, 2, 1, 0, 0, 0]);
        // The second in the file is the first in the page.
        assert_eq!(work, [13, 12]);
    }

    #[test]
    fn what_belongs_together_is_told_by_distance() {
        let (_, columns, ..) = packed();
        assert_eq!(columns["parent"][..7], [0, 1, 1, 3, 0, 0, 0]);
        // Own times are what is left without those within: nothing is to be corrected.
        assert_eq!(columns["own"], [0; 14]);
        // Launchers are one higher: the third span, none, the tenth, none; each is told from the one before, signs and all.
        assert_eq!(
            columns["launcher"],
            [3, 0, 10, 0].windows(2).fold(vec![6], |mut told, pair| {
                let change: i64 = pair[1] - pair[0];
                told.push(((change << 1) ^ (change >> 63)).cast_unsigned());
                told
            })
        );
    }
}
