//! Who waits for whom, as text.

use mindtorch_analysis::ranks::{StragglerSource, Stragglers};
use mindtorch_profiler::format_time;
use std::fmt::Write;

pub(crate) fn text(found: &Stragglers) -> String {
    let mut text = String::new();
    // A String takes everything.
    let _ = writeln!(text, "{}", sentence(found));
    if found.steps == 0 && found.collectives == 0 {
        return text;
    }
    let _ = writeln!(
        text,
        "{:>6}  {:>14}  {:>20}  {:>20}  {:>16}",
        "rank", "last in steps", "last in collectives", "others waited for it", "waited itself"
    );
    for row in &found.ranks {
        let _ = writeln!(
            text,
            "{:>6}  {:>14}  {:>20}  {:>20}  {:>16}",
            row.rank,
            row.last_in_steps,
            row.last_in_collectives,
            time(row.caused_ns as f64),
            time(row.waited_ns as f64)
        );
    }
    text
}

/// The answer in one sentence.
fn sentence(found: &Stragglers) -> String {
    let of_what = if found.steps > 0 { "step" } else { "collective" };
    match (found.straggler, found.by) {
        (Some(straggler), by) => {
            let (rank, last_in, of) = (straggler.rank, straggler.last_in, straggler.of);
            let waited = time(straggler.caused_ns as f64);
            match by {
                StragglerSource::Collectives => {
                    format!("rank {rank} was last in {last_in} of {of} {of_what}s, others waited {waited} a {of_what}")
                }
                StragglerSource::Steps => {
                    format!("rank {rank} took longest in {last_in} of {of} steps, {waited} longer than others a step")
                }
            }
        }
        (None, _) if found.steps == 0 && found.collectives == 0 => {
            "the ranks share neither collectives nor steps: nobody can be seen to wait".to_owned()
        }
        (None, StragglerSource::Collectives) => {
            format!("no rank stands out in {} collectives of {} steps", found.collectives, found.steps)
        }
        (None, StragglerSource::Steps) => format!("no rank stands out in {} steps", found.steps),
    }
}

/// A time as in torch's table, which may be before another.
pub(crate) fn time(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "" };
    format!("{sign}{}", format_time(ns.abs() / 1e3))
}
