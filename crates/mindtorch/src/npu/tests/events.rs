//! Events: order between streams and devices, and times.

use super::{Busy, Log, MIB, device, two_streams};
use crate::npu::{Event, NpuError, StreamId};

const DEFAULT: StreamId = StreamId::DEFAULT;

#[test]
fn an_event_orders_the_work_of_two_streams() {
    let npu = device(2 * MIB);
    let ([a, b], urgent) = (two_streams(npu), npu.new_stream(-3));
    let log = Log::default();
    let event = Event::new(false);
    let busy = Busy::on(npu, DEFAULT);
    log.launch(npu, a, "a1");
    log.launch(npu, a, "a2");
    event.record(npu, a).unwrap();
    log.launch(npu, a, "a3");
    // Though its stream goes first, and the other is recorded later on.
    event.wait(npu, urgent).unwrap();
    log.launch(npu, urgent, "after a2");
    event.record(npu, b).unwrap();
    assert_eq!(event.query(), Ok(true), "nothing was launched on b");
    drop(busy);
    npu.synchronize().unwrap();
    assert_eq!(log.read(), ["a1", "a2", "after a2", "a3"]);
}

#[test]
fn an_event_that_is_not_recorded_holds_nothing_up() {
    let npu = device(2 * MIB);
    let event = Event::default();
    event.wait(npu, DEFAULT).unwrap();
    assert_eq!((event.query(), event.synchronize()), (Ok(true), Ok(())));
    // Nor does a stream wait for itself.
    let busy = Busy::on(npu, DEFAULT);
    event.record(npu, DEFAULT).unwrap();
    event.wait(npu, DEFAULT).unwrap();
    assert_eq!(event.query(), Ok(false));
    drop(busy);
    event.synchronize().unwrap();
    assert_eq!(event.query(), Ok(true));
    assert_eq!(npu.query_stream(DEFAULT), Ok(true));
}

#[test]
fn devices_wait_for_each_other_without_a_knot() {
    let [first, second] = [device(2 * MIB), device(2 * MIB)];
    let [a, b] = two_streams(first);
    let log = Log::default();
    let events: Vec<Event> = (0..3).map(|_| Event::new(false)).collect();
    let busy = Busy::on(second, DEFAULT);
    log.launch(second, DEFAULT, "second 1");
    events[0].record(second, DEFAULT).unwrap();
    // The first device waits with both of its streams. The one whose turn comes first waits for the other.
    events[0].wait(first, b).unwrap();
    log.launch(first, b, "first b");
    events[1].record(first, b).unwrap();
    events[1].wait(second, DEFAULT).unwrap();
    log.launch(second, DEFAULT, "second 2");
    events[2].record(second, DEFAULT).unwrap();
    events[2].wait(first, a).unwrap();
    log.launch(first, a, "first a");
    drop(busy);
    first.synchronize().unwrap();
    assert_eq!(log.read(), ["second 1", "first b", "second 2", "first a"]);
}

#[test]
fn a_device_that_waits_for_another_works_on_its_other_streams() {
    let [first, second] = [device(2 * MIB), device(2 * MIB)];
    let [a, b] = two_streams(first);
    let log = Log::default();
    let event = Event::new(false);
    let busy = Busy::on(second, DEFAULT);
    event.record(second, DEFAULT).unwrap();
    event.wait(first, a).unwrap();
    log.launch(first, a, "a");
    for _ in 0..3 {
        log.launch(first, b, "b");
        first.synchronize_stream(b).unwrap();
    }
    drop(busy);
    first.synchronize().unwrap();
    assert_eq!(log.read(), ["b", "b", "b", "a"]);
}

#[test]
fn an_event_belongs_to_one_device() {
    let [first, second] = [device(2 * MIB), device(2 * MIB)];
    let event = Event::new(false);
    event.record(first, DEFAULT).unwrap();
    let (event_on, stream_on) = (first.index(), second.index());
    assert_eq!(event.record(second, DEFAULT), Err(NpuError::EventOnOtherDevice { event: event_on, stream: stream_on }));
    event.wait(second, DEFAULT).unwrap();
}

#[test]
fn elapsed_time_needs_two_completed_events_with_timing() {
    let npu = device(2 * MIB);
    let [start, end] = [Event::new(true), Event::new(true)];
    let untimed = Event::new(false);
    assert_eq!(start.elapsed_time(&untimed), Err(NpuError::EventWithoutTiming));
    assert_eq!(start.elapsed_time(&end), Err(NpuError::EventNotRecorded));
    start.record(npu, DEFAULT).unwrap();
    let busy = Busy::on(npu, DEFAULT);
    end.record(npu, DEFAULT).unwrap();
    assert_eq!(start.elapsed_time(&end), Err(NpuError::EventNotCompleted));
    drop(busy);
    end.synchronize().unwrap();
    assert!(start.elapsed_time(&end).unwrap() >= 0.0 && end.elapsed_time(&start).unwrap() <= 0.0);
    assert_eq!(start.elapsed_time(&start), Ok(0.0));
    assert!(start.has_timing() && !untimed.has_timing());
}
