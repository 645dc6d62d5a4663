//! What is said of functions only: their numbers, and where they were called.

use crate::export::frame;
use crate::export::json::JsonWriter;
use crate::recorder::SpanKind;
use crate::trace::Trace;

/// The functions of a trace.
pub(super) struct Functions<'a> {
    trace: &'a Trace,
    /// See [`Trace::innermost_functions`].
    innermost: Vec<u32>,
}

impl<'a> Functions<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        Self { trace, innermost: trace.innermost_functions() }
    }

    /// Begins the arguments of a function.
    pub(super) fn write(&self, json: &mut JsonWriter<'_>, row: usize) {
        let spans = &self.trace.spans;
        json.raw(",\"args\":{\"Python id\":");
        json.int(self.innermost[row]);
        json.raw(",\"Python thread\":");
        json.int(self.trace.thread_of(row));
        let parent = spans.parent[row] as usize;
        if let Some(&around) = self.innermost.get(parent).filter(|&&around| around != 0) {
            json.raw(",\"Python parent id\":");
            json.int(around);
        }
        let line = spans.line.get(row);
        if line != 0
            && let Some(file) = self.file_around(parent)
        {
            json.raw(",\"CallFrom\":");
            json.text(&format!("{file}:{line}"));
        }
        if let Some(module) = spans.module.get(row).checked_sub(1) {
            json.raw(",\"Python module id\":");
            json.int(module);
        }
    }

    /// The file of the innermost function that is at or around a row.
    fn file_around(&self, mut row: usize) -> Option<&'a str> {
        let spans = &self.trace.spans;
        while row < spans.len() {
            if spans.kind[row] == SpanKind::Function {
                return frame::parts(self.trace.name(spans.name[row])).map(|(file, _, _)| file);
            }
            row = spans.parent[row] as usize;
        }
        None
    }
}
