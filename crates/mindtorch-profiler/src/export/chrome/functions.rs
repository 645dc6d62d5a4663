//! What is said of functions only: their numbers, and where they were called.

use super::ChromeWriter;
use crate::export::frame;
use crate::export::json::push_escaped;
use crate::recorder::SpanKind;

/// Tells texts about callers from those that begin events; see [`super::texts::Key`].
const CALLER: u32 = u32::MAX;

impl ChromeWriter<'_, '_> {
    /// Begins the arguments of a function.
    pub(super) fn write_function(&mut self, row: usize, thread: usize) {
        let spans = &self.trace.spans;
        let innermost = self.trace.innermost_functions();
        let first_id = self.numbers.first_id;
        self.json.raw(",\"args\":{\"Python id\":");
        self.json.number(first_id + u64::from(innermost[row]));
        self.json.raw(",\"Python thread\":");
        self.json.number(u64::from(self.numbers.first_thread) + thread as u64);
        let parent = spans.parent[row] as usize;
        if let Some(&around) = innermost.get(parent).filter(|&&around| around != 0) {
            self.json.raw(",\"Python parent id\":");
            self.json.number(first_id + u64::from(around));
        }
        let line = spans.line.get(row);
        if line != 0
            && let Some(caller) = self.function_around(parent)
        {
            self.write_caller(caller, line);
        }
        if let Some(module) = spans.module.get(row).checked_sub(1) {
            self.json.raw(",\"Python module id\":");
            self.json.number(module.into());
        }
    }

    /// The file of the function with this name, and the line in it.
    fn write_caller(&mut self, caller: u32, line: u32) {
        let name = self.trace.name(caller);
        let before_line = self.texts.get([caller, 0, 0, CALLER], |out| {
            if let Some((file, _, _)) = frame::parts(name) {
                out.extend_from_slice(b",\"CallFrom\":\"");
                push_escaped(out, file);
                out.push(b':');
            }
        });
        if !before_line.is_empty() {
            self.json.bytes(before_line);
            self.json.number(line.into());
            self.json.raw("\"");
        }
    }

    /// The name of the innermost function that is at or around a row.
    fn function_around(&self, mut row: usize) -> Option<u32> {
        let spans = &self.trace.spans;
        while row < spans.len() {
            if spans.kind[row] == SpanKind::Function {
                return Some(spans.name[row]);
            }
            row = spans.parent[row] as usize;
        }
        None
    }
}
