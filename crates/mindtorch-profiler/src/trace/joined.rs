//! Several recordings as one.

use super::columns::{SelfAndTotal, SpanColumns, Sparse};
use super::nesting::NO_PARENT;
use super::rows::MemoryNotes;
use super::{Derived, Header, Step, Trace};
use crate::column::Column;
use crate::quiet::QuietDrop;
use crate::recorder::Losses;
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Trace {
    /// The events of all `parts`, which are of one process and given in the order of time, on the clock of the first. `None`
    /// if there are no parts.
    pub fn joined(parts: &[&Self]) -> Option<Self> {
        let (first, last) = (parts.first()?, parts.last()?);
        // If one is in files, all of them together are.
        let store = parts.iter().map(|part| &part.store).find(|store| store.has_files()).cloned().unwrap_or_default();
        let _store = store.enter();
        let origin = first.header.start_epoch_ns;
        let end = last.header.start_epoch_ns.saturating_sub(origin) + last.header.duration_ns;
        let mut joined = Self {
            header: Header {
                duration_ns: end,
                capture: parts.iter().fold(first.header.capture, |all, part| all | part.header.capture),
                is_running: last.header.is_running,
                losses: parts.iter().fold(Losses::default(), |all, part| all.and(&part.header.losses)),
                metadata: last.header.metadata.clone(),
                memory_in_use: first.header.memory_in_use.clone(),
                origin: first.header.origin.clone(),
                ..first.header
            },
            names: Vec::new(),
            threads: Vec::new(),
            spans: SpanColumns::default(),
            repeated: Column::new(),
            device: Column::new(),
            memory: Column::new(),
            notes: MemoryNotes::default(),
            taken_out: Column::new(),
            instants: Column::new(),
            steps: Vec::new(),
            store,
            derived: Derived::default(),
            quiet: QuietDrop::default(),
        };
        let mut numbers: FxHashMap<Arc<str>, u32> = FxHashMap::default();
        for part in parts {
            joined.append(part, part.header.start_epoch_ns.saturating_sub(origin), &mut numbers);
        }
        Some(joined)
    }

    fn append(&mut self, part: &Self, later: u64, numbers: &mut FxHashMap<Arc<str>, u32>) {
        let (rows, threads) = (self.spans.len(), self.threads.len());
        let mut number = |name: &Arc<str>| {
            *numbers.entry(Arc::clone(name)).or_insert_with(|| {
                self.names.push(Arc::clone(name));
                self.names.len() as u32 - 1
            })
        };
        let names: Vec<u32> = part.names.iter().map(&mut number).collect();
        self.spans.append(&part.spans, later, &names);
        self.repeated.extend(part.repeated.iter().map(|row| row + rows as u32));
        self.threads.extend(part.threads.iter().cloned().map(|mut thread| {
            thread.spans = thread.spans.start + rows..thread.spans.end + rows;
            thread
        }));
        self.device.extend(part.device.iter().copied().map(|mut row| {
            (row.start, row.end, row.name) = (row.start + later, row.end + later, names[row.name as usize]);
            row.launched_by = row.launched_by.map(|launcher| launcher + rows as u32);
            row.extra = renamed(row.extra, &names);
            row
        }));
        self.notes.append(&part.notes, later, rows as u32, self.memory.len() as u32);
        self.memory.extend(part.memory.iter().copied().map(|mut row| {
            (row.at_ns, row.thread) = (row.at_ns + later, row.thread + threads);
            row.span = row.span.map(|span| span + rows as u32);
            row
        }));
        self.taken_out.extend(part.taken_out.iter().copied().map(|(mut taken_out, count)| {
            taken_out.row += rows as u32;
            (taken_out, count)
        }));
        self.instants.extend(part.instants.iter().copied().map(|mut row| {
            (row.at, row.thread, row.name) = (row.at + later, row.thread + threads, names[row.name as usize]);
            row
        }));
        self.steps.extend(part.steps.iter().map(|step| Step { start: step.start + later, number: step.number }));
    }
}

impl MemoryNotes {
    /// Appends those of a part whose spans and memory begin at these rows.
    fn append(&mut self, part: &Self, later: u64, spans: u32, memory: u32) {
        self.uses.extend(part.uses.iter().copied().map(|mut row| {
            (row.at_ns, row.before) = (row.at_ns + later, row.before + memory);
            row.span = row.span.map(|span| span + spans);
            row
        }));
        self.sources.extend(part.sources.iter().copied().map(|mut row| {
            row.span += spans;
            row
        }));
        self.views.extend(part.views.iter().cloned().map(|mut view| {
            view.at_ns += later;
            view
        }));
    }
}

impl SpanColumns {
    fn append(&mut self, part: &Self, later: u64, names: &[u32]) {
        let rows = self.len();
        self.start.extend(part.start.iter().map(|start| start + later));
        part.duration.range(0..part.len()).for_each(|ns| self.duration.push(ns));
        part.self_ns.range(0..part.len()).for_each(|ns| self.self_ns.push(ns));
        self.name.extend(part.name.iter().map(|&name| names[name as usize]));
        let parent = |&parent: &u32| if parent == NO_PARENT { parent } else { parent + rows as u32 };
        self.parent.extend(part.parent.iter().map(parent));
        self.kind.extend_from_slice(&part.kind);
        self.flags.extend_from_slice(&part.flags);
        self.inputs.append(rows, &part.inputs);
        self.stack.append(rows, &part.stack);
        self.line.append(rows, &part.line);
        self.module.append(rows, &part.module);
        self.device.append(rows, &part.device);
        self.category.append_names(rows, &part.category, names);
        self.extra.append_names(rows, &part.extra, names);
        self.details.append(rows, &part.details, names);
        self.cpu_memory.append(rows, &part.cpu_memory);
        self.device_memory.append(rows, &part.device_memory);
        self.device_ns.append(rows, &part.device_ns);
    }
}

impl<T: Copy + Default + PartialEq> Sparse<T> {
    /// Puts the rows of `part` at `rows` and behind.
    fn append(&mut self, rows: usize, part: &Self) {
        (0..part.len()).for_each(|row| self.set(rows + row, part.get(row)));
    }
}

impl Sparse<u32> {
    /// The same for a column of names.
    fn append_names(&mut self, rows: usize, part: &Self, names: &[u32]) {
        (0..part.len()).for_each(|row| self.set(rows + row, renamed(part.get(row), names)));
    }
}

/// The number of a name, one higher, or 0, in a table where `names` are the numbers of the old one.
fn renamed(name: u32, names: &[u32]) -> u32 {
    name.checked_sub(1).map_or(0, |name| names[name as usize] + 1)
}

impl<T: Copy + Default + PartialEq> SelfAndTotal<T> {
    fn append(&mut self, rows: usize, part: &Self) {
        self.own.append(rows, &part.own);
        self.total.append(rows, &part.total);
    }
}
