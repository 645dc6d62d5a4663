//! `mtprof check`: whether a program is within its budget, and no slower than it was.

use crate::console::Console;
use crate::error::Error;
use crate::{NO, OK, recordings};
use clap::Args;
use mindtorch_analysis::{Budget, By, Change, Checked, Diff, DiffOptions, Nanoseconds, Recording, Speed, Verdict};
use mindtorch_profiler::write_file;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Check a trace against a budget, or against a stored baseline
///
/// Exits with status 1 if a limit is exceeded, or if something is slower than the baseline by more than noise, and says what in
/// one line each.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// A trace, or a directory of traces of the same program
    file: PathBuf,
    /// What it may take, as TOML
    #[arg(long, value_name = "FILE", required_unless_present_any = ["baseline", "write_baseline"])]
    budget: Option<PathBuf>,
    /// What it took before, as --write-baseline stored it
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Store what it takes, for later checks
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
}

/// What a program took.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Baseline {
    /// The version of this format.
    version: u32,
    recordings: Vec<Recording>,
}

const VERSION: u32 = 1;

/// The answer.
#[derive(Debug, Serialize)]
struct Outcome {
    ok: bool,
    limits: Vec<Checked>,
    /// What is slower than the baseline, a line each.
    slower: Vec<String>,
    /// The comparison with the baseline.
    diff: Option<Diff>,
}

impl Check {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        let budget = self.budget.as_deref().map(read_budget).transpose()?;
        let baseline = self.baseline.as_deref().map(read_baseline).transpose()?;
        let mut limits = Vec::new();
        let recordings = recordings::load(&self.file, By::Op, console, |file, trace, recording| {
            let Some(budget) = &budget else { return };
            let name = file.display();
            let named = |checked: Checked| Checked { text: format!("{name}: {}", checked.text), ..checked };
            limits.extend(budget.check(trace, recording).into_iter().map(named));
        })?;
        if let (Some(path), true) = (&self.budget, limits.is_empty()) {
            return Err(Error::Use(format!(
                "{} has no limit: nothing is checked; give one, or no --budget",
                path.display()
            )));
        }
        let diff = match (&baseline, &self.baseline) {
            (Some(baseline), Some(path)) => Some(compare(baseline, &recordings, path)?),
            _ => None,
        };
        let slower = diff.as_ref().map_or_else(Vec::new, slower);
        let ok = slower.is_empty() && !limits.iter().any(|limit| limit.exceeded);
        if let Some(path) = &self.write_baseline {
            write_baseline(path, recordings)?;
        }
        let outcome = Outcome { ok, limits, slower, diff };
        console.answer(&outcome, text)?;
        Ok(if ok { OK } else { NO })
    }
}

fn compare(baseline: &Baseline, recordings: &[Recording], path: &Path) -> Result<Diff, Error> {
    let diff = Diff::of(&baseline.recordings, recordings, &DiffOptions::default());
    match &diff.untestable {
        Some(why) => Err(Error::Use(format!("cannot compare with {} (A), the trace is B: {why}", path.display()))),
        None => Ok(diff),
    }
}

/// What takes longer than in the baseline.
fn slower(diff: &Diff) -> Vec<String> {
    let mut lines = Vec::new();
    let line = |what: &str, change: &Change, speed: Option<Speed>, on: &str| {
        let (a, b) = (Nanoseconds(change.a_ns), Nanoseconds(change.b_ns));
        let (more, noise) = (change.relative * 100.0, change.noise * 100.0);
        let found = format!("{what}: {more:.1} % slower than the baseline (noise {noise:.1} %): {a} a step, now");
        match speed.filter(|speed| speed.is_taken_out) {
            None => format!("{found} {b}"),
            Some(speed) => {
                let at_equal_speed = Nanoseconds(change.a_ns + change.change_ns);
                let took = speed.words();
                format!(
                    "{found} {at_equal_speed} at equal speed of the {on} ({b} as measured, but the {on} took {took})"
                )
            }
        }
    };
    if let Some(step) = diff.step.filter(|step| step.verdict == Verdict::Slower) {
        lines.push(line("step", &step, diff.speed, "machine"));
    }
    for row in diff.rows_with(Verdict::Slower) {
        let Some(change) = row.told() else { continue };
        let is_of_device = row.device.as_ref() == Some(change);
        let (speed, on) = if is_of_device { (diff.device_speed, "device") } else { (diff.speed, "machine") };
        lines.push(line(&row.key.to_string(), change, speed, on));
    }
    for row in diff.rows_with(Verdict::Added) {
        lines.push(format!("{}: {} a step, not in the baseline", row.key, Nanoseconds(row.effect_ns)));
    }
    lines
}

fn text(outcome: &Outcome) -> String {
    let exceeded = outcome.limits.iter().filter(|limit| limit.exceeded).map(|limit| limit.text.as_str());
    let lines: Vec<&str> = exceeded.chain(outcome.slower.iter().map(String::as_str)).collect();
    if !lines.is_empty() {
        return lines.join("\n") + "\n";
    }
    let limits = match outcome.limits.len() {
        0 => None,
        1 => Some("1 limit kept".to_owned()),
        count => Some(format!("{count} limits kept")),
    };
    let baseline = outcome.diff.as_ref().map(|_| "nothing slower than the baseline".to_owned());
    let kept: Vec<String> = [limits, baseline].into_iter().flatten().collect();
    if kept.is_empty() { "OK\n".to_owned() } else { format!("OK: {}\n", kept.join(", ")) }
}

fn read_budget(path: &Path) -> Result<Budget, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::file("read", path, error))?;
    text.parse().map_err(|error| Error::Use(format!("{} is no budget: {error}", path.display())))
}

fn read_baseline(path: &Path) -> Result<Baseline, Error> {
    let text = fs::read(path).map_err(|error| Error::file("read", path, error))?;
    let refused =
        |why: String| Error::Use(format!("{} is no baseline: {why}; write it with --write-baseline", path.display()));
    let baseline: Baseline = serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
    if baseline.version != VERSION {
        return Err(refused(format!("its version is {}, and {VERSION} is known", baseline.version)));
    }
    Ok(baseline)
}

fn write_baseline(path: &Path, recordings: Vec<Recording>) -> Result<(), Error> {
    let json =
        serde_json::to_vec(&Baseline { version: VERSION, recordings }).map_err(|error| Error::Output(error.into()))?;
    Ok(write_file(path, |out| out.write_all(&json))?)
}
