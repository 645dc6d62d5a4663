//! The worker: the thread that is an accelerator's processor.

use super::error::NpuError;
use super::executor::Executor;
use super::progress::spin_until;
use super::queue::{Job, Kernel, Queue};
use super::stream::StreamId;
use mindtorch_profiler::{Capture, DeviceSpan, DeviceWork, Name, Recorder, capture, device_span};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::thread::{current, park};

/// The number that traces show for the default stream, as CUDA's profiler does: programs that read traces take 0 for none.
pub(super) const DEFAULT_STREAM_SHOWN: u16 = 7;

pub(super) struct Worker {
    executor: &'static Executor,
    submitted: Receiver<(StreamId, Job)>,
    queue: Queue,
}

impl Worker {
    pub(super) fn new(executor: &'static Executor, submitted: Receiver<(StreamId, Job)>) -> Self {
        Self { executor, submitted, queue: Queue::default() }
    }

    /// Does jobs for as long as the process lives.
    pub(super) fn run(mut self) {
        loop {
            let (stream, job) = self.next_job();
            match job {
                Job::Run(kernel) => self.run_kernel(stream, kernel),
                Job::Mark(time) => _ = time.set(Recorder::global().now()),
                Job::Wait(_) => {}
            }
            self.executor.streams[stream].progress.advance();
        }
    }

    fn next_job(&mut self) -> (StreamId, Job) {
        loop {
            while self.receive() {}
            if let Some(job) = self.queue.pop() {
                return job;
            }
            if !spin_until(|| self.receive()) {
                self.sleep();
            }
        }
    }

    /// Queues one more job, if there is one.
    fn receive(&mut self) -> bool {
        let job = self.submitted.try_recv();
        job.map(|(stream, job)| self.queue.push(stream, job)).is_ok()
    }

    /// Sleeps until there is a new job, or one that waits for another device can go on.
    fn sleep(&mut self) {
        self.executor.let_worker_sleep();
        if !self.receive() && self.queue.awaited().all(|point| point.wake(current())) {
            park();
        }
    }

    fn run_kernel(&self, stream: StreamId, kernel: Kernel) {
        let Kernel { name, copy, launched_by, work } = kernel;
        let begin = capture().contains(Capture::DEVICE).then(|| Recorder::global().now());
        let outcome = catch_unwind(AssertUnwindSafe(work));
        if let Some(begin) = begin {
            device_span(&DeviceSpan {
                name,
                device: self.executor.device,
                stream: DEFAULT_STREAM_SHOWN + stream.number(),
                begin,
                end: Recorder::global().now(),
                work: if copy.is_some() { DeviceWork::Copy } else { DeviceWork::Kernel },
                bytes: copy.unwrap_or(0),
                launched_by,
                extra: Name::EMPTY,
            });
        }
        if let Err(panic) = outcome {
            let message = message_of(&*panic);
            self.executor.remember(NpuError::Kernel { kernel: name.text().to_string(), message });
        }
    }
}

/// What a panic said.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked without a message").to_owned()
}
