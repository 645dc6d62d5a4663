//! Streams: order, turns, priorities, failures.

use super::{Busy, Log, MIB, device, launch, two_streams};
use crate::npu::{Event, Npu, NpuError, StreamId, finish_all, is_initialized};
use mindtorch_profiler::Name;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

const DEFAULT: StreamId = StreamId::DEFAULT;

#[test]
fn a_stream_runs_in_order_while_the_host_goes_on() {
    let npu = device(2 * MIB);
    let log = Log::default();
    let busy = Busy::on(npu, DEFAULT);
    for name in ["first", "second", "third"] {
        log.launch(npu, DEFAULT, name);
    }
    assert_eq!((npu.query_stream(DEFAULT), log.read().len()), (Ok(false), 0));
    drop(busy);
    npu.synchronize().unwrap();
    assert_eq!(log.read(), ["first", "second", "third"]);
    assert_eq!(npu.query_stream(DEFAULT), Ok(true));
}

#[test]
fn streams_take_turns_and_the_urgent_go_first() {
    let npu = device(2 * MIB);
    let ([a, b], urgent) = (two_streams(npu), npu.new_stream(-1));
    let log = Log::default();
    let busy = Busy::on(npu, DEFAULT);
    for (stream, name) in [(a, "a1"), (a, "a2"), (b, "b1"), (b, "b2"), (urgent, "urgent 1"), (urgent, "urgent 2")] {
        log.launch(npu, stream, name);
    }
    drop(busy);
    npu.synchronize().unwrap();
    assert_eq!(log.read(), ["urgent 1", "urgent 2", "a1", "b1", "a2", "b2"]);
}

#[test]
fn one_stream_can_be_waited_for_while_another_works() {
    let npu = device(2 * MIB);
    let [a, b] = two_streams(npu);
    let log = Log::default();
    let busy = Busy::on(npu, a);
    let gate = Event::new(false);
    gate.record(npu, a).unwrap();
    log.launch(npu, b, "b");
    gate.wait(npu, a).unwrap();
    log.launch(npu, a, "a");
    drop(busy);
    npu.synchronize_stream(b).unwrap();
    assert!(log.read().contains(&"b"));
    npu.synchronize().unwrap();
    assert_eq!(log.read().len(), 2);
}

#[test]
fn many_threads_launch_at_once() {
    let npu = device(2 * MIB);
    let streams = two_streams(npu);
    let count = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for stream in [DEFAULT, streams[0], streams[1], streams[0]] {
            let count = &count;
            scope.spawn(move || {
                for round in 0..500 {
                    let count = Arc::clone(count);
                    launch(npu, stream, move || _ = count.fetch_add(1, Ordering::Relaxed));
                    if round % 100 == 0 {
                        npu.synchronize_stream(stream).unwrap();
                    }
                }
            });
        }
    });
    npu.synchronize().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2000);
}

#[test]
fn a_host_that_is_far_ahead_waits() {
    let npu = device(2 * MIB);
    let busy = Busy::on(npu, DEFAULT);
    let (sender, launched) = mpsc::channel();
    let host = thread::spawn(move || {
        for number in 1..=5000 {
            launch(npu, DEFAULT, || ());
            sender.send(number).unwrap();
        }
    });
    assert_eq!(launched.iter().take(4095).last(), Some(4095));
    // With the one that runs, the stream has as many as it may: no other is launched before the device goes on.
    assert!(launched.try_recv().is_err());
    drop(busy);
    host.join().unwrap();
    npu.synchronize().unwrap();
    assert_eq!(launched.iter().last(), Some(5000));
}

#[test]
fn a_kernel_that_panics_is_reported_once_and_the_device_goes_on() {
    let npu = device(2 * MIB);
    let log = Log::default();
    for (name, message) in [("bad", "index 7 is out of bounds"), ("worse", "never told")] {
        let work = move || std::panic::resume_unwind(Box::new(message.to_owned()));
        npu.launch(DEFAULT, Name::new(name), None, Box::new(work)).unwrap();
    }
    log.launch(npu, DEFAULT, "after");
    let error = npu.synchronize().unwrap_err();
    assert_eq!(error.to_string(), "NPU error in kernel bad: index 7 is out of bounds");
    assert_eq!(log.read(), ["after"]);
    assert_eq!(npu.synchronize(), Ok(()));

    let event = Event::new(false);
    launch(npu, DEFAULT, || std::panic::resume_unwind(Box::new("a text")));
    event.record(npu, DEFAULT).unwrap();
    assert_eq!(event.synchronize().unwrap_err().to_string(), "NPU error in kernel test kernel: a text");
    launch(npu, DEFAULT, || std::panic::resume_unwind(Box::new(7)));
    let error = npu.synchronize_stream(DEFAULT).unwrap_err();
    assert_eq!(error.to_string(), "NPU error in kernel test kernel: it panicked without a message");
}

#[test]
fn everything_can_be_finished_without_taking_the_failure_away() {
    let npu = Npu::get(0).unwrap();
    assert!(is_initialized());
    launch(npu, DEFAULT, || std::panic::resume_unwind(Box::new("still told")));
    finish_all();
    assert_eq!(npu.query_stream(DEFAULT), Ok(true));
    assert_eq!(npu.synchronize().unwrap_err().to_string(), "NPU error in kernel test kernel: still told");
}

#[test]
fn a_kernel_may_launch_but_not_wait() {
    let npu = device(2 * MIB);
    let (sender, received) = mpsc::channel();
    let log = Log::default();
    let inner = log.clone();
    launch(npu, DEFAULT, move || {
        inner.launch(npu, DEFAULT, "launched by a kernel");
        sender.send((npu.synchronize(), npu.empty_cache(), npu.query_stream(DEFAULT))).unwrap();
    });
    let refused = Err(NpuError::WaitInKernel { device: npu.index() });
    assert_eq!(received.recv(), Ok((refused, Ok(()), Ok(false))));
    npu.synchronize().unwrap();
    assert_eq!(log.read(), ["launched by a kernel"]);
}
