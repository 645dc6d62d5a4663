//! Averages as a table: a row for each group, with torch's names and units: microseconds and bytes.

use super::dictionary::{Choices, Dictionary, Texts};
use super::inputs::InputLists;
use super::values::{Flags, IntBuilder, Validity};
use super::{BATCH_BYTES, BATCH_ROWS, Batch, Column, Field, Frame, Kind, inputs};
use crate::inputs::Inputs;
use crate::recorder::SpanKind;
use crate::stats::{Average, Averages};
use std::borrow::Borrow;
use std::sync::Arc;

static FIELDS: [Field; 20] = [
    Field::new("key", Kind::Symbol),
    // "op", "scope", "function", "runtime", "device" or "memory".
    Field::new("kind", Kind::Symbol),
    // "CPU", or what the accelerator is called.
    Field::new("device_type", Kind::Symbol),
    Field::new("count", Kind::Int),
    Field::new("cpu_time_total", Kind::Float),
    Field::new("self_cpu_time_total", Kind::Float),
    Field::new("device_time_total", Kind::Float),
    Field::new("self_device_time_total", Kind::Float),
    Field::new("cpu_time", Kind::Float),
    Field::new("device_time", Kind::Float),
    Field::new("cpu_memory_usage", Kind::Int),
    Field::new("self_cpu_memory_usage", Kind::Int),
    Field::new("device_memory_usage", Kind::Int),
    Field::new("self_device_memory_usage", Kind::Int),
    Field::new("flops", Kind::Int),
    // The shapes, if the groups have them.
    inputs::FIELDS[0],
    // Frames from the innermost, as `file(line): function`, a line each, if the groups have them.
    Field::nullable("stack", Kind::Symbol),
    Field::nullable("overload_name", Kind::Symbol),
    Field::new("is_async", Kind::Flag),
    Field::new("is_user_annotation", Kind::Flag),
];

const KINDS: [&str; 6] = ["op", "scope", "function", "runtime", "device", "memory"];

/// Averages that are lent, or shared.
pub(in crate::export) struct AverageFrame<T> {
    averages: T,
    selection: Option<Vec<u32>>,
    kinds: Arc<Texts>,
    devices: Arc<Texts>,
}

impl<T: Borrow<Averages> + Send + Sync> AverageFrame<T> {
    pub(in crate::export) fn new(averages: T) -> Self {
        let kinds = Arc::new(Texts::of(KINDS));
        let devices = Arc::new(Texts::of(["CPU", averages.borrow().device_label()]));
        Self { averages, selection: None, kinds, devices }
    }

    /// Only the groups in these places, in this order. A place that there is not is left out.
    pub(in crate::export) fn select(mut self, mut places: Vec<u32>) -> Self {
        places.retain(|&place| (place as usize) < self.averages.borrow().rows().len());
        self.selection = Some(places);
        self
    }
}

impl<T: Borrow<Averages> + Send + Sync> Frame for AverageFrame<T> {
    fn fields(&self) -> &'static [Field] {
        &FIELDS
    }

    fn metadata(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn len(&self) -> usize {
        self.selection.as_ref().map_or(self.averages.borrow().rows().len(), Vec::len)
    }

    fn batch(&self, start: usize) -> Batch<'_> {
        let most = self.len().min(start.saturating_add(BATCH_ROWS));
        let mut columns = AverageColumns::default();
        let mut end = start;
        while end < most && columns.bytes() < BATCH_BYTES {
            let place = self.selection.as_ref().map_or(end, |places| places[end] as usize);
            columns.push(&self.averages.borrow().rows()[place], place as u32);
            end += 1;
        }
        Batch { rows: end - start, columns: columns.finish(&self.kinds, &self.devices) }
    }
}

/// A batch while it is made.
#[derive(Default)]
struct AverageColumns {
    keys: Dictionary,
    kinds: Choices,
    devices: Choices,
    counts: IntBuilder,
    times: [Vec<f64>; 6],
    amounts: [IntBuilder; 5],
    inputs: InputLists,
    stacks: Dictionary,
    overloads: Dictionary,
    flags: [Flags; 2],
}

impl AverageColumns {
    /// Adds a group, which is known by `id`.
    fn push(&mut self, row: &Average, id: u32) {
        self.keys.push(id, || (&*row.key).into());
        self.kinds.push(kind(row));
        self.devices.push(u32::from(row.is_device()));
        self.counts.push(Some(row.count.cast_signed()));
        let [cpu, own_cpu, device, own_device] = row.times_us();
        let times = [cpu, own_cpu, device, own_device, row.cpu_mean_us(), row.device_mean_us()];
        self.times.iter_mut().zip(times).for_each(|(column, time)| column.push(time));
        let flops = row.flops.cast_signed();
        let amounts = [row.cpu_memory, row.self_cpu_memory, row.device_memory, row.self_device_memory, flops];
        self.amounts.iter_mut().zip(amounts).for_each(|(column, amount)| column.push(Some(amount)));
        if row.inputs == Inputs::NONE {
            self.inputs.push_null();
        } else {
            self.inputs.push(row.inputs);
        }
        if row.stack.is_empty() {
            self.stacks.push_null();
        } else {
            let frames = || row.stack.iter().map(|frame| frame.text()).collect::<Vec<_>>().join("\n");
            self.stacks.push(id, || frames().into());
        }
        if row.overload.is_empty() {
            self.overloads.push_null();
        } else {
            self.overloads.push(id, || (&*row.overload).into());
        }
        self.flags.iter_mut().zip([row.is_async, row.is_annotation()]).for_each(|(column, flag)| column.push(flag));
    }

    fn bytes(&self) -> usize {
        self.keys.bytes() + self.inputs.bytes() + self.stacks.bytes() + self.overloads.bytes()
    }

    fn finish(self, kinds: &Arc<Texts>, devices: &Arc<Texts>) -> Vec<Column<'static>> {
        let mut columns = vec![self.keys.finish(), self.kinds.finish(kinds), self.devices.finish(devices)];
        columns.push(self.counts.finish());
        columns.extend(self.times.into_iter().map(|times| Column::Floats(times, Validity::default())));
        columns.extend(self.amounts.into_iter().map(IntBuilder::finish));
        columns.extend([self.inputs.finish_shapes(), self.stacks.finish(), self.overloads.finish()]);
        columns.extend(self.flags.into_iter().map(|flags| Column::Flags(flags, Validity::default())));
        columns
    }
}

/// The number of a group's kind in [`KINDS`].
fn kind(row: &Average) -> u32 {
    match row.kind {
        Some(SpanKind::Op | SpanKind::Backward) => 0,
        Some(SpanKind::Annotation) => 1,
        Some(SpanKind::Function) => 2,
        Some(SpanKind::Runtime) => 3,
        None => {
            if row.is_device() {
                4
            } else {
                5
            }
        }
    }
}
