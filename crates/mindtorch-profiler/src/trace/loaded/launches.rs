//! Which span launched which device work.

use super::order::Order;
use super::{Arrow, ArrowEnd, Clock, Loose, LooseDevice, NOWHERE};
use crate::recorder::SpanKind;
use crate::trace::columns::SpanColumns;
use crate::trace::rows::{DeviceKind, ThreadRow};
use rustc_hash::FxHashMap;

/// Spans by the numbers that device work has for them.
#[derive(Default)]
pub(super) struct Launches {
    /// By correlation: where the arrow to the device begins, or the call of the runtime with the same.
    by_correlation: FxHashMap<u64, u32>,
    /// By external id: the operator or annotation that it is.
    by_external: FxHashMap<u64, u32>,
}

impl Launches {
    pub(super) fn of(loose: &Loose, places: &Places<'_>) -> Self {
        let mut launches = Self::default();
        if loose.device.is_empty() {
            return launches;
        }
        for (span, row) in places.order.spans(loose).zip(0..) {
            if let Some(rest) = loose.rest.get((span.rest as usize).wrapping_sub(1))
                && let Some(correlation) = rest.correlation
            {
                launches.by_correlation.entry(correlation).or_insert(row);
            }
            // What a call of the runtime has is the number of its operator.
            if span.external != 0 && span.kind != SpanKind::Runtime {
                launches.by_external.entry(span.external).or_insert(row);
            }
        }
        let rows = places.order.rows(loose);
        for arrow in loose.arrows.iter().filter(|arrow| arrow.end == ArrowEnd::Launch) {
            if let Some(row) = places.row_of(arrow, &rows) {
                launches.by_correlation.insert(arrow.id, row);
            }
        }
        launches
    }

    /// The row of the span that launched this, or of the scope that it is. A wait is no work.
    pub(super) fn launcher(&self, work: &LooseDevice) -> Option<u32> {
        match work.kind {
            DeviceKind::Sync => return None,
            DeviceKind::Annotation => return self.by_external.get(&work.external).copied(),
            DeviceKind::Kernel | DeviceKind::Copy | DeviceKind::Set => {}
        }
        let by_correlation = work.correlation.and_then(|correlation| self.by_correlation.get(&correlation));
        by_correlation.or_else(|| self.by_external.get(&work.external)).copied()
    }
}

/// Where the spans of a file have come to be.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) order: &'a Order,
    pub(super) clock: Clock,
    pub(super) threads: &'a [ThreadRow],
    pub(super) spans: &'a SpanColumns,
}

impl Places<'_> {
    /// The row that an arrow touches: that of the event before it in the file, or else the innermost span of its thread at
    /// its time. `rows` has the row of each loose span.
    pub(super) fn row_of(&self, arrow: &Arrow, rows: &[u32]) -> Option<u32> {
        if arrow.span != NOWHERE {
            return rows.get(arrow.span as usize).copied();
        }
        let of_thread = &self.threads[self.order.rank(arrow.thread)?].spans;
        let at = u64::try_from(arrow.at.checked_sub(self.clock.start)?).ok()?;
        let starts = &self.spans.start[of_thread.clone()];
        let mut row = (of_thread.start + starts.partition_point(|&start| start <= at)).checked_sub(1)?;
        while of_thread.contains(&row) {
            if self.spans.end(row) >= at {
                return Some(row as u32);
            }
            row = self.spans.parent[row] as usize;
        }
        None
    }
}
