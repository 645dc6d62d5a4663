//! How far a stream has come, and who waits for it to come further.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{Thread, available_parallelism, current, park};
use std::time::{Duration, Instant};

/// Counts the jobs that a stream has done. Aligned so that those who count what is to be done write elsewhere.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Progress {
    done: AtomicU64,
    /// The least count that someone sleeps until.
    awaited: AtomicU64,
    sleepers: Mutex<Vec<(u64, Thread)>>,
}

impl Default for Progress {
    fn default() -> Self {
        Self { done: AtomicU64::new(0), awaited: AtomicU64::new(u64::MAX), sleepers: Mutex::default() }
    }
}

impl Progress {
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    pub(super) fn has_reached(&self, count: u64) -> bool {
        self.done() >= count
    }

    /// One more job is done. Only one thread may say so.
    pub(super) fn advance(&self) {
        let done = self.done.load(Ordering::Relaxed) + 1;
        // With those in `wake_at`: either this sees the sleeper, or the sleeper sees this.
        self.done.store(done, Ordering::SeqCst);
        if done >= self.awaited.load(Ordering::SeqCst) {
            self.wake(done);
        }
    }

    #[cold]
    fn wake(&self, done: u64) {
        let mut sleepers = self.sleepers();
        sleepers.retain(|(count, thread)| {
            let sleeps_on = *count > done;
            if !sleeps_on {
                thread.unpark();
            }
            sleeps_on
        });
        self.awaited.store(least(&sleepers), Ordering::SeqCst);
    }

    /// Unparks the thread when `count` jobs are done. False if they are already: then it need not park.
    pub(super) fn wake_at(&self, count: u64, thread: Thread) -> bool {
        let mut sleepers = self.sleepers();
        sleepers.push((count, thread));
        self.awaited.store(least(&sleepers), Ordering::SeqCst);
        if self.done.load(Ordering::SeqCst) < count {
            return true;
        }
        sleepers.pop();
        self.awaited.store(least(&sleepers), Ordering::SeqCst);
        false
    }

    /// Blocks until `count` jobs are done.
    pub(super) fn wait(&self, count: u64) {
        if !spin_until(|| self.has_reached(count)) && self.wake_at(count, current()) {
            while !self.has_reached(count) {
                park();
            }
        }
    }

    fn sleepers(&self) -> MutexGuard<'_, Vec<(u64, Thread)>> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn least(sleepers: &[(u64, Thread)]) -> u64 {
    sleepers.iter().map(|(count, _)| *count).min().unwrap_or(u64::MAX)
}

/// Looks for a short while whether the condition holds, since to sleep and to be woken takes longer than most kernels.
/// Where there is but one core, what is waited for cannot happen meanwhile.
pub(super) fn spin_until(mut condition: impl FnMut() -> bool) -> bool {
    static PATIENCE: LazyLock<Duration> = LazyLock::new(|| {
        Duration::from_micros(if available_parallelism().is_ok_and(|cores| cores.get() > 1) { 20 } else { 0 })
    });
    if condition() {
        return true;
    }
    let start = Instant::now();
    while start.elapsed() < *PATIENCE {
        for _ in 0..8 {
            spin_loop();
            if condition() {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn everyone_is_woken_when_their_count_is_reached() {
        let progress = Progress::default();
        let (sender, woken) = mpsc::channel();
        thread::scope(|scope| {
            for count in [3, 1, 2, 1, 0] {
                let (sender, progress) = (sender.clone(), &progress);
                scope.spawn(move || {
                    progress.wait(count);
                    assert!(progress.has_reached(count));
                    sender.send(count).unwrap();
                });
            }
            assert_eq!(woken.recv(), Ok(0));
            for expected in [&[1, 1][..], &[2], &[3]] {
                progress.advance();
                let got: Vec<u64> = woken.iter().take(expected.len()).collect();
                assert_eq!(got, expected);
            }
        });
        assert_eq!(progress.awaited.load(Ordering::SeqCst), u64::MAX);
        assert!(progress.sleepers().is_empty());
    }

    #[test]
    fn who_comes_late_does_not_sleep() {
        let progress = Progress::default();
        progress.advance();
        assert!(!progress.wake_at(1, thread::current()));
        assert!(progress.wake_at(2, thread::current()));
        progress.advance();
        assert!(progress.sleepers().is_empty());
    }

    #[test]
    fn a_counter_that_races_with_its_waiters_loses_none() {
        let progress = Progress::default();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (1..=2000).for_each(|count| progress.wait(count)));
            }
            scope.spawn(|| (0..2000).for_each(|_| progress.advance()));
        });
        assert!(progress.sleepers().is_empty());
    }
}
