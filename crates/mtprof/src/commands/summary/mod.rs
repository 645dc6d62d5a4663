//! `mtprof summary`: where the time and the memory went.

mod text;

use crate::OK;
use crate::commands::ranks::RanksSummary;
use crate::console::Console;
use crate::error::Error;
use crate::input;
use clap::Args;
use mindtorch_analysis::{Summary as Answer, SummaryOptions};
use mindtorch_profiler::{GroupBy, SortKey, TableOptions};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Show where the time and the memory went: steps, operators, stacks, memory peaks, idle devices
#[derive(Debug, Args)]
pub(crate) struct Summary {
    /// Traces; `-` is standard input. A directory has those of the ranks of one run
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The traces are the ranks of one run, as are those of a directory: say what each did, how far they are apart, and who
    /// waits for whom
    #[arg(long)]
    ranks: bool,
    /// How many rows the table of averages has at most; 0 is no table
    #[arg(long, value_name = "N", default_value_t = 10)]
    rows: usize,
    /// What the table is sorted by, such as `cpu_time_total` or `count`; by default `self_device_time_total` if a device did
    /// anything, else `self_cpu_time_total`
    #[arg(long, value_name = "COLUMN")]
    sort_by: Option<SortKey>,
    /// Group the table by the shapes of operators' inputs, too
    #[arg(long)]
    group_by_input_shape: bool,
    /// Group the table by the N innermost frames of operators' stacks, too
    #[arg(long, value_name = "N", default_value_t = 0)]
    group_by_stack: usize,
    /// How many operators, kernels, stacks, gaps and allocating operators are listed at most
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,
}

/// What is said of one file.
#[derive(Serialize)]
pub(crate) struct OfFile {
    file: String,
    #[serde(flatten)]
    summary: Answer,
    /// The table as a text.
    #[serde(skip)]
    table: Option<String>,
}

impl Summary {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        if self.ranks || self.files.iter().any(|file| file.is_dir()) {
            let summary = RanksSummary::of(&self.files, console)?;
            console.answer(&summary, RanksSummary::text)?;
            return Ok(OK);
        }
        // One trace at a time is in memory.
        let mut answers = Vec::with_capacity(self.files.len());
        for file in &self.files {
            answers.push(self.summarise(file, console)?);
        }
        let paint = console.paint();
        console.answer(&answers, |answers| text::of_files(answers, paint))?;
        Ok(OK)
    }

    fn summarise(&self, file: &Path, console: &mut Console<'_>) -> Result<OfFile, Error> {
        let trace = input::load(file, console)?;
        let by_name = trace.key_averages();
        let by = GroupBy { shapes: self.group_by_input_shape, stack_depth: self.group_by_stack, ..GroupBy::default() };
        let grouped = (by != GroupBy::default()).then(|| trace.averages(by));
        let averages = grouped.as_ref().unwrap_or(&by_name);
        let has_device_work = trace.device_spans().len() > 0;
        let usual = if has_device_work { SortKey::SelfDeviceTimeTotal } else { SortKey::SelfCpuTimeTotal };
        let sort_by = self.sort_by.unwrap_or(usual);
        let options = SummaryOptions { rows: self.rows, sort_by, top: self.top };
        let table = TableOptions { sort_by: Some(sort_by), row_limit: Some(self.rows), ..TableOptions::default() };
        Ok(OfFile {
            file: file.display().to_string(),
            summary: Answer::of(&trace, averages, &by_name, &options),
            table: (self.rows > 0).then(|| averages.table(&table)),
        })
    }
}
