//! What differs between recordings of one program, and what of it is more than noise.

mod estimate;
mod options;
mod row;
mod samples;
mod shown;
mod speed;

pub use options::DiffOptions;
pub use row::{Change, DiffRow, Side, StepRow, Verdict};
pub use shown::{DiffLine, Headline};
pub use speed::Speed;

use crate::recording::{By, Key, KeySamples, PerStep, Recording, Totals};
use crate::statistics::{holm, median};
use estimate::{Estimate, noise_between_recordings};
use mindtorch_profiler::Trace;
use samples::{Blocks, Samples};
use serde::Serialize;
use speed::Speeds;
use std::collections::BTreeSet;

/// The difference between two sides, A and B, each of one recording or several.
///
/// ```
/// use mindtorch_analysis::{By, Diff, DiffOptions, Verdict};
/// use mindtorch_profiler::{Session, record_function};
///
/// let record = || {
///     let session = Session::builder().record_steps(true).start();
///     for _ in 0..20 {
///         drop(record_function!("work"));
///         session.step();
///     }
///     session.stop()
/// };
/// let diff = Diff::between(&record(), &record(), By::Op, &DiffOptions::default());
/// assert!(diff.untestable.is_none());
/// assert!(diff.rows.iter().any(|row| row.key.name == "work" && row.verdict != Verdict::Added));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// By what events were told apart.
    pub by: By,
    /// How many recordings the sides have.
    pub recordings: [usize; 2],
    /// How many steps they have.
    pub steps: [usize; 2],
    /// Why changes cannot be told from noise, if they cannot: then rows have differences of totals, and no verdict on them.
    pub untestable: Option<String>,
    /// What everything has in common: how fast the machine was.
    pub speed: Option<Speed>,
    /// The same of what devices did.
    pub device_speed: Option<Speed>,
    /// How long steps take.
    pub step: Option<Change>,
    /// The keys, those first that matter most to the step.
    pub rows: Vec<DiffRow>,
    /// The steps one by one, if each side is one recording.
    pub each_step: Vec<StepRow>,
}

impl Diff {
    /// Compares two traces.
    pub fn between(a: &Trace, b: &Trace, by: By, options: &DiffOptions) -> Self {
        Self::of(&[Recording::of(a, by)], &[Recording::of(b, by)], options)
    }

    /// Compares recordings, all of which are told apart by the same.
    pub fn of(a: &[Recording], b: &[Recording], options: &DiffOptions) -> Self {
        Comparison { a, b, options }.diff()
    }

    /// The rows with this verdict.
    pub fn rows_with(&self, verdict: Verdict) -> impl Iterator<Item = &DiffRow> {
        self.rows.iter().filter(move |row| row.verdict == verdict)
    }

    /// Whether there is any change.
    pub fn is_changed(&self) -> bool {
        let changed = |verdict| !matches!(verdict, Verdict::Unchanged | Verdict::Untested);
        self.step.is_some_and(|step| changed(step.verdict)) || self.rows.iter().any(|row| changed(row.verdict))
    }

    /// Whether anything takes longer: the step, a key, or one that was not there before.
    pub fn is_slower(&self) -> bool {
        let slower = |verdict| matches!(verdict, Verdict::Slower | Verdict::Added);
        self.step.is_some_and(|step| slower(step.verdict)) || self.rows.iter().any(|row| slower(row.verdict))
    }
}

struct Comparison<'a> {
    a: &'a [Recording],
    b: &'a [Recording],
    options: &'a DiffOptions,
}

/// What is compared of a key.
#[derive(Clone, Copy)]
enum Quantity {
    Cpu,
    Device,
}

impl Comparison<'_> {
    fn diff(&self) -> Diff {
        let keys: BTreeSet<&Key> = self
            .a
            .iter()
            .chain(self.b)
            .flat_map(|recording| recording.keys.iter().map(|samples| &samples.key))
            .collect();
        let keys: Vec<&Key> = keys.into_iter().collect();
        let untestable = self.untestable();
        let step = Samples { a: steps_of(self.a), b: steps_of(self.b) };
        let changes = if untestable.is_none() { self.changes(&keys, &step) } else { Changes::none(keys.len()) };
        let step_ns = step.level();
        let mut rows: Vec<DiffRow> = keys
            .iter()
            .zip(changes.cpu)
            .zip(changes.device)
            .map(|((key, cpu), device)| self.row(key, cpu, device, step_ns))
            .collect();
        rows.sort_by(|a, b| b.effect_ns.abs().total_cmp(&a.effect_ns.abs()).then_with(|| a.key.cmp(&b.key)));
        Diff {
            by: self.a.first().map_or(By::Op, |recording| recording.by),
            recordings: [self.a.len(), self.b.len()],
            steps: [self.a, self.b].map(|side| side.iter().map(|recording| recording.steps).sum()),
            untestable,
            speed: changes.speed,
            device_speed: changes.device_speed,
            step: changes.step,
            rows,
            each_step: self.each_step(),
        }
    }

    /// Why changes cannot be told from noise.
    fn untestable(&self) -> Option<String> {
        for (name, side) in [("A", self.a), ("B", self.b)] {
            let fewest = side.iter().map(|recording| recording.steps).min().unwrap_or(0);
            let wanted = self.options.min_steps;
            if fewest < wanted {
                return Some(format!(
                    "{name} has {fewest} whole steps, and {wanted} are needed: record with a schedule and call profile.step() after each"
                ));
            }
        }
        None
    }

    fn samples(&self, key: &Key, quantity: Quantity) -> Samples {
        let side = |side: &[Recording]| -> Blocks {
            let blocks = |recording: &Recording| {
                let samples = recording.key(key).map(|samples| match quantity {
                    Quantity::Cpu => &samples.cpu_ns,
                    Quantity::Device => &samples.device_ns,
                });
                let samples = samples.filter(|samples| !samples.is_empty());
                samples.cloned().unwrap_or_else(|| vec![0.0; recording.step_ns.len()])
            };
            side.iter().map(blocks).collect()
        };
        Samples { a: side(self.a), b: side(self.b) }
    }

    /// The changes of everything, which are judged together.
    fn changes(&self, keys: &[&Key], step: &Samples) -> Changes {
        let cpu = self.estimates(keys, Quantity::Cpu);
        let device = self.estimates(keys, Quantity::Device);
        let of_step = Estimate::of(step, &self.adjusted(&cpu.speeds, None, step), self.options);
        let p_values = |estimates: &[Option<Estimate>]| -> Vec<f64> {
            estimates.iter().flatten().map(|estimate| estimate.p_value).collect()
        };
        let all: Vec<f64> = [p_values(&cpu.estimates), p_values(&device.estimates), p_values(&[of_step])]
            .into_iter()
            .flatten()
            .collect();
        let mut corrected = holm(&all).into_iter();
        let step_ns = step.level();
        let mut judged = |estimates: Vec<Option<Estimate>>, noise: f64| -> Vec<Option<Change>> {
            let mut judge = |estimate: Estimate| {
                let p_value = corrected.next().unwrap_or(1.0);
                self.judge(&estimate, p_value, estimate.own_noise.max(noise), step_ns)
            };
            estimates.into_iter().map(|estimate| estimate.map(&mut judge)).collect()
        };
        let is_taken_out = self.options.at_equal_speed;
        Changes {
            speed: cpu.speeds.between(is_taken_out),
            device_speed: device.speeds.between(is_taken_out),
            cpu: judged(cpu.estimates, cpu.noise),
            device: judged(device.estimates, device.noise),
            step: judged(vec![of_step], cpu.noise).pop().flatten(),
        }
    }

    fn estimates(&self, keys: &[&Key], quantity: Quantity) -> Estimates {
        let samples: Vec<Samples> = keys.iter().map(|key| self.samples(key, quantity)).collect();
        let speeds = Speeds::of(&samples);
        let estimate = |(key, samples): (usize, &Samples)| {
            samples.is_steady().then(|| {
                let adjusted = self.adjusted(&speeds, Some(key), samples);
                Estimate::of(samples, &adjusted, self.options)
            })?
        };
        let estimates: Vec<Option<Estimate>> = samples.iter().enumerate().map(estimate).collect();
        // Trifles move by more than what could be reported.
        let total: f64 = estimates.iter().flatten().map(|estimate| estimate.a_ns).sum();
        let large = estimates.iter().flatten().filter(|estimate| estimate.a_ns >= LARGE * total);
        let recordings = self.a.len().min(self.b.len());
        let noise = noise_between_recordings(&large.map(|estimate| estimate.change).collect::<Vec<_>>(), recordings);
        Estimates { estimates, speeds, noise }
    }

    fn adjusted(&self, speeds: &Speeds, key: Option<usize>, samples: &Samples) -> Samples {
        if self.options.at_equal_speed { speeds.adjusted(key, samples) } else { samples.clone() }
    }

    fn judge(&self, estimate: &Estimate, p_value: f64, noise: f64, step_ns: f64) -> Change {
        let options = self.options;
        let Estimate { a_ns, b_ns, change, low, high, .. } = *estimate;
        let change_ns = change * a_ns;
        let matters = change.abs() >= options.min_change && change_ns.abs() >= options.min_share * step_ns;
        let is_told = p_value <= 1.0 - options.confidence && low * high > 0.0 && change.abs() > noise;
        let verdict = match matters && is_told {
            true if change > 0.0 => Verdict::Slower,
            true => Verdict::Faster,
            false => Verdict::Unchanged,
        };
        Change { a_ns, b_ns, change_ns, relative: change, interval: [low, high], p_value, noise, verdict }
    }

    fn row(&self, key: &Key, cpu: Option<Change>, device: Option<Change>, step_ns: f64) -> DiffRow {
        let (a, b) = (side_of(self.a, key), side_of(self.b, key));
        let differs = |side: Option<Side>| {
            side.map_or(0.0, |side| {
                let Totals { self_cpu_ns, self_device_ns, .. } = side.totals;
                (self_cpu_ns.max(self_device_ns)) as f64
            })
        };
        let per = |side: &[Recording]| (side.iter().map(|recording| recording.steps).sum::<usize>()).max(1) as f64;
        let of_totals = differs(b) / per(self.b) - differs(a) / per(self.a);
        let told = [cpu, device].into_iter().flatten().max_by(|x, y| weight(x).total_cmp(&weight(y)));
        let effect_ns = told.map_or(of_totals, |change| change.change_ns);
        let matters = step_ns == 0.0 || effect_ns.abs() >= self.options.min_share * step_ns;
        let verdict = match (a, b, told) {
            (None, Some(_), _) if matters => Verdict::Added,
            (Some(_), None, _) if matters => Verdict::Removed,
            (None, _, _) | (_, None, _) => Verdict::Unchanged,
            (_, _, Some(change)) => change.verdict,
            (_, _, None) => Verdict::Untested,
        };
        DiffRow { key: key.clone(), verdict, effect_ns, a, b, cpu, device }
    }

    fn each_step(&self) -> Vec<StepRow> {
        let ([a], [b]) = (self.a, self.b) else { return Vec::new() };
        let numbers: BTreeSet<u64> = a.each_step.iter().chain(&b.each_step).map(|step| step.number).collect();
        let find = |side: &Recording, number| side.each_step.iter().find(|step| step.number == number).copied();
        numbers.into_iter().map(|number| StepRow { number, a: find(a, number), b: find(b, number) }).collect()
    }
}

/// The part of all keys' time from which on a key says something of noise.
const LARGE: f64 = 0.01;

struct Estimates {
    estimates: Vec<Option<Estimate>>,
    speeds: Speeds,
    noise: f64,
}

struct Changes {
    speed: Option<Speed>,
    device_speed: Option<Speed>,
    cpu: Vec<Option<Change>>,
    device: Vec<Option<Change>>,
    step: Option<Change>,
}

impl Changes {
    fn none(keys: usize) -> Self {
        Self { speed: None, device_speed: None, cpu: vec![None; keys], device: vec![None; keys], step: None }
    }
}

/// A change that is told counts before one that is not, then the larger.
fn weight(change: &Change) -> f64 {
    let is_told = matches!(change.verdict, Verdict::Slower | Verdict::Faster);
    change.change_ns.abs() + if is_told { 1e18 } else { 0.0 }
}

fn steps_of(side: &[Recording]) -> Blocks {
    side.iter().map(|recording| recording.step_ns.clone()).collect()
}

fn side_of(side: &[Recording], key: &Key) -> Option<Side> {
    let found: Vec<&KeySamples> = side.iter().filter_map(|recording| recording.key(key)).collect();
    if found.is_empty() {
        return None;
    }
    let sum = |of: fn(&Totals) -> u64| found.iter().map(|samples| of(&samples.totals)).sum();
    let middle =
        |of: fn(&PerStep) -> f64| median(&found.iter().map(|samples| of(&samples.per_step)).collect::<Vec<_>>());
    let totals = Totals {
        count: sum(|totals| totals.count),
        total_ns: sum(|totals| totals.total_ns),
        self_cpu_ns: sum(|totals| totals.self_cpu_ns),
        self_device_ns: sum(|totals| totals.self_device_ns),
    };
    let per_step = PerStep {
        count: middle(|step| step.count),
        total_ns: middle(|step| step.total_ns),
        self_cpu_ns: middle(|step| step.self_cpu_ns),
        self_device_ns: middle(|step| step.self_device_ns),
    };
    Some(Side { totals, mean_ns: totals.mean_ns(), per_step })
}
