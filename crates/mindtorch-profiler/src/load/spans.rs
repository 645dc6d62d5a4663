//! Spans of threads.

use super::collector::Collector;
use super::cursor::{Kind, Value};
use super::event::Event;
use super::key::Key;
use super::notes::is_memory_use;
use super::verbatim::Broken;
use crate::recorder::{Device, SpanKind};
use crate::trace::SpanFlags;
use crate::trace::loaded::{LooseSpan, RestOfSpan};

impl Collector {
    pub(super) fn add_span(
        &mut self,
        event: &Event,
        text: &[u8],
        (start, duration): (i64, u64),
        (mut kind, has_own_category): (SpanKind, bool),
    ) -> Result<(), Broken> {
        let thread = self.thread(event, text);
        let mut name = self.name(&event.name, text);
        let mut rest = RestOfSpan::default();
        let mut external = 0;
        let [mut is_cut, mut is_open, mut is_async] = [false; 3];
        self.runs.inputs.clear();
        self.runs.stack.clear();
        self.runs.extra.clear();
        for (place, argument) in event.args.iter().enumerate() {
            let value = &argument.value;
            match argument.key {
                Key::EXTERNAL_ID => external = value.unsigned(text).unwrap_or(0),
                Key::EVENT_INDEX => {}
                Key::RECORD_FUNCTION_ID => rest.record_function = small(value, text),
                Key::SEQUENCE_NUMBER if value.unsigned(text).is_some() => {
                    rest.sequence = value.unsigned(text).filter(|&sequence| sequence != u64::MAX);
                }
                Key::FORWARD_THREAD => rest.forward_thread = small(value, text),
                Key::INPUT_DIMS | Key::INPUT_TYPE | Key::INPUT_STRIDES | Key::CONCRETE_INPUTS | Key::INPUT_SHAPES => {
                    self.runs.inputs.add(place, argument);
                }
                Key::STACK | Key::CALL_STACK => self.runs.stack.add(place, argument),
                Key::FLOPS if value.unsigned(text).is_some() => rest.flops = value.unsigned(text).unwrap_or(0),
                Key::NOTE if value.is_text() => rest.note = self.name(value, text),
                Key::FINISHED if value.is_switch() => is_open = value.kind == Kind::False,
                Key::CUT if value.raw(text) == b"\"start\"" => is_cut = true,
                Key::ASYNC if value.is_switch() => is_async = value.kind == Kind::True,
                Key::DEVICE_TYPE if value.is_text() => self.note_device_type(value, text),
                Key::STEP if value.unsigned(text).is_some() => self.note_step(thread, start, value, text),
                Key::CPU_MEMORY_BEFORE if value.signed().is_some() => {
                    self.note_memory(Device::Cpu, start, value);
                }
                key if is_memory_use(key) && value.signed().is_some() => {}
                Key::PYTHON_ID | Key::PYTHON_PARENT_ID | Key::PYTHON_THREAD if kind == SpanKind::Function => {}
                Key::PYTHON_MODULE_ID if kind == SpanKind::Function && value.unsigned(text).is_some() => {
                    rest.module = small(value, text).saturating_add(1);
                }
                Key::CALL_FROM if kind == SpanKind::Function && line(value, text).is_some() => {
                    rest.line = line(value, text).unwrap_or(0);
                }
                Key::CORRELATION if kind == SpanKind::Runtime => rest.correlation = value.unsigned(text),
                _ => self.runs.extra.add(place, argument),
            }
        }
        let inputs = self.inputs(event, text)?;
        let stack = self.stack(event, text)?;
        if kind == SpanKind::Op {
            if is_backward(self.names.get(name), rest.forward_thread) {
                kind = SpanKind::Backward;
            }
            (name, rest.overload) = self.overloads.split(name, &mut self.names);
        }
        if has_own_category {
            let own = if event.category.is_text() { self.name(&event.category, text) } else { 0 };
            rest.category = own + 1;
            self.note_accelerator(&event.category, text);
        }
        rest.extra = self.extra(event, text)?;
        let is_special = is_special(&rest);
        if is_special {
            self.loose.rest.push(rest);
        }
        self.last_span = Some((self.loose.spans.len() as u32, thread, start));
        self.loose.spans.push(LooseSpan {
            start,
            duration,
            external,
            name,
            thread,
            inputs,
            stack,
            rest: if is_special { self.loose.rest.len() as u32 } else { 0 },
            kind,
            flags: SpanFlags::new(is_cut, is_open, is_async),
        });
        Ok(())
    }
}

/// Whether an operator is a node of the backward pass: one that knows the thread of its forward operator, and is not what the
/// engine wraps around it; or the node of a leaf, which has none.
fn is_backward(name: &str, forward_thread: u32) -> bool {
    let is_wrapper = || name.starts_with("autograd::engine::evaluate_function");
    forward_thread > 0 && !is_wrapper() || name == "torch::autograd::AccumulateGrad"
}

fn is_special(rest: &RestOfSpan) -> bool {
    rest.sequence.is_some()
        || rest.correlation.is_some()
        || rest.flops != 0
        || (rest.forward_thread | rest.note | rest.overload | rest.record_function) != 0
        || (rest.line | rest.module | rest.category | rest.extra) != 0
}

/// A number that fits, or 0.
fn small(value: &Value, text: &[u8]) -> u32 {
    value.unsigned(text).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

/// The line of a caller, `file.py:line`.
fn line(value: &Value, text: &[u8]) -> Option<u32> {
    let content = std::str::from_utf8(value.content(text)).ok()?;
    content.rsplit_once(':')?.1.parse().ok()
}
