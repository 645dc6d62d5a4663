//! The columns of a trace: one entry a span in each, in the order of thread and beginning.

use super::details::Details;
use super::nanos::Nanos;
use crate::column::Column;
use crate::recorder::{Device, SpanKind};

/// How a span met the window's edges, and what few are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpanFlags(u8);

impl SpanFlags {
    const CUT_AT_START: u8 = 1;
    const CUT_AT_END: u8 = 2;
    const CLOSED_ELSEWHERE: u8 = 4;
    const SCRIPT: u8 = 8;

    pub(crate) fn new(cut_at_start: bool, cut_at_end: bool, closed_elsewhere: bool) -> Self {
        let flag = |on, bit| if on { bit } else { 0 };
        Self(
            flag(cut_at_start, Self::CUT_AT_START)
                | flag(cut_at_end, Self::CUT_AT_END)
                | flag(closed_elsewhere, Self::CLOSED_ELSEWHERE),
        )
    }

    pub(crate) fn script(self, is_script: bool) -> Self {
        Self(self.0 | if is_script { Self::SCRIPT } else { 0 })
    }

    pub(crate) fn is_script(self) -> bool {
        self.0 & Self::SCRIPT != 0
    }

    pub(crate) fn is_cut_at_start(self) -> bool {
        self.0 & Self::CUT_AT_START != 0
    }

    pub(crate) fn is_cut_at_end(self) -> bool {
        self.0 & Self::CUT_AT_END != 0
    }

    pub(crate) fn is_closed_elsewhere(self) -> bool {
        self.0 & Self::CLOSED_ELSEWHERE != 0
    }
}

/// What every span has. Times are nanoseconds since the start of the trace.
#[derive(Debug, Default)]
pub(crate) struct SpanColumns {
    pub(crate) start: Column<u64>,
    pub(crate) duration: Nanos,
    pub(crate) self_ns: Nanos,
    /// Index into the trace's names.
    pub(crate) name: Column<u32>,
    pub(crate) parent: Column<u32>,
    pub(crate) kind: Column<SpanKind>,
    pub(crate) flags: Column<SpanFlags>,
    pub(crate) inputs: Sparse<u32>,
    pub(crate) stack: Sparse<u32>,
    /// The accelerator that a span worked on, itself or by what it contains: its number, one higher.
    pub(crate) device: Sparse<u16>,
    /// For functions: the line that called them.
    pub(crate) line: Sparse<u32>,
    /// For functions that are calls of a module: its number, one higher.
    pub(crate) module: Sparse<u32>,
    /// The category of a span, if it is not that of its kind: index into the trace's names, one higher.
    pub(crate) category: Sparse<u32>,
    /// Arguments of a trace that was read which have no column, as members of a JSON object: index into the trace's names,
    /// one higher.
    pub(crate) extra: Sparse<u32>,
    pub(crate) details: Details,
    pub(crate) cpu_memory: SelfAndTotal<i64>,
    pub(crate) device_memory: SelfAndTotal<i64>,
    pub(crate) device_ns: SelfAndTotal<u64>,
}

impl SpanColumns {
    pub(crate) fn len(&self) -> usize {
        self.start.len()
    }

    pub(crate) fn reserve(&mut self, rows: usize) {
        self.start.reserve_exact(rows);
        self.duration.reserve(rows);
        self.self_ns.reserve(rows);
        self.name.reserve_exact(rows);
        self.parent.reserve_exact(rows);
        self.kind.reserve_exact(rows);
        self.flags.reserve_exact(rows);
    }

    /// Gives back what `reserve` took too much.
    pub(crate) fn shrink(&mut self) {
        self.start.shrink_to_fit();
        self.duration.shrink();
        self.self_ns.shrink();
        self.name.shrink_to_fit();
        self.parent.shrink_to_fit();
        self.kind.shrink_to_fit();
        self.flags.shrink_to_fit();
        self.inputs.shrink();
        self.stack.shrink();
        self.line.shrink();
        self.module.shrink();
        self.category.shrink();
        self.extra.shrink();
        self.details.shrink();
        self.cpu_memory.own.shrink();
        self.device_memory.own.shrink();
        self.device_ns.own.shrink();
    }

    #[inline]
    pub(crate) fn end(&self, row: usize) -> u64 {
        self.start[row] + self.duration.get(row)
    }

    /// Whose work a launch is: that of the operator which called the device's runtime.
    pub(crate) fn owner_of_launch(&self, row: usize) -> usize {
        let parent = self.parent[row] as usize;
        let is_call = self.kind[row] == SpanKind::Runtime;
        if is_call && parent < self.len() { parent } else { row }
    }

    /// Where an operator worked, or had its memory; anything else is on the host.
    pub(crate) fn device_of(&self, row: usize) -> Device {
        let is_operator = matches!(self.kind[row], SpanKind::Op | SpanKind::Backward);
        self.device.get(row).checked_sub(1).filter(|_| is_operator).map_or(Device::Cpu, Device::Npu)
    }

    /// Notes where a span worked.
    pub(super) fn set_device(&mut self, row: usize, device: u16) {
        self.device.set(row, device.saturating_add(1));
    }

    /// What contains a span worked where it did.
    pub(super) fn spread_devices(&mut self) {
        for row in (0..self.device.len()).rev() {
            let (device, parent) = (self.device.get(row), self.parent[row] as usize);
            if device != 0 && parent < row && self.device.get(parent) == 0 {
                self.device.set(parent, device);
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.start.memory_bytes()
            + self.duration.memory_bytes()
            + self.self_ns.memory_bytes()
            + self.name.memory_bytes()
            + self.parent.memory_bytes()
            + self.kind.memory_bytes()
            + self.flags.memory_bytes()
            + self.inputs.memory_bytes()
            + self.stack.memory_bytes()
            + self.line.memory_bytes()
            + self.module.memory_bytes()
            + self.category.memory_bytes()
            + self.extra.memory_bytes()
            + self.details.memory_bytes()
            + self.cpu_memory.own.memory_bytes()
            + self.cpu_memory.total.memory_bytes()
            + self.device_memory.own.memory_bytes()
            + self.device_memory.total.memory_bytes()
            + self.device_ns.own.memory_bytes()
            + self.device_ns.total.memory_bytes()
    }
}

/// A column that is empty until a row has something other than the default.
#[derive(Debug)]
pub(crate) struct Sparse<T>(Column<T>);

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self(Column::new())
    }
}

impl<T: Copy + Default + PartialEq> Sparse<T> {
    #[inline]
    pub(crate) fn get(&self, row: usize) -> T {
        self.0.get(row).copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn set(&mut self, row: usize, value: T) {
        if value != T::default() {
            *self.entry(row) = value;
        }
    }

    #[inline]
    pub(crate) fn entry(&mut self, row: usize) -> &mut T {
        if self.0.len() <= row {
            self.0.resize(row + 1, T::default());
        }
        &mut self.0[row]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    /// Rows from here on have the default.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A quantity of a span itself, and of the span with all that it contains.
#[derive(Debug, Default)]
pub(crate) struct SelfAndTotal<T> {
    pub(crate) own: Sparse<T>,
    pub(crate) total: Sparse<T>,
}

impl<T: Copy + Default + PartialEq> SelfAndTotal<T> {
    /// Adds every span's own amount to all that contain it. A parent always comes before its children.
    pub(crate) fn sum_up(&mut self, parents: &[u32], add: fn(T, T) -> T) {
        if self.own.is_empty() {
            return;
        }
        self.total.0.clone_from(&self.own.0);
        for row in (0..self.total.0.len()).rev() {
            let amount = self.total.0[row];
            if let Some(of_parent) = self.total.0.get_mut(parents[row] as usize) {
                *of_parent = add(*of_parent, amount);
            }
        }
    }
}
