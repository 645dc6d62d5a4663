//! What sessions should see, computed from the definition and not the way the profiler does it: short, and quadratic.

use mindtorch_profiler::{Capture, Device, DeviceKind, Input, Inputs, Name, SpanId, SpanKind, Stack, Trace};

/// Everything that was recorded, and every window over it. `order` numbers what happened, over all threads.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) order: usize,
    pub(crate) spans: Vec<Span>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) device: Vec<DeviceSpan>,
    pub(crate) instants: Vec<Instant>,
    pub(crate) windows: Vec<Window>,
}

#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) order: usize,
    pub(crate) thread: usize,
    pub(crate) kind: SpanKind,
    pub(crate) name: &'static str,
    pub(crate) extras: Extras,
    pub(crate) begin: u64,
    pub(crate) end: Option<u64>,
    pub(crate) closed_elsewhere: bool,
    pub(crate) id: SpanId,
}

/// What a span may have beside its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extras {
    pub(crate) inputs: Option<i64>,
    pub(crate) frame: Option<&'static str>,
    pub(crate) details: Option<u64>,
}

pub(crate) struct Memory {
    pub(crate) order: usize,
    pub(crate) thread: usize,
    pub(crate) at: u64,
    pub(crate) bytes: i64,
    pub(crate) device: Device,
    pub(crate) frame: Option<&'static str>,
}

pub(crate) struct DeviceSpan {
    pub(crate) order: usize,
    pub(crate) thread: usize,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) is_copy: bool,
    pub(crate) launched_by: Option<SpanId>,
}

pub(crate) struct Instant {
    pub(crate) order: usize,
    pub(crate) thread: usize,
    pub(crate) at: u64,
    pub(crate) value: Option<f64>,
}

pub(crate) struct Window {
    pub(crate) flags: Capture,
    pub(crate) activities: Capture,
    pub(crate) from: u64,
    pub(crate) to: Option<(u64, usize)>,
    /// What is collected from this place in the order on.
    pub(crate) edges: Vec<(usize, Capture)>,
    pub(crate) carried: Vec<usize>,
    pub(crate) steps: Vec<u64>,
}

impl Model {
    pub(crate) fn capture(&self) -> Capture {
        let open = self.windows.iter().filter(|window| window.to.is_none());
        open.fold(Capture::NONE, |union, window| union | window.edges.last().unwrap().1)
    }

    pub(crate) fn open_window(&mut self, flags: Capture, now: u64) {
        // Operations are counted from shapes, and shown with them.
        let flags = if flags.contains(Capture::FLOPS) { flags | Capture::SHAPES } else { flags };
        let is_carried = |span: &Span| span.end.is_none() && flags.contains(activity(span.kind));
        let carried = (0..self.spans.len()).filter(|&at| is_carried(&self.spans[at])).collect();
        let edges = vec![(self.order, flags)];
        let activities = flags & Capture::ACTIVITIES;
        self.windows.push(Window { flags, activities, from: now, to: None, edges, carried, steps: vec![now] });
    }

    pub(crate) fn set_activities(&mut self, window: usize, activities: Capture) {
        let order = self.order;
        let window = &mut self.windows[window];
        if window.activities == activities {
            return;
        }
        window.activities = activities;
        let detail = window.flags & !Capture::ACTIVITIES;
        window.edges.push((order, if activities.is_empty() { Capture::NONE } else { activities | detail }));
    }

    pub(crate) fn expected(&self, window: &Window, (to, until): (u64, usize)) -> Seen {
        let clip = |ticks: u64| ticks.clamp(window.from, to) - window.from;
        let sees = |order: usize, needs: Capture| {
            let edge = window.edges.iter().rev().find(|&&(from, _)| from <= order);
            order < until && edge.is_some_and(|(_, capture)| capture.contains(needs))
        };
        let mut seen: Vec<(usize, &Span)> = self.spans.iter().enumerate().collect();
        seen.retain(|&(at, span)| sees(span.order, activity(span.kind)) || window.carried.contains(&at));
        seen.sort_by_key(|&(at, span)| (span.thread, at));
        let mut rows: Vec<Row> = seen.iter().map(|(_, span)| span.row(window, to)).collect();
        nest(&mut rows);

        let mut memory: Vec<&Memory> = self.memory.iter().collect();
        memory.retain(|event| sees(event.order, Capture::MEMORY | device_activity(event.device)));
        memory.sort_by_key(|event| event.thread);
        for event in &memory {
            let at = clip(event.at);
            let is_open = |row: &Row| row.thread == event.thread && !row.is_async && row.start <= at && at < row.end;
            if let Some(owner) = rows.iter_mut().rfind(|row| is_open(row)) {
                owner.self_memory[usize::from(event.device != Device::Cpu)] += event.bytes;
            }
        }
        let mut device: Vec<&DeviceSpan> = self.device.iter().collect();
        device.retain(|event| sees(event.order, Capture::DEVICE) && event.end >= window.from);
        device.sort_by_key(|event| event.thread);
        let device_rows = device.iter().map(|event| {
            let (start, end) = (clip(event.begin), clip(event.end));
            let launched_by = seen.iter().position(|(_, span)| Some(span.id) == event.launched_by);
            if let Some(row) = launched_by {
                // What a call of the runtime launches is the work of the span around it.
                let is_call = rows[row].kind == SpanKind::Runtime;
                let owner = rows[row].parent.filter(|_| is_call).unwrap_or(row);
                rows[owner].self_device_ns += end - start;
            }
            let is_cut = event.begin < window.from || event.end > to;
            DeviceRow { start, end, is_copy: event.is_copy, is_cut, launched_by }
        });
        let device_rows = device_rows.collect();
        let mut instants: Vec<&Instant> = self.instants.iter().collect();
        instants.retain(|event| sees(event.order, Capture::CPU));
        instants.sort_by_key(|event| event.thread);

        let mut threads: Vec<usize> = rows.iter().map(|row| row.thread).collect();
        threads.extend(memory.iter().map(|event| event.thread));
        threads.extend(device.iter().map(|event| event.thread));
        threads.extend(instants.iter().map(|event| event.thread));
        threads.sort_unstable();
        threads.dedup();
        add_up(&mut rows);
        let stack = |event: &Memory| event.frame.filter(|_| window.flags.contains(Capture::STACK));
        let place = |thread: usize| threads.iter().position(|&number| number == thread).unwrap();
        Seen {
            rows,
            device: device_rows,
            memory: memory
                .iter()
                .map(|event| (clip(event.at), place(event.thread), event.bytes, event.device, stack(event)))
                .map(|(at, thread, bytes, device, frame)| (at, thread, bytes, device, frame.map(str::to_owned)))
                .collect(),
            counters: instants.iter().filter_map(|event| Some((clip(event.at), event.value?))).collect(),
            marks: instants.iter().filter(|event| event.value.is_none()).map(|event| clip(event.at)).collect(),
            threads,
        }
    }
}

impl Span {
    fn row(&self, window: &Window, to: u64) -> Row {
        let ended = self.end.filter(|&end| end <= to);
        let visible = |flag: Capture| window.flags.contains(flag);
        let details = self.extras.details;
        Row {
            thread: self.thread,
            name: self.name.to_owned(),
            kind: self.kind,
            start: self.begin.max(window.from) - window.from,
            end: ended.unwrap_or(to) - window.from,
            is_cut_at_start: self.begin < window.from,
            is_finished: ended.is_some(),
            is_async: self.closed_elsewhere && ended.is_some(),
            step: window.steps.iter().filter(|&&step| step <= self.begin.max(window.from)).count() - 1,
            inputs: self.extras.inputs.filter(|_| visible(Capture::SHAPES)),
            frame: self.extras.frame.filter(|_| visible(Capture::STACK)).map(str::to_owned),
            sequence: details,
            flops: details.filter(|_| visible(Capture::FLOPS)).map_or(0, |number| number + 5),
            note: details.map_or(String::new(), |number| format!("note {number}")),
            // Calls of the runtime have none.
            overload: details.filter(|_| self.kind != SpanKind::Runtime).map_or("", |_| "Tensor").to_owned(),
            ..Row::default()
        }
    }
}

fn activity(kind: SpanKind) -> Capture {
    if kind == SpanKind::Runtime { Capture::DEVICE } else { Capture::CPU }
}

fn device_activity(device: Device) -> Capture {
    if device == Device::Cpu { Capture::CPU } else { Capture::DEVICE }
}

/// Parents and self times, by their definitions.
fn nest(rows: &mut [Row]) {
    let mut times: Vec<u64> = rows.iter().flat_map(|row| [row.start, row.end]).collect();
    times.sort_unstable();
    times.dedup();
    for at in (0..rows.len()).filter(|&at| !rows[at].is_async).collect::<Vec<_>>() {
        let Row { thread, start, end, .. } = rows[at];
        let contains = |row: &Row| row.thread == thread && !row.is_async && row.start <= start && row.end >= end;
        rows[at].parent = (0..at).rev().find(|&other| contains(&rows[other]));
        let is_later_and_open =
            |row: &Row, from: u64, to: u64| row.thread == thread && !row.is_async && row.start <= from && row.end >= to;
        for pair in times.windows(2).filter(|pair| start <= pair[0] && pair[1] <= end) {
            if !rows[at + 1..].iter().any(|row| is_later_and_open(row, pair[0], pair[1])) {
                rows[at].self_ns += pair[1] - pair[0];
            }
        }
    }
}

/// Totals: each span's own and its descendants'.
fn add_up(rows: &mut [Row]) {
    for at in 0..rows.len() {
        let (memory, device_ns) = (rows[at].self_memory, rows[at].self_device_ns);
        let mut place = Some(at);
        while let Some(ancestor) = place {
            rows[ancestor].memory[0] += memory[0];
            rows[ancestor].memory[1] += memory[1];
            rows[ancestor].device_ns += device_ns;
            place = rows[ancestor].parent;
        }
    }
}

/// A trace as plain values.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) threads: Vec<usize>,
    pub(crate) rows: Vec<Row>,
    pub(crate) device: Vec<DeviceRow>,
    /// Time, row of the thread, bytes, device and frame.
    pub(crate) memory: Vec<(u64, usize, i64, Device, Option<String>)>,
    pub(crate) counters: Vec<(u64, f64)>,
    pub(crate) marks: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) thread: usize,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_cut_at_start: bool,
    pub(crate) is_finished: bool,
    pub(crate) is_async: bool,
    pub(crate) step: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) self_ns: u64,
    pub(crate) inputs: Option<i64>,
    pub(crate) frame: Option<String>,
    pub(crate) sequence: Option<u64>,
    pub(crate) flops: u64,
    pub(crate) note: String,
    pub(crate) overload: String,
    /// On the host and on devices.
    pub(crate) self_memory: [i64; 2],
    pub(crate) memory: [i64; 2],
    pub(crate) self_device_ns: u64,
    pub(crate) device_ns: u64,
}

#[derive(Debug, PartialEq)]
pub(crate) struct DeviceRow {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_copy: bool,
    pub(crate) is_cut: bool,
    pub(crate) launched_by: Option<usize>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            thread: 0,
            name: String::new(),
            kind: SpanKind::Op,
            start: 0,
            end: 0,
            is_cut_at_start: false,
            is_finished: false,
            is_async: false,
            step: 0,
            parent: None,
            self_ns: 0,
            inputs: None,
            frame: None,
            sequence: None,
            flops: 0,
            note: String::new(),
            overload: String::new(),
            self_memory: [0; 2],
            memory: [0; 2],
            self_device_ns: 0,
            device_ns: 0,
        }
    }
}

/// What a trace says, through its public functions.
pub(crate) fn seen(trace: &Trace) -> Seen {
    let rows = trace.spans().map(|span| Row {
        thread: span.thread().number as usize - 1,
        name: span.name().to_owned(),
        kind: span.kind(),
        start: span.start_ns(),
        end: span.end_ns(),
        is_cut_at_start: span.is_cut_at_start(),
        is_finished: span.is_finished(),
        is_async: span.is_async(),
        step: span.step(),
        parent: span.parent().map(|parent| parent.row()),
        self_ns: span.self_ns(),
        inputs: first_dim(span.inputs()),
        frame: first_frame(span.stack()),
        sequence: span.sequence(),
        flops: span.flops(),
        note: span.note().to_owned(),
        overload: span.overload().to_owned(),
        self_memory: [span.self_cpu_memory(), span.self_device_memory()],
        memory: [span.cpu_memory(), span.device_memory()],
        self_device_ns: span.self_device_ns(),
        device_ns: span.device_ns(),
    });
    let device = trace.device_spans().map(|span| DeviceRow {
        start: span.start_ns(),
        end: span.end_ns(),
        is_copy: span.kind() == DeviceKind::Copy,
        is_cut: span.is_cut(),
        launched_by: span.launched_by().map(|by| by.row()),
    });
    Seen {
        // Threads are numbered from 1, and here from 0.
        threads: trace.threads().iter().map(|thread| thread.number as usize - 1).collect(),
        rows: rows.collect(),
        device: device.collect(),
        memory: trace
            .memory()
            .iter()
            .map(|row| (row.at_ns, row.thread, row.bytes, row.device, first_frame(row.stack)))
            .collect(),
        counters: trace.counters().map(|(_, at, value)| (at, value)).collect(),
        marks: trace.marks().map(|(_, at)| at).collect(),
    }
}

fn first_dim(inputs: Inputs) -> Option<i64> {
    match inputs.decode().first()? {
        Input::Tensor { dims, .. } => dims.first().copied(),
        _ => None,
    }
}

fn first_frame(stack: Stack) -> Option<String> {
    stack.frames().first().map(|frame: &Name| frame.text().to_string())
}
