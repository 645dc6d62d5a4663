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
        let made =
            self.inputs.entry(inputs.0).or_insert_with(|| append(texts, |out| push_inputs(out, &inputs.decode())));
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
