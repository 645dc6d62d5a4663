//! How often a change is found that is there, and one that is not: recordings with noise of a known kind, many hundreds of them,
//! always the same.

mod generator;

use generator::{Generator, Noise};
use mindtorch_analysis::{By, Diff, DiffOptions, Recording, Verdict};

const TRIES: u64 = 200;

/// What was said of many pairs of recordings.
#[derive(Debug, Default)]
struct Outcome {
    /// In how many the slower operator was found.
    found: u64,
    /// In how many something else was reported.
    false_alarms: u64,
}

/// Compares recordings of a program and of the same in which one operator takes `factor` times as long.
fn outcome(noise: &Noise, factor: f64, recordings: usize) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in 0..TRIES {
        let mut generator = Generator::new(seed);
        let mut side = |factor| -> Vec<Recording> {
            (0..recordings).map(|_| Recording::of(&generator.trace(noise, factor), By::Op)).collect()
        };
        let (a, b) = (side(1.0), side(factor));
        let diff = Diff::of(&a, &b, &DiffOptions::default());
        let is_slowed = |name: &str| name == generator::SLOWED;
        let changed = |verdict| matches!(verdict, Verdict::Slower | Verdict::Faster);
        outcome.found += u64::from(diff.rows_with(Verdict::Slower).any(|row| is_slowed(&row.key.name)));
        let others = diff.rows.iter().any(|row| changed(row.verdict) && !(factor > 1.0 && is_slowed(&row.key.name)));
        let step = diff.step.is_some_and(|step| changed(step.verdict) && factor == 1.0);
        outcome.false_alarms += u64::from(others || step);
    }
    outcome
}

#[test]
fn ten_percent_are_found_and_nothing_else_where_steps_vary() {
    let noise = Noise { jitter: 0.05, ..Noise::NONE };
    assert!(outcome(&noise, 1.0, 1).false_alarms <= TRIES / 50);
    let slower = outcome(&noise, 1.1, 1);
    assert!(slower.found >= TRIES * 97 / 100 && slower.false_alarms <= TRIES / 50);
}

#[test]
fn ten_percent_are_found_and_nothing_else_where_some_steps_take_much_longer() {
    let noise = Noise { jitter: 0.05, outliers: 0.05, ..Noise::NONE };
    assert!(outcome(&noise, 1.0, 1).false_alarms <= TRIES / 50);
    let slower = outcome(&noise, 1.1, 1);
    assert!(slower.found >= TRIES * 95 / 100 && slower.false_alarms <= TRIES / 50);
}

#[test]
fn a_machine_that_changes_its_speed_is_no_change_of_the_program() {
    let noise = Noise { jitter: 0.03, outliers: 0.03, speeds: 0.5, ..Noise::NONE };
    assert!(outcome(&noise, 1.0, 1).false_alarms <= TRIES / 50);
    assert!(outcome(&noise, 1.1, 1).found >= TRIES * 8 / 10);
    let slower = outcome(&noise, 1.1, 6);
    assert!(slower.found >= TRIES * 97 / 100 && slower.false_alarms <= TRIES / 50);
}

#[test]
fn a_recording_in_which_times_drift_raises_no_alarm() {
    let noise = Noise { jitter: 0.03, drift: 0.2, ..Noise::NONE };
    assert!(outcome(&noise, 1.0, 1).false_alarms <= TRIES / 20);
}

#[test]
fn what_processes_differ_by_takes_several_recordings() {
    let noise = Noise { jitter: 0.03, outliers: 0.03, speeds: 0.5, process: 0.03, ..Noise::NONE };
    assert!(outcome(&noise, 1.0, 1).false_alarms <= TRIES / 20);
    assert!(outcome(&noise, 1.0, 6).false_alarms <= TRIES / 20);
    assert!(outcome(&noise, 1.1, 6).found >= TRIES * 3 / 4);
}
