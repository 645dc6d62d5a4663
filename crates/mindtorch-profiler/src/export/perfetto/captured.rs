//! What was captured with spans, inputs and stacks, as arguments. Few are distinct, so each is made once in a sequence and
//! then copied.

use super::field::{annotation, event};
use super::interned::Interned;
use super::proto::Buffer;
use super::words::Key;
use crate::export::frame;
use crate::export::json::push_text;
use crate::inputs::{Input, Inputs};
use crate::names::Stack;
use crate::trace::Trace;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Past these sizes all is forgotten and made anew, so that a program with ever new inputs does not fill the memory.
const MOST_BYTES: usize = 8 << 20;
const MOST_ENTRIES: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Captured {
    /// Arguments, one after another, as they are in events.
    arguments: Buffer,
    /// By the id of the inputs.
    inputs: FxHashMap<u32, Range<usize>>,
    /// The number of the text by the id of the stack.
    stacks: FxHashMap<u32, u32>,
    /// The number of the text by the name of a function and a line in it.
    calls: FxHashMap<(u32, u32), u32>,
    /// Room for texts on their way.
    text: String,
    json: Vec<u8>,
}

impl Captured {
    /// Begins a new sequence.
    pub(super) fn clear(&mut self) {
        self.arguments.clear();
        self.inputs.clear();
        self.stacks.clear();
        self.calls.clear();
    }

    /// The arguments that show an operator's inputs, as the JSON texts that a Chrome trace has. What follows from the others
    /// is left out: which inputs are tensors, and values if there are none.
    #[inline]
    pub(super) fn inputs(&mut self, interned: &mut Interned<'_>, inputs: Inputs) -> &[u8] {
        let made = match self.inputs.get(&inputs.0) {
            Some(made) => made.clone(),
            None => self.add_inputs(interned, inputs),
        };
        &self.arguments.as_bytes()[made]
    }

    #[cold]
    fn add_inputs(&mut self, interned: &mut Interned<'_>, inputs: Inputs) -> Range<usize> {
        if self.arguments.len() > MOST_BYTES || self.inputs.len() >= MOST_ENTRIES {
            self.arguments.clear();
            self.inputs.clear();
        }
        let (start, decoded) = (self.arguments.len(), inputs.decode());
        self.add_list(interned, Key::InputDims, &decoded, |text, input| push_numbers(text, input, |dims, _| dims));
        self.add_list(interned, Key::InputType, &decoded, |text, input| match input {
            Input::Tensor { dtype, .. } | Input::Value { dtype, .. } => push_text(text, dtype),
            Input::TensorList(_) => push_text(text, "TensorList"),
        });
        self.add_list(interned, Key::InputStrides, &decoded, |text, input| {
            push_numbers(text, input, |_, strides| strides);
        });
        let has_values = decoded.iter().any(|input| matches!(input, Input::Value { text, .. } if !text.is_empty()));
        if has_values {
            self.add_list(interned, Key::ConcreteInputs, &decoded, |text, input| match input {
                Input::Value { text: value, .. } => push_text(text, value),
                Input::Tensor { .. } | Input::TensorList(_) => push_text(text, ""),
            });
        }
        let made = start..self.arguments.len();
        self.inputs.insert(inputs.0, made.clone());
        made
    }

    fn add_list(
        &mut self,
        interned: &mut Interned<'_>,
        key: Key,
        inputs: &[Input],
        push: impl FnMut(&mut Vec<u8>, &Input),
    ) {
        self.json.clear();
        push_list(&mut self.json, inputs, push);
        let text = interned.text(&String::from_utf8_lossy(&self.json));
        let argument = self.arguments.begin(event::DEBUG_ANNOTATIONS);
        self.arguments.number(annotation::NAME_IID, u64::from(interned.key(key)));
        self.arguments.number(annotation::STRING_VALUE_IID, u64::from(text));
        self.arguments.end(argument);
    }

    /// The number of the text that shows a stack, its frames from the innermost joined by `;`.
    pub(super) fn stack(&mut self, interned: &mut Interned<'_>, stack: Stack) -> u32 {
        if let Some(&known) = self.stacks.get(&stack.0) {
            return known;
        }
        if self.stacks.len() >= MOST_ENTRIES {
            self.stacks.clear();
        }
        self.text.clear();
        for (at, frame) in stack.frames().into_iter().enumerate() {
            if at > 0 {
                self.text.push(';');
            }
            self.text.push_str(&frame.text());
        }
        let number = interned.text(&self.text);
        self.stacks.insert(stack.0, number);
        number
    }

    /// The number of the text that shows where a function was called: the file of the function with this name, and a line.
    pub(super) fn call(&mut self, interned: &mut Interned<'_>, trace: &Trace, name: u32, line: u32) -> Option<u32> {
        if let Some(&known) = self.calls.get(&(name, line)) {
            return Some(known);
        }
        if self.calls.len() >= MOST_ENTRIES {
            self.calls.clear();
        }
        let (file, _, _) = frame::parts(trace.name(name))?;
        self.text.clear();
        let _ = write!(self.text, "{file}:{line}");
        let number = interned.text(&self.text);
        self.calls.insert((name, line), number);
        Some(number)
    }
}

/// A tensor's sizes or strides, a list of them for a list of tensors, and nothing for anything else.
fn push_numbers(out: &mut Vec<u8>, input: &Input, pick: for<'a> fn(&'a [i64], &'a [i64]) -> &'a [i64]) {
    match input {
        Input::Tensor { dims, strides, .. } => push_list(out, pick(dims, strides), |out, number| {
            out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
        }),
        Input::TensorList(list) => push_list(out, list, |out, input| push_numbers(out, input, pick)),
        Input::Value { .. } => out.extend_from_slice(b"[]"),
    }
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
