//! Points of a stream, for others to wait for.

use super::stream::Stream;
use std::thread::Thread;

/// A moment in a stream's work: that in which so many of its jobs are done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) stream: &'static Stream,
    pub(super) jobs: u64,
}

impl Point {
    /// The moment in which all is done that the stream has to do now.
    pub(super) fn end_of(stream: &'static Stream) -> Self {
        Self { stream, jobs: stream.submitted() }
    }

    pub(super) fn is_reached(&self) -> bool {
        self.stream.progress.has_reached(self.jobs)
    }

    /// Unparks the thread at this point. False if that is past: then it need not park.
    pub(super) fn wake(&self, thread: Thread) -> bool {
        self.stream.progress.wake_at(self.jobs, thread)
    }

    /// Blocks until the stream has come here.
    pub(super) fn wait(&self) {
        self.stream.progress.wait(self.jobs);
    }
}
