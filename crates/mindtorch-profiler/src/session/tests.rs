//! What belongs here looks at what a session keeps, which no trace shows.

use super::*;
use crate::clock::ManualClock;
use crate::names::Name;
use crate::recorder::{SpanArgs, SpanKind, WhenFull};

/// Events of 32 bytes that are far more than a ring of a mebibyte has.
const MUCH: usize = 1 << 18;

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn changes_that_a_ring_has_nothing_left_of_are_forgotten() {
    let clock = ManualClock::starting_at(1_000);
    let recorder = Recorder::with_manual_clock(&clock);
    let mut thread = recorder.thread(1, None);
    let start = || Session::builder().on(&recorder).max_bytes(1 << 20).profile_memory(true);
    let (ring, all) = (start().when_full(WhenFull::Ring).start(), start().max_bytes(u64::MAX).start());
    let seen = SpanArgs::new(SpanKind::Op, Name::new("seen"));
    let unseen = SpanArgs::new(SpanKind::Op, Name::new("unseen"));
    let mut record = |args: &SpanArgs| {
        clock.advance(1);
        thread.begin(args).into_iter().for_each(|span| thread.end(span));
    };
    let changes = 8 * MANY;
    for _ in 0..changes / 2 {
        (0..MUCH / changes).for_each(|_| record(&seen));
        ring.pause(Capture::ACTIVITIES);
        (0..MUCH / changes).for_each(|_| record(&unseen));
        ring.resume(Capture::ACTIVITIES);
        clock.advance(1);
    }
    let edges = |session: &Session| session.lock().unwrap().edges.len();
    assert!((3..2 * MANY).contains(&edges(&ring)), "{}", edges(&ring));
    // The other one collects all the time, so that everything is there to be seen.
    assert_eq!(edges(&all), 1);
    let trace = ring.stop();
    assert!(trace.span_count() > 1000 && trace.spans().all(|span| span.name() == "seen"));
    drop(all);
}
