//! The runtime's threads under a model checker. Here, and not beside them, because the model checker needs every crate under
//! a test compiled its way, and the runtime takes minutes: `RUSTFLAGS="--cfg loom" cargo test -p mindtorch-profiler --release
//! --test loom_team`.

#![cfg(loom)]

#[path = "../../mindtorch/src/kernels/team.rs"]
mod team;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use team::Team;

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn every_piece_is_done_before_run_returns_again_and_again() {
    check(3, || {
        let team = Team::new(2);
        assert_eq!(team.threads(), 2);
        for _ in 0..2 {
            // Borrowed: loom sees a helper that uses it after this turn.
            let visits = [AtomicUsize::new(0), AtomicUsize::new(0)];
            team.run(2, &|piece| {
                visits[piece].fetch_add(1, Ordering::Relaxed);
            });
            assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
        }
    });
}

#[test]
fn two_callers_share_a_helper() {
    check(2, || {
        let team = Arc::new(Team::new(2));
        let call = |team: &Team| {
            let sum = AtomicUsize::new(0);
            team.run(2, &|piece| {
                sum.fetch_add(piece + 1, Ordering::Relaxed);
            });
            assert_eq!(sum.load(Ordering::Relaxed), 3);
        };
        let other = Arc::clone(&team);
        let thread = loom::thread::spawn(move || call(&other));
        call(&team);
        thread.join().unwrap();
    });
}
