//! Recordings that are larger than the memory they may take: what belongs here shows what is kept then, and what is said of
//! the rest.

mod support;

use mindtorch_profiler::{
    Capture, Device, ManualClock, Memory, MemoryRole, Name, Recorder, Session, SessionBuilder, SpanArgs, SpanKind,
    SpanToken, Stack, ThreadWriter, Trace, WhenFull,
};
use support::{in_own_process, in_own_process_with};

const MIB: u64 = 1 << 20;
/// Events of 32 bytes that fill 8 MiB.
const MANY: usize = 1 << 18;
/// What a recording may have beyond its bound: the chunk that is being written.
const CHUNK: usize = 66 << 10;

struct Program {
    clock: ManualClock,
    recorder: Recorder,
}

impl Program {
    fn new() -> Self {
        let clock = ManualClock::starting_at(1_000);
        let recorder = Recorder::with_manual_clock(&clock);
        Self { clock, recorder }
    }

    fn session(&self, when_full: WhenFull) -> SessionBuilder {
        let session = Session::builder().on(&self.recorder).max_bytes(MIB).when_full(when_full).profile_memory(true);
        if when_full == WhenFull::Spill { spilling_anywhere(session) } else { session }
    }

    fn begin(&self, thread: &mut ThreadWriter, name: &str) -> SpanToken {
        self.clock.advance(1);
        thread.begin(&SpanArgs::new(SpanKind::Op, Name::new(name))).expect("someone records")
    }

    fn end(&self, thread: &mut ThreadWriter, token: SpanToken) {
        self.clock.advance(1);
        thread.end(token);
    }

    /// Records spans with these numbers as names.
    fn record(&self, thread: &mut ThreadWriter, numbers: std::ops::Range<usize>) {
        for number in numbers {
            // Names are for ever: a few do.
            let token = thread.begin(&SpanArgs::new(SpanKind::Op, Name::new(&(number % 100).to_string())));
            self.clock.advance(1);
            token.into_iter().for_each(|token| thread.end(token));
        }
    }
}

/// Lets a session spill to a given directory, which is used even if it is in memory on the machine that runs the tests.
fn spilling_anywhere(session: SessionBuilder) -> SessionBuilder {
    session.spill_dir(std::env::temp_dir()).unwrap()
}

/// The start of each span.
fn starts(trace: &Trace) -> Vec<u64> {
    trace.spans().map(|span| span.start_ns()).collect()
}

#[test]
fn what_spills_comes_back() {
    let program = Program::new();
    let mut thread = program.recorder.thread(1, None);
    let bounded = program.session(WhenFull::Spill).start();
    let unbounded = Session::builder().on(&program.recorder).profile_memory(true).start();
    let outer = program.begin(&mut thread, "outer");
    program.record(&mut thread, 0..MANY / 2);
    let block = Memory {
        address: 64,
        bytes: 100,
        device: Device::Npu(3),
        allocated: 100,
        reserved: 1 << 40,
        stack: Stack::NONE,
        role: MemoryRole::Gradient,
    };
    thread.memory(&block);
    program.record(&mut thread, MANY / 2..MANY);
    program.end(&mut thread, outer);
    assert!(bounded.was_full() && !unbounded.was_full());
    let recording = bounded.finish();
    // The chunk in which the outer span lies had to wait for its end.
    assert!(recording.memory_held() <= MIB as usize + 2 * CHUNK, "{}", recording.memory_held());
    let (some, all) = (recording.into_trace(), unbounded.stop());
    assert_eq!(some.span_count(), MANY + 1);
    for (one, other) in some.spans().zip(all.spans()) {
        assert_eq!(
            (one.name(), one.start_ns(), one.duration_ns(), one.self_ns(), one.parent().map(|parent| parent.row())),
            (
                other.name(),
                other.start_ns(),
                other.duration_ns(),
                other.self_ns(),
                other.parent().map(|parent| parent.row())
            )
        );
    }
    assert_eq!(format!("{:?}", some.memory()), format!("{:?}", all.memory()));
    assert_eq!((some.lost_events(), &some.losses().stopped), (0, &None));
}

#[test]
fn a_ring_keeps_the_newest_and_counts_the_rest() {
    let program = Program::new();
    let mut thread = program.recorder.thread(1, None);
    let session = program.session(WhenFull::Ring).start();
    program.record(&mut thread, 0..MANY);
    let so_far = session.snapshot();
    program.record(&mut thread, 0..MANY);
    let trace = session.stop();
    for (trace, recorded) in [(so_far, MANY), (trace, 2 * MANY)] {
        let kept = trace.span_count();
        // An eighth is freed at a time.
        assert!((MIB as usize / 32 * 7 / 8 - 4096..=MIB as usize / 32 + 2048).contains(&kept), "{kept}");
        assert_eq!(trace.losses().dropped, [(1, (recorded - kept) as u64)]);
        let newest: Vec<u64> = (recorded - kept..recorded).map(|at| at as u64).collect();
        assert_eq!(starts(&trace), newest);
        assert!(trace.key_averages().to_string().contains(&format!("Events lost: {}", recorded - kept)));
    }
}

#[test]
fn a_ring_keeps_what_is_open() {
    let program = Program::new();
    let (mut thread, mut other) = (program.recorder.thread(1, None), program.recorder.thread(2, None));
    let session = program.session(WhenFull::Ring).start();
    let outer = program.begin(&mut thread, "outer");
    let idle = program.begin(&mut other, "idle");
    program.record(&mut thread, 0..MANY);
    let brief = program.begin(&mut thread, "brief");
    program.record(&mut thread, 0..10);
    program.end(&mut thread, brief);
    let so_far = session.snapshot();
    program.record(&mut thread, 0..MANY);
    program.end(&mut thread, outer);
    program.end(&mut other, idle);
    let trace = session.stop();
    for (trace, is_finished) in [(&so_far, false), (&trace, true)] {
        let find = |name: &str| trace.spans().find(|span| span.name() == name);
        let outer = find("outer").expect("it was open all the time");
        assert_eq!((outer.start_ns(), outer.is_finished()), (1, is_finished));
        assert_eq!(find("idle").map(|span| (span.start_ns(), span.is_finished())), Some((2, is_finished)));
        assert!(
            trace.spans().filter(|span| span.parent().is_some_and(|parent| parent.row() == outer.row())).count() > 1000
        );
    }
    assert!(so_far.spans().any(|span| span.name() == "brief"));
    assert!(trace.spans().all(|span| span.name() != "brief"), "it ended long ago");
    assert_eq!(trace.losses().events() as usize + trace.span_count(), 2 * MANY + 10 + 3);
}

#[test]
fn a_ring_drops_what_is_old_on_whichever_thread_it_is() {
    let program = Program::new();
    let (mut old, mut new) = (program.recorder.thread(1, None), program.recorder.thread(2, None));
    let session = program.session(WhenFull::Ring).start();
    program.record(&mut old, 0..30_000);
    program.record(&mut new, 0..30_000);
    let trace = session.stop();
    let kept = [1, 2].map(|number| trace.spans().filter(|span| span.thread().number == number).count());
    assert!(kept[1] > 25_000, "{kept:?}");
    let dropped: Vec<u64> = [1, 2]
        .map(|thread| {
            trace.losses().dropped.iter().find(|(known, _)| *known == thread).map_or(0, |(_, events)| *events)
        })
        .into();
    assert_eq!([kept[0] as u64 + dropped[0], kept[1] as u64 + dropped[1]], [30_000, 30_000]);
}

#[test]
fn a_ring_forgets_the_steps_of_what_it_dropped() {
    let program = Program::new();
    let mut thread = program.recorder.thread(1, None);
    let session = program.session(WhenFull::Ring).first_step(5).record_steps(true).start();
    for _ in 0..5_000 {
        program.record(&mut thread, 0..40);
        program.clock.advance(1);
        session.step();
        program.clock.advance(1);
    }
    assert_eq!(session.current_step(), 5_005);
    let trace = session.stop();
    let steps: Vec<_> = trace.spans().filter(|span| span.name().starts_with("ProfilerStep#")).collect();
    assert!((500..4_000).contains(&steps.len()), "{}", steps.len());
    assert_eq!(steps.last().map(|step| step.name()), Some("ProfilerStep#5005"));
    let newest = trace.spans().rfind(|span| !span.name().starts_with("Profiler")).expect("it keeps the newest");
    assert_eq!(newest.step(), 5_004);
    assert_eq!(steps[0].name(), format!("ProfilerStep#{}", 5_006 - steps.len()));
}

#[test]
fn one_that_stops_says_so() {
    let program = Program::new();
    let mut thread = program.recorder.thread(1, None);
    let session = program.session(WhenFull::Stop).start();
    program.record(&mut thread, 0..MANY);
    assert_eq!(program.recorder.capture(), Capture::NONE, "nobody records any more");
    session.resume(Capture::ACTIVITIES);
    program.record(&mut thread, 0..10);
    let trace = session.stop();
    let kept = trace.span_count();
    assert!((MIB as usize / 32 - 4096..MIB as usize / 32 + 4096).contains(&kept), "{kept}");
    assert_eq!(starts(&trace), (0..kept as u64).collect::<Vec<_>>());
    let why = trace.losses().stopped.as_deref().expect("it stopped");
    assert!(why.contains("bytes") && why.contains(&MIB.to_string()), "{why}");
    assert!(trace.key_averages().to_string().contains("Recording ended early: it has taken"));
}

#[test]
fn sessions_with_other_bounds_do_not_disturb_each_other() {
    let program = Program::new();
    let mut thread = program.recorder.thread(1, None);
    let ring = program.session(WhenFull::Ring).start();
    program.record(&mut thread, 0..MANY / 4);
    let spill = program.session(WhenFull::Spill).start();
    let stop = program.session(WhenFull::Stop).start();
    program.record(&mut thread, 0..MANY);
    let (ring, spill, stop) = (ring.stop(), spill.stop(), stop.stop());
    assert_eq!((spill.span_count(), spill.lost_events()), (MANY, 0));
    // What one spills takes no memory of the others.
    assert_eq!((stop.span_count(), &stop.losses().stopped), (MANY, &None));
    assert_eq!(ring.span_count() as u64 + ring.lost_events(), (MANY + MANY / 4) as u64);
    let newest = ring.spans().last().map(|span| span.start_ns());
    assert_eq!(newest, Some((MANY + MANY / 4) as u64 - 1));
    // Nothing is left of them.
    let session = program.session(WhenFull::Spill).start();
    program.record(&mut thread, 0..5);
    assert_eq!(session.stop().span_count(), 5);
}

#[test]
fn many_threads_spill_at_once() {
    const THREADS: usize = 8;
    const EVENTS: usize = 40_000;
    in_own_process("many_threads_spill_at_once", || {
        let session = spilling_anywhere(Session::builder().max_bytes(MIB)).start();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for number in 0..EVENTS {
                        let _span = mindtorch_profiler::record_function!("work");
                        std::hint::black_box(number);
                    }
                });
            }
        });
        assert!(session.was_full());
        let recording = session.finish();
        // Eight threads may each have filled a chunk while one made room.
        assert!(recording.memory_held() < MIB as usize + (2 * THREADS + 16) * CHUNK, "{}", recording.memory_held());
        let trace = recording.into_trace();
        assert_eq!((trace.span_count(), trace.lost_events()), (THREADS * EVENTS, 0));
    });
}

#[cfg(unix)]
#[test]
fn a_full_disk_ends_the_recording_and_loses_nothing() {
    in_own_process("a_full_disk_ends_the_recording_and_loses_nothing", || {
        limit_files_to(2 * MIB);
        let program = Program::new();
        let mut thread = program.recorder.thread(1, None);
        let session = program.session(WhenFull::Spill).start();
        program.record(&mut thread, 0..MANY);
        let trace = session.stop();
        let kept = trace.span_count();
        assert!(kept > 2 * MIB as usize / 32 && kept < MANY, "{kept}");
        assert_eq!(starts(&trace), (0..kept as u64).collect::<Vec<_>>());
        let why = trace.losses().stopped.as_deref().expect("it stopped");
        assert!(why.contains("File too large"), "{why}");
        assert_eq!(trace.lost_events(), 0);
    });
}

#[test]
fn what_a_ring_drops_while_it_is_paused_is_counted() {
    let program = Program::new();
    let mut thread = program.recorder.thread(1, None);
    let ring = program.session(WhenFull::Ring).start();
    // Keeps the recorder going.
    let other = Session::builder().on(&program.recorder).start();
    program.record(&mut thread, 0..1000);
    ring.pause(Capture::CPU);
    program.record(&mut thread, 0..MANY);
    ring.resume(Capture::CPU);
    program.record(&mut thread, 0..3000);
    ring.pause(Capture::CPU);
    program.record(&mut thread, 0..MANY);
    let trace = ring.stop();
    assert_eq!((trace.span_count(), &trace.losses().dropped), (0, &vec![(1, 4000)]));
    drop(other);
}

/// Under a limit of the system's to what the process has of its own.
#[cfg(target_os = "linux")]
#[test]
fn what_is_made_of_a_large_recording_is_no_larger_in_memory() {
    in_own_process("what_is_made_of_a_large_recording_is_no_larger_in_memory", || {
        const EVENTS: usize = 4 << 20;
        let session = spilling_anywhere(Session::builder().max_bytes(4 * MIB)).start();
        for _ in 0..EVENTS / 2 {
            let _outer = mindtorch_profiler::record_function!("outer");
            let _inner = mindtorch_profiler::record_function!("inner");
        }
        let recording = session.finish();
        limit_growth_to(24 * MIB);
        let trace = recording.into_trace();
        assert_eq!((trace.span_count(), trace.lost_events()), (EVENTS, 0));
        assert!(trace.memory_held() < MIB as usize, "{}", trace.memory_held());
        let averages = trace.key_averages();
        assert!(averages.rows().iter().map(|row| row.count).eq([EVENTS as u64 / 2; 2]));
        assert!(trace.rows_by_time().eq(0..EVENTS as u32));
        assert_eq!(trace.event_order().events().len(), EVENTS);
        trace.export_chrome_trace("/dev/null").unwrap();
        trace.export_perfetto_trace("/dev/null").unwrap();
        let half = trace.filtered(&mindtorch_profiler::Filter::new().name("inner"));
        assert_eq!(half.span_count(), EVENTS / 2);
        assert_eq!(Trace::joined(&[&half, &half]).unwrap().span_count(), EVENTS);
    });
}

/// Makes it impossible to have more memory of its own, whether used or not, than so many bytes more than now.
#[cfg(target_os = "linux")]
fn limit_growth_to(bytes: u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let data = status.lines().find_map(|line| line.strip_prefix("VmData:")).unwrap();
    let now = data.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024;
    let limit = libc::rlimit { rlim_cur: now + bytes, rlim_max: now + bytes };
    // SAFETY: the call reads one struct.
    #[expect(unsafe_code, reason = "the standard library does not set limits")]
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_DATA, &raw const limit), 0);
    }
}

/// Makes writing beyond a size an error, as a full disk does.
#[cfg(unix)]
fn limit_files_to(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the call reads one struct. The signal is ignored, so that it is the error that is seen.
    #[expect(unsafe_code, reason = "the standard library does not set limits")]
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
}

#[test]
fn a_directory_that_is_not_there_is_an_error_with_its_name() {
    let error = Session::builder().spill_dir("/no/such/directory").unwrap_err().to_string();
    assert!(error.starts_with("cannot create a temporary file in /no/such/directory: "), "{error}");
}

/// Returns the directories of the files without names that this process has open.
#[cfg(target_os = "linux")]
fn directories_of_open_temporary_files() -> Vec<std::path::PathBuf> {
    let open =
        std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let deleted = open.filter(|path| path.to_string_lossy().ends_with(" (deleted)"));
    deleted.filter_map(|path| path.parent().map(std::path::Path::to_owned)).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_recording_does_not_spill_to_memory_by_default() {
    const TEST: &str = "a_recording_does_not_spill_to_memory_by_default";
    // A tmpfs, or missing.
    in_own_process_with(TEST, &[("TMPDIR", Some("/dev/shm"))], || {
        let program = Program::new();
        let mut thread = program.recorder.thread(1, None);
        let session = Session::builder().on(&program.recorder).max_bytes(MIB).start();
        program.record(&mut thread, 0..MANY);
        assert!(session.was_full());
        let directories = directories_of_open_temporary_files();
        assert!(directories.iter().all(|directory| !directory.starts_with("/dev/shm")), "{directories:?}");
        assert_eq!(session.spill_trouble(), None);
        let trace = session.stop();
        // The fallback may be in memory as well. Then the recording has ended.
        if directories.iter().any(|directory| directory == std::path::Path::new("/var/tmp")) {
            assert_eq!((trace.span_count(), trace.lost_events(), &trace.losses().stopped), (MANY, 0, &None));
        } else {
            let why = trace.losses().stopped.as_deref().expect("it stopped");
            assert!(why.contains("cannot spill: /dev/shm is in memory (tmpfs); "), "{why}");
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_given_directory_in_memory_is_used_with_a_warning() {
    let directory = std::path::Path::new("/dev/shm");
    if !directory.is_dir() {
        return;
    }
    let program = Program::new();
    let mut thread = program.recorder.thread(1, None);
    let session = program.session(WhenFull::Spill).spill_dir(directory).unwrap().start();
    let warning = session.spill_trouble().expect("it is in memory");
    assert!(warning.starts_with("/dev/shm is in memory (tmpfs): "), "{warning}");
    program.record(&mut thread, 0..MANY);
    assert!(session.was_full());
    let trace = session.stop();
    assert_eq!((trace.span_count(), trace.lost_events(), &trace.losses().stopped), (MANY, 0, &None));
}
