//! Any bytes: reading them never panics, and what can be read can be written and read again, with the same spans.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mindtorch_profiler::{Error, Trace};

fn check(trace: &Trace) {
    let mut text = Vec::new();
    trace.write_chrome_trace(&mut text, "fuzz").expect("a vector takes everything");
    let again = Trace::read(&text[..]).expect("what we wrote can be read");
    assert_eq!(again.span_count(), trace.span_count());
    assert_eq!(again.device_spans().len(), trace.device_spans().len());
    assert_eq!(again.memory().len(), trace.memory().len());
    assert_eq!(again.duration_ns(), trace.duration_ns());
    let total = |trace: &Trace| trace.key_averages().self_cpu_total_ns();
    assert_eq!(total(&again), total(trace));
}

fuzz_target!(|bytes: &[u8]| {
    match Trace::read(bytes) {
        Ok(trace) => check(&trace),
        Err(Error::Load(error)) => {
            assert!(!error.to_string().is_empty());
            if let Some(trace) = error.partial() {
                check(trace);
            }
        }
        Err(error) => panic!("reading has no other errors: {error}"),
    }
});
