//! Writing traces in the formats that other programs read.

use crate::error::Error;
use clap::ValueEnum;
use mindtorch_analysis::device_name;
use mindtorch_profiler::{Device, StackMetric, TimelineForm, Trace};
use std::path::Path;

/// A format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For Perfetto and `chrome://tracing`: .json
    Chrome,
    /// For Perfetto alone, and smaller: .pftrace or .perfetto-trace
    Perfetto,
    /// For <https://www.speedscope.app>: .speedscope.json
    Speedscope,
    /// A picture of stacks: .svg
    FlameGraph,
    /// Stacks with their times, for programs that draw flame graphs: .folded or .txt
    Folded,
    /// A table of events: .parquet
    Parquet,
    /// A page of the memory in use over time: .html
    MemoryPage,
    /// What happened to each block of memory, as torch writes it: .raw.json
    MemoryRaw,
    /// The memory in use over time, as torch writes it
    Memory,
}

/// By the end of a file's name; the more special first.
const SUFFIXES: [(&str, Format); 10] = [
    (".speedscope.json", Format::Speedscope),
    (".raw.json", Format::MemoryRaw),
    (".json", Format::Chrome),
    (".pftrace", Format::Perfetto),
    (".perfetto-trace", Format::Perfetto),
    (".svg", Format::FlameGraph),
    (".folded", Format::Folded),
    (".txt", Format::Folded),
    (".parquet", Format::Parquet),
    (".html", Format::MemoryPage),
];

/// What some formats can be told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details<'a> {
    /// The time that stacks have.
    pub(crate) metric: StackMetric,
    /// The device whose memory it is; without one, the first accelerator of whose memory something is known, or else the host.
    pub(crate) device: Option<&'a str>,
}

impl Format {
    /// The format that the end of a name asks for; `.gz` behind it compresses.
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let name = path.to_string_lossy();
        let lower = name.to_ascii_lowercase();
        let plain = lower.strip_suffix(".gz").unwrap_or(&lower);
        let known = SUFFIXES.iter().find(|(suffix, _)| plain.ends_with(suffix));
        known.map(|&(_, format)| format).ok_or_else(|| {
            let suffixes = SUFFIXES.map(|(suffix, _)| suffix).join(", ");
            Error::Use(format!("cannot tell the format of '{name}': its name should end in one of {suffixes}"))
        })
    }

    /// Writes the trace. The file appears whole or not at all.
    pub(crate) fn write(self, trace: &Trace, path: &Path, details: &Details<'_>) -> Result<(), Error> {
        let form = match self {
            Self::Chrome => return Ok(trace.export_chrome_trace(path)?),
            Self::Perfetto => return Ok(trace.export_perfetto_trace(path)?),
            Self::Speedscope => return Ok(trace.export_speedscope(path)?),
            Self::FlameGraph => return Ok(trace.export_flame_graph(path, details.metric)?),
            Self::Folded => return Ok(trace.export_stacks(path, details.metric)?),
            Self::Parquet => return Ok(trace.export_parquet(path)?),
            Self::MemoryPage => TimelineForm::Page { title: None },
            Self::MemoryRaw => TimelineForm::Raw,
            Self::Memory => TimelineForm::Plain,
        };
        let device = memory_device(trace, details.device)?;
        Ok(trace.memory_timeline(device).export_as(path, form)?)
    }
}

fn memory_device(trace: &Trace, wanted: Option<&str>) -> Result<Device, Error> {
    let devices = trace.memory_devices();
    let names: Vec<String> = devices.iter().map(|&device| device_name(trace, device)).collect();
    let found = match wanted {
        Some(wanted) => names.iter().position(|name| name == wanted),
        // The host is the first in order.
        None => devices.iter().position(|device| *device != Device::Cpu).or(Some(0)),
    };
    found.and_then(|at| devices.get(at)).copied().ok_or_else(|| {
        Error::Use(match wanted {
            Some(wanted) if !names.is_empty() => {
                format!("the trace has no memory of {wanted}; it has of {}", names.join(", "))
            }
            _ => "the trace has no memory events: record it with profile_memory=True".to_owned(),
        })
    })
}
