//! Filters, as Python gives them: kinds, patterns of names, the least duration and the time in nanoseconds, threads, depth.

use mindtorch_profiler::{EventKind, Filter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[derive(FromPyObject)]
pub(super) struct GivenFilter(Vec<String>, Vec<String>, u64, Option<(u64, u64)>, Vec<String>, Option<usize>);

impl GivenFilter {
    pub(super) fn filter(self) -> PyResult<Filter> {
        let Self(kinds, names, min_duration_ns, time_ns, threads, max_depth) = self;
        let kinds: Vec<EventKind> = kinds.iter().map(|name| kind(name)).collect::<PyResult<_>>()?;
        let mut filter = Filter::new().kinds(&kinds).min_duration_ns(min_duration_ns);
        filter = names.iter().fold(filter, |filter, name| filter.name(name));
        filter = threads.iter().fold(filter, |filter, thread| filter.thread(thread));
        if let Some((start, end)) = time_ns {
            filter = filter.time_range_ns(start..end);
        }
        Ok(max_depth.into_iter().fold(filter, Filter::max_depth))
    }
}

fn kind(name: &str) -> PyResult<EventKind> {
    let known = EventKind::ALL.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| PyValueError::new_err(format!("there are no events of kind {name:?}")))
}
