//! What was captured with events and repeats: inputs, stacks, and arguments that have no column.

use super::collector::Collector;
use super::cursor::Value;
use super::event::Event;
use super::inputs::inputs;
use super::key::Key;
use super::raw_table::Found;
use super::stacks::stack;
use super::verbatim::{Broken, Form, verbatim};
use crate::trace::loaded::NOWHERE;

impl Collector {
    #[inline]
    pub(super) fn inputs(&mut self, event: &Event, text: &[u8]) -> Result<u32, Broken> {
        if self.runs.inputs.is_empty() {
            return Ok(0);
        }
        let raw = self.runs.inputs.text(text);
        let found = match self.inputs.find(raw) {
            Found::At(found) => found,
            Found::Missing(hash) => {
                let made = inputs(event, text).map_or(NOWHERE, |inputs| inputs.0);
                self.inputs.insert(hash, raw, made);
                made
            }
        };
        Ok(if found == NOWHERE { self.keep_inputs(event, text) } else { found })
    }

    /// Inputs that no column takes are kept as they are, but for a list that follows from the others.
    #[cold]
    pub(super) fn keep_inputs(&mut self, event: &Event, text: &[u8]) -> u32 {
        let keeps = |key| matches!(key, Key::INPUT_DIMS | Key::INPUT_TYPE | Key::INPUT_STRIDES | Key::CONCRETE_INPUTS);
        let is_ours = |value: &Value| value.raw(text) == b"[]";
        for (place, argument) in event.args.iter().enumerate() {
            if keeps(argument.key) || argument.key == Key::INPUT_SHAPES && !is_ours(&argument.value) {
                self.runs.extra.add(place, argument);
            }
        }
        0
    }

    #[inline]
    pub(super) fn stack(&mut self, event: &Event, text: &[u8]) -> Result<u32, Broken> {
        if self.runs.stack.is_empty() {
            return Ok(0);
        }
        let raw = self.runs.stack.text(text);
        match self.stacks.find(raw) {
            Found::At(found) => Ok(found),
            Found::Missing(hash) => {
                let made = stack(event, text).map_or(0, |stack| stack.0);
                self.stacks.insert(hash, raw, made);
                Ok(made)
            }
        }
    }

    /// The name of what has no column, one higher.
    #[inline]
    pub(super) fn extra(&mut self, event: &Event, text: &[u8]) -> Result<u32, Broken> {
        if self.runs.extra.is_empty() {
            return Ok(0);
        }
        let raw = self.runs.extra.text(text);
        match self.extras.find(raw) {
            Found::At(found) => Ok(found + 1),
            Found::Missing(hash) => {
                let kept = verbatim(raw, Form::Members).map_err(|broken| place_of(event, text).unwrap_or(broken))?;
                let name = self.names.add(&kept);
                self.extras.insert(hash, raw, name);
                Ok(name + 1)
            }
        }
    }
}

/// Which argument of an event is not JSON, and where.
#[cold]
fn place_of(event: &Event, text: &[u8]) -> Option<Broken> {
    event.args.iter().find_map(|argument| {
        let broken = verbatim(argument.raw(text), Form::Members).err()?;
        Some(Broken { at: argument.start + broken.at, ..broken })
    })
}
