//! Collectives: what all ranks of a group do together, and nobody finishes before the last has come.

use crate::Step;
use mindtorch_profiler::{DeviceKind, DeviceSpanRef, SpanKind, SpanRef, Trace};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

/// What the spans of collectives begin with, of backends that work on the host. With others the host's span only queues them.
const ON_HOST: [&str; 3] = ["gloo:", "mpi:", "ucc:"];
/// What the kernels of collectives begin with.
const ON_DEVICE: [&str; 4] = ["ncclDevKernel_", "ncclKernel_", "rcclGenericKernel", "hcom_"];
/// What one rank does with one other is no collective. Kernels say it in one word.
const BETWEEN_TWO: [&str; 3] = ["send", "recv", "SendRecv"];

/// One collective as one rank saw it. Times are nanoseconds since the start of its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// What it has in common with that of other ranks.
    pub key: CollectiveKey,
    /// The step in which it was called, if the trace has steps.
    pub step: Option<u64>,
    /// When the rank had come.
    pub start_ns: u64,
    /// When it was done.
    pub end_ns: u64,
}

impl Collective {
    /// How long it took: the waiting for other ranks, and the work.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// What tells collectives apart, the same on all ranks that take part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectiveKey {
    /// What is done: `gloo:all_reduce`.
    pub name: String,
    /// The process group, if the trace says it.
    pub group: String,
    /// Which of them.
    pub occasion: Occasion,
}

/// Which of the collectives of one name and group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Occasion {
    /// The one with this number, by which the group itself counts them.
    Sequence(u64),
    /// The one at this place, from 0, of those that a step called.
    OfStep(u64, u32),
    /// The one at this place of all: there are no steps.
    OfTrace(u32),
}

/// The collectives of a trace, in the order in which they began. If it has steps, those that are in none and have no number
/// are left out: others may not have them, and then counting would compare what does not belong together.
pub(super) fn collectives(trace: &Trace, steps: &[Step]) -> Vec<Collective> {
    let on_host = trace.spans().filter_map(|span| Found::on_host(&span));
    let on_device = trace.device_spans().filter_map(|work| Found::on_device(&work));
    let mut found: Vec<Found> = on_host.chain(on_device).collect();
    found.sort_by_key(|found| (found.start_ns, found.end_ns));
    let mut counts: FxHashMap<(String, String, Option<u64>), u32> = FxHashMap::default();
    found.into_iter().filter_map(|found| found.with_key(steps, &mut counts)).collect()
}

/// A collective that was not yet told from others.
struct Found {
    name: String,
    group: String,
    sequence: Option<u64>,
    called_ns: u64,
    start_ns: u64,
    end_ns: u64,
}

impl Found {
    fn on_host(span: &SpanRef<'_>) -> Option<Self> {
        let (name, whole) = (span.name(), span.is_finished() && !span.is_cut_at_start());
        if span.kind() != SpanKind::Annotation || !whole || !is_collective(name, &ON_HOST) {
            return None;
        }
        let (start_ns, end_ns) = (span.start_ns(), span.end_ns());
        Some(Self::new(name, span.extra_json(), start_ns, (start_ns, end_ns)))
    }

    fn on_device(work: &DeviceSpanRef<'_>) -> Option<Self> {
        let name = work.name();
        if work.kind() != DeviceKind::Kernel || work.is_cut() || !is_collective(name, &ON_DEVICE) {
            return None;
        }
        // The kernel may begin when the program is a step further.
        let called_ns = work.operator().map_or(work.start_ns(), |operator| operator.start_ns());
        // Behind the parenthesis there are types, which say nothing.
        let name = name.split('(').next().unwrap_or(name);
        Some(Self::new(name, work.extra_json(), called_ns, (work.start_ns(), work.end_ns())))
    }

    fn new(name: &str, extra: &str, called_ns: u64, (start_ns, end_ns): (u64, u64)) -> Self {
        let said: Map<String, Value> = serde_json::from_str(&format!("{{{extra}}}")).unwrap_or_default();
        let text =
            |key: &str| said.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        Self {
            name: text("Collective name").unwrap_or_else(|| name.to_owned()),
            group: text("Process Group Name").or_else(|| text("Process Group Ranks")).unwrap_or_default(),
            sequence: said.get("Seq").and_then(Value::as_u64),
            called_ns,
            start_ns,
            end_ns,
        }
    }

    fn with_key(
        self,
        steps: &[Step],
        counts: &mut FxHashMap<(String, String, Option<u64>), u32>,
    ) -> Option<Collective> {
        let Self { name, group, sequence, called_ns, start_ns, end_ns } = self;
        let step = step_at(steps, called_ns);
        let occasion = match (sequence, step) {
            (Some(sequence), _) => Occasion::Sequence(sequence),
            (None, None) if !steps.is_empty() => return None,
            (None, step) => {
                let count = counts.entry((name.clone(), group.clone(), step)).or_default();
                let place = *count;
                *count += 1;
                step.map_or(Occasion::OfTrace(place), |step| Occasion::OfStep(step, place))
            }
        };
        Some(Collective { key: CollectiveKey { name, group, occasion }, step, start_ns, end_ns })
    }
}

fn is_collective(name: &str, beginnings: &[&str]) -> bool {
    let rest = beginnings.iter().find_map(|beginning| name.strip_prefix(beginning));
    rest.is_some_and(|rest| !BETWEEN_TWO.iter().any(|word| rest.starts_with(word)))
}

/// The number of the step that this time lies in.
fn step_at(steps: &[Step], at_ns: u64) -> Option<u64> {
    let begun = steps.partition_point(|step| step.start_ns <= at_ns);
    steps[..begun].last().filter(|step| at_ns < step.end_ns).map(|step| step.number)
}
