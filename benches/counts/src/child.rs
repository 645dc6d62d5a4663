//! The process that is counted.

use crate::cases::{CASES, Case};
use mindtorch_profiler::{Recorder, Session};
use std::hint::black_box;

/// The first argument of such a process; the case's name and the number of events follow.
pub(crate) const FLAG: &str = "--child";

/// After so many events the thread's chunks are full-grown, and what is looked up once is known. Of the full-grown chunk, room
/// is left for the next hundred events of up to eight slots.
const BEFORE: usize = 1000;

/// The least that a recorded event takes.
const BYTES: usize = 32;

pub(crate) fn run(name: &str, events: &str) -> Result<(), String> {
    let events = events.parse().map_err(|error| format!("{events}: {error}"))?;
    let nothing = Case::nothing(events);
    let case = CASES.iter().chain([&nothing]).find(|case| case.name == name).expect("the parent knows the cases");
    let session = case.session.map(|ask| ask(Session::builder()).start());
    let event = (case.event)();
    for _ in 0..BEFORE {
        event();
    }
    repeat(black_box(&*event), black_box(events));
    if let Some(session) = session {
        let held = session.finish().memory_held();
        assert!(held >= (BEFORE + events) * BYTES, "{name}: the events are not recorded");
    }
    println!("{}", machine());
    Ok(())
}

/// What valgrind counts.
#[inline(never)]
pub(crate) fn repeat(event: &dyn Fn(), events: usize) {
    for _ in 0..events {
        event();
    }
}

/// What the processor, as valgrind plays it, and the system offer, by which programs choose among functions.
fn machine() -> String {
    let is_tsc = format!("{:?}", Recorder::global()).contains("Tsc(");
    let clock = if is_tsc { "time-stamp counter" } else { "monotonic clock" };
    #[cfg(target_arch = "x86_64")]
    let vectors = if std::arch::is_x86_feature_detected!("avx2") { "AVX2" } else { "no AVX2" };
    #[cfg(not(target_arch = "x86_64"))]
    let vectors = std::env::consts::ARCH;
    format!("{vectors}, {clock}")
}
