//! Counts as a file: what made them, and a line for each case.

use std::fmt;

/// The share by which a count may differ from the baseline: other compilers and C libraries change counts by less.
const TOLERANCE: f64 = 0.02;
/// The share by which a count may differ from the reference without a reason in the baseline file.
const UNEXPLAINED: f64 = 0.05;
/// The commit whose counts are the references.
pub(crate) const REFERENCE_COMMIT: &str = "298c539";

/// The instructions that an event takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Count {
    pub(crate) name: String,
    pub(crate) instructions: f64,
    /// The instructions at the reference commit. `None` in a count just taken, and for a case that is newer than the commit.
    pub(crate) reference: Option<f64>,
    /// The reason for the difference from the reference.
    pub(crate) reason: Option<String>,
}

impl Count {
    pub(crate) fn new(name: &str, instructions: u64, events: usize) -> Self {
        let instructions = per_event(instructions, events);
        Self { name: name.to_owned(), instructions, reference: None, reason: None }
    }

    fn parse(line: &str) -> Result<Self, String> {
        let (row, reason) = match line.split_once(REASON) {
            Some((row, reason)) => (row, Some(reason.trim().to_owned())),
            None => (line, None),
        };
        let (instructions, rest) = row.trim().split_once(' ').ok_or("no case")?;
        let (reference, name) = rest.trim().split_once(' ').ok_or("no reference, or no case")?;
        let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is not a number"));
        let reference = if reference == NO_REFERENCE { None } else { Some(number(reference)?) };
        Ok(Self { name: name.trim().to_owned(), instructions: number(instructions)?, reference, reason })
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reference = self.reference.map_or_else(|| NO_REFERENCE.to_owned(), |reference| reference.to_string());
        write!(f, "{:>10} {reference:>10}  {}", self.instructions, self.name)?;
        self.reason.iter().try_for_each(|reason| write!(f, "{REASON}{reason}"))
    }
}

/// Returns true if the counts differ by no more than the share of the first, or by no more than one instruction.
fn are_close(from: f64, to: f64, share: f64) -> bool {
    // As many digits as a file has: the share of a whole number may be one too.
    rounded((to - from).abs()) <= rounded(from * share).max(1.0)
}

pub(crate) fn per_event(instructions: u64, events: usize) -> f64 {
    rounded(instructions as f64 / events as f64)
}

/// To as many digits as are written.
pub(crate) fn rounded(instructions: f64) -> f64 {
    (instructions * 10_000.0).round() / 10_000.0
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Baseline {
    pub(crate) tools: Vec<String>,
    pub(crate) counts: Vec<Count>,
}

const HEAD: &str = "\
# Instructions per event. `make count` compares with the first column, and accepts 2 % or one instruction, whichever is more.
# `make count-update` writes it. The second column has the counts at commit 298c539, or - for a case that is newer.
# A case that differs from the second column by more than 5 % and by more than one instruction needs a reason, after # at
# the end of its line. `make count-update` keeps reasons.
";
const TOOL: &str = "# Made with ";
const REASON: &str = "  # ";
const NO_REFERENCE: &str = "-";

impl Baseline {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let tools = text.lines().filter_map(|line| line.strip_prefix(TOOL)).map(str::to_owned).collect();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let counts = lines.map(|line| Count::parse(line).map_err(|error| format!("the baseline: {error}: {line:?}")));
        Ok(Self { tools, counts: counts.collect::<Result<_, _>>()? })
    }

    pub(crate) fn case(&self, name: &str) -> Option<&Count> {
        self.counts.iter().find(|count| count.name == name)
    }

    pub(crate) fn of(&self, name: &str) -> Option<f64> {
        self.case(name).map(|count| count.instructions)
    }

    /// The number of cases whose count now is outside of the tolerance, and of cases that only one of the two has.
    pub(crate) fn differing(&self, now: &Self) -> usize {
        let is_same = |count: &&Count| {
            self.of(&count.name).is_some_and(|stored| are_close(stored, count.instructions, TOLERANCE))
        };
        let gone = self.counts.iter().filter(|count| now.of(&count.name).is_none()).count();
        gone + now.counts.iter().filter(|count| !is_same(count)).count()
    }

    /// The cases that differ too much from the reference now, for which the file has no reason.
    pub(crate) fn unexplained<'a>(&'a self, now: &Self) -> Vec<&'a str> {
        let is_unexplained = |stored: &&Count| match (stored.reference, now.of(&stored.name), &stored.reason) {
            (Some(reference), Some(now), None) => !are_close(reference, now, UNEXPLAINED),
            _ => false,
        };
        self.counts.iter().filter(is_unexplained).map(|count| count.name.as_str()).collect()
    }

    /// Returns the counts of now, with the references and reasons of this baseline.
    pub(crate) fn updated(&self, now: Self) -> Self {
        let counts = now.counts.into_iter().map(|count| match self.case(&count.name) {
            Some(stored) => Count { instructions: count.instructions, ..stored.clone() },
            None => count,
        });
        Self { tools: now.tools, counts: counts.collect() }
    }

    /// Which tools were others than now, a line each.
    pub(crate) fn other_tools(&self, now: &Self) -> String {
        let pairs = self.tools.iter().zip(&now.tools).filter(|(then, now)| then != now);
        pairs.map(|(then, now)| format!("  {then}, now {now}\n")).collect()
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        self.tools.iter().try_for_each(|tool| writeln!(f, "{TOOL}{tool}"))?;
        self.counts.iter().try_for_each(|count| writeln!(f, "{count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(counts: &[(&str, u64)]) -> Baseline {
        let counts = counts.iter().map(|&(name, instructions)| Count::new(name, instructions, 100)).collect();
        Baseline { tools: vec!["rustc 1".to_owned(), "valgrind 3".to_owned()], counts }
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let mut written = baseline(&[("record_function!: session", 12_900), ("a + b: no session", 81_203)]);
        written.counts[0].reference = Some(120.5);
        written.counts[0].reason = Some("spans have an id".to_owned());
        assert_eq!(Baseline::parse(&written.to_string()).unwrap(), written);
        assert!(written.to_string().contains("       129      120.5  record_function!: session  # spans have an id\n"));
        assert!(written.to_string().contains("    812.03          -  a + b: no session\n"));
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        assert!(Baseline::parse("many 12  record_function!: session").is_err());
        assert!(Baseline::parse("12 many  record_function!: session").is_err());
        assert!(Baseline::parse("12").is_err());
        assert!(Baseline::parse("12 12").is_err());
    }

    #[test]
    fn differences_above_two_percent_and_one_instruction_count() {
        let of = |instructions: u64| baseline(&[("case", instructions)]);
        // 100 and 6 instructions.
        for (stored, close, far) in [(10_000, [10_200, 9_800], [10_201, 9_799]), (600, [700, 500], [701, 499])] {
            assert_eq!(close.map(|now| of(stored).differing(&of(now))), [0, 0]);
            assert_eq!(far.map(|now| of(stored).differing(&of(now))), [1, 1]);
        }
    }

    #[test]
    fn new_and_removed_cases_differ() {
        let stored = baseline(&[("same", 100), ("gone", 100)]);
        assert_eq!(stored.differing(&stored), 0);
        assert_eq!(stored.differing(&baseline(&[("same", 100), ("new", 100)])), 2);
    }

    #[test]
    fn more_than_five_percent_from_the_reference_needs_a_reason() {
        let mut stored = baseline(&[("case", 10_000), ("small", 600), ("new", 100)]);
        stored.counts[0].reference = Some(100.0);
        stored.counts[1].reference = Some(6.0);
        assert!(stored.unexplained(&baseline(&[("case", 10_500), ("small", 700), ("new", 900)])).is_empty());
        assert_eq!(stored.unexplained(&baseline(&[("case", 10_501), ("small", 701)])), ["case", "small"]);
        assert_eq!(stored.unexplained(&baseline(&[("case", 9_499)])), ["case"]);
        stored.counts[0].reason = Some("one field more".to_owned());
        assert!(stored.unexplained(&baseline(&[("case", 10_501)])).is_empty());
    }

    #[test]
    fn an_update_keeps_references_and_reasons() {
        let mut stored = baseline(&[("case", 10_000), ("gone", 600)]);
        stored.counts[0].reference = Some(100.0);
        stored.counts[0].reason = Some("one field more".to_owned());
        let updated = stored.updated(baseline(&[("case", 11_000), ("new", 100)]));
        assert_eq!(updated.counts[0], Count { instructions: 110.0, ..stored.counts[0].clone() });
        assert_eq!(updated.counts[1], Count::new("new", 100, 100));
        assert_eq!(updated.counts.len(), 2);
    }

    #[test]
    fn the_stored_baseline_is_complete() {
        let stored = Baseline::parse(include_str!("../baseline.txt")).unwrap();
        assert!(HEAD.contains(REFERENCE_COMMIT));
        let names: Vec<&str> = stored.counts.iter().map(|count| count.name.as_str()).collect();
        assert_eq!(names, crate::cases::CASES.iter().map(|case| case.name).collect::<Vec<_>>());
        assert!(stored.unexplained(&stored).is_empty());
    }

    #[test]
    fn other_tools_are_named() {
        let stored = baseline(&[]);
        let now = Baseline { tools: vec!["rustc 2".to_owned(), "valgrind 3".to_owned()], ..stored.clone() };
        assert_eq!(stored.other_tools(&now), "  rustc 1, now rustc 2\n");
        assert_eq!(stored.other_tools(&stored), "");
    }
}
