//! Collections of garbage, as spans: with `record_python_gc_info` they are shown as functions are.

use mindtorch_profiler::{Name, Span, SpanArgs, SpanKind};
use pyo3::prelude::*;
use std::cell::RefCell;

thread_local! {
    static COLLECTION: RefCell<Option<Span>> = const { RefCell::new(None) };
}

/// For `gc.callbacks`: a span from `"start"` to `"stop"`.
#[pyfunction]
#[pyo3(name = "_note_collection")]
pub(crate) fn note_collection(phase: &str, _info: &Bound<'_, PyAny>) {
    let span = (phase == "start")
        .then(|| Span::begin(&SpanArgs::new(SpanKind::Function, Name::new("Python GC")).call(0, None)));
    // Borrowed only while it is exchanged; ending a span calls nothing of Python's.
    COLLECTION.with_borrow_mut(|open| *open = span);
}
