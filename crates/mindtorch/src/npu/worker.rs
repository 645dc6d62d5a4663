//! The worker: the thread that is an accelerator's processor.

use super::error::NpuError;
use super::executor::Executor;
use super::progress::spin_until;
use super::queue::{Job, Kernel};
use super::stream::StreamId;
use mindtorch_profiler::{Capture, DeviceSpan, Recorder, capture, device_span};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{current, park};
use std::time::Instant;

impl Executor {
    /// Runs jobs for as long as the process lives.
    pub(super) fn work(&self) {
        loop {
            let (stream, job) = self.next_job();
            match job {
                Job::Run(kernel) => self.run(stream, kernel),
                Job::Mark(time) => _ = time.set(Instant::now()),
                Job::Wait(_) => {}
            }
            self.streams[stream].progress.advance();
        }
    }

    fn next_job(&self) -> (StreamId, Job) {
        loop {
            let seen = self.submitted();
            if let Some(job) = self.take_job() {
                return job;
            }
            if !spin_until(|| self.submitted() != seen) {
                self.sleep(seen);
            }
        }
    }

    /// Sleeps until there are more jobs than `seen`, or one that waited for another device can go on.
    fn sleep(&self, seen: u64) {
        let Some(awaited) = self.let_worker_sleep(seen) else { return };
        let can_go_on = awaited.iter().any(|point| !point.wake(current()));
        if !can_go_on {
            park();
        }
    }

    fn run(&self, stream: StreamId, kernel: Kernel) {
        let Kernel { name, copy, launched_by, work } = kernel;
        let begin = capture().contains(Capture::DEVICE).then(|| Recorder::global().now());
        let outcome = catch_unwind(AssertUnwindSafe(work));
        if let Some(begin) = begin {
            device_span(&DeviceSpan {
                name,
                device: self.device,
                stream: stream.number(),
                begin,
                end: Recorder::global().now(),
                is_copy: copy.is_some(),
                bytes: copy.unwrap_or(0),
                launched_by,
            });
        }
        if let Err(panic) = outcome {
            self.remember(NpuError::Kernel { kernel: name.text().to_string(), message: message_of(&*panic) });
        }
    }
}

/// What a panic said.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked without a message").to_owned()
}
