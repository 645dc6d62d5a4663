//! What every thread asks before it records: one line of the processor's cache.

use super::Recorder;
use crate::capture::Capture;
use crate::clock::{Clock, read_tsc};
// Not loom's, which cannot be static: the model checker works on recorders of its own.
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

pub(super) static FLAGS: Flags =
    Flags { capture: AtomicU32::new(0), is_tsc: AtomicBool::new(false), contexts: AtomicUsize::new(0) };

/// Of the global recorder, and of the process.
#[repr(align(64))]
pub(super) struct Flags {
    /// What it collects.
    capture: AtomicU32,
    /// Whether its clock is the time-stamp counter.
    is_tsc: AtomicBool,
    /// How many [`ContextInUse`](super::ContextInUse) live.
    contexts: AtomicUsize,
}

impl Flags {
    #[inline(always)]
    pub(super) fn capture(&self) -> Capture {
        Capture::from_bits(self.capture.load(Ordering::Relaxed))
    }

    pub(super) fn set_capture(&self, capture: Capture) {
        self.capture.store(capture.bits(), Ordering::Relaxed);
    }

    pub(super) fn set_clock(&self, clock: &Clock) {
        self.is_tsc.store(clock.is_tsc(), Ordering::Relaxed);
    }

    /// The time of the global recorder.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        if self.is_tsc.load(Ordering::Relaxed) { read_tsc() } else { other_now() }
    }

    #[inline(always)]
    pub(super) fn are_contexts_used(&self) -> bool {
        self.contexts.load(Ordering::Relaxed) != 0
    }

    pub(super) fn use_context(&self) {
        self.contexts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn leave_context(&self) {
        self.contexts.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Apart, so that who has the counter need not go around it.
#[cold]
#[inline(never)]
fn other_now() -> u64 {
    Recorder::global().now().0
}
