//! Scopes that were open, and that nobody recorded, when a session began.

use crate::names::Name;
use crate::recorder::{Recorder, SpanArgs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A scope that was opened while nobody recorded and is still open: [`SessionBuilder::open_scopes`] shows it, from the
/// beginning of the session on.
///
/// [`SessionBuilder::open_scopes`]: super::SessionBuilder::open_scopes
#[derive(Clone, Debug)]
pub struct OpenScope {
    pub(crate) name: Name,
    pub(crate) note: Name,
    pub(crate) os_thread: u64,
    /// When it ended, in ticks; 0 until it does.
    end: Arc<AtomicU64>,
}

impl OpenScope {
    /// A scope of the thread that the system has this number for.
    pub fn new(args: &SpanArgs, os_thread: u64) -> Self {
        let note = args.details.map_or(Name(0), |details| details.note);
        Self { name: args.name, note, os_thread, end: Arc::default() }
    }

    /// One that was read, and ended then, in ticks; 0 is never.
    pub(crate) fn ended(name: Name, note: Name, os_thread: u64, end: u64) -> Self {
        Self { name, note, os_thread, end: Arc::new(AtomicU64::new(end)) }
    }

    /// Says that it ends now. A clone of it is the same scope.
    pub fn close(&self) {
        self.end.store(Recorder::global().now().0, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}
