//! Operators that are the same call as the operator around them.

use super::columns::SpanColumns;
use crate::column::Column;
use crate::recorder::SpanKind;

/// The rows of operators whose parent is an operator of the same name and contains nothing else, in order: a composite that
/// calls another overload of itself is one call of the user's. Events and averages show it as one.
pub(super) fn repeated_operators(spans: &SpanColumns) -> Column<u32> {
    let is_repeated = |row: usize| {
        let parent = spans.parent[row] as usize;
        parent < spans.len()
            && spans.name[row] == spans.name[parent]
            && spans.kind[row] == SpanKind::Op
            && spans.kind[parent] == SpanKind::Op
    };
    let candidates: Column<u32> = (0..spans.len()).filter(|&row| is_repeated(row)).map(|row| row as u32).collect();
    if candidates.is_empty() {
        return candidates;
    }
    let mut children = Column::filled(0u32, spans.len());
    for &parent in &spans.parent {
        if let Some(count) = children.get_mut(parent as usize) {
            *count += 1;
        }
    }
    candidates.into_iter().filter(|&row| children[spans.parent[row as usize] as usize] == 1).collect()
}
