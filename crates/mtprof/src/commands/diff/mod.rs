//! `mtprof diff`: what became slower or faster, added or removed.

mod text;

use crate::console::Console;
use crate::error::Error;
use crate::{NO, OK, recordings};
use clap::{Args, ValueEnum};
use mindtorch_analysis::{By, Diff, DiffOptions};
use std::path::PathBuf;

/// Show what differs between two programs' traces, by more than noise
///
/// Each side is a trace, or a directory of several of the same program: a change that is smaller than what runs differ by can
/// only be told from several. Times are compared step by step, at equal speed of the machine.
#[derive(Debug, Args)]
pub(crate) struct DiffCommand {
    /// What it was: a trace, or a directory of traces
    a: PathBuf,
    /// What it is: a trace, or a directory of traces
    b: PathBuf,
    /// What is compared
    #[arg(long, value_enum, default_value = "op")]
    by: What,
    /// Show what did not change, too
    #[arg(long)]
    all: bool,
    /// Report changes from this part of a key's own time on
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    min_change: f64,
    /// Report changes from this part of the step's time on
    #[arg(long, value_name = "PERCENT", default_value = "0.2", value_parser = percent)]
    min_share: f64,
    /// Compare times as they were measured, not at equal speed of the machine
    #[arg(long)]
    as_measured: bool,
    /// Exit with status 1 if this is found
    #[arg(long, value_enum)]
    fail_on: Option<Finding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum What {
    /// Operators, by name
    Op,
    /// Operators, by name and input shapes
    Shape,
    /// Operators, by name and stack
    Stack,
    /// Steps, one by one
    Step,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Finding {
    /// Something is slower, or was added
    Slower,
    /// Anything changed
    Change,
}

impl DiffCommand {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        let by = match self.by {
            What::Op | What::Step => By::Op,
            What::Shape => By::Shape,
            What::Stack => By::Stack,
        };
        let a = recordings::load(&self.a, by, console, |_, _, _| {})?;
        let b = recordings::load(&self.b, by, console, |_, _, _| {})?;
        let options = DiffOptions {
            min_change: self.min_change,
            min_share: self.min_share,
            at_equal_speed: !self.as_measured,
            ..DiffOptions::default()
        };
        let diff = Diff::of(&a, &b, &options);
        console.answer(&diff, |diff| text::text(diff, self.by == What::Step, self.all))?;
        let is_found = match self.fail_on {
            None => false,
            Some(finding) if diff.untestable.is_some() => {
                let why = diff.untestable.as_deref().unwrap_or_default();
                return Err(Error::Use(format!("cannot tell whether anything is {}: {why}", finding.word())));
            }
            Some(Finding::Slower) => diff.is_slower(),
            Some(Finding::Change) => diff.is_changed(),
        };
        Ok(if is_found { NO } else { OK })
    }
}

impl Finding {
    fn word(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Change => "changed",
        }
    }
}

/// The part that `5`, `5%` or `5 %` is.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent >= 0.0 && percent.is_finite() => Ok(percent / 100.0),
        _ => Err("expected percent such as 2 or 0.5%".to_owned()),
    }
}
