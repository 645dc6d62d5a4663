//! Streams: what is launched on one runs in order; those of different streams, in any.

use super::progress::Progress;
use std::ops::Index;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Priorities of streams: 0, -1, -2 and -3. What has the lower number runs first.
pub(super) const PRIORITIES: usize = 4;
/// As in torch, a program that asks for more gets one that it has already.
const STREAMS_PER_PRIORITY: u16 = 32;
const STREAMS: u16 = 1 + PRIORITIES as u16 * STREAMS_PER_PRIORITY;

/// The lowest and the highest priority of a stream, in this order.
pub const PRIORITY_RANGE: (i32, i32) = (0, 1 - PRIORITIES as i32);

/// The number of a stream of an accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(u16);

impl StreamId {
    /// The stream that work goes to unless another is chosen.
    pub const DEFAULT: Self = Self(0);

    /// The stream with this number, if there is one.
    pub fn new(number: u16) -> Option<Self> {
        (number < STREAMS).then_some(Self(number))
    }

    /// The stream's number.
    pub fn number(self) -> u16 {
        self.0
    }

    /// The stream's priority; lower numbers go first.
    pub fn priority(self) -> i32 {
        -(self.urgency() as i32)
    }

    /// The priority as a number from 0 to [`PRIORITIES`]; higher numbers go first.
    pub(super) fn urgency(self) -> usize {
        usize::from(self.0.saturating_sub(1) / STREAMS_PER_PRIORITY)
    }
}

/// How far a stream is: jobs that were submitted to it, and those that are done.
#[derive(Debug, Default)]
pub(super) struct Stream {
    submitted: AtomicU64,
    /// As many as were done when someone who submits last looked, which is dear: the worker writes it all the time.
    seen_done: AtomicU64,
    pub(super) progress: Progress,
}

impl Stream {
    /// The number of jobs so far. A job that this thread knows to have been submitted is among them.
    pub(super) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Relaxed)
    }

    /// Counts a job and gives its number. Callers take turns.
    pub(super) fn submit(&self) -> u64 {
        let number = self.submitted() + 1;
        self.submitted.store(number, Ordering::Relaxed);
        number
    }

    /// Whether fewer than `most` jobs are not done. Callers take turns.
    pub(super) fn is_within(&self, most: u64) -> bool {
        let has_room = || self.submitted() - self.seen_done.load(Ordering::Relaxed) < most;
        has_room() || {
            self.seen_done.store(self.progress.done(), Ordering::Relaxed);
            has_room()
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.progress.has_reached(self.submitted())
    }
}

/// The streams of an accelerator.
#[derive(Debug)]
pub(super) struct Streams {
    streams: Box<[Stream]>,
    /// How many were asked for, by priority.
    asked_for: [AtomicU32; PRIORITIES],
}

impl Streams {
    pub(super) fn new() -> Self {
        Self { streams: (0..STREAMS).map(|_| Stream::default()).collect(), asked_for: Default::default() }
    }

    /// A stream of this priority, or of the nearest that there is: each of them in turn.
    pub(super) fn next(&self, priority: i32) -> StreamId {
        let (lowest, highest) = PRIORITY_RANGE;
        let urgency = priority.clamp(highest, lowest).unsigned_abs() as usize;
        let turn = self.asked_for[urgency].fetch_add(1, Ordering::Relaxed) % u32::from(STREAMS_PER_PRIORITY);
        StreamId(1 + urgency as u16 * STREAMS_PER_PRIORITY + turn as u16)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter()
    }
}

impl Index<StreamId> for Streams {
    type Output = Stream;

    fn index(&self, id: StreamId) -> &Stream {
        &self.streams[usize::from(id.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_come_in_turn_and_have_the_priority_that_was_asked_for() {
        let streams = Streams::new();
        let ids: Vec<StreamId> = (0..40).map(|_| streams.next(0)).collect();
        assert_eq!(ids[..32].iter().map(|id| id.number()).collect::<Vec<_>>(), (1..=32).collect::<Vec<_>>());
        assert_eq!(ids[32..], ids[..8]);
        assert!(ids.iter().all(|id| id.priority() == 0));
        for (asked, given) in [(-1, -1), (-3, -3), (-100, -3), (100, 0), (i32::MIN, -3)] {
            assert_eq!(streams.next(asked).priority(), given);
        }
        assert_eq!(StreamId::DEFAULT.priority(), 0);
        assert_eq!(StreamId::new(128).unwrap().priority(), -3);
        assert_eq!(StreamId::new(129), None);
        assert_eq!(streams.iter().count(), 129);
    }
}
