//! Tests of spilling in which the file blocks: which threads wait for it, and that every event is in a trace exactly once.

#[path = "../../tests/support/mod.rs"]
mod support;

use super::chunk::FULL;
use super::record::Slot;
use super::{Recorder, SpanArgs, SpanKind, ThreadWriter, WhenFull};
use crate::clock::ManualClock;
use crate::names::Name;
use crate::session::{Session, SessionBuilder};
use crate::spool::{SpillFile, Storage};
use crate::trace::Trace;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

const MIB: u64 = 1 << 20;
const CHUNK: u64 = (FULL * size_of::<Slot>()) as u64;
/// Events of 32 bytes that fill 4 MiB.
const MANY: u64 = 1 << 17;
/// Only detects a hang.
const HANG: Duration = Duration::from_secs(60);

/// Blocks the reads and writes of a file while it is closed.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    is_closed: bool,
    blocked: usize,
}

impl Gate {
    fn closed() -> Arc<Self> {
        let gate = Arc::<Self>::default();
        gate.set_closed(true);
        gate
    }

    fn set_closed(&self, is_closed: bool) {
        self.state.lock().unwrap().is_closed = is_closed;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.blocked += 1;
        self.changed.notify_all();
        state = self.changed.wait_while(state, |state| state.is_closed).unwrap();
        state.blocked -= 1;
    }

    fn wait_until_blocked(&self) {
        let state = self.state.lock().unwrap();
        let waited = self.changed.wait_timeout_while(state, HANG, |state| state.blocked == 0).unwrap();
        assert!(!waited.1.timed_out(), "nothing was written or read");
    }

    /// Runs `work` while the gate is closed. Opens it and panics if `work` hangs.
    fn while_closed(&self, work: impl FnOnce() + Send) {
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel();
            let worker = scope.spawn(move || {
                work();
                let _ = done.send(());
            });
            let outcome = is_done.recv_timeout(HANG);
            if matches!(outcome, Err(mpsc::RecvTimeoutError::Timeout)) {
                self.set_closed(false);
                panic!("something waited for the disk that should not");
            }
            if let Err(panic) = worker.join() {
                self.set_closed(false);
                std::panic::resume_unwind(panic);
            }
        });
    }
}

#[derive(Debug)]
struct GatedFile {
    file: File,
    gate: Arc<Gate>,
    /// The most that `recorder` held during a write.
    recorder: Recorder,
    most_held: Arc<AtomicU64>,
}

impl Storage for GatedFile {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.gate.pass();
        self.most_held.fetch_max(self.recorder.spares().held(), Ordering::Relaxed);
        Storage::write_all_at(&self.file, bytes, offset)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.gate.pass();
        Storage::read_exact_at(&self.file, bytes, offset)
    }
}

struct Program {
    clock: ManualClock,
    recorder: Recorder,
    gate: Arc<Gate>,
    most_held: Arc<AtomicU64>,
}

impl Program {
    fn new(gate: Arc<Gate>) -> Self {
        let clock = ManualClock::starting_at(1_000);
        let recorder = Recorder::with_manual_clock(&clock);
        Self { clock, recorder, gate, most_held: Arc::default() }
    }

    fn gated_file(&self) -> SpillFile {
        let (gate, most_held) = (Arc::clone(&self.gate), Arc::clone(&self.most_held));
        let (file, recorder) = (tempfile::tempfile().unwrap(), self.recorder.clone());
        SpillFile::new(Box::new(GatedFile { file, gate, recorder, most_held }), Path::new(""), false)
    }

    fn session(&self, max_bytes: u64) -> SessionBuilder {
        Session::builder().on(&self.recorder).max_bytes(max_bytes)
    }

    /// A session of 1 MiB that spills to the gated file.
    fn spilling_session(&self) -> Session {
        self.session(MIB).spill_to(Some(self.gated_file()), &[]).start()
    }

    /// Records spans without a duration, each at the next tick.
    fn record(&self, thread: &mut ThreadWriter, count: u64) {
        let span = SpanArgs::new(SpanKind::Op, Name::new("work"));
        for _ in 0..count {
            let token = thread.begin(&span);
            self.clock.advance(1);
            token.into_iter().for_each(|token| thread.end(token));
        }
    }
}

/// The starts of the spans of a thread.
fn starts(trace: &Trace, thread: u32) -> Vec<u64> {
    trace.spans().filter(|span| span.thread().number == thread).map(|span| span.start_ns()).collect()
}

fn assert_whole(trace: &Trace, spans: usize) {
    assert_eq!((trace.span_count(), trace.lost_events(), &trace.losses().stopped), (spans, 0, &None));
}

#[test]
fn only_the_thread_that_spills_waits_for_its_write() {
    let program = Program::new(Gate::closed());
    let (session, other) = (program.spilling_session(), program.session(1 << 30).start());
    thread::scope(|scope| {
        let spilling = scope.spawn(|| program.record(&mut program.recorder.thread(1, None), MANY));
        program.gate.wait_until_blocked();
        program.gate.while_closed(|| {
            // The manual clock stands still while the only thread that records is blocked.
            let recorded = program.recorder.now().0 - 1_000;
            let mut thread = program.recorder.thread(2, None);
            program.record(&mut thread, 10);
            other.step();
            session.step();
            for session in [&session, &other] {
                let so_far = session.snapshot();
                assert_whole(&so_far, recorded as usize + 10);
                assert_eq!(starts(&so_far, 1), (0..recorded).collect::<Vec<_>>());
                assert_eq!(starts(&so_far, 2), (recorded..recorded + 10).collect::<Vec<_>>());
            }
            let third = program.session(MIB).start();
            program.record(&mut thread, 5);
            third.pause(crate::Capture::CPU);
            assert_whole(&third.stop(), 5);
        });
        program.gate.set_closed(false);
        spilling.join().unwrap();
    });
    assert!(session.was_full());
    let recording = session.finish();
    assert!(recording.memory_held() as u64 <= MIB + 4 * CHUNK, "{}", recording.memory_held());
    for trace in [recording.into_trace(), other.stop()] {
        assert_whole(&trace, MANY as usize + 15);
        let mut all = starts(&trace, 1);
        all.extend(starts(&trace, 2));
        all.sort_unstable();
        assert_eq!(all, (0..MANY + 15).collect::<Vec<_>>());
    }
}

#[test]
fn threads_that_record_much_during_a_write_wait_so_that_memory_stays_bounded() {
    const THREADS: u64 = 3;
    let program = Program::new(Gate::closed());
    let session = program.spilling_session();
    thread::scope(|scope| {
        for number in 1..=THREADS {
            let program = &program;
            scope.spawn(move || program.record(&mut program.recorder.thread(number, None), MANY));
        }
        program.gate.wait_until_blocked();
        program.gate.set_closed(false);
    });
    let most_held = program.most_held.load(Ordering::Relaxed);
    // The other threads may take an eighth, or 16 chunks, while one thread spills, and then a chunk each.
    assert!(most_held <= MIB + (16 + 2 * THREADS) * CHUNK, "{most_held}");
    let trace = session.stop();
    assert_whole(&trace, (THREADS * MANY) as usize);
    for number in 1..=THREADS as u32 {
        let starts = starts(&trace, number);
        assert!(starts.len() == MANY as usize && starts.is_sorted(), "{number}");
    }
}

#[test]
fn a_session_that_stops_during_a_write_has_everything_once() {
    let program = Program::new(Gate::closed());
    let (session, other) = (program.spilling_session(), program.session(1 << 30).start());
    thread::scope(|scope| {
        let spilling = scope.spawn(|| program.record(&mut program.recorder.thread(1, None), MANY));
        program.gate.wait_until_blocked();
        program.gate.while_closed(|| {
            let recorded = program.recorder.now().0 - 1_000;
            let trace = session.stop();
            assert_whole(&trace, recorded as usize);
            assert_eq!(starts(&trace, 1), (0..recorded).collect::<Vec<_>>());
        });
        program.gate.set_closed(false);
        spilling.join().unwrap();
    });
    let trace = other.stop();
    assert_whole(&trace, MANY as usize);
    assert_eq!(starts(&trace, 1), (0..MANY).collect::<Vec<_>>());
}

#[test]
fn a_ring_counts_what_another_session_spilled_without_blocking_others() {
    let program = Program::new(Arc::default());
    let mut thread = program.recorder.thread(1, None);
    let (spilling, ring) = (program.spilling_session(), program.session(2 * MIB).when_full(WhenFull::Ring).start());
    program.record(&mut thread, MANY);
    assert_whole(&spilling.stop(), MANY as usize);
    assert_eq!(ring.losses().events(), 0);
    program.gate.set_closed(true);
    thread::scope(|scope| {
        let recording = scope.spawn(|| program.record(&mut thread, MANY));
        program.gate.wait_until_blocked();
        program.gate.while_closed(|| {
            let recorded = program.recorder.now().0 - 1_000;
            program.record(&mut program.recorder.thread(2, None), 10);
            ring.step();
            assert_eq!((ring.losses().events(), program.recorder.now().0 - 1_000), (0, recorded + 10));
        });
        program.gate.set_closed(false);
        recording.join().unwrap();
    });
    let trace = ring.stop();
    let kept = starts(&trace, 1);
    let dropped = trace.losses().dropped.iter().find(|(thread, _)| *thread == 1).map_or(0, |(_, events)| *events);
    assert_eq!(kept.len() as u64 + dropped, 2 * MANY);
    assert!(kept.is_sorted() && kept.last() == Some(&(2 * MANY + 9)));
}

#[test]
fn a_recording_ends_within_its_bound_if_it_could_spill_only_to_memory() {
    let program = Program::new(Arc::default());
    // A tmpfs, or missing.
    let session = program.session(MIB).spill_to(None, &[Path::new("/dev/shm")]).start();
    program.record(&mut program.recorder.thread(1, None), MANY);
    assert!(session.was_full());
    let recording = session.finish();
    assert!(recording.memory_held() as u64 <= MIB + 2 * CHUNK, "{}", recording.memory_held());
    let trace = recording.into_trace();
    let kept = starts(&trace, 1);
    assert!(kept.len() as u64 > MIB / 32 - 4096 && kept.iter().copied().eq(0..kept.len() as u64), "{}", kept.len());
    let why = trace.losses().stopped.as_deref().expect("it stopped");
    assert!(why.contains("of 1048576 that it may, and cannot spill: ") && why.contains("/dev/shm"), "{why}");
    assert!(trace.memory_held() > kept.len() * 16, "the trace is not in files either");
}

#[cfg(unix)]
#[test]
#[expect(unsafe_code, reason = "the standard library has no fork")]
fn a_fork_does_not_wait_for_a_write_and_neither_process_is_harmed() {
    const TEST: &str = "recorder::spill_tests::a_fork_does_not_wait_for_a_write_and_neither_process_is_harmed";
    fn record(count: u64) {
        for _ in 0..count {
            drop(crate::record_function!("work"));
        }
    }
    support::in_own_process(TEST, || {
        // SAFETY: alarm has no preconditions. It ends the process if that hangs.
        unsafe { libc::alarm(2 * HANG.as_secs() as u32) };
        let program = Program { recorder: Recorder::global().clone(), ..Program::new(Gate::closed()) };
        let session = program.spilling_session();
        thread::scope(|scope| {
            let spilling = scope.spawn(|| record(MANY));
            program.gate.wait_until_blocked();
            // SAFETY: the child leaves by `_exit`, whatever happens.
            let pid = unsafe { libc::fork() };
            assert!(pid >= 0, "fork failed");
            if pid == 0 {
                // SAFETY: as above.
                unsafe { libc::alarm(HANG.as_secs() as u32) };
                let child = std::panic::AssertUnwindSafe(|| {
                    assert_eq!(session.snapshot().span_count(), 0);
                    // The child spills, too, though the thread that had the turn does not exist in it.
                    let own = Session::builder().max_bytes(MIB).spill_dir(std::env::temp_dir()).unwrap().start();
                    record(MANY);
                    assert!(own.was_full());
                    assert_whole(&own.stop(), MANY as usize);
                });
                let outcome = std::panic::catch_unwind(child);
                // SAFETY: _exit has no preconditions; it runs no destructors, which belong to the parent.
                unsafe { libc::_exit(i32::from(outcome.is_err())) };
            }
            let mut status = 0;
            // SAFETY: `status` is a valid place for the result, and `pid` is a child of this process.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child failed or hung: {status}");
            program.gate.set_closed(false);
            spilling.join().unwrap();
        });
        assert!(session.was_full());
        let trace = session.stop();
        assert_whole(&trace, MANY as usize);
        assert!(trace.spans().all(|span| span.is_finished()));
    });
}
