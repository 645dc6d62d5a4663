//! Two baselines side by side.

use crate::baseline::{Baseline, REFERENCE_COMMIT, rounded};

/// A line for each case: the baseline, the count now, the change from the baseline, the change since the reference commit, and
/// the instructions that a session adds.
pub(crate) fn render(stored: &Baseline, now: &Baseline) -> String {
    let gone = stored.counts.iter().filter(|count| now.of(&count.name).is_none());
    let names: Vec<&str> = now.counts.iter().chain(gone).map(|count| count.name.as_str()).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let since = format!("since {REFERENCE_COMMIT}");
    let line = |name: &str, [baseline, now, change, since, over]: [&str; 5]| {
        let line = format!("{name:width$} {baseline:>10} {now:>10} {change:>10} {since:>14} {over:>15}");
        format!("{}\n", line.trim_end())
    };
    let mut text = line("", ["baseline", "now", "change", &since, "over no session"]);
    for name in names {
        let (then, here) = (stored.of(name), now.of(name));
        let change = match (then, here) {
            (Some(then), Some(here)) if then == here => String::new(),
            (Some(then), Some(here)) => format!("{:+}", rounded(here - then)),
            (None, _) => "new".to_owned(),
            (_, None) => "gone".to_owned(),
        };
        let reference = stored.case(name).and_then(|count| count.reference);
        let since = match (reference, here) {
            (Some(reference), Some(here)) => format!("{:+.1} %", (here - reference) / reference * 100.0),
            _ => String::new(),
        };
        let over = name.split_once(": ").and_then(|(event, _)| {
            let off = format!("{event}: no session");
            if off == name { None } else { Some(rounded(here? - now.of(&off)?)) }
        });
        let [then, here, over] =
            [then, here, over].map(|count: Option<f64>| count.map_or_else(String::new, |count| count.to_string()));
        text += &line(name, [&then, &here, &change, &since, &over]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Count;

    #[test]
    fn a_line_says_what_changed_and_what_recording_costs() {
        let baseline = |counts: &[(&str, u64)]| Baseline {
            tools: Vec::new(),
            counts: counts.iter().map(|&(name, count)| Count::new(name, count, 10)).collect(),
        };
        let mut stored = baseline(&[("mark: no session", 110), ("mark: session", 680), ("old: session", 10)]);
        stored.counts[0].reference = Some(11.0);
        stored.counts[1].reference = Some(66.0);
        let now = baseline(&[("mark: no session", 110), ("mark: session", 675), ("new: session", 20)]);
        let table = render(&stored, &now);
        let lines: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["mark:", "no", "session", "11", "11", "+0.0", "%"]);
        assert_eq!(lines[1], ["mark:", "session", "68", "67.5", "-0.5", "+2.3", "%", "56.5"]);
        assert_eq!(lines[2], ["new:", "session", "2", "new"]);
        assert_eq!(lines[3], ["old:", "session", "1", "gone"]);
    }
}
