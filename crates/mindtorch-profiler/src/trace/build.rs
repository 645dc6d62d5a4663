//! Building a trace: one pass over the window's records.

use super::columns::{SpanColumns, SpanFlags, Sparse};
use super::contexts::{Contexts, Place, SpanOfTask};
use super::details::DetailRow;
use super::device_annotations::device_annotations;
use super::driver_calls::tell_driver_calls;
use super::evaluations::number_evaluations;
use super::links::take_forward_stacks;
use super::names::TraceNames;
use super::nesting::{NO_PARENT, Nesting};
use super::records::for_each_record;
use super::repeated::repeated_operators;
use super::rows::{
    DeviceKind, DeviceRow, InstantRow, MemoryNotes, MemoryRow, MemoryView, SourcesRow, ThreadRow, UseRow,
};
use super::sites::SiteStacks;
use super::{Derived, Header, Origin, Step, Trace};
use crate::capture::Capture;
use crate::clock::TickScale;
use crate::column::{Column, Store};
use crate::names::{Name, Stack};
use crate::quiet::QuietDrop;
use crate::recorder::{
    Device, Head, Losses, Memory, MemoryRole, MemoryUse, RecordKind, SpanId, SpanKind, Stream, ThreadLog, Words, pair,
    unpack_last, unpack_memory, unpack_numbers, unpair,
};
use crate::session::WindowContents;
use crate::sync::Arc;
use rustc_hash::{FxHashMap, FxHashSet};

/// Turns the contents of a window into a trace.
pub(crate) struct TraceBuilder {
    pub(super) contents: WindowContents,
    store: Store,
    clock: WindowClock,
    names: TraceNames,
    pub(super) threads: Vec<ThreadRow>,
    pub(super) spans: SpanColumns,
    pub(super) device: Column<DeviceRow>,
    /// The span ids that `device` rows were launched by, as recorded.
    pub(super) launches: Column<Option<SpanId>>,
    memory: Column<MemoryRow>,
    notes: MemoryNotes,
    instants: Column<InstantRow>,
    nesting: Nesting,
    contexts: Contexts,
    losses: Losses,
    /// When the last thing happened on the thread: a span began, or memory was used.
    latest: u64,
    sites: SiteStacks,
    has_stacks: bool,
    /// By row: whether its stack is that of what is around it.
    inherits_stack: Sparse<bool>,
    /// Spans that the session knows of itself, by the serial number of the thread that made them.
    pub(super) own_spans: FxHashMap<u32, Vec<RawSpan>>,
}

/// Ticks to nanoseconds since the window's start, within the window.
#[derive(Clone, Copy)]
struct WindowClock {
    scale: TickScale,
    from_ticks: u64,
    to_ticks: u64,
    length_ns: u64,
}

impl WindowClock {
    fn new(scale: TickScale, from_ticks: u64, to_ticks: u64) -> Self {
        Self { scale, from_ticks, to_ticks, length_ns: scale.ns_between(from_ticks, to_ticks) }
    }

    #[inline]
    fn ns(&self, ticks: u64) -> u64 {
        self.scale.ns_between(self.from_ticks, ticks).min(self.length_ns)
    }
}

/// A span on its way into the columns.
#[derive(Clone, Copy)]
pub(super) struct RawSpan {
    begin: u64,
    end: u64,
    head: Head,
    inputs_and_stack: u64,
    /// Of one that is numbered, whose overload is its track.
    sequence_plus_one: u32,
    details: Option<Words>,
}

impl RawSpan {
    #[inline(always)]
    fn of_record(head: Head, [begin, end, _, last]: Words, second: Option<Words>) -> Self {
        let (inputs_and_stack, sequence_plus_one) = unpack_last(head, last);
        Self { begin, end, head, inputs_and_stack, sequence_plus_one, details: second }
    }

    #[inline(always)]
    fn context(&self) -> u32 {
        self.details.map_or(0, |details| unpair(details[3]).1)
    }
}

impl TraceBuilder {
    pub(crate) fn new(contents: WindowContents, scale: TickScale) -> Self {
        let (from_ticks, to_ticks) = (contents.edges[0].cut.ticks, contents.to.ticks);
        let has_stacks = contents.settings.capture.contains(Capture::STACK);
        let unrecorded = contents.to.lost.saturating_sub(contents.edges[0].cut.lost);
        let losses = Losses { unrecorded, ..contents.losses.clone() };
        let store = contents.store();
        let entered = store.enter();
        let builder = Self {
            store,
            contents,
            clock: WindowClock::new(scale, from_ticks, to_ticks),
            names: TraceNames::default(),
            threads: Vec::new(),
            spans: SpanColumns::default(),
            device: Column::new(),
            launches: Column::new(),
            memory: Column::new(),
            notes: MemoryNotes::default(),
            instants: Column::new(),
            nesting: Nesting::default(),
            contexts: Contexts::default(),
            losses,
            latest: 0,
            sites: SiteStacks::default(),
            has_stacks,
            inherits_stack: Sparse::default(),
            own_spans: FxHashMap::default(),
        };
        drop(entered);
        builder
    }

    pub(crate) fn build(mut self) -> Trace {
        let _store = self.store.enter();
        let mut streams = std::mem::take(&mut self.contents.streams);
        self.add_memory_views();
        self.choose_carried();
        self.add_streams_of_carried(&mut streams);
        self.add_own_spans(&mut streams);
        let slots: u64 = streams.iter().map(Stream::slots).sum();
        let own: usize = self.own_spans.values().map(Vec::len).sum();
        self.spans.reserve(slots as usize + self.contents.carried.len() + own);
        for stream in &streams {
            self.add_thread(stream);
        }
        number_evaluations(&mut self.spans, self.names.texts());
        tell_driver_calls(&mut self.spans, &mut self.names);
        self.resolve_launches(&streams);
        if self.contents.settings.annotates_devices {
            let annotations = device_annotations(&self.spans, &self.device);
            self.device.extend(annotations);
        }
        self.spans.spread_devices();
        self.spans.shrink();
        let parents = &self.spans.parent;
        self.spans.cpu_memory.sum_up(parents, i64::saturating_add);
        self.spans.device_memory.sum_up(parents, i64::saturating_add);
        self.spans.device_ns.sum_up(parents, u64::saturating_add);
        if self.has_stacks {
            take_forward_stacks(&mut self.spans, &self.threads, &self.inherits_stack);
        }
        let repeated = repeated_operators(&self.spans);
        let first_step = self.contents.settings.first_step;
        let marks = self.contents.steps.iter().enumerate();
        let steps =
            marks.map(|(at, mark)| Step { start: self.clock.ns(mark.ticks), number: first_step + at }).collect();
        Trace {
            header: Header {
                pid: std::process::id(),
                start_epoch_ns: self.clock.scale.epoch_ns(self.clock.from_ticks),
                duration_ns: self.clock.length_ns,
                capture: self.contents.settings.capture,
                first_step: self.contents.settings.first_step,
                is_running: self.contents.is_running,
                losses: self.losses,
                memory_in_use: self.contents.settings.memory_in_use,
                hides_memory_events: self.contents.settings.hides_memory_events,
                metadata: self.contents.settings.metadata,
                origin: Origin { accelerator: self.contents.settings.accelerator, ..Origin::default() },
            },
            names: self.names.into_texts(),
            threads: self.threads,
            spans: self.spans,
            repeated,
            device: self.device,
            memory: self.memory,
            notes: self.notes,
            taken_out: Column::new(),
            instants: self.instants,
            steps,
            store: self.store,
            derived: Derived::default(),
            quiet: QuietDrop::default(),
        }
    }

    /// A thread may have ended, and left nothing but a span that was carried into the window.
    fn add_streams_of_carried(&self, streams: &mut Vec<Stream>) {
        let known: FxHashSet<u32> = streams.iter().map(|stream| stream.log.serial).collect();
        let mut missing: Vec<_> = self.contents.carried.iter().map(|span| &span.log).collect();
        missing.retain(|log| !known.contains(&log.serial));
        missing.dedup_by_key(|log| log.serial);
        streams.extend(missing.into_iter().map(|log| Stream::empty(Arc::clone(log))));
        streams.sort_unstable_by_key(|stream| stream.log.serial);
    }

    /// Makes spans of what the session knows itself: scopes that were open when it began, and its steps, if it wants them.
    /// Each is on the thread that made it; one that recorded nothing gets a stream for it.
    fn add_own_spans(&mut self, streams: &mut Vec<Stream>) {
        // The system reuses thread numbers: the youngest thread with the number is the one that is alive.
        let mut serials: FxHashMap<u64, u32> =
            streams.iter().map(|stream| (stream.log.os_id, stream.log.serial)).collect();
        let mut serial_of = |os_thread: u64| {
            *serials.entry(os_thread).or_insert_with(|| {
                let serial = streams.last().map_or(1, |last| last.log.serial + 1);
                streams.push(Stream::empty(Arc::new(ThreadLog::new(serial, os_thread, None))));
                serial
            })
        };
        let shows_scopes = !self.contents.settings.left_out.contains(RecordKind::Annotation);
        for scope in self.contents.settings.open_scopes.iter().filter(|_| shows_scopes) {
            let name = self.names.local(scope.name.0);
            let head = Head { kind: RecordKind::Annotation, flags: 0, track: 0, name };
            let details = Some([0, 0, pair(0, scope.note.0), 0]);
            // Before the window, since it had begun.
            let begin = self.clock.from_ticks.saturating_sub(1);
            let span = RawSpan { begin, end: scope.end(), head, inputs_and_stack: 0, sequence_plus_one: 0, details };
            self.own_spans.entry(serial_of(scope.os_thread)).or_default().push(span);
        }
        if !self.contents.settings.record_steps {
            return;
        }
        let marks = &self.contents.steps;
        // The last one is still open while the session is running.
        let open = if self.contents.is_running { 0 } else { self.clock.to_ticks };
        let last = self.contents.steps_end.map_or(open, |end| end.min(self.clock.to_ticks));
        let ends = marks.iter().skip(1).map(|next| next.ended).chain([last]);
        for (number, (mark, end)) in marks.iter().zip(ends).enumerate() {
            let number = number + self.contents.settings.first_step;
            let name = self.names.add_text(format!("ProfilerStep#{number}").into());
            let head = Head { kind: RecordKind::Annotation, flags: 0, track: 0, name };
            let span =
                RawSpan { begin: mark.ticks, end, head, inputs_and_stack: 0, sequence_plus_one: 0, details: None };
            self.own_spans.entry(serial_of(mark.os_thread)).or_default().push(span);
        }
    }

    fn add_thread(&mut self, stream: &Stream) {
        let thread = self.threads.len();
        let first = self.spans.len();
        let other_rows = self.memory.len() + self.instants.len() + self.device.len();
        self.add_carried(&stream.log);
        let own = self.own_spans.get(&stream.log.serial).cloned().unwrap_or_default();
        let mut own = SpansToCome(&own);
        let edges = std::mem::take(&mut self.contents.edges);
        let left_out = self.contents.settings.left_out;
        // The row of the span that was begun last, unless it is left out.
        let mut latest = None;
        let unreadable = for_each_record(stream, &edges, |_, capture, head, words, second| {
            if left_out.contains(head.kind) {
                latest = None;
                return;
            }
            if head.kind.tells_when() {
                while let Some(span) = own.begun_by(words[0]) {
                    self.add_own_span(span);
                }
            }
            if head.kind.is_span() {
                latest = Some(self.spans.len() as u32);
                self.add_span(&RawSpan::of_record(head, words, second), capture);
            } else if head.kind == RecordKind::Sources {
                let [first, other, _, third] = words;
                let (device, addresses) = (Device::from_bits(head.name, head.track), [first, other, third]);
                self.notes.sources.extend(latest.map(|span| SourcesRow { span, device, addresses }));
            } else {
                self.add_instant(thread, capture, head, words, second);
            }
        });
        self.contents.edges = edges;
        self.losses.unreadable += unreadable;
        while let Some(span) = own.begun_by(u64::MAX) {
            self.add_own_span(span);
        }
        let has_overlaps = self.nesting.finish(&mut self.spans.self_ns);
        self.contexts.finish();
        self.latest = 0;
        let rows = self.memory.len() + self.instants.len() + self.device.len() - other_rows;
        if self.spans.len() > first || rows > 0 {
            let log = &stream.log;
            let spans = first..self.spans.len();
            let (number, os_id, name) = (log.serial, log.os_id, log.name.clone());
            self.threads.push(ThreadRow { number, os_id, name, rank: None, spans, has_overlaps });
        }
    }

    /// The spans that were open on this thread when the window began. The list is in order of threads.
    pub(super) fn carried_of(&self, log: &ThreadLog) -> std::ops::Range<usize> {
        let carried = &self.contents.carried;
        let first = carried.partition_point(|span| span.log.serial < log.serial);
        first..carried.partition_point(|span| span.log.serial <= log.serial)
    }

    fn add_carried(&mut self, log: &ThreadLog) {
        let capture = self.contents.edges[0].capture;
        for at in self.carried_of(log) {
            let (head, words, second) = self.contents.carried[at].read();
            self.add_span(&RawSpan::of_record(head, words, second), capture);
        }
    }

    /// Leaves out the carried spans that are not for this window, or had ended after all by the time it began. Once and
    /// for all, since a thread may be about to store such an end.
    fn choose_carried(&mut self) {
        let (capture, from_ticks) = (self.contents.edges[0].capture, self.clock.from_ticks);
        let left_out = self.contents.settings.left_out;
        self.contents.carried.retain(|span| {
            let (head, [_, end, ..], _) = span.read();
            let kind = SpanKind::of_record(head.kind);
            kind.is_some_and(|kind| !left_out.contains(kind.record_kind()) && capture.contains(kind.needs()))
                && (end == 0 || end > from_ticks)
        });
    }

    fn add_instant(&mut self, thread: usize, capture: Capture, head: Head, words: Words, second: Option<Words>) {
        match head.kind {
            RecordKind::Memory => {
                let [ticks, address, _, last] = words;
                self.add_memory(thread, capture, ticks, &unpack_memory(head, address, last, second));
            }
            RecordKind::Use => self.add_use(capture, words, head),
            kind if kind.is_device() => self.add_device(words, head, second.unwrap_or_default()),
            _ => {
                let value = (head.kind == RecordKind::Counter).then(|| f64::from_bits(words[1]));
                let name = self.names.local(head.name);
                self.instants.push(InstantRow { at: self.clock.ns(words[0]), thread, name, value });
            }
        }
    }

    /// Apart, so that the loop over records has `add_named_span` to itself. The name is the trace's own.
    #[inline(never)]
    fn add_own_span(&mut self, span: &RawSpan) {
        self.add_named_span(span, span.head.name, Capture::NONE);
    }

    #[inline(always)]
    fn add_span(&mut self, raw: &RawSpan, capture: Capture) {
        let name = self.names.local(raw.head.name);
        self.add_named_span(raw, name, capture);
    }

    #[inline(always)]
    fn add_named_span(&mut self, raw: &RawSpan, name: u32, capture: Capture) {
        let Some(kind) = SpanKind::of_record(raw.head.kind) else { return };
        let row = self.spans.len();
        let is_open = raw.end == 0 || raw.end > self.clock.to_ticks;
        // Never before what was before it: the counters of two cores may differ by a tick, and a machine that was suspended
        // may start anew.
        let start = self.clock.ns(raw.begin).max(self.latest);
        self.latest = start;
        let end = if is_open { self.clock.length_ns } else { self.clock.ns(raw.end) }.max(start);
        // A span that another thread will have closed by the time that a running session ends is not known as such yet.
        let elsewhere = raw.head.is_closed_elsewhere() && !is_open;
        let flags = SpanFlags::new(raw.begin < self.clock.from_ticks, is_open, elsewhere).script(raw.head.is_script());
        self.spans.start.push(start);
        self.spans.duration.push(end - start);
        self.spans.self_ns.push(0);
        self.spans.name.push(name);
        self.spans.kind.push(kind);
        self.spans.flags.push(flags);
        let parent =
            if elsewhere { NO_PARENT } else { self.nesting.enter(row as u32, start, end, &mut self.spans.self_ns) };
        let task = raw.context();
        let Place { parent, called_by } = if task == 0 || elsewhere {
            Place { parent, called_by: parent }
        } else {
            let span = SpanOfTask { task, row: row as u32, end, kind, nested_in: parent };
            self.contexts.enter(span, &self.spans.parent)
        };
        self.spans.parent.push(parent);
        if kind == SpanKind::Function {
            self.add_function(row, raw, parent);
        } else {
            if raw.inputs_and_stack != 0 {
                self.add_inputs_and_stack(row, raw, capture);
            }
            if self.has_stacks {
                self.add_stack_around(row, called_by);
            }
        }
        if raw.head.is_numbered() {
            let overload = self.overload(row, raw.head.track.into());
            self.spans.details.set_short(row, raw.sequence_plus_one, overload);
        } else if let Some(details) = raw.details {
            self.add_details(row, capture, details);
        }
    }

    fn add_inputs_and_stack(&mut self, row: usize, raw: &RawSpan, capture: Capture) {
        let (inputs, stack) = unpair(raw.inputs_and_stack);
        if capture.contains(Capture::SHAPES) {
            self.spans.inputs.set(row, inputs);
        }
        if stack != 0 && capture.contains(Capture::STACK) {
            let parent = self.spans.parent[row];
            let whole = if raw.head.is_site_only() { self.sites.below(stack, parent) } else { stack };
            self.spans.stack.set(row, whole);
        }
    }

    /// A span that knows no stack of its own has that of the functions and places around it.
    fn add_stack_around(&mut self, row: usize, parent: u32) {
        let own = self.spans.stack.get(row);
        self.sites.enter(row, own, parent);
        if own == 0 {
            self.inherits_stack.set(row, true);
            self.spans.stack.set(row, self.sites.innermost(parent));
        }
    }

    /// A function is a frame of what it contains, not of itself.
    fn add_function(&mut self, row: usize, raw: &RawSpan, parent: u32) {
        let (line, module) = unpair(raw.inputs_and_stack);
        self.spans.line.set(row, line);
        self.spans.module.set(row, module);
        self.spans.stack.set(row, self.sites.innermost(parent));
        let with_itself = self.sites.below(Stack::new(&[Name(raw.head.name)]).0, parent);
        self.sites.enter(row, with_itself, parent);
    }

    fn add_details(&mut self, row: usize, capture: Capture, [numbers, flops, threads, overload]: Words) {
        let (forward_thread, note) = unpair(threads);
        let (record_function, sequence_plus_one) = unpack_numbers(numbers);
        let detail = DetailRow {
            sequence_plus_one,
            record_function,
            forward_thread,
            flops: if capture.contains(Capture::FLOPS) { flops } else { 0 },
            note: self.names.local(note),
            overload: self.overload(row, unpair(overload).0),
        };
        self.spans.details.set(row, detail);
    }

    /// The name of an operator's overload, if they are wanted. Where operators have it, calls have what else is shown of them.
    #[inline]
    fn overload(&mut self, row: usize, name: u32) -> u32 {
        if self.spans.kind[row] == SpanKind::Runtime {
            let members = self.names.local(name);
            // An overload that a call was given all the same would make a broken file.
            if self.names.texts()[members as usize].starts_with('"') {
                self.spans.extra.set(row, members + 1);
            }
            return 0;
        }
        if self.contents.settings.capture.contains(Capture::OVERLOADS) { self.names.local(name) } else { 0 }
    }

    fn add_memory(&mut self, thread: usize, capture: Capture, ticks: u64, memory: &Memory) {
        let Memory { address, bytes, device, allocated, reserved, stack, role } = *memory;
        if !capture.contains(device.activity()) {
            return;
        }
        let at_ns = self.clock.ns(ticks).max(self.latest);
        self.latest = at_ns;
        let owner = self.nesting.owner(at_ns, &mut self.spans.self_ns);
        let span = (owner != NO_PARENT).then_some(owner);
        if let Some(row) = span {
            let column = if device == Device::Cpu { &mut self.spans.cpu_memory } else { &mut self.spans.device_memory };
            let own = column.own.entry(row as usize);
            *own = own.saturating_add(bytes);
            if let Device::Npu(index) = device {
                self.spans.set_device(row as usize, index);
            }
        }
        let stack = if capture.contains(Capture::STACK) { stack } else { Stack::NONE };
        self.memory.push(MemoryRow { at_ns, thread, address, bytes, device, allocated, reserved, stack, role, span });
    }

    fn add_use(&mut self, capture: Capture, [ticks, address, _, bytes]: Words, head: Head) {
        let device = Device::from_bits(head.name & 0xff, head.track);
        if !capture.contains(device.activity()) {
            return;
        }
        let at_ns = self.clock.ns(ticks).max(self.latest);
        self.latest = at_ns;
        let owner = self.nesting.owner(at_ns, &mut self.spans.self_ns);
        let (role, is_written) = (MemoryRole::from_number((head.name >> 8) as u8), head.name >> 16 != 0);
        self.notes.uses.push(UseRow {
            at_ns,
            used: MemoryUse { address, bytes, device, role, is_written },
            before: self.memory.len() as u32,
            span: (owner != NO_PARENT).then_some(owner),
        });
    }

    /// Notes from when on which devices' memory is seen.
    fn add_memory_views(&mut self) {
        let mut before = Capture::NONE;
        for edge in &self.contents.edges {
            let sees = edge.capture.contains(Capture::MEMORY);
            let seen = if sees { edge.capture & Capture::ACTIVITIES } else { Capture::NONE };
            let begun = seen & !before;
            if !begun.is_empty() {
                let at_ns = self.clock.ns(edge.cut.ticks);
                self.notes.views.push(MemoryView { at_ns, activities: begun, blocks: Arc::clone(&edge.blocks) });
            }
            before = seen;
        }
    }

    fn add_device(&mut self, [begin, end, _, device]: Words, head: Head, [launched_by, bytes, _, _]: Words) {
        // Devices may tell of their work long after it: what was over before the window is no part of it.
        if end < self.clock.from_ticks {
            return;
        }
        let start = self.clock.ns(begin);
        let (device, extra) = unpair(device);
        self.device.push(DeviceRow {
            start,
            end: self.clock.ns(end).max(start),
            name: self.names.local(head.name),
            device: device as u16,
            stream: u32::from(head.track),
            kind: DeviceKind::of_record(head.kind),
            is_cut: begin < self.clock.from_ticks || end > self.clock.to_ticks,
            bytes,
            launched_by: None,
            extra: if extra == 0 { 0 } else { self.names.local(extra) + 1 },
        });
        self.launches.push(SpanId::from_bits(launched_by));
    }
}

/// The session's own spans of a thread that are not yet among its spans.
pub(super) struct SpansToCome<'a>(pub(super) &'a [RawSpan]);

impl<'a> SpansToCome<'a> {
    /// The next one, if it began by then.
    #[inline]
    pub(super) fn begun_by(&mut self, ticks: u64) -> Option<&'a RawSpan> {
        let (span, rest) = self.0.split_first()?;
        if span.begin > ticks {
            return None;
        }
        self.0 = rest;
        Some(span)
    }
}
