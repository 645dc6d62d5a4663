//! What an accelerator has to do: jobs by stream, and whose turn it is.

use super::point::Point;
use super::stream::{PRIORITIES, StreamId};
use mindtorch_profiler::{Name, SpanId, Ticks};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// What a stream does, one after the other.
#[derive(Debug)]
pub(super) enum Job {
    Run(Kernel),
    /// Note when the stream came here.
    Mark(Arc<OnceLock<Ticks>>),
    /// Go on when another stream has come so far.
    Wait(Point),
}

impl Job {
    fn can_run(&self) -> bool {
        !matches!(self, Self::Wait(point) if !point.is_reached())
    }
}

/// A kernel or a copy.
pub(super) struct Kernel {
    pub(super) name: Name,
    /// The bytes that it moves, if it is a copy.
    pub(super) copy: Option<u64>,
    pub(super) launched_by: Option<SpanId>,
    pub(super) work: Box<dyn FnOnce() + Send>,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("copy", &self.copy).finish_non_exhaustive()
    }
}

/// The jobs of all streams of an accelerator.
///
/// The streams of the highest priority that can go on do, one job each in turn.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By the number of the stream, as far as they were used.
    jobs: Vec<VecDeque<Job>>,
    /// The streams that have jobs, by urgency, in the order of their turns.
    turns: [VecDeque<StreamId>; PRIORITIES],
}

impl Queue {
    pub(super) fn push(&mut self, stream: StreamId, job: Job) {
        let number = usize::from(stream.number());
        if self.jobs.len() <= number {
            self.jobs.resize_with(number + 1, VecDeque::new);
        }
        let jobs = &mut self.jobs[number];
        if jobs.is_empty() {
            self.turns[stream.urgency()].push_back(stream);
        }
        jobs.push_back(job);
    }

    /// The next job that can run. `None` if there is no job, or all streams wait for other devices.
    pub(super) fn pop(&mut self) -> Option<(StreamId, Job)> {
        for turns in self.turns.iter_mut().rev() {
            for _ in 0..turns.len() {
                let stream = turns.pop_front()?;
                let jobs = &mut self.jobs[usize::from(stream.number())];
                let job = jobs.pop_front_if(|job| job.can_run());
                if !jobs.is_empty() {
                    turns.push_back(stream);
                }
                if let Some(job) = job {
                    return Some((stream, job));
                }
            }
        }
        None
    }

    /// The points that streams wait for before they go on.
    pub(super) fn awaited(&self) -> impl Iterator<Item = Point> {
        self.jobs.iter().filter_map(|jobs| match jobs.front() {
            Some(Job::Wait(point)) => Some(*point),
            _ => None,
        })
    }
}
