//! What a row took, also as text between two processes.

use std::fmt;
use std::str::FromStr;

/// What a row took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Events, or sessions.
    pub(crate) done: u64,
    pub(crate) nanoseconds: u64,
    pub(crate) kept: u64,
    pub(crate) dropped: u64,
    /// What the recording says that it takes.
    pub(crate) memory_held: u64,
    /// What it has in files.
    pub(crate) file_bytes: u64,
    /// The most memory that the process had until recording ended.
    pub(crate) peak: u64,
    /// The memory that is the process's own, and in no file, with the trace.
    pub(crate) with_trace: u64,
    /// How much more memory the process had at the end than after a tenth.
    pub(crate) growth: u64,
}

impl Figures {
    const NAMES: [&str; 9] =
        ["done", "nanoseconds", "kept", "dropped", "memory_held", "file_bytes", "peak", "with_trace", "growth"];

    fn fields(&mut self) -> [&mut u64; 9] {
        [
            &mut self.done,
            &mut self.nanoseconds,
            &mut self.kept,
            &mut self.dropped,
            &mut self.memory_held,
            &mut self.file_bytes,
            &mut self.peak,
            &mut self.with_trace,
            &mut self.growth,
        ]
    }
}

/// A line for each figure: its name and the number.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut figures = *self;
        let values = figures.fields();
        Self::NAMES.iter().zip(values).try_for_each(|(name, value)| writeln!(f, "{name} {value}"))
    }
}

impl FromStr for Figures {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut figures = Self::default();
        for (name, value) in Self::NAMES.iter().zip(figures.fields()) {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            *value = line.and_then(|number| number.parse().ok()).ok_or_else(|| format!("no {name} in {text:?}"))?;
        }
        Ok(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_survive_as_text() {
        let figures = Figures { done: 7, peak: 3, with_trace: 4, growth: u64::MAX, ..Figures::default() };
        assert_eq!(figures.to_string().parse(), Ok(figures));
        assert!("done 7".parse::<Figures>().is_err());
    }
}
