//! A part of a trace, as a trace.

use super::columns::{SelfAndTotal, SpanColumns, Sparse};
use super::nesting::NO_PARENT;
use super::rows::MemoryNotes;
use super::{Derived, Filter, Header, Selection, Trace};
use crate::capture::Capture;
use crate::column::Column;
use crate::quiet::{Quiet, QuietDrop};

impl Trace {
    /// The trace of what `filter` takes.
    ///
    /// A span is what it was: its times and amounts, with what it contained and without, are those that were recorded, whether
    /// or not what it contained was taken. Its parent is the innermost span around it that was taken; device work and memory
    /// whose span was not taken belong to that one as well, or to none. The window and the steps stay.
    ///
    /// ```
    /// use mindtorch_profiler::{EventKind, Filter, Session, record_function};
    /// let session = Session::start();
    /// {
    ///     let _outer = record_function!("train");
    ///     let _between = record_function!("helper");
    ///     let _inner = record_function!("train::loss");
    /// }
    /// let trace = session.stop().filtered(&Filter::new().name("train*"));
    /// assert_eq!(trace.span_count(), 2);
    /// assert_eq!(trace.span(1).unwrap().parent().unwrap().name(), "train");
    /// ```
    pub fn filtered(&self, filter: &Filter) -> Self {
        let (_quiet, _store) = (Quiet::new(), self.store.enter());
        let selection = self.select(Some(filter));
        let kept = Kept::of(self, &selection);
        let mut part = Self {
            header: Header {
                metadata: self.header.metadata.clone(),
                losses: self.header.losses.clone(),
                memory_in_use: self.header.memory_in_use.clone(),
                origin: self.header.origin.clone(),
                ..self.header
            },
            names: self.names.clone(),
            threads: Vec::new(),
            spans: self.spans.part(&kept),
            repeated: self.repeated.iter().filter_map(|&row| self.still_repeated(&kept, row)).collect(),
            device: Column::new(),
            memory: Column::new(),
            // What memory is for follows from all that was recorded of it.
            notes: MemoryNotes::default(),
            taken_out: self.taken_out(&selection, &kept),
            instants: Column::new(),
            steps: self.steps.clone(),
            store: self.store.clone(),
            derived: Derived::default(),
            quiet: QuietDrop::default(),
        };
        part.add_device(self, &selection, &kept);
        part.add_memory_and_instants(self, &selection, &kept);
        // How much was in use is not known from nothing.
        if part.memory.is_empty() && !self.memory.is_empty() {
            part.header.capture = part.header.capture & !Capture::MEMORY;
        }
        part
    }

    /// The new row of an operator that is one call with the one around it, if both were taken.
    fn still_repeated(&self, kept: &Kept, row: u32) -> Option<u32> {
        let parent = kept.itself(self.spans.parent[row as usize])?;
        kept.itself(row).filter(|_| parent != NO_PARENT)
    }

    fn add_device(&mut self, of: &Self, selection: &Selection<'_>, kept: &Kept) {
        for (_, work) in of.device.iter().enumerate().filter(|&(row, _)| selection.device(row)) {
            let mut work = *work;
            work.launched_by = work.launched_by.and_then(|row| kept.nearest(row));
            self.device.push(work);
        }
    }

    fn add_memory_and_instants(&mut self, of: &Self, selection: &Selection<'_>, kept: &Kept) {
        let memory = || of.memory.iter().enumerate().filter(|&(row, _)| selection.memory(row)).map(|(_, row)| row);
        let instants = || of.instants.iter().enumerate().filter(|&(row, _)| selection.instant(row)).map(|(_, row)| row);
        let mut is_used = vec![false; of.threads.len()];
        memory()
            .map(|row| row.thread)
            .chain(instants().map(|row| row.thread))
            .for_each(|thread| is_used[thread] = true);
        let mut places = vec![0; of.threads.len()];
        for (at, thread) in of.threads.iter().enumerate() {
            let spans = kept.before[thread.spans.start] as usize..kept.before[thread.spans.end] as usize;
            places[at] = self.threads.len();
            if !spans.is_empty() || is_used[at] {
                let mut thread = thread.clone();
                thread.spans = spans;
                self.threads.push(thread);
            }
        }
        self.memory.extend(memory().map(|row| {
            let mut row = *row;
            row.thread = places[row.thread];
            row.span = row.span.and_then(|span| kept.nearest(span));
            row
        }));
        self.instants.extend(instants().map(|row| {
            let mut row = *row;
            row.thread = places[row.thread];
            row
        }));
    }
}

/// Which spans were taken, and where they are.
pub(super) struct Kept {
    rows: Column<u32>,
    /// By old row, and one more: how many before it were taken.
    before: Column<u32>,
    /// By old row: the new row of itself or of the innermost around it that was taken; or `NO_PARENT`.
    nearest: Column<u32>,
}

impl Kept {
    fn of(trace: &Trace, selection: &Selection<'_>) -> Self {
        let count = trace.spans.len();
        let mut kept =
            Self { rows: Column::new(), before: Column::filled(0, 1), nearest: Column::with_capacity(count) };
        kept.before.reserve(count);
        for row in 0..count {
            let around = kept.nearest.get(trace.spans.parent[row] as usize).copied();
            let nearest = if selection.span(row) {
                kept.rows.push(row as u32);
                kept.rows.len() as u32 - 1
            } else {
                around.unwrap_or(NO_PARENT)
            };
            kept.nearest.push(nearest);
            kept.before.push(kept.rows.len() as u32);
        }
        kept
    }

    /// How many were taken.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether an old row was taken.
    pub(super) fn has(&self, row: u32) -> bool {
        let row = row as usize;
        self.before.get(row + 1).is_some_and(|after| *after > self.before[row])
    }

    /// The new row of an old one or of the innermost around it that was taken.
    pub(super) fn nearest(&self, row: u32) -> Option<u32> {
        self.nearest.get(row as usize).copied().filter(|&row| row != NO_PARENT)
    }

    /// The new row of an old one that was taken itself.
    fn itself(&self, row: u32) -> Option<u32> {
        self.rows.binary_search(&row).ok().map(|row| row as u32)
    }
}

impl SpanColumns {
    fn part(&self, kept: &Kept) -> Self {
        let mut part = Self::default();
        part.reserve(kept.rows.len());
        for (at, &row) in kept.rows.iter().enumerate() {
            let row = row as usize;
            part.start.push(self.start[row]);
            part.duration.push(self.duration.get(row));
            part.self_ns.push(self.self_ns.get(row));
            part.name.push(self.name[row]);
            part.kind.push(self.kind[row]);
            part.flags.push(self.flags[row]);
            part.parent.push(kept.nearest(self.parent[row]).unwrap_or(NO_PARENT));
            if let Some(detail) = self.details.get(row) {
                part.details.set(at, detail);
            }
        }
        part.inputs = self.inputs.part(kept);
        part.stack = self.stack.part(kept);
        part.device = self.device.part(kept);
        part.line = self.line.part(kept);
        part.module = self.module.part(kept);
        part.category = self.category.part(kept);
        part.extra = self.extra.part(kept);
        part.cpu_memory = self.cpu_memory.part(kept);
        part.device_memory = self.device_memory.part(kept);
        part.device_ns = self.device_ns.part(kept);
        part.shrink();
        part
    }
}

impl<T: Copy + Default + PartialEq> Sparse<T> {
    fn part(&self, kept: &Kept) -> Self {
        let mut part = Self::default();
        for (at, &row) in kept.rows.iter().enumerate().take_while(|&(_, &row)| (row as usize) < self.len()) {
            part.set(at, self.get(row as usize));
        }
        part
    }
}

impl<T: Copy + Default + PartialEq> SelfAndTotal<T> {
    fn part(&self, kept: &Kept) -> Self {
        Self { own: self.own.part(kept), total: self.total.part(kept) }
    }
}
