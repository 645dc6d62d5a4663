//! Recording elsewhere: by the paths that a thread always takes, to a recorder that no session of the process looks at.

use super::Recorder;
use super::global::os_thread_id;
use super::local::{LOCAL, Local};
use super::writer::ThreadWriter;
use crate::quiet::Quiet;

/// While it lives, what this thread records goes to another recorder.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    own: Option<ThreadWriter>,
}

impl Elsewhere {
    /// `None` where the thread has no writer to be had: it is being torn down, or in the middle of writing.
    pub(crate) fn new(recorder: &Recorder) -> Option<Self> {
        let _quiet = Quiet::new();
        let other = recorder.thread(os_thread_id(), None);
        let own = LOCAL.with(|local: &Local| local.replace(Some(other)))?;
        Some(Self { own })
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _quiet = Quiet::new();
        // Nobody writes while this is dropped, so that the place can be had; the other writer is dropped here.
        let _ = LOCAL.with(|local| local.replace(self.own.take()));
    }
}
