//! Where a fact is to be seen.

use super::Time;
use mindtorch_profiler::{DeviceSpanRef, SpanRef};
use serde::Serialize;

/// A place in the trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// What is there.
    pub label: String,
    /// When it begins, in nanoseconds since the start of the trace.
    pub start_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    /// The row of the span, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<usize>,
    /// The row of the device's work, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_span: Option<usize>,
}

impl Evidence {
    /// More places of one fact are not shown.
    pub(super) const MOST: usize = 5;

    pub(super) fn of_time(label: String, start_ns: u64, end_ns: u64) -> Self {
        Self { label, start_ns, end_ns, span: None, device_span: None }
    }

    pub(super) fn of_span(span: &SpanRef<'_>) -> Self {
        let label = format!("{}: {}", span.name(), Time(span.duration_ns()));
        Self { span: Some(span.row()), ..Self::of_time(label, span.start_ns(), span.end_ns()) }
    }

    pub(super) fn of_work(row: usize, work: &DeviceSpanRef<'_>) -> Self {
        let label = format!("{}: {}", work.name(), Time(work.duration_ns()));
        Self { device_span: Some(row), ..Self::of_time(label, work.start_ns(), work.end_ns()) }
    }
}

/// The largest few of many, by a number.
#[derive(Debug)]
pub(super) struct Largest<T> {
    kept: Vec<(u64, T)>,
    most: usize,
}

impl<T> Largest<T> {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most }
    }

    pub(super) fn offer(&mut self, size: u64, thing: T) {
        if self.kept.len() == self.most && self.kept.last().is_some_and(|(least, _)| *least >= size) {
            return;
        }
        let place = self.kept.partition_point(|(other, _)| *other >= size);
        self.kept.insert(place, (size, thing));
        self.kept.truncate(self.most);
    }

    /// The largest first; of equal ones, the one that was offered first.
    pub(super) fn into_vec(self) -> Vec<T> {
        self.kept.into_iter().map(|(_, thing)| thing).collect()
    }
}
