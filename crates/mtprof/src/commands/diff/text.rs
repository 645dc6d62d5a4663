//! The difference as a text: what it comes to, then the keys, those first that matter most to the step.

use crate::commands::names::short;
use crate::commands::speed::time_for_everything;
use mindtorch_analysis::{Change, Diff, DiffRow, KeyKind, Nanoseconds, Speed, StepRow, Verdict};
use std::fmt::Write;

/// A String takes everything, so what `write!` returns tells nothing.
pub(super) fn text(diff: &Diff, by_step: bool, all: bool) -> String {
    let mut text = String::new();
    headline(diff, &mut text);
    if by_step {
        each_step(&diff.each_step, &mut text);
        return text;
    }
    let shown: Vec<&DiffRow> = diff.rows.iter().filter(|row| all || is_news(row, diff)).collect();
    if !shown.is_empty() {
        let _ = writeln!(text);
        table(&shown, diff, &mut text);
    }
    text
}

fn is_news(row: &DiffRow, diff: &Diff) -> bool {
    match row.verdict {
        Verdict::Slower | Verdict::Faster | Verdict::Added | Verdict::Removed => true,
        Verdict::Untested => diff.untestable.is_some() && differs(row),
        Verdict::Unchanged => false,
    }
}

/// Whether its totals are others, where more than that cannot be said.
fn differs(row: &DiffRow) -> bool {
    let totals = |side: Option<mindtorch_analysis::Side>| side.map(|side| side.totals);
    totals(row.a) != totals(row.b)
}

fn headline(diff: &Diff, text: &mut String) {
    let count = |verdict| diff.rows_with(verdict).count();
    let counts: Vec<String> = [
        (count(Verdict::Slower), "slower"),
        (count(Verdict::Faster), "faster"),
        (count(Verdict::Added), "added"),
        (count(Verdict::Removed), "removed"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let found = if counts.is_empty() { "no change".to_owned() } else { counts.join(", ") };
    let _ = match &diff.untestable {
        Some(why) => writeln!(text, "Changes cannot be told from noise: {why}. Differences of totals:"),
        None => writeln!(text, "{}: {found}, of {} compared", capital(&verdict_of(diff)), diff.rows.len()),
    };
    if let Some(step) = &diff.step {
        let (a, b) = (Nanoseconds(step.a_ns), Nanoseconds(step.b_ns));
        let (change, noise) = (signed(step.relative), plain(step.noise));
        let at = if is_taken_out(&diff.speed) { " at equal speed of the machine" } else { "" };
        let _ = writeln!(text, "step      {a} -> {b} as measured, {change}{at} (noise {noise})");
    }
    for (what, speed) in [("machine", &diff.speed), ("device", &diff.device_speed)] {
        let Some(speed) = speed else { continue };
        let (took, keys) = (time_for_everything(speed), speed.keys);
        let _ = writeln!(text, "{what:<9} took {took} in B, as {keys} keys show");
    }
    let side = |at: usize| {
        let (recordings, steps) = (diff.recordings[at], diff.steps[at]);
        format!("{recordings} recording{} with {steps} steps", if recordings == 1 { "" } else { "s" })
    };
    let _ = writeln!(text, "A         {}", side(0));
    let _ = writeln!(text, "B         {}", side(1));
}

fn verdict_of(diff: &Diff) -> String {
    let step = diff.step.map_or(Verdict::Unchanged, |step| step.verdict);
    match step {
        Verdict::Slower => "slower".to_owned(),
        Verdict::Faster => "faster".to_owned(),
        _ => "the step is unchanged".to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn table(rows: &[&DiffRow], diff: &Diff, text: &mut String) {
    let step_ns = diff.step.map_or(0.0, |step| step.a_ns);
    if is_taken_out(&diff.speed) || is_taken_out(&diff.device_speed) {
        let _ = writeln!(text, "Times are as measured, change and effect at equal speed of the machine.");
    }
    let per = if diff.steps.contains(&0) { "in A" } else { "A a step" };
    let _ = writeln!(
        text,
        "{:<9} {:>9} {:>12} {:>12} {:>12} {:>9} {:>8} {:>8}  key",
        "",
        "change",
        per,
        per.replace('A', "B"),
        "effect",
        "of step",
        "p",
        "noise"
    );
    for row in rows {
        let told = told(row);
        let (a, b) = told.map_or_else(|| means(row, diff), |change| (change.a_ns, change.b_ns));
        let share = if step_ns > 0.0 { signed(row.effect_ns / step_ns) } else { String::new() };
        let (change, p_value, noise) = match told {
            Some(change) => (signed(change.relative), format!("{:.4}", change.p_value), plain(change.noise)),
            None if a > 0.0 && b > 0.0 => (signed(b / a - 1.0), String::new(), String::new()),
            None => Default::default(),
        };
        let on = if row.key.kind == KeyKind::Device || is_of_device(row, told) { " (device)" } else { "" };
        let _ = writeln!(
            text,
            "{:<9} {change:>9} {:>12} {:>12} {:>12} {share:>9} {p_value:>8} {noise:>8}  {}{on}{}",
            word(row.verdict),
            Nanoseconds(a).to_string(),
            Nanoseconds(b).to_string(),
            Nanoseconds(row.effect_ns).to_string(),
            short(&row.key.to_string()),
            calls(row)
        );
    }
}

/// Whether changes are told as if it had been the same on both sides.
fn is_taken_out(speed: &Option<Speed>) -> bool {
    speed.is_some_and(|speed| speed.is_taken_out)
}

/// The change that the row is about.
fn told(row: &DiffRow) -> Option<&Change> {
    [row.cpu.as_ref(), row.device.as_ref()].into_iter().flatten().find(|change| change.change_ns == row.effect_ns)
}

fn is_of_device(row: &DiffRow, told: Option<&Change>) -> bool {
    told.is_some() && told == row.device.as_ref()
}

/// What a step has on average, or the trace if there are no steps.
fn means(row: &DiffRow, diff: &Diff) -> (f64, f64) {
    let of = |side: Option<mindtorch_analysis::Side>, steps: usize| {
        let own = side.map_or(0, |side| side.totals.self_cpu_ns.max(side.totals.self_device_ns));
        own as f64 / steps.max(1) as f64
    };
    (of(row.a, diff.steps[0]), of(row.b, diff.steps[1]))
}

/// How often it is called in a step, if that changed.
fn calls(row: &DiffRow) -> String {
    let (Some(a), Some(b)) = (row.a, row.b) else { return String::new() };
    let (a, b) = (a.per_step.count, b.per_step.count);
    if a == b { String::new() } else { format!(", {a} calls -> {b}") }
}

fn each_step(steps: &[StepRow], text: &mut String) {
    if steps.is_empty() {
        let _ = writeln!(text, "\nSteps can be shown one by one if each side is one recording.");
        return;
    }
    let _ = writeln!(text, "\n{:>8} {:>12} {:>12} {:>9}", "step", "A", "B", "change");
    for step in steps {
        let ns = |step: Option<mindtorch_analysis::Step>| step.map(|step| step.duration_ns() as f64);
        let shown = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| Nanoseconds(ns).to_string());
        let (a, b) = (ns(step.a), ns(step.b));
        let change = a.zip(b).filter(|(a, _)| *a > 0.0).map_or_else(String::new, |(a, b)| signed(b / a - 1.0));
        let _ = writeln!(text, "{:>8} {:>12} {:>12} {change:>9}", step.number, shown(a), shown(b));
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Added => "added",
        Verdict::Removed => "removed",
        Verdict::Unchanged => "unchanged",
        Verdict::Untested => "untested",
    }
}

fn signed(part: f64) -> String {
    format!("{:+.1} %", part * 100.0)
}

fn plain(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}
