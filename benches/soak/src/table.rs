//! The rows as a table.

use crate::figures::Figures;
use crate::rows::Row;

const COLUMNS: [&str; 10] = [
    "done",
    "seconds",
    "ns each",
    "events kept",
    "dropped",
    "held, MiB",
    "file, MiB",
    "peak RSS, MiB",
    "with trace",
    "growth, MiB",
];

/// A line for each row.
pub(crate) fn render(rows: &[(&Row, Figures)]) -> String {
    let width = rows.iter().map(|(row, _)| row.what.chars().count()).max().unwrap_or(0);
    let line = |what: &str, cells: [String; 10]| {
        let cells: Vec<_> = cells.iter().map(|cell| format!("{cell:>13}")).collect();
        format!("{what:width$} {}\n", cells.join(" "))
    };
    let mut text = line("", COLUMNS.map(str::to_owned));
    for (row, figures) in rows {
        text += &line(row.what, cells(figures));
    }
    text
}

fn cells(figures: &Figures) -> [String; 10] {
    let or_none = |bytes: u64| if bytes == 0 { "-".to_owned() } else { mib(bytes) };
    [
        grouped(figures.done),
        format!("{:.1}", figures.nanoseconds as f64 / 1e9),
        format!("{:.1}", figures.nanoseconds as f64 / figures.done as f64),
        grouped(figures.kept),
        grouped(figures.dropped),
        mib(figures.memory_held),
        or_none(figures.file_bytes),
        mib(figures.peak),
        or_none(figures.with_trace),
        mib(figures.growth),
    ]
}

pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// A number with commas between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        let numbers = [0, 12, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "12", "999", "1,000", "1,234,567"]);
    }
}
