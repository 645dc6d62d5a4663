//! What was captured with spans, inputs and stacks, as arguments of events. Few are distinct, so each is made once and
//! then copied.

use crate::export::digits::push_int;
use crate::export::frame;
use crate::export::json::{push_escaped, push_text};
use crate::inputs::{Input, Inputs};
use crate::names::Stack;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Past this the texts are forgotten and made anew, so that a program with ever new stacks does not fill the memory.
const MOST_BYTES: usize = 12 << 20;

/// Finished texts by the id of what they show.
#[derive(Default)]
pub(super) struct CapturedTexts {
    texts: Vec<u8>,
    inputs: FxHashMap<u32, Range<usize>>,
    stacks: FxHashMap<u32, Range<usize>>,
}

impl CapturedTexts {
    /// The arguments that show an operator's inputs, each with a comma before it.
    pub(super) fn inputs(&mut self, inputs: Inputs) -> &[u8] {
        self.make_room();
        let texts = &mut self.texts;
        let made = self.inputs.entry(inputs.0).or_insert_with(|| append(texts, |out| push_captured(out, inputs)));
        &self.texts[made.clone()]
    }

    /// The arguments that show a stack, each with a comma before it.
    pub(super) fn stack(&mut self, stack: Stack) -> &[u8] {
        self.make_room();
        let texts = &mut self.texts;
        let made = self.stacks.entry(stack.0).or_insert_with(|| append(texts, |out| push_stack(out, stack)));
        &self.texts[made.clone()]
    }

    fn make_room(&mut self) {
        if self.texts.len() > MOST_BYTES {
            *self = Self::default();
        }
    }
}

fn append(texts: &mut Vec<u8>, push: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
    let start = texts.len();
    push(texts);
    start..texts.len()
}

fn push_captured(out: &mut Vec<u8>, inputs: Inputs) {
    let (decoded, keywords) = (inputs.decode(), inputs.keywords());
    if decoded.is_empty() {
        out.extend_from_slice(b",\"input_shapes\":[]");
    } else {
        push_inputs(out, &decoded);
    }
    for (keyword, input) in &keywords {
        if !OTHER_KEYS.contains(&&**keyword) && !is_unknown(input) {
            out.push(b',');
            push_text(out, keyword);
            out.push(b':');
            push_value(out, input);
        }
    }
}

/// Keys that an event may have already, and has once.
const OTHER_KEYS: [&str; 25] = [
    "External id",
    "Record function id",
    "Ev Idx",
    "Sequence number",
    "Fwd thread id",
    "Input Dims",
    "Input type",
    "Input Strides",
    "Concrete Inputs",
    "input_shapes",
    "stack",
    "Call stack",
    "Flops",
    "note",
    "finished",
    "cut",
    "async",
    "device_type",
    "step",
    "cpu_memory_allocated_before",
    "cpu_memory_allocated_after",
    "cpu_memory_allocated_delta",
    "npu_memory_allocated_before",
    "npu_memory_allocated_after",
    "npu_memory_allocated_delta",
];

/// Whether there is nothing to show.
fn is_unknown(input: &Input) -> bool {
    match input {
        Input::Value { dtype, text } => dtype.is_empty() && text.is_empty(),
        Input::Tensor { .. } => true,
        Input::TensorList(_) => false,
    }
}

/// The value of an input with a keyword.
fn push_value(out: &mut Vec<u8>, input: &Input) {
    match input {
        Input::Value { dtype, text } if &**dtype == "String" => push_text(out, text),
        Input::Value { text, .. } => match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some(items) => push_list(out, items.split(", ").filter(|item| !item.is_empty()), push_scalar),
            None => push_scalar(out, text),
        },
        Input::TensorList(items) => push_list(out, items, push_value),
        Input::Tensor { .. } => push_text(out, ""),
    }
}

fn push_scalar(out: &mut Vec<u8>, text: &str) {
    match text {
        "True" => out.extend_from_slice(b"true"),
        "False" => out.extend_from_slice(b"false"),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(int), _) => push_int(out, int),
            (_, Ok(float)) if float.is_finite() => out.extend_from_slice(float.to_string().as_bytes()),
            _ => push_text(out, text),
        },
    }
}

fn push_inputs(out: &mut Vec<u8>, inputs: &[Input]) {
    out.extend_from_slice(b",\"Input Dims\":");
    push_list(out, inputs, |out, input| push_numbers(out, input, |dims, _| dims));
    out.extend_from_slice(b",\"Input type\":");
    push_list(out, inputs, |out, input| match input {
        Input::Tensor { dtype, .. } | Input::Value { dtype, .. } => push_text(out, dtype),
        Input::TensorList(_) => push_text(out, "TensorList"),
    });
    out.extend_from_slice(b",\"Input Strides\":");
    push_list(out, inputs, |out, input| push_numbers(out, input, |_, strides| strides));
    out.extend_from_slice(b",\"Concrete Inputs\":");
    push_list(out, inputs, |out, input| match input {
        Input::Value { text, .. } => push_text(out, text),
        Input::Tensor { .. } | Input::TensorList(_) => push_text(out, ""),
    });
    out.extend_from_slice(b",\"input_shapes\":");
    let tensors = inputs.iter().filter(|input| !matches!(input, Input::Value { .. }));
    push_list(out, tensors, |out, input| push_numbers(out, input, |dims, _| dims));
}

/// A tensor's sizes or strides, a list of them for a list of tensors, and nothing for anything else.
fn push_numbers(out: &mut Vec<u8>, input: &Input, pick: for<'a> fn(&'a [i64], &'a [i64]) -> &'a [i64]) {
    match input {
        Input::Tensor { dims, strides, .. } => {
            push_list(out, pick(dims, strides), |out, number| push_int(out, *number));
        }
        Input::TensorList(list) => push_list(out, list, |out, input| push_numbers(out, input, pick)),
        Input::Value { .. } => out.extend_from_slice(b"[]"),
    }
}

fn push_stack(out: &mut Vec<u8>, stack: Stack) {
    let frames: Vec<_> = stack.frames().into_iter().map(|frame| frame.text()).collect();
    out.extend_from_slice(b",\"stack\":");
    push_list(out, &frames, |out, text| match frame::parts(text) {
        Some((file, line, function)) => push_text(out, &format!("{file}:{line}:{function}")),
        None => push_text(out, text),
    });
    out.extend_from_slice(b",\"Call stack\":\"");
    for (at, text) in frames.iter().enumerate() {
        if at > 0 {
            out.push(b';');
        }
        push_escaped(out, text);
    }
    out.push(b'"');
}

fn push_list<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut push: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push(out, item);
    }
    out.push(b']');
}
