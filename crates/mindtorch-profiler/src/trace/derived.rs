//! What follows from a trace's columns and is dear to find out: worked out when someone first asks, and kept with the
//! trace, so that exports and views of one trace share it.

use super::Trace;
use super::links::{Links, forward_links};
use super::usage::ChangesOfDevice;
use crate::column::Column;
use crate::quiet::Quiet;
use crate::recorder::SpanKind;
use std::sync::OnceLock;

#[derive(Debug, Default)]
pub(crate) struct Derived {
    innermost_functions: OnceLock<Column<u32>>,
    links: OnceLock<Links>,
    launches: OnceLock<Column<u32>>,
    memory_changes: OnceLock<Vec<ChangesOfDevice>>,
}

impl Trace {
    /// Functions are numbered from 1 in the order of rows. For every row the number of the innermost function, itself or
    /// around it, or 0; empty if there are no functions. Worked out once.
    pub fn innermost_functions(&self) -> &[u32] {
        self.derived.innermost_functions.get_or_init(|| {
            let (_quiet, _store) = (Quiet::new(), self.store.enter());
            if !self.has_functions() {
                return Column::new();
            }
            let mut innermost: Column<u32> = Column::with_capacity(self.spans.len());
            let mut count = 0;
            for row in 0..self.spans.len() {
                let around = innermost.get(self.spans.parent[row] as usize).copied().unwrap_or(0);
                let is_function = self.spans.kind[row] == SpanKind::Function;
                count += u32::from(is_function);
                innermost.push(if is_function { count } else { around });
            }
            innermost
        })
    }

    /// Forward operators and the backward nodes that they made, as rows, in the order of the nodes. Worked out once.
    pub fn forward_links(&self) -> &[(u32, u32)] {
        &self.links().pairs
    }

    pub(crate) fn links(&self) -> &Links {
        self.derived.links.get_or_init(|| {
            let (_quiet, _store) = (Quiet::new(), self.store.enter());
            Links::new(forward_links(&self.spans, &self.threads))
        })
    }

    /// The device work that spans launched, as rows, in the order of those spans. Worked out once.
    pub(crate) fn launches(&self) -> &[u32] {
        self.derived.launches.get_or_init(|| {
            let (_quiet, _store) = (Quiet::new(), self.store.enter());
            let rows = 0..self.device.len() as u32;
            let mut launches: Column<u32> =
                rows.filter(|&row| self.device[row as usize].launcher().is_some()).collect();
            launches.sort_unstable_by_key(|&row| (self.device[row as usize].launched_by, row));
            launches
        })
    }

    pub(super) fn memory_changes(&self) -> &[ChangesOfDevice] {
        self.derived.memory_changes.get_or_init(|| {
            let (_quiet, _store) = (Quiet::new(), self.store.enter());
            ChangesOfDevice::all(self)
        })
    }
}
