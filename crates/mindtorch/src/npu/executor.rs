//! The executor: takes jobs from any thread and has them run on one, the worker.

use super::error::NpuError;
use super::point::Point;
use super::queue::{Job, Queue};
use super::stream::{StreamId, Streams};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};

/// A host that is so many jobs ahead of the worker waits until half of them are done.
const MOST_QUEUED: usize = 4096;

/// Runs the jobs of an accelerator's streams.
#[derive(Debug)]
pub(super) struct Executor {
    pub(super) device: u16,
    pub(super) streams: Streams,
    inbox: Mutex<Inbox>,
    /// The number of jobs so far, so that the worker sees new ones without the lock.
    submitted: AtomicU64,
    worker: OnceLock<Thread>,
    /// The first kernel that failed and that nobody was told of.
    failure: Mutex<Option<NpuError>>,
}

#[derive(Debug, Default)]
struct Inbox {
    queue: Queue,
    worker_sleeps: bool,
    waiting_for_room: Vec<Thread>,
}

impl Executor {
    pub(super) fn new(device: u16) -> Self {
        Self {
            device,
            streams: Streams::new(),
            inbox: Mutex::default(),
            submitted: AtomicU64::new(0),
            worker: OnceLock::new(),
            failure: Mutex::default(),
        }
    }

    /// Starts the worker.
    pub(super) fn start(&'static self) -> io::Result<()> {
        let worker = thread::Builder::new().name(format!("npu {}", self.device)).spawn(|| self.work())?;
        self.worker.get_or_init(|| worker.thread().clone());
        Ok(())
    }

    /// Appends a job to a stream, and gives the point at which it is done. Waits while the worker has too many to do.
    pub(super) fn submit(&'static self, stream: StreamId, job: Job) -> Point {
        let mut inbox = self.inbox_with_room();
        inbox.queue.push(stream, job);
        let stream = &self.streams[stream];
        let jobs = stream.submit();
        self.submitted.store(self.submitted() + 1, Ordering::Relaxed);
        let worker_sleeps = std::mem::take(&mut inbox.worker_sleeps);
        drop(inbox);
        if worker_sleeps && let Some(worker) = self.worker.get() {
            worker.unpark();
        }
        Point { stream, jobs }
    }

    /// Makes the stream wait for a point of another before it goes on with what is submitted from now on.
    pub(super) fn wait_on_stream(&'static self, stream: StreamId, point: Point) {
        let is_own = std::ptr::eq(point.stream, &raw const self.streams[stream]);
        if !is_own && !point.is_reached() {
            self.submit(stream, Job::Wait(point));
        }
    }

    /// Blocks until these points are reached, and says what has failed.
    pub(super) fn synchronize(&self, points: impl IntoIterator<Item = Point>) -> Result<(), NpuError> {
        self.finish(points)?;
        self.lock_failure().take().map_or(Ok(()), Err)
    }

    /// Blocks until these points are reached. An error in a kernel, which would wait for itself.
    pub(super) fn finish(&self, points: impl IntoIterator<Item = Point>) -> Result<(), NpuError> {
        for point in points.into_iter().filter(|point| !point.is_reached()) {
            if self.is_worker() {
                return Err(NpuError::WaitInKernel { device: self.device });
            }
            point.wait();
        }
        Ok(())
    }

    /// The ends of all streams, as they are now.
    pub(super) fn ends(&'static self) -> impl Iterator<Item = Point> {
        self.streams.iter().map(Point::end_of)
    }

    /// Whether this is the thread that runs the kernels.
    pub(super) fn is_worker(&self) -> bool {
        self.worker.get().is_some_and(|worker| worker.id() == thread::current().id())
    }

    pub(super) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Relaxed)
    }

    /// The next job that can run.
    pub(super) fn take_job(&self) -> Option<(StreamId, Job)> {
        let mut inbox = self.lock_inbox();
        inbox.worker_sleeps = false;
        let job = inbox.queue.pop();
        if !inbox.waiting_for_room.is_empty() && inbox.queue.len() <= MOST_QUEUED / 2 {
            inbox.waiting_for_room.drain(..).for_each(|host| host.unpark());
        }
        job
    }

    /// From now on the worker is to be woken for new jobs; also for those points, which streams wait for. `None` if there
    /// are more jobs than `seen`.
    pub(super) fn let_worker_sleep(&self, seen: u64) -> Option<Vec<Point>> {
        let mut inbox = self.lock_inbox();
        if self.submitted() != seen {
            return None;
        }
        inbox.worker_sleeps = true;
        Some(inbox.queue.awaited().collect())
    }

    /// Keeps a failure for those who synchronise next.
    pub(super) fn remember(&self, failure: NpuError) {
        self.lock_failure().get_or_insert(failure);
    }

    fn inbox_with_room(&self) -> MutexGuard<'_, Inbox> {
        loop {
            let mut inbox = self.lock_inbox();
            if inbox.queue.len() < MOST_QUEUED || self.is_worker() {
                return inbox;
            }
            inbox.waiting_for_room.push(thread::current());
            drop(inbox);
            thread::park();
        }
    }

    fn lock_inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_failure(&self) -> MutexGuard<'_, Option<NpuError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
