//! What a page is told, besides columns. It is JSON in the page; `page/data.js` reads it.

use crate::difference::Difference;
use crate::pack::{CounterRow, Level, MemoryRows, NameRow, Placed, Row};
use mindtorch_analysis::{Finding, Step};
use serde::Serialize;

/// All of it. Times are nanoseconds since the beginning of the page's time axis.
#[derive(Debug, Serialize)]
pub(crate) struct Contents {
    pub(crate) title: String,
    /// What changed, if two traces are compared.
    pub(crate) difference: Option<Difference>,
    pub(crate) duration_ns: u64,
    pub(crate) events: usize,
    pub(crate) kinds: &'static [&'static str],
    pub(crate) processes: Vec<Process>,
    pub(crate) rows: Vec<Row>,
    pub(crate) levels: Vec<Level>,
    pub(crate) names: Vec<NameRow>,
    pub(crate) inputs: Vec<Vec<String>>,
    pub(crate) frames: Vec<String>,
    pub(crate) stacks: Vec<Vec<u32>>,
    pub(crate) steps: Vec<StepRow>,
    pub(crate) findings: Vec<FindingRow>,
    pub(crate) categories: Vec<&'static str>,
    pub(crate) memory: Vec<MemoryRows>,
    pub(crate) counters: Vec<CounterRow>,
}

/// A trace.
#[derive(Debug, Serialize)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) pid: u32,
    /// As text, since it is more than a number of JavaScript has digits for.
    pub(crate) start_epoch_ns: String,
    pub(crate) offset_ns: u64,
    pub(crate) duration_ns: u64,
    pub(crate) accelerator: String,
    pub(crate) lost_events: u64,
    pub(crate) skipped_events: u64,
}

/// A step of a process.
#[derive(Debug, Serialize)]
pub(crate) struct StepRow {
    process: usize,
    number: u64,
    start_ns: u64,
    end_ns: u64,
    /// It took much longer than the others.
    stands_out: bool,
}

impl StepRow {
    pub(crate) fn new(process: usize, step: Step, placed: Placed, stands_out: bool) -> Self {
        let (start_ns, end_ns) = (step.start_ns + placed.offset_ns, step.end_ns + placed.offset_ns);
        Self { process, number: step.number, start_ns, end_ns, stands_out }
    }
}

/// Something to look at first.
#[derive(Debug, Serialize)]
pub(crate) struct FindingRow {
    process: usize,
    /// A sentence.
    text: String,
    #[serde(flatten)]
    finding: Finding,
    /// For each piece of evidence the event that it is, if it is one.
    events: Vec<Option<usize>>,
}

impl FindingRow {
    /// `work`: where the devices' work is.
    pub(crate) fn new(process: usize, mut finding: Finding, placed: Placed, work: &[usize]) -> Self {
        for evidence in &mut finding.evidence {
            evidence.start_ns += placed.offset_ns;
            evidence.end_ns += placed.offset_ns;
        }
        let events = finding.evidence.iter().map(|evidence| {
            let span = evidence.span.map(|row| placed.number(row));
            span.or_else(|| work.get(evidence.device_span?).copied())
        });
        Self { process, text: finding.fact.to_string(), events: events.collect(), finding }
    }
}
