//! Measuring: cases take turns, so that whatever the machine does meanwhile happens to all of them.
//!
//! Harnesses that finish one benchmark before they begin the next compare two moments of the machine as much as two
//! programs; on a shared machine the moments differ by more than the programs do. Here a round runs a batch of every
//! case, and what is printed is the median over the rounds, with the range that holds the middle half.

use serde_json::{Value, json};
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
    /// A quarter of the rounds were below.
    pub low: f64,
    /// A quarter of the rounds were above.
    pub high: f64,
    /// How many rounds there were.
    pub count: usize,
}

impl Figure {
    fn of(samples: &mut [f64]) -> Self {
        samples.sort_by(f64::total_cmp);
        let at = |share: f64| samples[((samples.len() - 1) as f64 * share).round() as usize];
        Self { median: at(0.5), low: at(0.25), high: at(0.75), count: samples.len() }
    }
}

/// Cases that were measured together.
pub struct Table {
    title: String,
    rows: Vec<(String, Figure)>,
}

impl Table {
    /// Runs every case once a round, for `rounds` rounds after one that is thrown away.
    pub fn measure(title: &str, rounds: usize, cases: &mut [Case<'_>]) -> Self {
        for round in 0..=rounds {
            for case in &mut *cases {
                let (took, count) = (case.batch)();
                if round > 0 {
                    case.samples.push(took.as_nanos() as f64 / count as f64);
                }
            }
        }
        let rows = cases.iter_mut().map(|case| (case.name.to_owned(), Figure::of(&mut case.samples))).collect();
        Self { title: title.to_owned(), rows }
    }

    /// Prints the cases with their ratio to the first.
    #[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
    pub fn print(&self) {
        let width = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        println!("\n{}", self.title);
        println!("  {:width$}  {:>10}  {:>19}  ratio to the first", "", "ns", "25 % to 75 %");
        for (name, figure) in &self.rows {
            let range = format!("{:.1} to {:.1}", figure.low, figure.high);
            let ratio = figure.median / self.rows[0].1.median;
            println!("  {name:width$}  {:>10.2}  {range:>19}  {ratio:.2}", figure.median);
        }
    }

    /// The same for programs.
    pub fn to_json(&self) -> Value {
        let case = |(name, figure): &(String, Figure)| {
            let Figure { median, low, high, count } = figure;
            json!({"name": name, "median": median, "low": low, "high": high, "count": count})
        };
        json!({"title": self.title, "cases": self.rows.iter().map(case).collect::<Vec<_>>()})
    }
}
