//! The truth about operators, kernels and copies: the times that a profile tells against clocks that the program reads.
//!
//! What the program reads around something bounds it, always. How close the bounds are depends on what else the machine does,
//! so of many rounds the closest is held to 1 %.

use mindtorch::npu::{Event, Npu, StreamId};
use mindtorch::{Device, Tensor, ops};
use mindtorch_profiler::{DeviceKind, Name, Session, Trace};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What two clocks may differ by.
const TOLERANCE: f64 = 0.01;
const NPU: Device = Device::Npu(0);

/// The accelerator is one for all tests.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asserts that what was told lies within its bounds, in nanoseconds.
fn assert_bounded(what: &str, rounds: &[(u64, u64, u64)]) {
    for &(least, told, most) in rounds {
        assert!(most > 100_000, "{what} is too short to tell: {most} ns");
        let is_held = told as f64 >= least as f64 * (1.0 - TOLERANCE) && told as f64 <= most as f64 * (1.0 + TOLERANCE);
        assert!(is_held, "{what}: {told} ns, known to be within {least} and {most}");
    }
}

/// Asserts that what was told lies within its bounds, and in the best of the rounds within 1 % of both.
fn assert_true(what: &str, rounds: &[(u64, u64, u64)]) {
    assert_bounded(what, rounds);
    let ratio = |one: u64, other: u64| one as f64 / other as f64;
    let off = |&&(least, told, most): &&(u64, u64, u64)| {
        let below = if least == 0 { 0.0 } else { ratio(told, least) - 1.0 };
        below.abs().max((ratio(told, most) - 1.0).abs())
    };
    let best = rounds.iter().min_by(|one, other| off(one).total_cmp(&off(other))).unwrap();
    assert!(off(&best) < TOLERANCE, "{what}: none of {} rounds was close: {best:?}", rounds.len());
}

fn matrix(size: usize) -> Tensor {
    Tensor::from_slice(&vec![0.5f32; size * size], &[size, size]).unwrap()
}

/// A matrix whose product with itself takes long enough to be told, whatever the machine and the build.
fn matrix_to_multiply() -> Tensor {
    let takes_long = |matrix: &Tensor| {
        let begin = Instant::now();
        drop(ops::matmul(matrix, matrix).unwrap());
        begin.elapsed() > Duration::from_micros(500)
    };
    let mut matrices = (5..).map(|power| matrix(1 << power));
    matrices.find(|matrix| (0..3).all(|_| takes_long(matrix))).unwrap()
}

#[test]
fn an_operator_takes_as_long_as_its_call() {
    let _alone = alone();
    let matrix = matrix_to_multiply();
    let session = Session::start();
    let calls: Vec<u64> = (0..40)
        .map(|_| {
            let begin = Instant::now();
            drop(ops::matmul(&matrix, &matrix).unwrap());
            begin.elapsed().as_nanos() as u64
        })
        .collect();
    let trace = session.stop();
    for name in ["aten::matmul", "aten::mm"] {
        let told: Vec<u64> = trace.spans().filter(|span| span.name() == name).map(|span| span.duration_ns()).collect();
        assert_eq!(told.len(), calls.len());
        // The call contains the span: a lower bound is not known.
        let rounds: Vec<_> = told.iter().zip(&calls).map(|(&told, &call)| (0, told, call)).collect();
        assert_true(name, &rounds);
    }
}

/// A kernel that says when it begins and ends, by its own clock; it is busy for a while.
fn launch_known(npu: &'static Npu, stream: StreamId, busy: Duration, said: &Sender<(Instant, Instant)>) {
    let said = said.clone();
    let work = move || {
        let begin = Instant::now();
        while begin.elapsed() < busy {
            std::hint::spin_loop();
        }
        said.send((begin, Instant::now())).unwrap();
    };
    npu.launch(stream, Name::new("known kernel"), None, Box::new(work)).unwrap();
}

/// A kernel that says when it is reached, after it has waited until the sender of `until` is dropped.
fn launch_fence(npu: &'static Npu, stream: StreamId, until: Receiver<()>, said: &Sender<(Instant, Instant)>) {
    let said = said.clone();
    let work = move || {
        let reached = Instant::now();
        assert!(until.recv().is_err());
        // Nobody may want to know.
        let _ = said.send((reached, Instant::now()));
    };
    npu.launch(stream, Name::new("fence"), None, Box::new(work)).unwrap();
}

#[test]
fn a_kernel_takes_as_long_as_its_own_clock_says() {
    let _alone = alone();
    let npu = Npu::get(0).unwrap();
    let streams = [StreamId::DEFAULT, npu.new_stream(0)];
    let (busy, kernels_of_round) = (Duration::from_micros(500), 3);
    let (say, said) = channel();
    let session = Session::start();
    for round in 0..30 {
        let stream = streams[round % 2];
        // The first fence holds the device until all is launched, so that it goes from one to the next.
        let (hold, held) = channel();
        launch_fence(npu, stream, held, &say);
        (0..kernels_of_round).for_each(|_| launch_known(npu, stream, busy, &say));
        launch_fence(npu, stream, channel().1, &say);
        drop(hold);
        npu.synchronize().unwrap();
    }
    let trace = session.stop();
    drop(say);
    let known: Vec<(Instant, Instant)> = said.iter().collect();
    let told: Vec<_> = trace.device_spans().filter(|span| ["known kernel", "fence"].contains(&span.name())).collect();
    assert_eq!(told.len(), known.len());
    let mut rounds = Vec::new();
    for (told, known) in told.windows(3).zip(known.windows(3)).filter(|(told, _)| told[1].name() == "known kernel") {
        // Between the end of the one before it and the beginning of the one after it.
        let least = (known[1].1 - known[1].0).as_nanos() as u64;
        let most = (known[2].0 - known[0].1).as_nanos() as u64;
        rounds.push((least, told[1].duration_ns(), most));
        assert!(told[0].end_ns() <= told[1].start_ns() && told[1].end_ns() <= told[2].start_ns());
    }
    assert_eq!(rounds.len(), 30 * kernels_of_round);
    assert_true("a kernel", &rounds);
    let by_stream = |stream: u32| told.iter().filter(|span| span.stream() == stream).count();
    let shown: Vec<u32> = [&told[0], &told[kernels_of_round + 2]].map(|span| span.stream()).into();
    assert!(shown[0] != shown[1]);
    assert_eq!((by_stream(shown[0]), by_stream(shown[1])), (15 * 5, 15 * 5));
    assert_averages(&trace, "known kernel", rounds.len() as u64);
}

/// A group of device work has the sum of what its events took.
fn assert_averages(trace: &Trace, name: &str, count: u64) {
    let averages = trace.key_averages();
    let row = averages.rows().iter().find(|row| &*row.key == name && row.is_device()).unwrap();
    let all: u64 = trace.device_spans().filter(|span| span.name() == name).map(|span| span.duration_ns()).sum();
    assert_eq!((row.count, row.device_total_ns, row.self_device_ns), (count, all, all));
}

/// What the device's own events say that lies between them, around what `work` launches, in nanoseconds. The device is held
/// until all of it is launched, unless `work` waits for it.
fn between_events(npu: &'static Npu, is_held: bool, work: impl FnOnce()) -> u64 {
    let (begin, end) = (Event::new(true), Event::new(true));
    let ((hold, held), say) = (channel(), channel().0);
    let hold = Some(hold).filter(|_| is_held);
    launch_fence(npu, StreamId::DEFAULT, held, &say);
    begin.record(npu, StreamId::DEFAULT).unwrap();
    work();
    end.record(npu, StreamId::DEFAULT).unwrap();
    drop(hold);
    end.synchronize().unwrap();
    (begin.elapsed_time(&end).unwrap() * 1e6).round() as u64
}

#[test]
fn operators_and_copies_take_as_long_as_the_devices_events_say() {
    let _alone = alone();
    let npu = Npu::get(0).unwrap();
    let large = matrix(2048);
    let on_npu = ops::to(&matrix_to_multiply(), None, Some(NPU), false).unwrap();
    npu.synchronize().unwrap();
    let session = Session::start();
    let (mut products, mut there, mut back) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..25 {
        products.push(between_events(npu, true, || drop(ops::matmul(&on_npu, &on_npu).unwrap())));
        let mut copy = None;
        there.push(between_events(npu, true, || copy = ops::to(&large, None, Some(NPU), false).ok()));
        let copy = copy.unwrap();
        back.push(between_events(npu, false, || drop(ops::to(&copy, None, Some(Device::Cpu), false).unwrap())));
    }
    let trace = session.stop();
    let rounds = |name: &str, kind: DeviceKind, bytes: u64, known: &[u64]| {
        let told: Vec<_> = trace.device_spans().filter(|span| span.name() == name).collect();
        assert_eq!(told.len(), known.len());
        assert!(told.iter().all(|span| (span.kind(), span.bytes()) == (kind, bytes)));
        assert_averages(&trace, name, known.len() as u64);
        told.iter().zip(known).map(|(told, &known)| (0, told.duration_ns(), known)).collect::<Vec<_>>()
    };
    assert_true("a product", &rounds("gemm", DeviceKind::Kernel, 0, &products));
    let bytes = 4 * 2048 * 2048;
    let copy_there = "Memcpy HtoD (Pageable -> Device)";
    assert_true("a copy to the device", &rounds(copy_there, DeviceKind::Copy, bytes, &there));
    // The program goes on when it has noticed that the copy is there, which takes a while.
    let copy_back = "Memcpy DtoH (Device -> Pageable)";
    assert_bounded("a copy from the device", &rounds(copy_back, DeviceKind::Copy, bytes, &back));
    // The operator that launched it has its time.
    let product = trace.device_spans().find(|span| span.name() == "gemm").unwrap();
    let operator = product.operator().unwrap();
    assert_eq!((operator.name(), operator.device_ns()), ("aten::mm", product.duration_ns()));
}
