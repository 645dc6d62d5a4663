//! The columns that a table has, and their texts.

use super::TableOptions;
use crate::capture::Capture;
use crate::inputs::{Input, Inputs};
use crate::stats::format::{flops_scale, head, memory, share, tail, time};
use crate::stats::{Average, Averages};

const COLUMN_WIDTH: usize = 12;

/// A column: its heading, its width, and its text for a row.
pub(super) struct Column<'a> {
    pub(super) heading: String,
    pub(super) width: usize,
    pub(super) is_left_aligned: bool,
    pub(super) cell: Box<dyn Fn(&Average) -> String + 'a>,
}

/// What shares are parts of.
#[derive(Clone, Copy)]
pub(super) struct Totals {
    pub(super) self_cpu_us: f64,
    pub(super) self_device_us: f64,
    pub(super) has_device_time: bool,
}

impl Totals {
    pub(super) fn of(rows: &[&Average]) -> Self {
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

pub(super) fn columns<'a>(
    averages: &Averages,
    rows: &[&Average],
    options: &'a TableOptions,
    totals: Totals,
) -> Vec<Column<'a>> {
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
