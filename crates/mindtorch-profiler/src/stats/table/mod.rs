//! The table, with torch's columns, widths and words: as text, or for a page.

mod columns;
mod html;
mod text;

use super::format::time;
use super::{Average, Averages};
use columns::{Column, Totals, columns};
use std::str::FromStr;

/// How to print a table. The defaults are torch's.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// The column to sort by, largest first; `None` keeps the order of first appearance.
    pub sort_by: Option<SortKey>,
    /// The rows to print; `None` prints all.
    pub row_limit: Option<usize>,
    /// The widest that the name column may be.
    pub max_name_column_width: Option<usize>,
    /// The widest that the source column may be.
    pub max_src_column_width: Option<usize>,
    /// The widest that the shapes column may be.
    pub max_shapes_column_width: Option<usize>,
    /// A line to print above.
    pub header: Option<String>,
    /// Whether to leave out events that are inside others.
    pub top_level_events_only: bool,
    /// The unit of all times; `None` chooses for each.
    pub time_unit: Option<TimeUnit>,
    /// What is made of it.
    pub form: TableForm,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            sort_by: None,
            row_limit: Some(100),
            max_name_column_width: Some(55),
            max_src_column_width: Some(75),
            max_shapes_column_width: Some(80),
            header: None,
            top_level_events_only: false,
            time_unit: None,
            form: TableForm::Text,
        }
    }
}

/// What a table is made as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableForm {
    /// Lines of text, as torch prints them.
    #[default]
    Text,
    /// An HTML table and what stands below it, to be put into a page.
    Html,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// `s`
    Seconds,
    /// `ms`
    Milliseconds,
    /// `us`
    Microseconds,
}

/// What a table can be sorted by: torch's names for it, parsed with [`str::parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum SortKey {
    Key,
    Count,
    CpuTime,
    CpuTimeTotal,
    SelfCpuTimeTotal,
    DeviceTime,
    DeviceTimeTotal,
    SelfDeviceTimeTotal,
    CpuMemoryUsage,
    SelfCpuMemoryUsage,
    DeviceMemoryUsage,
    SelfDeviceMemoryUsage,
    Flops,
}

/// A sort key that no table has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a table cannot be sorted by {0:?}; it can by count, cpu_time_total, self_cpu_time_total, device_time_total, ..."
)]
pub struct UnknownSortKey(String);

impl FromStr for SortKey {
    type Err = UnknownSortKey;

    fn from_str(text: &str) -> Result<Self, UnknownSortKey> {
        let name = ["cuda", "xpu", "privateuse1", "npu"]
            .iter()
            .fold(text.to_owned(), |name, device| name.replace(device, "device"));
        Ok(match name.as_str() {
            "key" => Self::Key,
            "count" => Self::Count,
            "cpu_time" => Self::CpuTime,
            "cpu_time_total" => Self::CpuTimeTotal,
            "self_cpu_time_total" => Self::SelfCpuTimeTotal,
            "device_time" => Self::DeviceTime,
            "device_time_total" => Self::DeviceTimeTotal,
            "self_device_time_total" => Self::SelfDeviceTimeTotal,
            "cpu_memory_usage" => Self::CpuMemoryUsage,
            "self_cpu_memory_usage" => Self::SelfCpuMemoryUsage,
            "device_memory_usage" => Self::DeviceMemoryUsage,
            "self_device_memory_usage" => Self::SelfDeviceMemoryUsage,
            "flops" => Self::Flops,
            _ => return Err(UnknownSortKey(text.to_owned())),
        })
    }
}

impl SortKey {
    /// Sorts largest first; equal rows keep their order.
    pub fn sort(self, rows: &mut [&Average]) {
        if self == Self::Key {
            rows.sort_by(|one, other| other.key.cmp(&one.key));
        } else {
            rows.sort_by(|one, other| self.value(other).total_cmp(&self.value(one)));
        }
    }

    fn value(self, row: &Average) -> f64 {
        match self {
            Self::Key => 0.0,
            Self::Count => row.count as f64,
            Self::CpuTime => row.cpu_mean_us(),
            Self::CpuTimeTotal => row.cpu_total_us(),
            Self::SelfCpuTimeTotal => row.self_cpu_us(),
            Self::DeviceTime => row.device_mean_us(),
            Self::DeviceTimeTotal => row.device_total_us(),
            Self::SelfDeviceTimeTotal => row.self_device_us(),
            Self::CpuMemoryUsage => row.cpu_memory as f64,
            Self::SelfCpuMemoryUsage => row.self_cpu_memory as f64,
            Self::DeviceMemoryUsage => row.device_memory as f64,
            Self::SelfDeviceMemoryUsage => row.self_device_memory as f64,
            Self::Flops => row.flops as f64,
        }
    }
}

/// A table that is about to be written.
struct Layout<'a> {
    averages: &'a Averages,
    options: &'a TableOptions,
    columns: Vec<Column<'a>>,
    totals: Totals,
    /// Those that are shown.
    rows: Vec<&'a Average>,
    has_stacks: bool,
}

pub(super) fn render(averages: &Averages, options: &TableOptions) -> String {
    if averages.rows.is_empty() {
        return String::new();
    }
    let mut rows: Vec<&Average> = averages.rows.iter().collect();
    if let Some(key) = options.sort_by {
        key.sort(&mut rows);
    }
    let totals = Totals::of(&rows);
    let columns = columns(averages, &rows, options, totals);
    let has_stacks = rows.iter().any(|row| !row.stack.is_empty());
    rows.retain(|row| !(options.top_level_events_only && row.has_parent));
    rows.truncate(options.row_limit.unwrap_or(usize::MAX));
    let layout = Layout { averages, options, columns, totals, rows, has_stacks };
    match options.form {
        TableForm::Text => text::write(&layout),
        TableForm::Html => html::write(&layout),
    }
}

impl Layout<'_> {
    /// What stands above the table.
    fn headers(&self) -> impl Iterator<Item = &str> {
        let top_level =
            self.options.top_level_events_only.then_some("This report only display top-level ops statistics");
        self.options.header.as_deref().into_iter().chain(top_level)
    }

    /// What stands below it, in lines.
    fn footer(&self) -> String {
        let unit = self.options.time_unit;
        let mut text = format!("Self CPU time total: {}\n", time(self.totals.self_cpu_us, unit));
        if self.totals.has_device_time {
            let device = &self.averages.device_label;
            text += &format!("Self {device} time total: {}\n", time(self.totals.self_device_us, unit));
        }
        if let Some(ns) = self.averages.overhead_ns {
            text += &format!("Profiler overhead subtracted: {}\n", time(ns as f64 / 1e3, unit));
        }
        text + &self.averages.losses.to_string()
    }
}
