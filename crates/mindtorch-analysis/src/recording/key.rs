//! What makes two events of different recordings the same.

use mindtorch_profiler::{DeviceSpanRef, Input, SpanKind, SpanRef};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// By what events are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Their names.
    #[default]
    Op,
    /// Their names and the shapes of their inputs.
    Shape,
    /// Their names and where they were called from.
    Stack,
}

/// What a key's events are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// Operators and backward nodes.
    #[default]
    Op,
    /// Scopes of the program.
    Annotation,
    /// Calls of a device's runtime.
    Runtime,
    /// What a device did.
    Device,
}

/// What events share that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Their name, with `*` for numbers that are made up anew in each run.
    pub name: String,
    /// What they are.
    pub kind: KeyKind,
    /// The shapes of their inputs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shapes: String,
    /// Where they were called from, innermost first, without the numbers of lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

impl Key {
    pub(super) fn of_span(span: &SpanRef<'_>, by: By) -> Self {
        let kind = match span.kind() {
            SpanKind::Annotation => KeyKind::Annotation,
            SpanKind::Runtime => KeyKind::Runtime,
            SpanKind::Op | SpanKind::Backward | SpanKind::Function => KeyKind::Op,
        };
        let shapes = if by == By::Shape { shapes(&span.inputs().decode()) } else { String::new() };
        let stack = match by {
            By::Stack => span.stack().frames().iter().map(|frame| without_line(&frame.text())).collect(),
            By::Op | By::Shape => Vec::new(),
        };
        Self { name: stable(span.key()).into_owned(), kind, shapes, stack }
    }

    pub(super) fn of_device_span(work: &DeviceSpanRef<'_>) -> Self {
        Self { name: stable(work.name()).into_owned(), kind: KeyKind::Device, ..Self::default() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.shapes.is_empty() {
            write!(f, " {}", self.shapes)?;
        }
        for frame in &self.stack {
            write!(f, " < {frame}")?;
        }
        Ok(())
    }
}

/// The name without addresses, which are others in every process.
fn stable(name: &str) -> Cow<'_, str> {
    if !name.contains("0x") {
        return Cow::Borrowed(name);
    }
    let mut parts = name.split("0x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        text.push_str(if part.len() - rest.len() >= 6 { "0x*" } else { "0x" });
        text.push_str(if part.len() - rest.len() >= 6 { rest } else { part });
    }
    Cow::Owned(text)
}

/// The name with every number in it replaced, or none if it has none.
pub(super) fn without_numbers(name: &str) -> Option<String> {
    let mut text = String::with_capacity(name.len());
    let mut is_number = false;
    for c in name.chars() {
        if !c.is_ascii_digit() {
            text.push(c);
        } else if !is_number {
            text.push('*');
        }
        is_number = c.is_ascii_digit();
    }
    (text != name).then_some(text)
}

/// `train.py(17): forward` is `train.py: forward`: a line further down is the same place.
fn without_line(frame: &str) -> String {
    let frame = stable(frame);
    let is_line = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match frame.split_once("): ").and_then(|(place, function)| Some((place.rsplit_once('(')?, function))) {
        Some(((file, line), function)) if is_line(line) => format!("{file}: {function}"),
        _ => frame.into_owned(),
    }
}

/// The shapes as torch prints them, `[[64, 128], [128], []]`.
fn shapes(inputs: &[Input]) -> String {
    let shape = |input: &Input| match input {
        Input::Tensor { dims, .. } => format!("{dims:?}"),
        Input::TensorList(tensors) => shapes(tensors),
        Input::Value { .. } => "[]".to_owned(),
    };
    if inputs.is_empty() {
        return String::new();
    }
    format!("[{}]", inputs.iter().map(shape).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_in_each_run_is_left_out() {
        assert_eq!(stable("<method run of Engine object at 0x7f3c00d0>"), "<method run of Engine object at 0x*>");
        assert_eq!(stable("mask 0xff"), "mask 0xff");
        assert_eq!(stable("aten::mm"), "aten::mm");
        assert_eq!(without_line("a/train.py(17): forward"), "a/train.py: forward");
        assert_eq!(without_line("<built-in function len>"), "<built-in function len>");
        assert_eq!(without_numbers("epoch 3, batch 117").as_deref(), Some("epoch *, batch *"));
        assert_eq!(without_numbers("aten::mm"), None);
    }

    #[test]
    fn shapes_are_those_of_tensors() {
        let inputs = [
            Input::tensor("float", &[2, 3], &[]),
            Input::Value { dtype: "Scalar".into(), text: "1".into() },
            Input::TensorList(vec![Input::tensor("float", &[4], &[])]),
        ];
        assert_eq!(shapes(&inputs), "[[2, 3], [], [[4]]]");
        assert_eq!(shapes(&[]), "");
    }
}
