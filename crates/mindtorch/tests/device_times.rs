//! Times of kernels, copies, events and operators. The tests run on a clock that they move, and kernels move it too, so that
//! all times are known exactly, however fast the machine is.

use mindtorch::npu::{Event, Npu, StreamId};
use mindtorch::{Device, Tensor, ops};
use mindtorch_profiler::{
    DeviceKind, DeviceSpanRef, ManualClock, Name, Recorder, Session, Span, SpanArgs, SpanKind, Trace,
};
use std::sync::mpsc::channel;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

const NPU: Device = Device::Npu(0);

/// The clock of the process's recorder.
static CLOCK: LazyLock<ManualClock> = LazyLock::new(|| {
    let clock = ManualClock::starting_at(1_000_000_000);
    assert!(Recorder::use_manual_clock(&clock), "nothing was recorded before");
    clock
});

/// The accelerator and the clock are shared by all tests, which take turns.
fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    LazyLock::force(&CLOCK);
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Launches a kernel that takes this long.
fn launch(npu: &'static Npu, stream: StreamId, name: &str, took_ns: u64) {
    npu.launch(stream, Name::new(name), None, Box::new(move || CLOCK.advance(took_ns))).unwrap();
}

/// Holds the device while `launches` are made, so that the device does them afterwards, one after another.
fn launch_together(npu: &'static Npu, stream: StreamId, launches: impl FnOnce()) {
    let (hold, held) = channel::<()>();
    npu.launch(stream, Name::new("fence"), None, Box::new(move || assert!(held.recv().is_err()))).unwrap();
    launches();
    drop(hold);
    npu.synchronize().unwrap();
}

fn matrix() -> Tensor {
    Tensor::from_slice(&[0.5f32; 64], &[8, 8]).unwrap()
}

fn named<'a>(trace: &'a Trace, name: &str) -> Vec<DeviceSpanRef<'a>> {
    trace.device_spans().filter(|span| span.name() == name).collect()
}

/// A group of device work has the sum of its events' durations.
fn assert_averages(trace: &Trace, name: &str, count: u64, total_ns: u64) {
    let averages = trace.key_averages();
    let row = averages.rows().iter().find(|row| &*row.key == name && row.is_device()).unwrap();
    assert_eq!((row.count, row.device_total_ns, row.self_device_ns), (count, total_ns, total_ns));
}

#[test]
fn operators_begin_and_end_within_their_calls() {
    let _turn = take_turn();
    let matrix = matrix();
    let session = Session::start();
    let calls: Vec<u64> = (1..=5)
        .map(|round| {
            CLOCK.advance(1_000 * round);
            let _around = Span::begin(&SpanArgs::new(SpanKind::Annotation, Name::new("call")));
            CLOCK.advance(10);
            let call = CLOCK.now_ns();
            drop(ops::matmul(&matrix, &matrix).unwrap());
            assert_eq!(CLOCK.now_ns(), call, "nothing moves the clock in between");
            CLOCK.advance(10);
            call
        })
        .collect();
    let trace = session.stop();
    for name in ["aten::matmul", "aten::mm"] {
        let spans: Vec<_> = trace.spans().filter(|span| span.name() == name).collect();
        assert_eq!(spans.len(), calls.len());
        for (span, call) in spans.iter().zip(&calls) {
            let at = trace.start_epoch_ns() + span.start_ns();
            assert_eq!((at, span.duration_ns()), (*call, 0));
        }
    }
}

#[test]
fn kernels_last_as_long_as_they_run() {
    let _turn = take_turn();
    let npu = Npu::get(0).unwrap();
    let streams = [StreamId::DEFAULT, npu.new_stream(0)];
    let session = Session::start();
    for round in 0..30u64 {
        let stream = streams[round as usize % 2];
        launch_together(npu, stream, || (1..=3).for_each(|kernel| launch(npu, stream, "known", 100 * round + kernel)));
    }
    let trace = session.stop();
    let kernels = named(&trace, "known");
    let durations: Vec<u64> = kernels.iter().map(|span| span.duration_ns()).collect();
    let expected: Vec<u64> = (0..30).flat_map(|round| (1..=3).map(move |kernel| 100 * round + kernel)).collect();
    assert_eq!(durations, expected);
    // One begins where the one before it ends.
    for round in kernels.chunks_exact(3) {
        assert!(round.windows(2).all(|pair| pair[0].end_ns() == pair[1].start_ns()));
    }
    let by_stream = |kernel: usize| kernels.iter().filter(|span| span.stream() == kernels[kernel].stream()).count();
    assert!(kernels[0].stream() != kernels[3].stream());
    assert_eq!((by_stream(0), by_stream(3)), (45, 45));
    assert_averages(&trace, "known", 90, expected.iter().sum());
}

#[test]
fn events_tell_how_long_the_work_between_them_took() {
    let _turn = take_turn();
    let npu = Npu::get(0).unwrap();
    let (begin, end) = (Event::new(true), Event::new(true));
    let session = Session::start();
    launch_together(npu, StreamId::DEFAULT, || {
        launch(npu, StreamId::DEFAULT, "before", 7_000);
        begin.record(npu, StreamId::DEFAULT).unwrap();
        launch(npu, StreamId::DEFAULT, "between", 2_500_000);
        end.record(npu, StreamId::DEFAULT).unwrap();
        launch(npu, StreamId::DEFAULT, "after", 9_000);
    });
    let trace = session.stop();
    assert_eq!(named(&trace, "between")[0].duration_ns(), 2_500_000);
    assert_eq!((begin.elapsed_time(&end), end.elapsed_time(&begin)), (Ok(2.5), Ok(-2.5)));
    assert_eq!(begin.elapsed_time(&begin), Ok(0.0));
}

#[test]
fn operators_and_copies_of_the_device_run_between_the_work_around_them() {
    let _turn = take_turn();
    let npu = Npu::get(0).unwrap();
    let on_npu = ops::to(&matrix(), None, Some(NPU), false).unwrap();
    npu.synchronize().unwrap();
    let session = Session::start();
    launch_together(npu, StreamId::DEFAULT, || {
        launch(npu, StreamId::DEFAULT, "first", 300);
        drop(ops::matmul(&on_npu, &on_npu).unwrap());
        launch(npu, StreamId::DEFAULT, "second", 700);
        drop(ops::to(&matrix(), None, Some(NPU), false).unwrap());
        launch(npu, StreamId::DEFAULT, "third", 900);
    });
    drop(ops::to(&on_npu, None, Some(Device::Cpu), false).unwrap());
    let trace = session.stop();
    let bytes = 4 * 64;
    let there = ("Memcpy HtoD (Pageable -> Device)", DeviceKind::Copy, bytes);
    let back = ("Memcpy DtoH (Device -> Pageable)", DeviceKind::Copy, bytes);
    // After how much of the work around it each ran. The clock stands while they run.
    for ((name, kind, bytes), after) in [(("gemm", DeviceKind::Kernel, 0), "first"), (there, "second"), (back, "third")]
    {
        let [work] = named(&trace, name)[..] else { panic!("one {name}") };
        assert_eq!((work.kind(), work.bytes(), work.duration_ns()), (kind, bytes, 0));
        assert_eq!(work.start_ns(), named(&trace, after)[0].end_ns(), "{name}");
        assert_averages(&trace, name, 1, 0);
    }
}

#[test]
fn an_operator_has_the_time_of_the_kernels_that_it_launches() {
    let _turn = take_turn();
    let npu = Npu::get(0).unwrap();
    let session = Session::start();
    launch_together(npu, StreamId::DEFAULT, || {
        // A span contains what begins before its end, so the clock moves in between.
        let _outer = Span::begin(&SpanArgs::new(SpanKind::Op, Name::new("outer op")));
        CLOCK.advance(1);
        launch(npu, StreamId::DEFAULT, "of outer", 300);
        CLOCK.advance(1);
        let _inner = Span::begin(&SpanArgs::new(SpanKind::Op, Name::new("inner op")));
        CLOCK.advance(1);
        launch(npu, StreamId::DEFAULT, "of inner", 50);
        launch(npu, StreamId::DEFAULT, "of inner", 6);
        CLOCK.advance(1);
    });
    let trace = session.stop();
    let device_ns = |name: &str| trace.spans().find(|span| span.name() == name).unwrap().device_ns();
    assert_eq!((device_ns("inner op"), device_ns("outer op")), (56, 356));
    let inner = named(&trace, "of inner");
    assert!(inner.iter().all(|work| work.operator().unwrap().name() == "inner op"));
}
