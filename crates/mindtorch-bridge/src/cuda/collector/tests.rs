use super::super::{fake, layout};
use super::*;
use mindtorch_profiler::{Capture, DeviceKind, DeviceSpanRef, Session, record_function};

/// Starts with a CUPTI that is none. The tests of one process have one, and take turns.
fn start_fake(waits: bool) -> Result<Running, CudaError> {
    CUPTI.get_or_init(|| fake::CUPTI);
    Running::start(&fake::CUPTI, waits)
}

#[test]
fn kernels_are_recorded_within_the_calls_that_launch_them() {
    let _turn = fake::take();
    let running = start_fake(false).expect("nothing is refused");
    let session = Session::builder().activities(Capture::ACTIVITIES).accelerator("CUDA").start();
    for call in 50_001..=50_003 {
        fake::launch(c"a kernel of a fake", call);
    }
    running.flush(FORCED).expect("nothing is refused");
    let trace = session.stop();
    running.stop().expect("nothing is refused");
    let kernels: Vec<_> = trace.device_spans().filter(|work| work.name() == "a kernel of a fake").collect();
    assert_eq!(kernels.len(), 3);
    for kernel in &kernels {
        let launch = kernel.launched_by().expect("a call launched it");
        assert_eq!((launch.name(), kernel.stream(), kernel.is_cut()), ("cudaLaunchKernel", 7, false));
        // To the nanosecond: the clock is the same.
        assert!(launch.start_ns() <= kernel.start_ns() && kernel.end_ns() <= launch.end_ns() + 1);
        assert!(kernel.duration_ns() > 0);
    }
    assert_eq!(trace.accelerator(), "CUDA");
    assert!(!trace.is_of_file());
}

#[test]
fn traces_have_the_numbers_of_functions_and_the_scopes_of_kernels() {
    let _turn = fake::take();
    let running = start_fake(false).expect("nothing is refused");
    let session = Session::builder().accelerator("CUDA").annotate_devices(true).start();
    {
        let _outer = record_function!("outer");
        fake::launch(c"first", 60_001);
        {
            let _inner = record_function!("inner");
            fake::launch(c"second", 60_002);
        }
        fake::launch(c"third", 60_003);
    }
    fake::launch(c"of no scope", 60_004);
    running.flush(FORCED).expect("nothing is refused");
    let trace = session.stop();
    running.stop().expect("nothing is refused");
    let work = |name: &str| trace.device_spans().find(|work| work.name() == name).expect("it was recorded");
    let scopes: Vec<_> = trace.device_spans().filter(|work| work.kind() == DeviceKind::Annotation).collect();
    let shown = |scope: &DeviceSpanRef<'_>| (scope.name().to_owned(), scope.stream(), scope.start_ns(), scope.end_ns());
    let wide = |name: &str, first, last| (name.to_owned(), 7, work(first).start_ns() - 1, work(last).end_ns() + 1);
    let expected = [wide("outer", "first", "third"), wide("inner", "second", "second")];
    assert_eq!(scopes.iter().map(shown).collect::<Vec<_>>(), expected);
    assert!(scopes.iter().all(|scope| scope.launched_by().is_none()));
    let mut json = Vec::new();
    trace.write_chrome_trace(&mut json, "trace").expect("there is room");
    let json = String::from_utf8(json).expect("it is text");
    assert_eq!(json.matches(&format!("\"cbid\":{}", fake::LAUNCH)).count(), 4);
    assert_eq!(json.matches("\"cat\":\"gpu_user_annotation\"").count(), 2);
}

#[test]
fn what_is_enabled_is_disabled_in_the_end() {
    let _turn = fake::take();
    let running = start_fake(true).expect("nothing is refused");
    let kinds = KINDS.into_iter().chain([layout::kind::WAIT]).collect();
    fake::with(|fake| {
        assert_eq!(fake.kinds, kinds);
        assert_eq!(fake.domains, [RUNTIME].into());
        assert_eq!(fake.changed, [(0, RUNTIME, fake::QUIET), (1, DRIVER, fake::LAUNCH)].into());
    });
    running.stop().expect("nothing is refused");
    assert!(!fake::is_subscribed());
    fake::with(|fake| assert!(fake.kinds.is_empty()));
}

#[test]
fn another_profiler_is_a_reason_that_is_told() {
    let _turn = fake::take();
    fake::with(|fake| fake.is_taken = true);
    let error = start_fake(false).expect_err("it is taken");
    assert!(matches!(error, CudaError::InUse));
    assert!(error.to_string().starts_with("another profiler uses CUPTI"), "{error}");
}

#[test]
fn what_was_begun_is_undone_if_the_rest_fails() {
    let _turn = fake::take();
    fake::with(|fake| fake.refuses_kind = Some(layout::kind::SET));
    let error = start_fake(false).expect_err("it is refused");
    assert_eq!(error.to_string(), "CUPTI refuses cuptiActivityEnable: CUPTI_ERROR_OF_A_TEST (7)");
    assert!(!fake::is_subscribed());
    fake::with(|fake| assert!(fake.kinds.is_empty()));
}

#[test]
fn what_there_was_no_room_for_is_counted() {
    let _turn = fake::take();
    let running = start_fake(false).expect("nothing is refused");
    fake::launch(c"a kernel beside lost ones", 60_001);
    fake::with(|fake| fake.dropped = 5);
    running.flush(FORCED).expect("nothing is refused");
    running.stop().expect("nothing is refused");
    assert_eq!(lost(), 5);
    assert_eq!(lost(), 0);
}

#[test]
fn buffers_of_others_are_left_alone() {
    let _turn = fake::take();
    CUPTI.get_or_init(|| fake::CUPTI);
    let mut others = [7u8; 64];
    fake::with(|fake| fake.dropped = 5);
    // SAFETY: it is not one of ours, so that nothing is done with it.
    unsafe { buffer_completed(std::ptr::null_mut(), 0, others.as_mut_ptr(), 64, 64) };
    assert_eq!(others, [7; 64]);
    assert_eq!(lost(), 0, "their losses are not ours");
}
