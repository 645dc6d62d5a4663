use super::super::fake::{self, LAUNCH, OUTER, QUIET};
use super::*;
use mindtorch_profiler::{Capture, DeviceSpan, Recorder, Session, Trace, device_span};

/// Tells of a call, whether or not someone has subscribed.
fn call(domain: u32, number: u32, site: u32, correlation: u32) {
    fake::tell(on_call, domain, number, site, correlation);
}

/// A kernel that the call with this number launched.
fn kernel(name: &str, call: u32) {
    let now = Recorder::global().now();
    device_span(&DeviceSpan {
        stream: 7,
        launched_by: calls().get(call),
        ..DeviceSpan::kernel(Name::new(name), now, now)
    });
}

fn launcher_of(trace: &Trace, kernel: &str) -> Option<String> {
    let work = trace.device_spans().find(|work| work.name() == kernel).expect("it was recorded");
    work.launched_by().map(|span| span.name().to_owned())
}

fn open_calls() -> usize {
    OPEN.with_borrow(|open| open.calls.len())
}

fn session() -> Session {
    Functions::of(&fake::CUPTI);
    Session::builder().activities(Capture::ACTIVITIES).start()
}

#[test]
fn a_kernel_finds_the_call_that_launched_it() {
    let _turn = fake::take();
    let session = session();
    call(RUNTIME, OUTER, ENTERS, 1001);
    call(RUNTIME, LAUNCH, ENTERS, 1002);
    call(RUNTIME, LAUNCH, EXITS, 1002);
    call(RUNTIME, OUTER, EXITS, 1001);
    kernel("of a call", 1002);
    kernel("of no call", 1999);
    let trace = session.stop();
    assert_eq!(launcher_of(&trace, "of a call").as_deref(), Some("cudaLaunchKernel"));
    assert_eq!(launcher_of(&trace, "of no call"), None);
    let work = trace.device_spans().find(|work| work.name() == "of a call").unwrap();
    assert_eq!(work.launched_by().unwrap().parent().unwrap().name(), "cudaGraphLaunch");
}

#[test]
fn what_the_runtime_does_by_the_driver_is_its_call() {
    let _turn = fake::take();
    let session = session();
    call(RUNTIME, LAUNCH, ENTERS, 2001);
    call(DRIVER, LAUNCH, ENTERS, 2002);
    call(DRIVER, LAUNCH, EXITS, 2002);
    call(RUNTIME, LAUNCH, EXITS, 2001);
    // By the same number, too.
    call(RUNTIME, LAUNCH, ENTERS, 2004);
    call(DRIVER, LAUNCH, ENTERS, 2004);
    call(DRIVER, LAUNCH, EXITS, 2004);
    assert_eq!(open_calls(), 1);
    call(RUNTIME, LAUNCH, EXITS, 2004);
    call(DRIVER, LAUNCH, ENTERS, 2003);
    call(DRIVER, LAUNCH, EXITS, 2003);
    kernel("by the runtime", 2002);
    kernel("by the driver", 2003);
    kernel("by both", 2004);
    let trace = session.stop();
    assert_eq!(launcher_of(&trace, "by the runtime").as_deref(), Some("cudaLaunchKernel"));
    assert_eq!(launcher_of(&trace, "by both").as_deref(), Some("cudaLaunchKernel"));
    assert_eq!(launcher_of(&trace, "by the driver").as_deref(), Some("cuLaunchKernel"));
}

#[test]
fn what_is_not_shown_or_was_not_begun_is_not_recorded() {
    let _turn = fake::take();
    let session = session();
    call(RUNTIME, QUIET, ENTERS, 3001);
    call(RUNTIME, QUIET, EXITS, 3001);
    call(RUNTIME, 77, ENTERS, 3002);
    call(RUNTIME, LAUNCH, EXITS, 3003);
    call(9, LAUNCH, ENTERS, 3004);
    kernel("of nobody", 3004);
    let trace = session.stop();
    assert_eq!(launcher_of(&trace, "of nobody"), None);
    for number in 3001..=3004 {
        assert_eq!(calls().get(number), None);
    }
    assert_eq!(open_calls(), 0);
}

#[test]
fn calls_end_with_the_one_around_them() {
    let _turn = fake::take();
    let session = session();
    call(RUNTIME, OUTER, ENTERS, 4001);
    call(RUNTIME, LAUNCH, ENTERS, 4002);
    call(RUNTIME, OUTER, EXITS, 4001);
    assert_eq!(open_calls(), 0);
    drop(session);
}

#[test]
fn a_call_whose_end_was_not_told_is_over_when_cupti_is_subscribed_to_anew() {
    let _turn = fake::take();
    let session = session();
    call(RUNTIME, LAUNCH, ENTERS, 5001);
    begin_subscription();
    call(DRIVER, LAUNCH, ENTERS, 5002);
    kernel("after it", 5002);
    call(DRIVER, LAUNCH, EXITS, 5002);
    assert_eq!(open_calls(), 0);
    let trace = session.stop();
    assert_eq!(launcher_of(&trace, "after it").as_deref(), Some("cuLaunchKernel"));
}

#[test]
fn of_the_driver_that_which_asks_for_work_is_shown() {
    let _turn = fake::take();
    for name in ["cuLaunchKernel", "cuLaunchKernelEx_ptsz", "cuGraphLaunch", "cuMemcpyHtoDAsync_v2", "cuMemsetD8Async"]
    {
        assert!(is_shown_of_driver(name), "{name}");
    }
    for name in ["cuInit", "cuMemAlloc_v2", "cuLaunchHostFunc", "cuMemcpy", "cuStreamSynchronize"] {
        assert!(!is_shown_of_driver(name), "{name}");
    }
    assert!(is_shown_of_runtime("cudaLaunchKernel") && !is_shown_of_runtime("cudaGetLastError"));
}
