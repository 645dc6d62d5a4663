//! Contexts: tasks that take turns on a thread.
//!
//! Spans nest by time, which is wrong for tasks that are suspended while others run: a span of one task would seem to be
//! inside the span that another left open. Whoever runs tasks tells which one is running, while any of them has a span open;
//! spans that are begun meanwhile say whose they are, and have parents of their own task or of none.

use super::flags::FLAGS;
use std::cell::Cell;
use std::sync::OnceLock;

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// While any lives, spans are asked whose they are.
#[derive(Debug)]
pub struct ContextInUse(());

impl ContextInUse {
    /// A task opens a span that may be open when it is suspended.
    #[expect(clippy::new_without_default, reason = "it does something")]
    pub fn new() -> Self {
        FLAGS.use_context();
        Self(())
    }

    /// Whether there is any: one relaxed load.
    #[inline]
    pub fn is_any() -> bool {
        FLAGS.are_contexts_used()
    }
}

impl Drop for ContextInUse {
    fn drop(&mut self) {
        FLAGS.leave_context();
    }
}

/// Says which task this thread runs, by a number of its own; 0 is none.
pub fn set_context(number: u32) {
    let _ = CURRENT.try_with(|current| current.set(number));
}

static SOURCE: OnceLock<fn() -> Option<u32>> = OnceLock::new();

/// Sets the function, once, that finds out which task this thread runs, where [`set_context`] was not called for it; `None`
/// if it cannot tell. It is asked only while a [`ContextInUse`] lives.
pub fn set_context_source(source: fn() -> Option<u32>) {
    // Whoever was first stays.
    let _ = SOURCE.set(source);
}

pub(super) fn current() -> u32 {
    let found = SOURCE.get().and_then(|source| source());
    found.unwrap_or_else(|| CURRENT.try_with(Cell::get).unwrap_or(0))
}
