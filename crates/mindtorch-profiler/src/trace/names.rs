//! The names that a trace uses, numbered from 0, so that a trace needs no table but its own.

use crate::names::Name;
use std::sync::Arc;

/// Gives process-wide names numbers within the trace, in the order of their first use. Number 0 is the empty name.
#[derive(Debug)]
pub(crate) struct TraceNames {
    /// By process-wide id: the number within the trace, one higher; 0 is not used yet.
    local: Vec<u32>,
    texts: Vec<Arc<str>>,
}

impl Default for TraceNames {
    fn default() -> Self {
        let mut names = Self { local: Vec::new(), texts: Vec::new() };
        names.add(0);
        names
    }
}

impl TraceNames {
    #[inline]
    pub(crate) fn local(&mut self, id: u32) -> u32 {
        match self.local.get(id as usize) {
            Some(&local) if local > 0 => local - 1,
            _ => self.add(id),
        }
    }

    #[cold]
    fn add(&mut self, id: u32) -> u32 {
        if self.local.len() <= id as usize {
            self.local.resize(id as usize + 1, 0);
        }
        self.texts.push(Name(id).text());
        self.local[id as usize] = self.texts.len() as u32;
        self.texts.len() as u32 - 1
    }

    /// A name that only this trace has.
    pub(crate) fn add_text(&mut self, text: Arc<str>) -> u32 {
        self.texts.push(text);
        self.texts.len() as u32 - 1
    }

    pub(super) fn texts(&self) -> &[Arc<str>] {
        &self.texts
    }

    pub(crate) fn into_texts(self) -> Vec<Arc<str>> {
        self.texts
    }
}
