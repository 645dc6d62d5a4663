//! The difference as a text: what it comes to, then the keys, those first that matter most to the step.

use crate::commands::names::short;
use mindtorch_analysis::{Diff, DiffRow, Headline, Nanoseconds, Part, StepRow, Verdict};
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
    let Headline { verdict, step, machine, device, sides: [a, b], .. } = diff.headline();
    let _ = match diff.untestable {
        Some(_) => writeln!(text, "{verdict}. Differences of totals:"),
        None => writeln!(text, "{verdict}"),
    };
    for (label, line) in [("step", step), ("machine", machine), ("device", device), ("A", Some(a)), ("B", Some(b))] {
        if let Some(line) = line {
            let _ = writeln!(text, "{label:<9} {line}");
        }
    }
}

fn table(rows: &[&DiffRow], diff: &Diff, text: &mut String) {
    if let Some(note) = diff.headline().note {
        let _ = writeln!(text, "{note}");
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
        let line = diff.line(row);
        let signed = |part: Option<f64>| part.map(|part| format!("{:+}", Part(part))).unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<9} {:>9} {:>12} {:>12} {:>12} {:>9} {:>8} {:>8}  {}{}{}",
            row.verdict.word(),
            signed(line.change),
            Nanoseconds(line.a_ns).to_string(),
            Nanoseconds(line.b_ns).to_string(),
            Nanoseconds(row.effect_ns).to_string(),
            signed(line.share),
            line.p_value.map(|p_value| format!("{p_value:.4}")).unwrap_or_default(),
            line.noise.map(|noise| Part(noise).to_string()).unwrap_or_default(),
            short(&row.key.to_string()),
            if line.is_of_device { " (device)" } else { "" },
            line.calls.map(|[a, b]| format!(", {a} calls -> {b}")).unwrap_or_default(),
        );
    }
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
        let change =
            a.zip(b).filter(|(a, _)| *a > 0.0).map_or_else(String::new, |(a, b)| format!("{:+}", Part(b / a - 1.0)));
        let _ = writeln!(text, "{:>8} {:>12} {:>12} {change:>9}", step.number, shown(a), shown(b));
    }
}
