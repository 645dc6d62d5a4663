//! Filters, as Python gives them: kinds, patterns of names, the least duration and the time, in nanoseconds.

use mindtorch_profiler::{EventKind, Filter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[derive(FromPyObject)]
pub(super) struct GivenFilter(Vec<String>, Vec<String>, u64, Option<(u64, u64)>);

impl GivenFilter {
    pub(super) fn filter(self) -> PyResult<Filter> {
        let Self(kinds, names, min_duration_ns, time_ns) = self;
        let kinds: Vec<EventKind> = kinds.iter().map(|name| kind(name)).collect::<PyResult<_>>()?;
        let filter = Filter::new().kinds(&kinds).min_duration_ns(min_duration_ns);
        let filter = names.iter().fold(filter, |filter, name| filter.name(name));
        Ok(match time_ns {
            Some((start, end)) => filter.time_range_ns(start..end),
            None => filter,
        })
    }
}

fn kind(name: &str) -> PyResult<EventKind> {
    Ok(match name {
        "op" => EventKind::Op,
        "annotation" => EventKind::Annotation,
        "function" => EventKind::Function,
        "runtime" => EventKind::Runtime,
        "kernel" => EventKind::Kernel,
        "copy" => EventKind::Copy,
        "set" => EventKind::Set,
        "sync" => EventKind::Sync,
        "device_annotation" => EventKind::DeviceAnnotation,
        "memory" => EventKind::Memory,
        "instant" => EventKind::Instant,
        other => return Err(PyValueError::new_err(format!("there are no events of kind {other:?}"))),
    })
}
