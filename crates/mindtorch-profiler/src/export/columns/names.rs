//! The names of a trace's events, each once, under which they are grouped.

use super::Column;
use super::dictionary::Texts;
use super::values::Validity;
use crate::trace::{Trace, TraceEvent, key};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// What memory outside of spans is called.
const MEMORY: &str = "[memory]";

/// Which name has which code. The same table serves all batches.
pub(super) struct NameTable {
    /// By the trace's number of a name: its code.
    codes: Vec<u32>,
    of_memory: u32,
    texts: Arc<Texts>,
}

impl NameTable {
    /// The names that events have, in the order of the trace's: readers show all that are in the table.
    pub(super) fn of(trace: &Trace, events: impl Iterator<Item = TraceEvent>) -> Self {
        let mut is_used = vec![false; trace.names.len()];
        let mut has_memory = false;
        for event in events {
            match event {
                TraceEvent::Span(row) => is_used[trace.spans.name[row as usize] as usize] = true,
                TraceEvent::Device(row) => is_used[trace.device[row as usize].name as usize] = true,
                TraceEvent::Memory(_) => has_memory = true,
            }
        }
        let mut known: FxHashMap<&str, u32> = FxHashMap::default();
        let mut texts = Texts::default();
        let mut code = |name| {
            *known.entry(name).or_insert_with(|| {
                texts.push(name);
                texts.len() as u32 - 1
            })
        };
        let names = trace.names.iter().zip(is_used);
        let codes = names.map(|(name, is_used)| if is_used { code(key(name)) } else { 0 }).collect();
        let of_memory = if has_memory { code(MEMORY) } else { 0 };
        Self { codes, of_memory, texts: Arc::new(texts) }
    }

    /// Whether the codes are the trace's own numbers.
    pub(super) fn is_as_in_trace(&self) -> bool {
        self.codes.iter().zip(0..).all(|(code, name)| *code == name)
    }

    pub(super) fn code(&self, trace: &Trace, event: TraceEvent) -> u32 {
        match event {
            TraceEvent::Span(row) => self.codes[trace.spans.name[row as usize] as usize],
            TraceEvent::Device(row) => self.codes[trace.device[row as usize].name as usize],
            TraceEvent::Memory(_) => self.of_memory,
        }
    }

    pub(super) fn column<'a>(&self, codes: Cow<'a, [u32]>) -> Column<'a> {
        Column::Symbols(codes, Validity::default(), Arc::clone(&self.texts))
    }
}
