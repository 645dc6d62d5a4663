//! The table, with torch's columns, widths and words.

use super::format::{flops_scale, head, memory, share, tail, time};
use super::{Average, Averages};
use crate::capture::Capture;
use crate::inputs::{Input, Inputs};
use std::fmt::Write as _;
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
        }
    }
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
    fn sort(self, rows: &mut [&Average]) {
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

const COLUMN_WIDTH: usize = 12;

/// A column: its heading, its width, and its text for a row.
struct Column<'a> {
    heading: String,
    width: usize,
    is_left_aligned: bool,
    cell: Box<dyn Fn(&Average) -> String + 'a>,
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
    let separator: String = columns.iter().map(|column| "-".repeat(column.width) + "  ").collect();
    let ruler = "=".repeat(separator.len() - 2);

    let mut text = String::new();
    if let Some(header) = &options.header {
        push_lines(&mut text, [&ruler, header]);
    }
    if options.top_level_events_only {
        push_lines(&mut text, [ruler.as_str(), "This report only display top-level ops statistics"]);
    }
    push_lines(&mut text, [separator.as_str()]);
    push_cells(&mut text, &columns, |column| column.heading.clone());
    push_lines(&mut text, [separator.as_str()]);
    let shown = rows.iter().filter(|row| !(options.top_level_events_only && row.has_parent));
    for row in shown.take(options.row_limit.unwrap_or(usize::MAX)) {
        push_cells(&mut text, &columns, |column| (column.cell)(row));
        if has_stacks {
            push_deeper_frames(&mut text, &columns, row);
        }
    }
    push_lines(&mut text, [separator.as_str()]);
    let _ = writeln!(text, "Self CPU time total: {}", time(totals.self_cpu_us, options.time_unit));
    if totals.has_device_time {
        let device = &averages.device_label;
        let _ = writeln!(text, "Self {device} time total: {}", time(totals.self_device_us, options.time_unit));
    }
    if let Some(ns) = averages.overhead_ns {
        let _ = writeln!(text, "Profiler overhead subtracted: {}", time(ns as f64 / 1e3, options.time_unit));
    }
    let _ = write!(text, "{}", averages.losses);
    text
}

#[derive(Clone, Copy)]
struct Totals {
    self_cpu_us: f64,
    self_device_us: f64,
    has_device_time: bool,
}

impl Totals {
    fn of(rows: &[&Average]) -> Self {
        Self {
            self_cpu_us: rows.iter().map(|row| row.self_cpu_us()).sum(),
            self_device_us: rows
                .iter()
                .filter(|row| row.is_device() && !row.is_annotation())
                .map(|row| row.self_device_us())
                .sum(),
            has_device_time: rows.iter().any(|row| row.self_device_us() > 0.0),
        }
    }
}

fn columns<'a>(averages: &Averages, rows: &[&Average], options: &'a TableOptions, totals: Totals) -> Vec<Column<'a>> {
    let unit = options.time_unit;
    let device = &averages.device_label;
    let max_name = options.max_name_column_width;
    let name_width = capped(rows.iter().map(|row| row.key.chars().count()), max_name);
    let mut columns: Vec<Column<'a>> = Vec::new();
    let mut add = |heading: &str, width: usize, cell: Box<dyn Fn(&Average) -> String + 'a>| {
        columns.push(Column { heading: heading.to_owned(), width, is_left_aligned: false, cell });
    };
    add("Name", name_width, Box::new(move |row| shortened(&row.key, max_name)));
    if rows.iter().any(|row| !row.overload.is_empty()) {
        add("Overload Name", name_width, Box::new(move |row| shortened(&row.overload, max_name)));
    }
    let whole = totals.self_cpu_us;
    add("Self CPU %", COLUMN_WIDTH, Box::new(move |row| share(row.self_cpu_us(), whole)));
    add("Self CPU", COLUMN_WIDTH, Box::new(move |row| time(row.self_cpu_us(), unit)));
    let total_share = move |row: &Average| if row.is_async { "0".into() } else { share(row.cpu_total_us(), whole) };
    add("CPU total %", COLUMN_WIDTH, Box::new(total_share));
    add("CPU total", COLUMN_WIDTH, Box::new(move |row| time(row.cpu_total_us(), unit)));
    add("CPU time avg", COLUMN_WIDTH, Box::new(move |row| time(row.cpu_mean_us(), unit)));
    if totals.has_device_time {
        let whole = totals.self_device_us;
        add(&format!("Self {device}"), COLUMN_WIDTH, Box::new(move |row| time(row.self_device_us(), unit)));
        add(&format!("Self {device} %"), COLUMN_WIDTH, Box::new(move |row| share(row.self_device_us(), whole)));
        add(&format!("{device} total"), COLUMN_WIDTH, Box::new(move |row| time(row.device_total_us(), unit)));
        add(&format!("{device} time avg"), COLUMN_WIDTH, Box::new(move |row| time(row.device_mean_us(), unit)));
    }
    if averages.capture.contains(Capture::MEMORY) {
        add("CPU Mem", COLUMN_WIDTH, Box::new(|row| memory(row.cpu_memory)));
        add("Self CPU Mem", COLUMN_WIDTH, Box::new(|row| memory(row.self_cpu_memory)));
        if rows.iter().any(|row| row.self_device_memory > 0) {
            add(&format!("{device} Mem"), COLUMN_WIDTH, Box::new(|row| memory(row.device_memory)));
            add(&format!("Self {device} Mem"), COLUMN_WIDTH, Box::new(|row| memory(row.self_device_memory)));
        }
    }
    add("# of Calls", COLUMN_WIDTH, Box::new(|row| row.count.to_string()));
    if rows.iter().any(|row| row.node.is_some()) {
        add("Node ID", COLUMN_WIDTH, Box::new(|row| row.node.unwrap_or(-1).to_string()));
    }
    if rows
        .iter()
        .any(|row| row.inputs != Inputs::NONE || row.shapes_text.as_ref().is_some_and(|text| !text.is_empty()))
    {
        let width = capped(rows.iter().map(|row| shapes(row).chars().count()), options.max_shapes_column_width);
        add("Input Shapes", width, Box::new(move |row| head(&shapes(row), width).to_owned()));
    }
    let frames = || rows.iter().flat_map(|row| &row.stack);
    if frames().next().is_some() {
        let width = capped(frames().map(|frame| frame.text().chars().count()), options.max_src_column_width);
        let cell = move |row: &Average| row.stack.first().map_or_else(String::new, |frame| tail(&frame.text(), width));
        let heading = "Source Location".to_owned();
        columns.push(Column { heading, width, is_left_aligned: true, cell: Box::new(cell) });
    }
    let smallest_flops = rows.iter().map(|row| row.flops).filter(|&flops| flops > 0).min();
    if let (true, Some(smallest)) = (averages.capture.contains(Capture::FLOPS), smallest_flops) {
        let (scale, unit) = flops_scale(smallest);
        let cell = move |row: &Average| {
            if row.flops == 0 { "--".to_owned() } else { format!("{:8.3}", row.flops as f64 * scale) }
        };
        let heading = format!("Total {unit}");
        columns.push(Column { heading, width: COLUMN_WIDTH, is_left_aligned: false, cell: Box::new(cell) });
    }
    columns
}

/// A column is four wider than its longest text, within the maximum.
fn capped(lengths: impl Iterator<Item = usize>, max: Option<usize>) -> usize {
    let width = lengths.max().unwrap_or(0) + 4;
    max.map_or(width, |max| width.min(max))
}

fn shortened(name: &str, max: Option<usize>) -> String {
    match max {
        Some(max) if name.chars().count() + 3 >= max => format!("{}...", head(name, max.saturating_sub(3))),
        _ => name.to_owned(),
    }
}

/// The inputs' shapes as Python prints them; torch shows none for a list of tensors.
fn shapes(row: &Average) -> String {
    if let Some(text) = &row.shapes_text {
        return text.to_string();
    }
    let shape = |input: Input| match input {
        Input::Tensor { dims, .. } => dims,
        Input::TensorList(_) | Input::Value { .. } => Vec::new(),
    };
    format!("{:?}", row.inputs.decode().into_iter().map(shape).collect::<Vec<_>>())
}

fn push_lines<'a>(text: &mut String, lines: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>) {
    for line in lines {
        text.push_str(line.as_ref());
        text.push('\n');
    }
}

fn push_cells(text: &mut String, columns: &[Column<'_>], cell: impl Fn(&Column<'_>) -> String) {
    for column in columns {
        let (content, width) = (cell(column), column.width);
        let _ = if column.is_left_aligned {
            write!(text, "{content:<width$}  ")
        } else {
            write!(text, "{content:>width$}  ")
        };
    }
    text.push('\n');
}

/// The frames after the first, each on a line of its own under the source column, and an empty line.
fn push_deeper_frames(text: &mut String, columns: &[Column<'_>], row: &Average) {
    let frames = row.stack.iter().skip(1).map(|frame| frame.text());
    for frame in frames.chain([std::sync::Arc::from("")]) {
        push_cells(
            text,
            columns,
            |column| {
                if column.is_left_aligned { tail(&frame, column.width) } else { String::new() }
            },
        );
    }
}
