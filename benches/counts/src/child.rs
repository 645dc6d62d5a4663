//! The process that is counted.

use crate::cases::{CASES, Case, Event};
use mindtorch_profiler::{Recorder, Session};
use std::hint::black_box;
use std::thread;

/// The first argument of such a process; the case's name and the number of events follow.
pub(crate) const FLAG: &str = "--child";

/// After so many events the thread's chunks are full-grown, and what is looked up once is known. Of the full-grown chunk, room
/// is left for the next hundred events of up to eight slots.
const BEFORE: usize = 1000;

/// The least that a recorded event takes.
const RECORD_BYTES: usize = 32;

/// How copies of structures on the stack are aligned decides how many instructions they take, and the sizes of all frames below
/// decide how they are aligned. So the events are counted from as many places in a line of the cache as a stack can be at.
const PLACES: [fn(&Event, usize) -> usize; 4] = [lower::<16>, lower::<32>, lower::<48>, lower::<64>];

/// Counts on a thread of its own: its stack and its heap begin at the same place in a page whatever the environment is, and
/// whatever the path of the program.
pub(crate) fn run(name: &str, events: &str) -> Result<(), String> {
    let events = events.parse().map_err(|error| format!("{events}: {error}"))?;
    let nothing = Case::nothing(events);
    let case = CASES.iter().chain([&nothing]).find(|case| case.name == name).expect("the parent knows the cases");
    thread::scope(|scope| scope.spawn(|| record(case, events)).join()).map_err(|_| format!("{name} panicked"))?;
    println!("{}", machine());
    Ok(())
}

fn record(case: &Case, events: usize) {
    let session = case.session.map(|ask| ask(Session::builder()).start());
    let event = (case.event)();
    for _ in 0..BEFORE {
        event();
    }
    let mut places = PLACES.map(|from| from(&*event, events / PLACES.len()) % 64);
    places.sort_unstable();
    assert!(places.is_sorted_by(|one, next| one + 16 == *next), "the stack is at {places:?}");
    if let Some(session) = session {
        let held = session.finish().memory_held();
        assert!(held >= (BEFORE + events) * RECORD_BYTES, "{}: the events are not recorded", case.name);
    }
}

/// Counts from so many bytes further down the stack, and says where that is.
#[inline(never)]
fn lower<const BY: usize>(event: &Event, events: usize) -> usize {
    let room = [0u8; BY];
    black_box(&room);
    repeat(black_box(event), black_box(events));
    address_below()
}

#[inline(never)]
fn address_below() -> usize {
    let here = 0u8;
    (&raw const *black_box(&here)).addr()
}

/// What valgrind counts.
#[inline(never)]
fn repeat(event: &Event, events: usize) {
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
