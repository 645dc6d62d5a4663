//! What an autograd engine wraps around a node.

use super::columns::SpanColumns;
use super::details::DetailRow;
use crate::recorder::SpanKind;
use std::sync::Arc;

const PREFIX: &str = "autograd::engine::evaluate_function: ";

/// An engine that runs a node need not know the node's number yet: what it wraps around it has that of the node.
pub(super) fn number_evaluations(spans: &mut SpanColumns, names: &[Arc<str>]) {
    if !spans.kind.contains(&SpanKind::Backward) {
        return;
    }
    let is_evaluation: Vec<bool> = names.iter().map(|name| name.starts_with(PREFIX)).collect();
    for row in 0..spans.len() {
        let parent = spans.parent[row] as usize;
        if spans.kind[row] != SpanKind::Backward || parent >= row || !is_evaluation[spans.name[parent] as usize] {
            continue;
        }
        let Some(node) = spans.details.get(row).filter(|node| node.sequence().is_some()) else { continue };
        let around = spans.details.get(parent).unwrap_or_default();
        if around.sequence().is_none() {
            let DetailRow { sequence_plus_one, forward_thread, .. } = node;
            spans.details.set(parent, DetailRow { sequence_plus_one, forward_thread, ..around });
        }
    }
}
