//! Counts as a file: what made them, and a line for each case.

use std::fmt;

/// The instructions that an event takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Count {
    pub(crate) name: String,
    pub(crate) instructions: f64,
}

impl Count {
    pub(crate) fn new(name: &str, instructions: u64, events: usize) -> Self {
        Self { name: name.to_owned(), instructions: per_event(instructions, events) }
    }
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

const HEAD: &str = "# Instructions an event. `make count` compares with this, `make count-update` writes it.\n";
const TOOL: &str = "# Made with ";

impl Baseline {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let tools = text.lines().filter_map(|line| line.strip_prefix(TOOL)).map(str::to_owned).collect();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let counts = lines.map(|line| {
            let (instructions, name) = line.trim().split_once("  ").ok_or("no number")?;
            let instructions = instructions.parse().map_err(|_| "no number")?;
            Ok(Count { name: name.to_owned(), instructions })
        });
        let counts = counts.collect::<Result<_, &str>>().map_err(|error| format!("the baseline: {error}\n{text}"))?;
        Ok(Self { tools, counts })
    }

    pub(crate) fn of(&self, name: &str) -> Option<f64> {
        self.counts.iter().find(|count| count.name == name).map(|count| count.instructions)
    }

    /// How many cases have another count than now, or are only here, or only there.
    pub(crate) fn differing(&self, now: &Self) -> usize {
        let gone = self.counts.iter().filter(|count| now.of(&count.name).is_none()).count();
        gone + now.counts.iter().filter(|count| self.of(&count.name) != Some(count.instructions)).count()
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
        self.counts.iter().try_for_each(|Count { name, instructions }| writeln!(f, "{instructions:>10}  {name}"))
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
        let written = baseline(&[("record_function!: session", 12_900), ("a + b: no session", 81_203)]);
        assert_eq!(Baseline::parse(&written.to_string()).unwrap(), written);
        assert!(written.to_string().contains("    812.03  a + b: no session\n"));
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        assert!(Baseline::parse("many  record_function!: session").is_err());
        assert!(Baseline::parse("12").is_err());
    }

    #[test]
    fn more_fewer_new_and_gone_all_differ() {
        let stored = baseline(&[("same", 100), ("more", 100), ("fewer", 100), ("gone", 100)]);
        assert_eq!(stored.differing(&stored), 0);
        let now = baseline(&[("same", 100), ("more", 101), ("fewer", 99), ("new", 100)]);
        assert_eq!(stored.differing(&now), 4);
    }

    #[test]
    fn other_tools_are_named() {
        let stored = baseline(&[]);
        let now = Baseline { tools: vec!["rustc 2".to_owned(), "valgrind 3".to_owned()], ..stored.clone() };
        assert_eq!(stored.other_tools(&now), "  rustc 1, now rustc 2\n");
        assert_eq!(stored.other_tools(&stored), "");
    }
}
