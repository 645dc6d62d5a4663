//! Counters: what each was at which time.

use super::column::{Column, PackedColumn};
use super::events::Placed;
use mindtorch_profiler::Trace;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// A counter of one process.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct CounterRow {
    process: usize,
    name: String,
    /// The first of its values, and how many it has.
    first: usize,
    count: usize,
    /// When the first is. All others are told from the one before.
    start_ns: u64,
}

/// The values of all counters, counter after counter, each in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) rows: Vec<CounterRow>,
    deltas: Column,
    /// The halves of a value's bits: a page has no number that holds all of them.
    low: Column,
    high: Column,
}

impl Counters {
    /// Adds those of a trace. What is not finite is nowhere on a line, and is left out.
    pub(crate) fn add(&mut self, process: usize, trace: &Trace, placed: Placed) {
        let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
        let mut found: Vec<(&str, Vec<(u64, f64)>)> = Vec::new();
        for (name, at, value) in trace.counters().filter(|(.., value)| value.is_finite()) {
            let number = *numbers.entry(name).or_insert_with(|| {
                found.push((name, Vec::new()));
                found.len() - 1
            });
            found[number].1.push((at + placed.offset_ns, value));
        }
        for (name, mut values) in found {
            values.sort_by_key(|(at, _)| *at);
            let start_ns = values[0].0;
            let row =
                CounterRow { process, name: name.to_owned(), first: self.deltas.len(), count: values.len(), start_ns };
            self.rows.push(row);
            let mut before = start_ns;
            for (at, value) in values {
                self.deltas.push(at - before);
                self.low.push(value.to_bits() & u64::from(u32::MAX));
                self.high.push(value.to_bits() >> 32);
                before = at;
            }
        }
    }

    /// The columns with their names.
    pub(crate) fn pack(self) -> (Vec<CounterRow>, [(&'static str, PackedColumn); 3]) {
        let columns = [("counter_time", self.deltas), ("counter_low", self.low), ("counter_high", self.high)];
        (self.rows, columns.map(|(name, column)| (name, column.pack())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_the_order_of_time_and_exact() {
        let file = br#"{"traceEvents": [
            {"ph": "C", "name": "queue", "pid": 1, "tid": 1, "ts": 30, "args": {"value": -0.1}},
            {"ph": "C", "name": "memory", "pid": 1, "tid": 1, "ts": 10, "args": {"used": 7, "free": "Infinity"}},
            {"ph": "C", "name": "queue", "pid": 1, "tid": 2, "ts": 20, "args": {"value": 3}}
        ]}"#;
        let trace = Trace::read(&file[..]).unwrap();
        let mut counters = Counters::default();
        for process in [0, 1] {
            counters.add(process, &trace, Placed { first_span: 0, offset_ns: 500 });
        }
        let (rows, columns) = counters.pack();
        let row = |process, name: &str, first, count, start_ns| CounterRow {
            process,
            name: name.to_owned(),
            first,
            count,
            start_ns,
        };
        assert_eq!(
            rows,
            [
                row(0, "memory.used", 0, 1, 500),
                row(0, "queue", 1, 2, 10_500),
                row(1, "memory.used", 3, 1, 500),
                row(1, "queue", 4, 2, 10_500)
            ]
        );
        let [(_, times), (_, low), (_, high)] = columns;
        assert_eq!(times.numbers(), [0, 0, 10_000, 0, 0, 10_000]);
        let values: Vec<f64> =
            low.numbers().into_iter().zip(high.numbers()).map(|(low, high)| f64::from_bits(high << 32 | low)).collect();
        assert_eq!(values, [7.0, 3.0, -0.1, 7.0, 3.0, -0.1]);
    }
}
