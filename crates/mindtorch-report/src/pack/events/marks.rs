//! Marks as events without length. Those of a thread are a row of their own, behind all threads and streams, so that spans keep
//! the numbers that they have in the trace.

use super::{Events, Placed, thread_label};
use crate::pack::texts::{Kind, Texts};
use mindtorch_profiler::{ThreadRow, Trace};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ptr;

/// The row of each thread, by where the thread is in memory.
pub(super) type ThreadRows = FxHashMap<*const ThreadRow, usize>;

impl Events {
    pub(super) fn marks(
        &mut self,
        process: usize,
        trace: &Trace,
        placed: Placed,
        texts: &mut Texts,
        mut rows: ThreadRows,
    ) {
        let mut marks: BTreeMap<usize, Vec<(u64, &str)>> = BTreeMap::new();
        for (thread, name, at) in trace.thread_marks() {
            let row = rows.entry(ptr::from_ref(thread)).or_insert_with(|| self.row_without_spans(process, thread));
            marks.entry(*row).or_default().push((at + placed.offset_ns, name));
        }
        for (row, mut marks) in marks {
            marks.sort_by_key(|(at, _)| *at);
            if self.rows[row].count == 0 {
                self.rows[row].start_ns = marks[0].0;
            }
            let mut lanes = self.begin_row(process, self.rows[row].label.clone(), false);
            for (at, name) in marks {
                let lane = lanes.place(0, at, at);
                self.push(at, 0, texts.name(name, Kind::MARK), lane);
                self.push_bare(0, 0);
            }
            self.end_row(&lanes);
            if let Some(own) = self.rows.last_mut() {
                own.marks_of = Some(row);
            }
        }
    }

    /// A row for a thread that has marks and nothing else.
    fn row_without_spans(&mut self, process: usize, thread: &ThreadRow) -> usize {
        self.begin_row(process, thread_label(thread), false);
        self.rows.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_rows_behind_those_of_their_threads() {
        let file = br#"{"traceEvents": [
            {"ph": "i", "s": "t", "name": "late", "pid": 1, "tid": 1, "ts": 40},
            {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 10, "dur": 50},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 60, "dur": 4, "args": {"device": 0, "stream": 7}},
            {"ph": "i", "s": "t", "name": "early", "pid": 1, "tid": 1, "ts": 20},
            {"ph": "i", "s": "t", "name": "alone", "pid": 1, "tid": 2, "ts": 30}
        ]}"#;
        let trace = Trace::read(&file[..]).unwrap();
        let (mut events, mut texts) = (Events::default(), Texts::default());
        let (placed, work) = events.add(0, &trace, 1_000, &mut texts);
        assert_eq!((placed.number(0), work), (0, vec![1]));
        let (rows, _, columns) = events.pack();
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.label.as_str(), row.first, row.count, row.start_ns, row.lanes, row.marks_of))
            .collect();
        assert_eq!(
            shown,
            [
                ("thread 1", 0, 1, 1_000, 1, None),
                ("NPU 0 stream 7", 1, 1, 51_000, 1, None),
                ("thread 2", 2, 0, 21_000, 0, None),
                ("thread 1", 2, 2, 11_000, 1, Some(0)),
                ("thread 2", 4, 1, 21_000, 1, Some(2)),
            ]
        );
        let numbers = |name: &str| columns.iter().find(|(column, _)| *column == name).unwrap().1.numbers();
        let names: Vec<&str> = numbers("name").into_iter().map(|name| texts.names[name as usize].0.as_str()).collect();
        assert_eq!(names, ["op", "k", "early", "late", "alone"]);
        assert_eq!(numbers("start"), [0, 0, 0, 20_000, 0]);
        assert_eq!(numbers("duration"), [50_000, 4_000, 0, 0, 0]);
        for (name, column) in &columns {
            assert!(["launcher", "forward", "backward"].contains(name) || column.count == 5, "{name}");
        }
    }
}
