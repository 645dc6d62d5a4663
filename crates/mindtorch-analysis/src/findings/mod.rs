//! What to look at first: facts that a trace has, with their numbers and where they are to be seen. None is a guess.

mod devices;
mod evidence;
mod host;
mod memory;
mod waits;

pub use evidence::Evidence;

use crate::step_times::StepTimes;
use crate::steps::{Step, steps};
use mindtorch_profiler::Trace;
use serde::Serialize;
use std::fmt;

/// A fact, and where it is to be seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What was found.
    #[serde(flatten)]
    pub fact: Fact,
    /// Where, the most telling first.
    pub evidence: Vec<Evidence>,
}

/// What was found. As text, it is a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fact {
    /// What threads spent most time in, by name.
    SelfTime {
        /// The name.
        name: String,
        /// How many spans have it.
        count: u64,
        /// What they took without what they contain.
        self_ns: u64,
        /// What all spans took.
        of_ns: u64,
    },
    /// What a device spent most time with, by name.
    DeviceTime {
        /// The name.
        name: String,
        /// How often.
        count: u64,
        /// How long.
        total_ns: u64,
        /// All that devices did.
        of_ns: u64,
    },
    /// A device had nothing to do between its first and its last work.
    IdleDevice {
        /// The device.
        device: String,
        /// For how long.
        idle_ns: u64,
        /// From the beginning of its first work to the end of its last.
        of_ns: u64,
        /// In how many gaps.
        gaps: u64,
    },
    /// Threads waited for devices.
    Waits {
        /// The call that waited, the outermost one.
        name: String,
        /// How often.
        count: u64,
        /// For how long.
        total_ns: u64,
        /// How long the recording is.
        of_ns: u64,
    },
    /// Memory was copied from or to a device.
    Copies {
        /// What the copies are called.
        name: String,
        /// How often.
        count: u64,
        /// For how long.
        total_ns: u64,
        /// How much, if that is known.
        bytes: u64,
    },
    /// Most operators are short.
    ShortOperators {
        /// How many are shorter.
        count: u64,
        /// Of how many operators that contain no other.
        of: u64,
        /// Than this.
        below_ns: u64,
        /// What they took.
        total_ns: u64,
    },
    /// Most work of devices is short.
    ShortKernels {
        /// How many are shorter.
        count: u64,
        /// Of how many.
        of: u64,
        /// Than this.
        below_ns: u64,
        /// What they took.
        total_ns: u64,
    },
    /// When most memory was in use.
    MemoryPeak {
        /// On which device.
        device: String,
        /// How much.
        bytes: u64,
        /// When.
        at_ns: u64,
        /// In how many blocks.
        blocks: u64,
    },
    /// Some steps took much longer than the others.
    SlowSteps {
        /// How many.
        count: u64,
        /// Of how many.
        of: u64,
        /// What a step takes: the median of all.
        median_ns: u64,
        /// What these took more than that, together.
        excess_ns: u64,
    },
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SelfTime { name, count, self_ns, of_ns } => {
                let (share, time, spans) = (percent(*self_ns, *of_ns), Time(*self_ns), plural(*count, "span"));
                write!(f, "{name} took {time} itself, {share} of what all spans took, in {spans}.")
            }
            Self::DeviceTime { name, count, total_ns, of_ns } => {
                let (share, time) = (percent(*total_ns, *of_ns), Time(*total_ns));
                write!(f, "{name} took {time} on devices, {share} of their work, in {}.", plural(*count, "run"))
            }
            Self::IdleDevice { device, idle_ns, of_ns, gaps } => {
                let (share, idle, of) = (percent(*idle_ns, *of_ns), Time(*idle_ns), Time(*of_ns));
                write!(
                    f,
                    "{device} had nothing to do for {idle}, {share} of the {of} from its first work to its last, in {}.",
                    plural(*gaps, "gap")
                )
            }
            Self::Waits { name, count, total_ns, of_ns } => {
                let (share, time) = (percent(*total_ns, *of_ns), Time(*total_ns));
                write!(
                    f,
                    "{name} waited for devices for {time}, {share} of the recording, in {}.",
                    plural(*count, "call")
                )
            }
            Self::Copies { name, count, total_ns, bytes } => {
                let copies = if *count == 1 { "1 copy".to_owned() } else { format!("{count} copies") };
                write!(f, "{name}: {copies} in {}", Time(*total_ns))?;
                if *bytes > 0 { write!(f, ", {}.", Bytes(*bytes)) } else { write!(f, ".") }
            }
            Self::ShortOperators { count, of, below_ns, total_ns } => {
                let (share, below, time) = (percent(*count, *of), Time(*below_ns), Time(*total_ns));
                write!(
                    f,
                    "{count} of {of} operators that contain no other ({share}) took less than {below} each, {time} together."
                )
            }
            Self::ShortKernels { count, of, below_ns, total_ns } => {
                let (share, below, time) = (percent(*count, *of), Time(*below_ns), Time(*total_ns));
                write!(
                    f,
                    "{count} of {of} pieces of devices' work ({share}) took less than {below} each, {time} together."
                )
            }
            Self::MemoryPeak { device, bytes, at_ns, blocks } => {
                let (bytes, blocks, at) = (Bytes(*bytes), plural(*blocks, "block"), Time(*at_ns));
                write!(f, "At most {bytes} of {device} memory were in use, in {blocks}, at {at}.")
            }
            Self::SlowSteps { count, of, median_ns, excess_ns } => {
                let (median, excess) = (Time(*median_ns), Time(*excess_ns));
                write!(f, "{count} of {of} steps took much longer than the median of {median}, {excess} more together.")
            }
        }
    }
}

/// What to look at first, the parts that took most time before those that took less.
pub fn findings(trace: &Trace) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(slow(trace));
    found.extend(devices::idle(trace));
    found.extend(waits::waits(trace));
    found.extend(host::self_times(trace));
    found.extend(devices::device_times(trace));
    found.extend(host::short_operators(trace));
    found.extend(devices::short_kernels(trace));
    found.extend(devices::copies(trace));
    found.extend(memory::peaks(trace));
    found
}

/// What is this close to the median is no longer than it, however alike all others are.
const NEAR: f64 = 1.1;

/// The steps that took much longer than the others: outliers of [`StepTimes`] that are more than a tenth above the median.
pub fn slow_steps(steps: &[Step]) -> Vec<Step> {
    let Some(times) = StepTimes::of(steps) else { return Vec::new() };
    let is_slow = |step: &Step| step.duration_ns() as f64 > times.median_ns * NEAR;
    times.outliers.into_iter().filter(is_slow).collect()
}

fn slow(trace: &Trace) -> Option<Finding> {
    let steps = steps(trace);
    let median_ns = StepTimes::of(&steps)?.median_ns as u64;
    let mut slow = slow_steps(&steps);
    slow.sort_by_key(|step| std::cmp::Reverse(step.duration_ns()));
    let evidence = slow.iter().take(Evidence::MOST).map(|step| {
        let label = format!("step {}: {}", step.number, Time(step.duration_ns()));
        Evidence::of_time(label, step.start_ns, step.end_ns)
    });
    let fact = Fact::SlowSteps {
        count: slow.len() as u64,
        of: steps.len() as u64,
        median_ns,
        excess_ns: slow.iter().map(|step| step.duration_ns() - median_ns).sum(),
    };
    (!slow.is_empty()).then(|| Finding { fact, evidence: evidence.collect() })
}

/// A time for people.
pub(crate) struct Time(pub(crate) u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{ns} ns"),
            1_000..1_000_000 => write!(f, "{:.1} µs", ns / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} ms", ns / 1e6),
            _ => write!(f, "{:.2} s", ns / 1e9),
        }
    }
}

struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1_024 => write!(f, "{bytes} B"),
            1_024..1_048_576 => write!(f, "{:.1} KiB", bytes / 1024.0),
            1_048_576..1_073_741_824 => write!(f, "{:.1} MiB", bytes / 1_048_576.0),
            _ => write!(f, "{:.2} GiB", bytes / 1_073_741_824.0),
        }
    }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests;
