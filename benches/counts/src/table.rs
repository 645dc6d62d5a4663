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
