//! Measuring: cases take turns, so that whatever the machine does meanwhile happens to all of them.
//!
//! Harnesses that finish one benchmark before they begin the next compare two moments of the machine as much as two
//! programs; on a shared machine the moments differ by more than the programs do. Here a round runs a batch of every
//! case, and what is printed is the median over the rounds, with the range that holds the middle 80 %.

use std::time::{Duration, Instant};

/// Something to measure: a batch of operations that reports how long it took and how many they were.
pub struct Case<'a> {
    name: &'a str,
    batch: Box<dyn FnMut() -> (Duration, usize) + 'a>,
    samples: Vec<f64>,
}

impl<'a> Case<'a> {
    /// A case whose batch measures itself.
    pub fn new(name: &'a str, batch: impl FnMut() -> (Duration, usize) + 'a) -> Self {
        Self { name, batch: Box::new(batch), samples: Vec::new() }
    }

    /// A case of `count` calls of `operation` a batch, between `before` and `after`, which are not measured.
    pub fn repeated<T>(
        name: &'a str,
        count: usize,
        mut before: impl FnMut() -> T + 'a,
        mut operation: impl FnMut() + 'a,
        mut after: impl FnMut(T) + 'a,
    ) -> Self {
        Self::new(name, move || {
            let state = before();
            let start = Instant::now();
            for _ in 0..count {
                operation();
            }
            let took = start.elapsed();
            after(state);
            (took, count)
        })
    }
}

/// What was measured, in nanoseconds an operation.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The median over the rounds.
    pub median: f64,
    /// A tenth of the rounds were below.
    pub low: f64,
    /// A tenth of the rounds were above.
    pub high: f64,
}

/// Runs every case once a round, for `rounds` rounds after one that is thrown away.
pub fn measure(rounds: usize, cases: &mut [Case<'_>]) -> Vec<Figure> {
    for round in 0..=rounds {
        for case in &mut *cases {
            let (took, count) = (case.batch)();
            if round > 0 {
                case.samples.push(took.as_nanos() as f64 / count as f64);
            }
        }
    }
    cases.iter_mut().map(|case| figure(&mut case.samples)).collect()
}

fn figure(samples: &mut [f64]) -> Figure {
    samples.sort_by(f64::total_cmp);
    let at = |share: f64| samples[((samples.len() - 1) as f64 * share).round() as usize];
    Figure { median: at(0.5), low: at(0.1), high: at(0.9) }
}

/// Prints the cases with their ratio to the first.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub fn print_table(title: &str, unit: &str, cases: &[Case<'_>], figures: &[Figure]) {
    let width = cases.iter().map(|case| case.name.chars().count()).max().unwrap_or(0);
    println!("\n{title}");
    println!("  {:width$}  {unit:>10}  {:>19}  ratio to the first", "", "10 % to 90 %");
    for (case, figure) in cases.iter().zip(figures) {
        let range = format!("{:.1} to {:.1}", figure.low, figure.high);
        let ratio = figure.median / figures[0].median;
        println!("  {:width$}  {:>10.2}  {range:>19}  {ratio:.2}", case.name, figure.median);
    }
}
