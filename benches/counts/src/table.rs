//! Two baselines side by side.

use crate::baseline::{Baseline, rounded};

/// A line for each case: what it took, what it takes, the change, and how much more that is than with no session.
pub(crate) fn render(stored: &Baseline, now: &Baseline) -> String {
    let gone = stored.counts.iter().filter(|count| now.of(&count.name).is_none());
    let names: Vec<&str> = now.counts.iter().chain(gone).map(|count| count.name.as_str()).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut text =
        format!("{:width$} {:>10} {:>10} {:>10} {:>15}\n", "", "baseline", "now", "change", "over no session");
    for name in names {
        let (then, here) = (stored.of(name), now.of(name));
        let change = match (then, here) {
            (Some(then), Some(here)) if then == here => String::new(),
            (Some(then), Some(here)) => format!("{:+}", rounded(here - then)),
            (None, _) => "new".to_owned(),
            (_, None) => "gone".to_owned(),
        };
        let over = name.split_once(": ").and_then(|(event, _)| {
            let off = format!("{event}: no session");
            if off == name { None } else { Some(rounded(here? - now.of(&off)?)) }
        });
        let [then, here, over] =
            [then, here, over].map(|count: Option<f64>| count.map_or_else(String::new, |count| count.to_string()));
        text += format!("{name:width$} {then:>10} {here:>10} {change:>10} {over:>15}").trim_end();
        text.push('\n');
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
        let stored = baseline(&[("mark: no session", 110), ("mark: session", 680), ("old: session", 10)]);
        let now = baseline(&[("mark: no session", 110), ("mark: session", 675), ("new: session", 20)]);
        let table = render(&stored, &now);
        let lines: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["mark:", "no", "session", "11", "11"]);
        assert_eq!(lines[1], ["mark:", "session", "68", "67.5", "-0.5", "56.5"]);
        assert_eq!(lines[2], ["new:", "session", "2", "new"]);
        assert_eq!(lines[3], ["old:", "session", "1", "gone"]);
    }
}
