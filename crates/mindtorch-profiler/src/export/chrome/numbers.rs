//! The numbers by which a file tells processes apart, and says which events belong together.

use crate::trace::Trace;

/// The number of the first rank's process, and how far those of ranks are apart; devices are numbered in between. The system's own
/// numbers will not do: two ranks on two machines may have the same.
const OF_RANK: u32 = 100_000;

/// The highest rank whose numbers fit.
pub(super) const MOST_RANKS: u32 = u32::MAX / OF_RANK - 1;

/// The process that shows what a rank did on the host.
pub(super) fn process_of_rank(rank: u32) -> u32 {
    (rank + 1) * OF_RANK
}

/// The process that shows what a rank's device did.
pub(super) fn process_of_device(rank: u32, device: u16) -> u32 {
    process_of_rank(rank) + 1 + u32::from(device)
}

/// What is added to numbers that refer to events, and what processes are called.
#[derive(Debug)]
pub(super) struct Numbers {
    /// By thread: its process.
    processes: Vec<u32>,
    /// The rank that all of it is of.
    rank: Option<u32>,
    /// Comes before the number of every event, arrow and piece of device work.
    pub(super) first_id: u64,
    /// Comes before the number of every thread.
    pub(super) first_thread: u32,
}

impl Numbers {
    /// Those of a file with this trace alone. If it was merged from several, every rank is a process again.
    pub(super) fn alone(trace: &Trace) -> Self {
        let process = |rank: Option<u32>| rank.map_or(trace.header.pid, process_of_rank);
        let processes = trace.threads.iter().map(|thread| process(thread.rank)).collect();
        Self { processes, rank: None, first_id: 0, first_thread: 0 }
    }

    /// Those of a rank in a file with others.
    pub(super) fn of_rank(trace: &Trace, rank: u32, first_id: u64, first_thread: u32) -> Self {
        Self { processes: vec![process_of_rank(rank); trace.threads.len()], rank: Some(rank), first_id, first_thread }
    }

    /// The process of a thread.
    pub(super) fn process(&self, thread: usize) -> u32 {
        self.processes[thread]
    }

    /// The process that shows a device, and the number that the device has there.
    pub(super) fn device(&self, trace: &Trace, device: u16) -> (u32, u16) {
        match (self.rank, trace.rank_of_device(device)) {
            (Some(rank), _) => (process_of_device(rank, device), device),
            (None, Some((rank, device))) => (process_of_device(rank, device), device),
            (None, None) => (device.into(), device),
        }
    }

    /// The number of a thread, of which 0 is none.
    pub(super) fn thread(&self, number: u32) -> u64 {
        if number == 0 { 0 } else { u64::from(number) + u64::from(self.first_thread) }
    }
}
