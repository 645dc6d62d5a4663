//! A summary of many ranks: each in a line, how far they are apart, and who waits for whom.

use crate::commands::waits;
use crate::console::Console;
use crate::error::Error;
use crate::rank_files::{RankFile, Reading, ask_all};
use mindtorch_analysis::ranks::{Anchors, RankProfile, Spread, Stragglers, stragglers};
use mindtorch_profiler::format_memory;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// What the ranks did.
#[derive(Debug, Serialize)]
pub(crate) struct RanksSummary {
    ranks: Vec<RankOfFile>,
    /// Of the lengths of steps, each rank's median.
    step_ns: Option<Spread>,
    idle_ns: Option<Spread>,
    memory_peak_bytes: Option<Spread>,
    stragglers: Stragglers,
}

#[derive(Debug, Serialize)]
struct RankOfFile {
    file: PathBuf,
    #[serde(flatten)]
    profile: RankProfile,
}

impl RanksSummary {
    /// That of the ranks in these files and directories. As many traces are in memory as there are processors.
    pub(crate) fn of(paths: &[PathBuf], console: &mut Console<'_>) -> Result<Self, Error> {
        let files = RankFile::find(paths)?;
        let reading = Reading::new(&files, console);
        let found = ask_all(&files, &reading, |file, trace| {
            let anchors = Anchors::of(&trace, file.rank);
            let profile = RankProfile::of(&trace, file.rank, &anchors.steps);
            Ok((RankOfFile { file: file.path.clone(), profile }, anchors))
        })?;
        reading.finish(console);
        let (ranks, anchors): (Vec<RankOfFile>, Vec<Anchors>) = found.into_iter().unzip();
        let spread = |value: fn(&RankProfile) -> Option<u64>| {
            Spread::of(ranks.iter().filter_map(|row| Some((row.profile.rank, value(&row.profile)?))))
        };
        Ok(Self {
            step_ns: spread(|profile| profile.median_step_ns.map(|ns| ns.round() as u64)),
            idle_ns: spread(|profile| Some(profile.idle_ns)),
            memory_peak_bytes: spread(|profile| profile.memory_peak().map(|peak| peak.bytes)),
            stragglers: stragglers(&anchors),
            ranks,
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // A String takes everything.
        let _ = writeln!(
            text,
            "{:>6}  {:>10}  {:>6}  {:>14}  {:>7}  {:>7}  {:>12}  top operator",
            "rank", "events", "steps", "median step", "busy", "idle", "memory peak"
        );
        for RankOfFile { profile, .. } in &self.ranks {
            let share =
                |ns: u64| format!("{:.1} %", ns as f64 / (profile.busy_ns + profile.idle_ns).max(1) as f64 * 100.0);
            let step = profile.median_step_ns.map_or_else(|| "-".to_owned(), waits::time);
            let peak = profile.memory_peak().map_or_else(|| "-".to_owned(), |peak| memory(peak.bytes as f64));
            let top = profile.top.as_ref();
            let top = top.map_or_else(String::new, |top| format!("{} {:.1} %", top.name, top.share * 100.0));
            let _ = writeln!(
                text,
                "{:>6}  {:>10}  {:>6}  {step:>14}  {:>7}  {:>7}  {peak:>12}  {top}",
                profile.rank,
                profile.events,
                profile.steps,
                share(profile.busy_ns),
                share(profile.idle_ns)
            );
        }
        text.push('\n');
        let mut line = |what: &str, spread: Option<Spread>, shown: fn(f64) -> String| {
            if let Some(Spread { lowest, median, highest }) = spread {
                let [low, middle, high] = [lowest.value, median, highest.value].map(|value| shown(value as f64));
                let (lowest, highest) = (lowest.rank, highest.rank);
                let _ = writeln!(text, "{what:<12} {low} (rank {lowest}) to {high} (rank {highest}), median {middle}");
            }
        };
        line("step", self.step_ns, waits::time);
        line("idle", self.idle_ns, waits::time);
        line("memory peak", self.memory_peak_bytes, memory);
        text.push('\n');
        text.push_str(&waits::text(&self.stragglers));
        text
    }
}

fn memory(bytes: f64) -> String {
    format_memory(bytes as i64)
}
