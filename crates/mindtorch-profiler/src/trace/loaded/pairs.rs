//! Spans whose beginning and end are events of their own.

use super::{Loose, NOWHERE};
use crate::trace::SpanFlags;
use rustc_hash::FxHashMap;

impl Loose {
    /// Gives spans that began with an event of their own the end that belongs to it: the next of their thread that no later
    /// span took. A span without one was open when recording stopped.
    pub(super) fn join_pairs(&mut self, window_end: i64) {
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.sort_by_key(|pair| (pair.thread, pair.at));
        let mut open: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for pair in pairs {
            let open = open.entry(pair.thread).or_default();
            if pair.span != NOWHERE {
                open.push(pair.span);
            } else if let Some(span) = open.pop() {
                let span = &mut self.spans[span as usize];
                span.duration = pair.at.wrapping_sub(span.start).max(0) as u64;
            } else {
                self.origin.skipped += 1;
            }
        }
        for span in open.into_values().flatten() {
            let span = &mut self.spans[span as usize];
            span.duration = window_end.wrapping_sub(span.start).max(0) as u64;
            span.flags = SpanFlags::new(span.flags.is_cut_at_start(), true, span.flags.is_closed_elsewhere());
        }
    }
}
