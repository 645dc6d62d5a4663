//! A trace's names as JSON, made once for an export.

use crate::export::json::push_text;
use std::sync::Arc;

/// String literals, one after another.
pub(super) struct EscapedNames {
    texts: Vec<u8>,
    /// Where each one ends.
    ends: Vec<usize>,
}

impl EscapedNames {
    pub(super) fn new(names: &[Arc<str>]) -> Self {
        let mut texts = Vec::with_capacity(names.iter().map(|name| name.len() + 2).sum());
        let mut add = |name: &Arc<str>| {
            push_text(&mut texts, name);
            texts.len()
        };
        let ends = names.iter().map(&mut add).collect();
        Self { texts, ends }
    }

    /// The literal for the name with this number in the trace.
    #[inline]
    pub(super) fn get(&self, name: u32) -> &[u8] {
        let name = name as usize;
        let start = if name == 0 { 0 } else { self.ends[name - 1] };
        &self.texts[start..self.ends[name]]
    }
}
