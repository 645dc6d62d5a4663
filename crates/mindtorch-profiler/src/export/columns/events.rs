//! The events of a trace as a table: a row for each, in the order in which they are listed. [`FIELDS`] are its columns.

use super::dictionary::{Choices, Dictionary, Texts};
use super::event_numbers::{self, EventNumbers};
use super::inputs::{self, InputLists};
use super::names::NameTable;
use super::values::{Flags, IntBuilder, Validity};
use super::{BATCH_BYTES, BATCH_ROWS, Batch, Column, Field, Frame, Ints, Kind};
use crate::capture::Capture;
use crate::inputs::Inputs;
use crate::names::Stack;
use crate::recorder::{Device, SpanKind};
use crate::trace::{DeviceKind, EventOrder, Trace, TraceEvent};
use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;

const NAMES: [Field; 3] = [
    Field::new("name", Kind::Symbol),
    // "op", "scope", "function", "runtime", "kernel", "copy", "set", "sync", "annotation" or "memory".
    Field::new("kind", Kind::Symbol),
    // "CPU", or what the accelerator is called.
    Field::new("device_type", Kind::Symbol),
];

const REST: [Field; 8] = [
    // Frames from the innermost, as `file(line): function`, a line each.
    Field::nullable("stack", Kind::Symbol),
    Field::nullable("overload", Kind::Symbol),
    Field::nullable("note", Kind::Symbol),
    // What a trace that was read has beside the columns: its category for the event, and arguments as a JSON object.
    Field::nullable("category", Kind::Symbol),
    Field::nullable("extra", Kind::Symbol),
    Field::new("is_async", Kind::Flag),
    Field::new("is_finished", Kind::Flag),
    Field::new("is_cut_at_start", Kind::Flag),
];

const COUNT: usize = NAMES.len() + event_numbers::FIELDS.len() + inputs::FIELDS.len() + REST.len();

/// The columns. One that does not apply to an event is null there: what was not captured, what only operators have.
static FIELDS: [Field; COUNT] = {
    let parts: [&[Field]; 4] = [&NAMES, &event_numbers::FIELDS, &inputs::FIELDS, &REST];
    let mut all = [NAMES[0]; COUNT];
    let (mut part, mut to) = (0, 0);
    while part < parts.len() {
        let mut from = 0;
        while from < parts[part].len() {
            all[to] = parts[part][from];
            (from, to) = (from + 1, to + 1);
        }
        part += 1;
    }
    all
};

const KINDS: [&str; 10] =
    ["op", "scope", "function", "runtime", "kernel", "copy", "set", "sync", "annotation", "memory"];

/// The events of a trace that is lent, or shared.
pub(in crate::export) struct EventFrame<T> {
    trace: T,
    order: Arc<EventOrder>,
    selection: Option<Selection>,
    names: NameTable,
    numbers: EventNumbers,
    kinds: Arc<Texts>,
    devices: Arc<Texts>,
}

/// Some of the events.
struct Selection {
    places: Vec<u32>,
    /// The row of each place.
    rows: FxHashMap<u32, u32>,
}

impl<T: Borrow<Trace> + Send + Sync> EventFrame<T> {
    pub(in crate::export) fn new(trace: T, order: Arc<EventOrder>) -> Self {
        let lent: &Trace = trace.borrow();
        let (names, numbers) = (NameTable::of(lent, order.events().iter().copied()), EventNumbers::of(lent));
        let kinds = Arc::new(Texts::of(KINDS));
        let devices = Arc::new(Texts::of(["CPU", lent.accelerator()]));
        Self { trace, order, selection: None, names, numbers, kinds, devices }
    }

    /// Only the events in these places, in this order. A place that there is not is left out.
    pub(in crate::export) fn select(mut self, mut places: Vec<u32>) -> Self {
        let events = self.order.events();
        places.retain(|&place| (place as usize) < events.len());
        self.names = NameTable::of(self.trace.borrow(), places.iter().map(|&place| events[place as usize]));
        // An event that is there twice is the parent of others in its first place.
        let rows = (0..places.len()).rev().map(|row| (places[row], row as u32)).collect();
        self.selection = Some(Selection { places, rows });
        self
    }

    /// The row of the event around the one in a place, if it has a row.
    fn parent(&self, place: usize) -> Option<u32> {
        let parent = self.order.parent(self.trace.borrow(), place)?;
        self.selection.as_ref().map_or(Some(parent), |selection| selection.rows.get(&parent).copied())
    }

    fn push(&self, columns: &mut EventColumns, row: usize) {
        let trace: &Trace = self.trace.borrow();
        let place = self.selection.as_ref().map_or(row, |selection| selection.places[row] as usize);
        let event = self.order.events()[place];
        columns.names.push(self.names.code(trace, event));
        columns.kinds.push(kind(trace, event));
        columns.devices.push(u32::from(EventNumbers::device(trace, event) != Device::Cpu));
        let numbers = self.numbers.of_event(trace, event, self.parent(place));
        columns.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
        columns.push_captured(trace, event);
    }
}

impl<T: Borrow<Trace> + Send + Sync> Frame for EventFrame<T> {
    fn fields(&self) -> &'static [Field] {
        &FIELDS
    }

    fn metadata(&self) -> Vec<(&'static str, String)> {
        let trace: &Trace = self.trace.borrow();
        vec![
            ("start_epoch_ns", trace.start_epoch_ns().to_string()),
            ("duration_ns", trace.duration_ns().to_string()),
            ("process_id", trace.pid().to_string()),
            ("lost_events", trace.lost_events().to_string()),
        ]
    }

    fn len(&self) -> usize {
        self.selection.as_ref().map_or(self.order.events().len(), |selection| selection.places.len())
    }

    fn batch(&self, start: usize) -> Batch<'_> {
        let most = self.len().min(start.saturating_add(BATCH_ROWS));
        let mut columns = EventColumns::with_capacity(most.saturating_sub(start));
        let mut end = start;
        while end < most && columns.bytes() < BATCH_BYTES {
            self.push(&mut columns, end);
            end += 1;
        }
        let mut columns = columns.finish(self);
        if self.order.is_rows() && self.selection.is_none() {
            self.lend(&mut columns, start..end);
        }
        Batch { rows: end - start, columns }
    }
}

impl<T: Borrow<Trace> + Send + Sync> EventFrame<T> {
    /// Puts the trace's own columns in the place of those that were made.
    fn lend<'a>(&'a self, columns: &mut [Column<'a>], rows: Range<usize>) {
        let spans = &self.trace.borrow().spans;
        columns[NAMES.len()] = Column::Ints(Ints::OfTrace(&spans.start[rows.clone()]), Validity::default());
        if self.names.is_as_in_trace() {
            columns[0] = self.names.column(spans.name[rows].into());
        }
    }
}

/// The number of an event's kind in [`KINDS`].
fn kind(trace: &Trace, event: TraceEvent) -> u32 {
    match event {
        TraceEvent::Span(row) => match trace.spans.kind[row as usize] {
            SpanKind::Op | SpanKind::Backward => 0,
            SpanKind::Annotation => 1,
            SpanKind::Function => 2,
            SpanKind::Runtime => 3,
        },
        TraceEvent::Device(row) => match trace.device[row as usize].kind {
            DeviceKind::Kernel => 4,
            DeviceKind::Copy => 5,
            DeviceKind::Set => 6,
            DeviceKind::Sync => 7,
            DeviceKind::Annotation => 8,
        },
        TraceEvent::Memory(_) => 9,
    }
}

/// The frames of a stack, a line each.
fn joined(stack: Stack) -> String {
    let frames: Vec<_> = stack.frames().into_iter().map(|frame| frame.text()).collect();
    frames.join("\n")
}

/// Adds a name of the trace; none if it is empty.
fn push_name(column: &mut Dictionary, trace: &Trace, name: Option<u32>) {
    match name.filter(|&name| !trace.name(name).is_empty()) {
        Some(name) => column.push(name, || trace.name(name).into()),
        None => column.push_null(),
    }
}

/// Adds the members of a JSON object, which are a name of the trace, one higher.
fn push_object(column: &mut Dictionary, trace: &Trace, members: u32) {
    match members.checked_sub(1) {
        Some(name) => column.push(name, || format!("{{{}}}", trace.name(name)).into()),
        None => column.push_null(),
    }
}

/// A batch while it is made.
struct EventColumns {
    names: Vec<u32>,
    kinds: Choices,
    devices: Choices,
    numbers: [IntBuilder; event_numbers::FIELDS.len()],
    inputs: InputLists,
    texts: [Dictionary; 5],
    flags: [Flags; 3],
}

impl EventColumns {
    fn with_capacity(rows: usize) -> Self {
        Self {
            names: Vec::with_capacity(rows),
            kinds: Choices::default(),
            devices: Choices::default(),
            numbers: std::array::from_fn(|_| IntBuilder::with_capacity(rows)),
            inputs: InputLists::default(),
            texts: std::array::from_fn(|_| Dictionary::default()),
            flags: std::array::from_fn(|_| Flags::default()),
        }
    }

    fn push_captured(&mut self, trace: &Trace, event: TraceEvent) {
        let [stack, overload, note, category, extra] = &mut self.texts;
        let flags = if let TraceEvent::Span(row) = event {
            let (row, spans) = (row as usize, &trace.spans);
            let is_op = matches!(spans.kind[row], SpanKind::Op | SpanKind::Backward);
            if is_op && trace.capture().contains(Capture::SHAPES) {
                self.inputs.push(Inputs(spans.inputs.get(row)));
            } else {
                self.inputs.push_null();
            }
            if trace.capture().contains(Capture::STACK) {
                let frames = Stack(spans.stack.get(row));
                stack.push(frames.0, || joined(frames).into());
            } else {
                stack.push_null();
            }
            let detail = spans.details.get(row);
            push_name(overload, trace, detail.map(|detail| detail.overload));
            push_name(note, trace, detail.map(|detail| detail.note));
            push_name(category, trace, spans.category.get(row).checked_sub(1));
            push_object(extra, trace, spans.extra.get(row));
            let flags = spans.flags[row];
            [flags.is_closed_elsewhere(), !flags.is_cut_at_end(), flags.is_cut_at_start()]
        } else {
            self.inputs.push_null();
            [stack, overload, note, category].into_iter().for_each(Dictionary::push_null);
            let device = if let TraceEvent::Device(row) = event { trace.device.get(row as usize) } else { None };
            push_object(extra, trace, device.map_or(0, |work| work.extra));
            [false, device.is_none_or(|work| !work.is_cut), false]
        };
        self.flags.iter_mut().zip(flags).for_each(|(column, flag)| column.push(flag));
    }

    fn bytes(&self) -> usize {
        self.inputs.bytes() + self.texts.iter().map(Dictionary::bytes).sum::<usize>()
    }

    fn finish<T>(self, frame: &EventFrame<T>) -> Vec<Column<'static>> {
        let mut columns = vec![
            frame.names.column(self.names.into()),
            self.kinds.finish(&frame.kinds),
            self.devices.finish(&frame.devices),
        ];
        columns.extend(self.numbers.into_iter().map(IntBuilder::finish));
        columns.extend(self.inputs.finish());
        columns.extend(self.texts.into_iter().map(Dictionary::finish));
        columns.extend(self.flags.into_iter().map(|flags| Column::Flags(flags, Validity::default())));
        columns
    }
}
