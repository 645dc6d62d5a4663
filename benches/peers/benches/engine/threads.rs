//! A span on several threads at once.

use crate::clock::{read_clock, thread_time};
use mindtorch_benches::{Case, Table};
use mindtorch_profiler::{Session, record_function};
use std::hint::black_box;

/// Threads recording at once: the processor time that each spends on an event, so that waiting for a core is not counted.
/// Threads that share a core's resources slow each other down without sharing anything else; the clock shows by how much.
pub(crate) fn threads(rounds: usize) -> Table {
    let run = |threads: usize, event: fn()| {
        // The same in all, so that the recording is of one size.
        let per_thread = 400_000 / threads;
        let session = Session::start();
        let took = std::thread::scope(|scope| {
            let work = || {
                let started = thread_time();
                for _ in 0..per_thread {
                    event();
                }
                thread_time() - started
            };
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().map(|worker| worker.join().expect("the work does not panic")).sum()
        });
        drop(session);
        (took, threads * per_thread)
    };
    let span = || drop(record_function!("work"));
    let clock = || {
        black_box(read_clock());
        black_box(read_clock());
    };
    let mut cases = [
        Case::new("1 thread", || run(1, span)),
        Case::new("2 threads", || run(2, span)),
        Case::new("4 threads", || run(4, span)),
        Case::new("two raw clock reads, 1 thread", || run(1, clock)),
        Case::new("two raw clock reads, 2 threads", || run(2, clock)),
        Case::new("two raw clock reads, 4 threads", || run(4, clock)),
    ];
    Table::measure("Threads recording at once, processor time a span", rounds, &mut cases)
}
