//! The executor: takes jobs from any thread, and knows how far the streams are with them.

use super::error::NpuError;
use super::point::Point;
use super::queue::Job;
use super::stream::{StreamId, Streams};
use super::worker::Worker;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread::{self, Thread};

/// A host that is so many jobs ahead of a stream waits until half of them are done.
const MOST_AHEAD: u64 = 4096;

/// Has the jobs of an accelerator's streams done by its worker.
#[derive(Debug)]
pub(super) struct Executor {
    pub(super) device: u16,
    pub(super) streams: Streams,
    /// Hosts take turns to submit; the worker is in nobody's way.
    jobs: Mutex<Sender<(StreamId, Job)>>,
    worker: OnceLock<Thread>,
    worker_sleeps: AtomicBool,
    /// The first kernel that failed and that nobody was told of.
    failure: Mutex<Option<NpuError>>,
}

impl Executor {
    /// Starts the worker.
    pub(super) fn start(device: u16) -> io::Result<&'static Self> {
        let (sender, jobs) = mpsc::channel();
        let executor: &Self = Box::leak(Box::new(Self {
            device,
            streams: Streams::new(),
            jobs: Mutex::new(sender),
            worker: OnceLock::new(),
            worker_sleeps: AtomicBool::new(false),
            failure: Mutex::default(),
        }));
        let worker = Worker::new(executor, jobs);
        let thread = thread::Builder::new().name(format!("npu {device}")).spawn(|| worker.run())?;
        executor.worker.get_or_init(|| thread.thread().clone());
        Ok(executor)
    }

    /// Appends a job to a stream, and gives the point at which it is done.
    pub(super) fn submit(&'static self, stream: StreamId, job: Job) -> Point {
        let jobs = self.lock_with_room(stream);
        let point = Point { stream: &self.streams[stream], jobs: self.streams[stream].submit() };
        // It cannot fail: the worker lives as long as the process.
        let _ = jobs.send((stream, job));
        drop(jobs);
        // With the one in `let_worker_sleep`: either this sees that it sleeps, or it sees the job.
        fence(Ordering::SeqCst);
        if self.worker_sleeps.load(Ordering::Relaxed) {
            self.wake_worker();
        }
        point
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

    /// Keeps a failure for those who synchronise next.
    pub(super) fn remember(&self, failure: NpuError) {
        self.lock_failure().get_or_insert(failure);
    }

    /// From now on whoever submits a job unparks the worker, which looks once more before it parks.
    pub(super) fn let_worker_sleep(&self) {
        self.worker_sleeps.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    #[cold]
    fn wake_worker(&self) {
        if self.worker_sleeps.swap(false, Ordering::Relaxed)
            && let Some(worker) = self.worker.get()
        {
            worker.unpark();
        }
    }

    /// Waits while the stream has too much to do, unless it would be for the calling kernel to go on.
    fn lock_with_room(&self, stream: StreamId) -> MutexGuard<'_, Sender<(StreamId, Job)>> {
        let stream = &self.streams[stream];
        loop {
            let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            if stream.is_within(MOST_AHEAD) || self.is_worker() {
                return jobs;
            }
            let half = stream.submitted() - MOST_AHEAD / 2;
            drop(jobs);
            stream.progress.wait(half);
        }
    }

    fn is_worker(&self) -> bool {
        self.worker.get().is_some_and(|worker| worker.id() == thread::current().id())
    }

    fn lock_failure(&self) -> MutexGuard<'_, Option<NpuError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
