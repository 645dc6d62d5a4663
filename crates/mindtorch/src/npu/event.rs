//! Events: marks in streams, to wait for and to take times at.

use super::device::Npu;
use super::error::NpuError;
use super::fork::refuse_in_child;
use super::point::Point;
use super::queue::Job;
use super::runtime_call::RuntimeCall;
use super::stream::StreamId;
use mindtorch_profiler::{Recorder, Ticks};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A mark in a stream: that it came so far.
///
/// Before it is recorded it marks nothing: whoever waits for it goes on at once.
#[derive(Debug, Default)]
pub struct Event {
    has_timing: bool,
    mark: Mutex<Option<Mark>>,
}

#[derive(Clone, Debug)]
struct Mark {
    npu: &'static Npu,
    point: Point,
    /// When the stream came to it, if the event has timing.
    time: Option<Arc<OnceLock<Ticks>>>,
}

impl Event {
    /// An event that is not recorded yet. With timing, [`Event::elapsed_time`] can be asked of it.
    pub fn new(enable_timing: bool) -> Self {
        Self { has_timing: enable_timing, mark: Mutex::default() }
    }

    /// Marks the end of what the stream has to do now. What the event marked before no longer matters.
    ///
    /// # Errors
    /// If it was recorded on another device before.
    pub fn record(&self, npu: &'static Npu, stream: StreamId) -> Result<(), NpuError> {
        refuse_in_child()?;
        let _call = RuntimeCall::EventRecord.begin();
        let mut mark = self.lock();
        if let Some(mark) = &*mark
            && mark.npu.index() != npu.index()
        {
            return Err(NpuError::EventOnOtherDevice { event: mark.npu.index(), stream: npu.index() });
        }
        let executor = &npu.executor;
        *mark = Some(if self.has_timing {
            let time = Arc::new(OnceLock::new());
            let point = executor.submit(stream, Job::Mark(Arc::clone(&time)));
            Mark { npu, point, time: Some(time) }
        } else {
            Mark { npu, point: Point::end_of(&executor.streams[stream]), time: None }
        });
        Ok(())
    }

    /// Makes a stream wait for the event before it does what is launched on it from now on. The host does not wait.
    ///
    /// # Errors
    /// In a forked child.
    pub fn wait(&self, npu: &'static Npu, stream: StreamId) -> Result<(), NpuError> {
        refuse_in_child()?;
        let _call = RuntimeCall::StreamWaitEvent.begin();
        if let Some(Mark { point, .. }) = self.mark() {
            npu.executor.wait_on_stream(stream, point);
        }
        Ok(())
    }

    /// Whether all that it marks is done.
    ///
    /// # Errors
    /// In a forked child.
    pub fn query(&self) -> Result<bool, NpuError> {
        refuse_in_child()?;
        let _call = RuntimeCall::EventQuery.begin();
        Ok(self.mark().is_none_or(|mark| mark.point.is_reached()))
    }

    /// Blocks until all that it marks is done.
    ///
    /// # Errors
    /// If a kernel has failed.
    pub fn synchronize(&self) -> Result<(), NpuError> {
        refuse_in_child()?;
        let _call = RuntimeCall::EventSynchronize.begin();
        self.mark().map_or(Ok(()), |mark| mark.npu.executor.synchronize([mark.point]))
    }

    /// The milliseconds from this event to another, by the recorder's clock, as the times of kernels in traces.
    ///
    /// # Errors
    /// If one of them has no timing, is not recorded, or is not done.
    pub fn elapsed_time(&self, end: &Self) -> Result<f64, NpuError> {
        refuse_in_child()?;
        if !self.has_timing || !end.has_timing {
            return Err(NpuError::EventWithoutTiming);
        }
        let (Some(start), Some(end)) = (self.mark(), end.mark()) else { return Err(NpuError::EventNotRecorded) };
        let (Some(start), Some(end)) = (start.reached_at(), end.reached_at()) else {
            return Err(NpuError::EventNotCompleted);
        };
        let scale = Recorder::global().time_scale();
        let elapsed_ns = scale.epoch_ns(end).cast_signed() - scale.epoch_ns(start).cast_signed();
        Ok(elapsed_ns as f64 / 1e6)
    }

    /// Whether the event has timing.
    pub fn has_timing(&self) -> bool {
        self.has_timing
    }

    fn mark(&self) -> Option<Mark> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Mark>> {
        self.mark.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mark {
    fn reached_at(&self) -> Option<Ticks> {
        self.time.as_ref()?.get().copied()
    }
}
