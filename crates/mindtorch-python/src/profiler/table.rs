//! Tables: their options, and those of rows that were made in Python.

use crate::error::unknown_sort_key;
use mindtorch_profiler::{
    Average, Averages, Capture, Device, Name, SortKey, SpanKind, TableForm, TableOptions, TimeUnit,
};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Torch's arguments of `table`, with its defaults, and whether it is for a page.
pub(super) struct Columns<'py> {
    given: Option<Bound<'py, PyDict>>,
}

const NAMES: [&str; 9] = [
    "sort_by",
    "row_limit",
    "max_src_column_width",
    "max_name_column_width",
    "max_shapes_column_width",
    "header",
    "top_level_events_only",
    "time_unit",
    "html",
];

impl<'py> Columns<'py> {
    pub(super) fn of(given: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        for key in given.into_iter().flat_map(|given| given.keys()) {
            let key: String = key.extract()?;
            if !NAMES.contains(&key.as_str()) {
                return Err(PyTypeError::new_err(format!("table() got an unexpected keyword argument '{key}'")));
            }
        }
        Ok(Self { given: given.cloned() })
    }

    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.given {
            Some(given) => given.get_item(name),
            None => Ok(None),
        }
    }

    fn text(&self, name: &str) -> PyResult<Option<String>> {
        self.get(name)?.filter(|value| !value.is_none()).map(|value| value.extract()).transpose()
    }

    fn flag(&self, name: &str) -> PyResult<bool> {
        self.get(name)?.map_or(Ok(false), |value| value.is_truthy())
    }

    /// A limit: none if it is None or negative, or more than any table has.
    fn limit(&self, name: &str, default: usize) -> PyResult<Option<usize>> {
        let Some(value) = self.get(name)? else { return Ok(Some(default)) };
        if value.is_none() {
            return Ok(None);
        }
        match value.extract::<i64>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => Ok(None),
            limit => limit.map(|limit| usize::try_from(limit).ok()),
        }
    }

    /// A width: none if it is None; a negative one is 0.
    fn width(&self, name: &str, default: usize) -> PyResult<Option<usize>> {
        let is_negative = |value: &Bound<'py, PyAny>| value.extract::<i64>().is_ok_and(|width| width < 0);
        let clamp = self.get(name)?.is_some_and(|value| !value.is_none() && is_negative(&value));
        if clamp { Ok(Some(0)) } else { self.limit(name, default) }
    }
}

pub(super) fn options(columns: &Columns<'_>) -> PyResult<TableOptions> {
    let sort_by = columns.text("sort_by")?.map(|key| key.parse::<SortKey>()).transpose();
    Ok(TableOptions {
        sort_by: sort_by.map_err(|error| unknown_sort_key(&error))?,
        row_limit: columns.limit("row_limit", 100)?,
        max_name_column_width: columns.width("max_name_column_width", 55)?,
        max_src_column_width: columns.width("max_src_column_width", 75)?,
        max_shapes_column_width: columns.width("max_shapes_column_width", 80)?,
        header: columns.text("header")?,
        top_level_events_only: columns.flag("top_level_events_only")?,
        time_unit: match columns.text("time_unit")?.as_deref() {
            Some("s") => Some(TimeUnit::Seconds),
            Some("ms") => Some(TimeUnit::Milliseconds),
            Some("us") => Some(TimeUnit::Microseconds),
            _ => None,
        },
        form: if columns.flag("html")? { TableForm::Html } else { TableForm::Text },
    })
}

/// The table of rows that were made in Python: tuples of key, overload name, count, four times in microseconds, four amounts
/// of memory, flops, node, shapes as text, stack, and whether it is asynchronous, inside another, a device's, an annotation.
#[pyfunction]
#[pyo3(signature = (rows, *, profile_memory, with_flops, use_device, **columns))]
#[expect(clippy::needless_pass_by_value, reason = "arguments that are converted arrive as values")]
pub(crate) fn render_table(
    rows: Vec<Bound<'_, PyTuple>>,
    profile_memory: bool,
    with_flops: bool,
    use_device: Option<&str>,
    columns: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let options = options(&Columns::of(columns)?)?;
    let rows: Vec<Average> = rows.iter().map(average).collect::<PyResult<_>>()?;
    if use_device.is_none() && rows.iter().any(|row| row.exact_us.is_some_and(|us| us[3] > 0.0)) {
        return Err(PyRuntimeError::new_err("use_device is None, but there is device performance data."));
    }
    let mut capture = Capture::NONE;
    if profile_memory {
        capture |= Capture::MEMORY;
    }
    if with_flops {
        capture |= Capture::FLOPS;
    }
    let label = use_device.unwrap_or("NPU").to_uppercase();
    Ok(Averages::of_rows(rows, capture, &label).table(&options))
}

fn average(row: &Bound<'_, PyTuple>) -> PyResult<Average> {
    let us = |at: usize| -> PyResult<f64> { row.get_item(at)?.extract() };
    let bytes = |at: usize| -> PyResult<i64> { row.get_item(at)?.extract() };
    let flag = |at: usize| -> PyResult<bool> { row.get_item(at)?.is_truthy() };
    let text = |at: usize| -> PyResult<String> { row.get_item(at)?.extract() };
    let stack: Vec<String> = row.get_item(14)?.extract()?;
    let node: i64 = row.get_item(12)?.extract()?;
    Ok(Average {
        overload: text(1)?.into(),
        count: row.get_item(2)?.extract()?,
        exact_us: Some([us(3)?, us(4)?, us(5)?, us(6)?]),
        cpu_memory: bytes(7)?,
        self_cpu_memory: bytes(8)?,
        device_memory: bytes(9)?,
        self_device_memory: bytes(10)?,
        flops: row.get_item(11)?.extract::<Option<u64>>()?.unwrap_or(0),
        node: (node != -1).then_some(node),
        shapes_text: Some(text(13)?.into()),
        stack: stack.iter().map(|frame| Name::new(frame)).collect(),
        is_async: flag(15)?,
        has_parent: flag(16)?,
        device: if flag(17)? { Device::Npu(0) } else { Device::Cpu },
        kind: flag(18)?.then_some(SpanKind::Annotation),
        ..Average::new(text(0)?.into())
    })
}
