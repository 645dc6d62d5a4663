//! Threads that are ready at once.
//!
//! A thread that sleeps takes some ten microseconds to wake, as long as many an operation takes. The threads of a team look
//! out for work for a while before they sleep. Each has a seat at which work is offered to it, and its caller takes back what
//! was not taken when it has done the rest itself: so it is hardly slower than without a team, and does not hang in a forked
//! process, where the threads are gone. Work may call for help in turn: it gets the seats that are free.

#![expect(unsafe_code, reason = "threads borrow the work of their caller")]

#[cfg(loom)]
use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    thread,
};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
#[cfg(not(loom))]
use std::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    thread,
};

/// How often a thread looks for work before it sleeps: some 200 microseconds, longer than what commonly lies between two
/// operations.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 5000 };

type Work = dyn Fn() + Sync;

/// Nobody uses the seat: its thread looks out for work, or sleeps.
const FREE: u8 = 0;
/// A caller has the seat, and what is written there.
const CLAIMED: u8 = 1;
/// There is work that thread and caller may take.
const OFFERED: u8 = 2;
/// The thread is at work.
const TAKEN: u8 = 3;
/// The thread is done; the caller has the seat again.
const DONE: u8 = 4;

/// Threads that help whoever calls.
pub(crate) struct Team {
    seats: Vec<(Arc<Seat>, thread::Thread)>,
}

struct Seat {
    state: AtomicU8,
    asleep: AtomicBool,
    closed: AtomicBool,
    /// The processor that the caller is on.
    caller: AtomicUsize,
    /// Written by who has claimed the seat, read by the thread that has taken the work.
    work: UnsafeCell<Option<&'static Work>>,
}

// SAFETY: `state` says who may use `work`, as the field says; all else is atomic.
unsafe impl Sync for Seat {}
// SAFETY: as above; the work itself may be called from any thread.
unsafe impl Send for Seat {}

impl Team {
    /// A team of so many threads, its caller one of them, or of fewer if there are no more to have.
    pub(crate) fn new(threads: usize) -> Self {
        let seats = (1..threads).map_while(|index| {
            let seat = Arc::new(Seat {
                state: AtomicU8::new(FREE),
                asleep: AtomicBool::new(false),
                closed: AtomicBool::new(false),
                caller: AtomicUsize::new(usize::MAX),
                work: UnsafeCell::new(None),
            });
            let server = Arc::clone(&seat);
            let builder = thread::Builder::new().name(format!("mindtorch worker {index}"));
            let handle = builder.spawn(move || server.serve()).ok()?;
            Some((seat, handle.thread().clone()))
        });
        Self { seats: seats.collect() }
    }

    /// How many threads work together, the caller's among them.
    pub(crate) fn threads(&self) -> usize {
        self.seats.len() + 1
    }

    /// Calls `work` with every number below `pieces`, on the threads that are free, and on this one, which begins with 0.
    pub(crate) fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(1);
        let panic = Mutex::new(None);
        let execute = |piece: usize| {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(piece))) {
                remember(&panic, payload);
            }
        };
        let help = || {
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= pieces {
                    break;
                }
                execute(piece);
            }
        };
        let free = |(seat, _): &&(Arc<Seat>, thread::Thread)| seat.claim();
        let asked: Vec<_> = self.seats.iter().filter(free).take(pieces.saturating_sub(1)).collect();
        for (seat, thread) in &asked {
            // SAFETY: nothing here returns or unwinds before the loop below has got every seat back.
            unsafe { seat.offer(&help) };
            if seat.asleep.load(Ordering::SeqCst) {
                seat.caller.store(processor::current(), Ordering::Relaxed);
                thread.unpark();
            }
        }
        if pieces > 0 {
            execute(0);
        }
        help();
        for (seat, _) in &asked {
            seat.take_back();
        }
        if let Some(payload) = panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(payload);
        }
    }
}

/// Keeps the first panic, for the caller.
fn remember(first: &Mutex<Option<Box<dyn Any + Send>>>, payload: Box<dyn Any + Send>) {
    first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
}

impl Drop for Team {
    fn drop(&mut self) {
        for (seat, thread) in &self.seats {
            seat.closed.store(true, Ordering::SeqCst);
            thread.unpark();
        }
    }
}

impl Seat {
    fn claim(&self) -> bool {
        self.state.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// # Safety
    /// Who has claimed the seat calls, and calls [`Self::take_back`] before `work` ends.
    unsafe fn offer<'a>(&self, work: &'a (dyn Fn() + Sync + 'a)) {
        // SAFETY: the work is not called after it has been taken back, which the caller does before it ends.
        let work = unsafe { std::mem::transmute::<&'a (dyn Fn() + Sync + 'a), &'static Work>(work) };
        self.with_work(|slot| *slot = Some(work));
        // Sequentially consistent, like the look at `asleep` after it and the thread's own two: one of both sees the other.
        self.state.store(OFFERED, Ordering::SeqCst);
    }

    /// Returns when the seat's thread does not, and will not, use the work.
    fn take_back(&self) {
        if self.state.compare_exchange(OFFERED, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            let mut turns = 0u32;
            while self.state.load(Ordering::Acquire) != DONE {
                turns = turns.wrapping_add(1);
                if cfg!(loom) || turns.is_multiple_of(1 << 12) { thread::yield_now() } else { spin_loop() }
            }
        }
        self.state.store(FREE, Ordering::Release);
    }

    fn serve(&self) {
        while !self.closed.load(Ordering::SeqCst) {
            if !(0..PATIENCE).any(|_| self.is_called()) {
                self.sleep();
            }
            if self.state.compare_exchange(OFFERED, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                if let Some(work) = self.with_work(|slot| slot.take()) {
                    work();
                }
                self.state.store(DONE, Ordering::Release);
            }
        }
    }

    fn is_called(&self) -> bool {
        let called = self.state.load(Ordering::SeqCst) == OFFERED || self.closed.load(Ordering::SeqCst);
        if !called && !cfg!(loom) {
            // A pause of the processor is some 40 nanoseconds on most machines.
            spin_loop();
        }
        called
    }

    fn sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
        while !self.is_called() {
            thread::park();
        }
        self.asleep.store(false, Ordering::Relaxed);
        // Woken where its caller is, it would take turns with it, for milliseconds, until the system moves one of them.
        let caller = self.caller.load(Ordering::Relaxed);
        if processor::current() == caller {
            processor::leave(caller);
        }
    }

    fn with_work<R>(&self, use_work: impl FnOnce(&mut Option<&'static Work>) -> R) -> R {
        #[cfg(loom)]
        // SAFETY: whoever calls has claimed the seat or taken its work, and nobody else touches it meanwhile.
        return self.work.with_mut(|slot| use_work(unsafe { &mut *slot }));
        #[cfg(not(loom))]
        // SAFETY: as above.
        use_work(unsafe { &mut *self.work.get() })
    }
}

/// The processor that a thread is on.
#[cfg(all(target_os = "linux", not(loom)))]
mod processor {
    use std::mem::{size_of, zeroed};

    pub(super) fn current() -> usize {
        // SAFETY: it has no preconditions.
        usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(usize::MAX)
    }

    /// Goes to another processor, if this thread may run on others; it may come back later.
    pub(super) fn leave(processor: usize) {
        // SAFETY: sets are plain bits, of the size that the system is told; a set of none is refused by it.
        unsafe {
            let (mut all, size) = (zeroed::<libc::cpu_set_t>(), size_of::<libc::cpu_set_t>());
            if processor < libc::CPU_SETSIZE as usize && libc::sched_getaffinity(0, size, &mut all) == 0 {
                let mut others = all;
                libc::CPU_CLR(processor, &mut others);
                libc::sched_setaffinity(0, size, &others);
                libc::sched_setaffinity(0, size, &all);
            }
        }
    }
}

/// Where the system does not say, it is left to the system.
#[cfg(not(all(target_os = "linux", not(loom))))]
mod processor {
    pub(super) fn current() -> usize {
        0
    }

    pub(super) fn leave(_processor: usize) {}
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once_whoever_calls() {
        let team = Team::new(3);
        for pieces in (0..20).chain([100]) {
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        let visits: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                        team.run(pieces, &|piece| {
                            visits[piece].fetch_add(1, Ordering::Relaxed);
                        });
                        assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
                    });
                }
            });
        }
    }

    #[test]
    fn work_within_work_is_done() {
        let (team, sum) = (Team::new(3), AtomicUsize::new(0));
        team.run(4, &|outer| {
            team.run(3, &|inner| {
                sum.fetch_add(10 * outer + inner, Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 3 * 60 + 4 * 3);
    }

    #[test]
    fn a_panic_reaches_the_caller_after_all_pieces() {
        let (team, done) = (Team::new(2), AtomicUsize::new(0));
        let panic = catch_unwind(AssertUnwindSafe(|| {
            team.run(5, &|piece| {
                assert_ne!(piece, 3, "the third");
                done.fetch_add(1, Ordering::Relaxed);
            });
        }));
        assert!(panic.is_err());
        assert_eq!(done.into_inner(), 4);
        team.run(2, &|_| {});
    }
}
