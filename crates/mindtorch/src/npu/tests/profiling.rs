//! What the profiler sees of an accelerator.

use super::{Busy, MIB, device};
use crate::npu::worker::DEFAULT_STREAM_SHOWN;
use crate::npu::{Event, Npu, StreamId};
use mindtorch_profiler::{
    Capture, Device, DeviceKind, DeviceSpanRef, Name, Session, Span, SpanArgs, SpanKind, SpanRef, Trace,
};

const DEFAULT: StreamId = StreamId::DEFAULT;

/// What a device did: other tests' devices are in the trace, too.
fn work_of<'a>(trace: &'a Trace, npu: &Npu) -> Vec<DeviceSpanRef<'a>> {
    trace.device_spans().filter(|span| span.device() == npu.index()).collect()
}

/// An operator that launches a kernel and a copy.
fn run_op(npu: &'static Npu, stream: StreamId, op: &str) {
    let _op = Span::begin(&SpanArgs::new(SpanKind::Op, Name::new(op)));
    npu.launch(stream, Name::new("add_kernel"), None, Box::new(|| ())).unwrap();
    npu.launch(stream, Name::new("Memcpy HtoD"), Some(4096), Box::new(|| ())).unwrap();
}

#[test]
fn kernels_are_linked_to_their_launches_within_their_operators() {
    let npu = device(2 * MIB);
    let stream = npu.new_stream(-1);
    let session = Session::start();
    run_op(npu, stream, "aten::add on the npu");
    npu.synchronize().unwrap();
    let trace = session.stop();
    let work = work_of(&trace, npu);
    let [kernel, copy] = &*work else { panic!("{work:?}") };
    assert_eq!((kernel.name(), kernel.kind(), kernel.bytes()), ("add_kernel", DeviceKind::Kernel, 0));
    assert_eq!((copy.name(), copy.kind(), copy.bytes()), ("Memcpy HtoD", DeviceKind::Copy, 4096));
    for (span, call) in [(kernel, "cudaLaunchKernel"), (copy, "cudaMemcpyAsync")] {
        assert_eq!((span.stream(), span.is_cut()), (u32::from(DEFAULT_STREAM_SHOWN + stream.number()), false));
        let launch = span.launched_by().expect("the launch was recorded");
        assert_eq!((launch.name(), launch.kind()), (call, SpanKind::Runtime));
        assert_eq!(launch.parent().unwrap().name(), "aten::add on the npu");
        assert!(span.start_ns() >= launch.start_ns() && span.end_ns() >= span.start_ns());
    }
    assert!(copy.start_ns() >= kernel.end_ns());
    let op = kernel.launched_by().unwrap().parent().unwrap();
    assert_eq!(op.device_ns(), kernel.duration_ns() + copy.duration_ns());
}

#[test]
fn after_a_synchronisation_all_is_recorded() {
    let npu = device(2 * MIB);
    let event = Event::new(false);
    let launch = || npu.launch(DEFAULT, Name::new("counted"), None, Box::new(|| ())).unwrap();
    for round in 0..300 {
        let session = Session::start();
        for _ in 0..=round % 7 {
            launch();
        }
        event.record(npu, DEFAULT).unwrap();
        match round % 3 {
            0 => npu.synchronize().unwrap(),
            1 => npu.synchronize_stream(DEFAULT).unwrap(),
            _ => event.synchronize().unwrap(),
        }
        assert_eq!(work_of(&session.stop(), npu).len(), round % 7 + 1, "round {round}");
    }
}

#[test]
fn work_that_was_launched_before_the_window_has_no_launch_in_it() {
    let npu = device(2 * MIB);
    let busy = Busy::on(npu, DEFAULT);
    npu.launch(DEFAULT, Name::new("from before"), None, Box::new(|| ())).unwrap();
    let session = Session::start();
    drop(busy);
    npu.synchronize().unwrap();
    let trace = session.stop();
    let work = work_of(&trace, npu);
    let kernel = work.iter().find(|span| span.name() == "from before").unwrap();
    assert!(kernel.launched_by().is_none());
}

#[test]
fn calls_that_wait_are_spans_of_the_host() {
    let npu = device(2 * MIB);
    let (event, stream) = (Event::new(true), npu.new_stream(0));
    let session = Session::start();
    {
        let _op = Span::begin(&SpanArgs::new(SpanKind::Op, Name::new("a host that waits")));
        event.record(npu, DEFAULT).unwrap();
        event.wait(npu, stream).unwrap();
        event.synchronize().unwrap();
        event.query().unwrap();
        npu.synchronize_stream(stream).unwrap();
        npu.query_stream(stream).unwrap();
        npu.synchronize().unwrap();
        drop(npu.allocate(8, DEFAULT).unwrap());
        npu.empty_cache().unwrap();
    }
    let trace = session.stop();
    let is_call = |span: &SpanRef<'_>| span.parent().is_some_and(|parent| parent.name() == "a host that waits");
    let calls: Vec<&str> = trace.spans().filter(is_call).map(|span| span.name()).collect();
    let expected = "cudaEventRecord cudaStreamWaitEvent cudaEventSynchronize cudaEventQuery cudaStreamSynchronize \
                    cudaStreamQuery cudaDeviceSynchronize cudaMalloc cudaFree";
    assert_eq!(calls, expected.split(' ').collect::<Vec<_>>());
}

#[test]
fn memory_rows_balance_and_have_the_sizes_that_are_set_aside() {
    let npu = device(40 * MIB);
    let session = Session::builder().activities(Capture::DEVICE).profile_memory(true).start();
    let kept = npu.allocate(600, DEFAULT).unwrap();
    let freed = npu.allocate(3 << 20, DEFAULT).unwrap();
    let (kept_at, freed_at) = (kept.data().addr().get() as u64, freed.data().addr().get() as u64);
    assert!(npu.allocate(39 << 20, DEFAULT).is_err());
    drop(freed);
    drop(kept);
    drop(npu.allocate(0, DEFAULT).unwrap());
    let trace = session.stop();
    let rows = trace.memory().iter().filter(|row| row.device == Device::Npu(npu.index()));
    let rows: Vec<_> = rows.map(|row| (row.address, row.bytes, row.allocated, row.reserved)).collect();
    let mib = MIB as i64;
    assert_eq!(
        rows,
        [
            (kept_at, 1024, 1024, 2 * MIB),
            (freed_at, 3 * mib, 3 * mib + 1024, 22 * MIB),
            (freed_at, -3 * mib, 1024, 22 * MIB),
            (kept_at, -1024, 0, 22 * MIB),
        ]
    );
    assert_eq!(rows.iter().map(|row| row.1).sum::<i64>(), 0);
}
