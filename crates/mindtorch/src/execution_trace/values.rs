//! What operations take and give, as the file has it.

use super::json::{float, push_text};
use crate::Tensor;
use crate::dispatch::Arg;
use crate::dtype::Scalar;
use crate::ops::device_name;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::fmt::{Display, Write};

/// The numbers that have been given in a file.
#[derive(Debug)]
pub(super) struct Ids {
    last: u64,
    tensors: FxHashMap<u64, u64>,
    storages: FxHashMap<u64, u64>,
}

impl Ids {
    /// 1 is the process.
    pub(super) fn new() -> Self {
        Self { last: 1, tensors: FxHashMap::default(), storages: FxHashMap::default() }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn tensor(&mut self, tensor: &Tensor) -> (u64, u64) {
        let Self { last, tensors, storages } = self;
        let mut next = || {
            *last += 1;
            *last
        };
        let id = *tensors.entry(tensor.serial()).or_insert_with(&mut next);
        (id, *storages.entry(tensor.storage().serial()).or_insert_with(&mut next))
    }
}

/// Four lists of equal length, each as the inside of a JSON array.
#[derive(Debug, Default)]
pub(super) struct Values {
    values: String,
    shapes: String,
    types: String,
    strides: String,
}

impl Values {
    pub(super) fn of_args(args: &[Arg<'_>], ids: &mut Ids) -> Self {
        let mut all = Self::default();
        for arg in args {
            all.push(&Value::of_arg(arg, ids));
        }
        all
    }

    pub(super) fn of_tensors<'a>(tensors: impl Iterator<Item = Option<&'a Tensor>>, ids: &mut Ids) -> Self {
        let mut all = Self::default();
        for tensor in tensors {
            all.push(&tensor.map_or_else(Value::none, |tensor| Value::tensor(tensor, ids)));
        }
        all
    }

    pub(super) fn of_text(text: &str) -> Self {
        let mut all = Self::default();
        let mut quoted = String::new();
        push_text(&mut quoted, text);
        all.push(&Value::plain(quoted, "String"));
        all
    }

    /// These, or others if there are none.
    pub(super) fn or(self, others: Self) -> Self {
        if self.values.is_empty() { others } else { self }
    }

    fn push(&mut self, value: &Value) {
        let mut kind = String::new();
        push_text(&mut kind, &value.kind);
        for (list, text) in [
            (&mut self.values, &value.value),
            (&mut self.shapes, &value.shape),
            (&mut self.types, &kind),
            (&mut self.strides, &value.strides),
        ] {
            if !list.is_empty() {
                list.push(',');
            }
            list.push_str(text);
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        let Self { values, shapes, types, strides } = self;
        let lists = format_args!(
            r#"{{"values": [{values}], "shapes": [{shapes}], "types": [{types}], "strides": [{strides}]}}"#
        );
        out.write_fmt(lists).expect("a string takes everything");
    }
}

/// One value, as JSON, and torch's name of its type.
struct Value {
    value: String,
    shape: String,
    kind: Cow<'static, str>,
    strides: String,
}

impl Value {
    fn plain(value: String, kind: &'static str) -> Self {
        Self { value, shape: "[]".to_owned(), kind: kind.into(), strides: "[]".to_owned() }
    }

    fn none() -> Self {
        Self::plain("\"<None>\"".to_owned(), "None")
    }

    fn tensor(tensor: &Tensor, ids: &mut Ids) -> Self {
        let (id, storage) = ids.tensor(tensor);
        let (offset, numel, size) = (tensor.offset(), tensor.numel(), tensor.dtype().size());
        Self {
            value: format!(r#"[{id},{storage},{offset},{numel},{size},"{}"]"#, device_name(tensor.device())),
            shape: array(tensor.shape()),
            kind: format!("Tensor({})", tensor.dtype().profiler_name()).into(),
            strides: array(tensor.strides()),
        }
    }

    fn scalar(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Bool(value) => Self::plain(value.to_string(), "Bool"),
            Scalar::Int(value) => Self::plain(value.to_string(), "Int"),
            Scalar::Float(value) => Self::plain(float(value), "Double"),
        }
    }

    fn list(items: impl Iterator<Item = Self>) -> Self {
        let (mut all, mut kinds) = (Values::default(), String::new());
        for item in items {
            if !kinds.is_empty() {
                kinds.push(',');
            }
            kinds.push_str(&item.kind);
            all.push(&item);
        }
        let Values { values, shapes, strides, .. } = all;
        Self {
            value: format!("[{values}]"),
            shape: format!("[{shapes}]"),
            kind: format!("GenericList[{kinds}]").into(),
            strides: format!("[{strides}]"),
        }
    }

    fn of_arg(arg: &Arg<'_>, ids: &mut Ids) -> Self {
        match *arg {
            Arg::Tensor(tensor) => Self::tensor(tensor, ids),
            Arg::Tensors(tensors) => Self::list(tensors.iter().map(|tensor| Self::tensor(tensor, ids))),
            Arg::Int(value) => Self::scalar(value.into()),
            Arg::Ints(values) => Self::list(values.iter().map(|&value| Self::scalar(value.into()))),
            Arg::Sizes(values) => Self::list(values.iter().map(|&value| Self::scalar((value as i64).into()))),
            Arg::Float(value) => Self::scalar(value.into()),
            Arg::Bool(value) => Self::scalar(value.into()),
            Arg::Scalar(value) => Self::scalar(value),
            Arg::DType(dtype) => Self::scalar(dtype.number().into()),
            Arg::None => Self::none(),
        }
    }
}

fn array<T: Display>(numbers: &[T]) -> String {
    let mut out = String::from("[");
    for (index, number) in numbers.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{number}").expect("a string takes everything");
    }
    out.push(']');
    out
}

/// What the body of an operation may give.
pub(crate) trait Outputs {
    /// Hands each output on.
    fn each(&self, out: &mut OutputList<'_>);
}

/// The outputs of an operation, while they are collected.
pub(crate) struct OutputList<'a> {
    ids: &'a mut Ids,
    values: Values,
}

impl OutputList<'_> {
    pub(super) fn collect<R: Outputs>(outputs: &R, ids: &mut Ids) -> Values {
        let mut list = OutputList { ids, values: Values::default() };
        outputs.each(&mut list);
        list.values
    }

    fn push(&mut self, value: impl FnOnce(&mut Ids) -> Value) {
        let value = value(self.ids);
        self.values.push(&value);
    }
}

impl Outputs for Tensor {
    fn each(&self, out: &mut OutputList<'_>) {
        out.push(|ids| Value::tensor(self, ids));
    }
}

impl Outputs for Option<Tensor> {
    fn each(&self, out: &mut OutputList<'_>) {
        match self {
            Some(tensor) => tensor.each(out),
            None => out.push(|_| Value::none()),
        }
    }
}

/// A list is one output.
impl Outputs for Vec<Tensor> {
    fn each(&self, out: &mut OutputList<'_>) {
        out.push(|ids| Value::list(self.iter().map(|tensor| Value::tensor(tensor, ids))));
    }
}

impl<T: Outputs, const N: usize> Outputs for [T; N] {
    fn each(&self, out: &mut OutputList<'_>) {
        self.iter().for_each(|output| output.each(out));
    }
}

impl Outputs for () {
    fn each(&self, _out: &mut OutputList<'_>) {}
}

impl<A: Outputs, B: Outputs> Outputs for (A, B) {
    fn each(&self, out: &mut OutputList<'_>) {
        self.0.each(out);
        self.1.each(out);
    }
}

impl<A: Outputs, B: Outputs, C: Outputs> Outputs for (A, B, C) {
    fn each(&self, out: &mut OutputList<'_>) {
        self.0.each(out);
        self.1.each(out);
        self.2.each(out);
    }
}

impl Outputs for Scalar {
    fn each(&self, out: &mut OutputList<'_>) {
        out.push(|_| Value::scalar(*self));
    }
}

impl Outputs for bool {
    fn each(&self, out: &mut OutputList<'_>) {
        Scalar::Bool(*self).each(out);
    }
}

/// Attention gives two tensors; the mask and the plan that come with them are for its backward rule.
impl<Plan> Outputs for (Tensor, Tensor, Option<Tensor>, Plan) {
    fn each(&self, out: &mut OutputList<'_>) {
        self.0.each(out);
        self.1.each(out);
    }
}
