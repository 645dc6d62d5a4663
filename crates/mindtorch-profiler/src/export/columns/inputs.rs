//! The inputs of operators, as lists. Few are distinct, so each is taken apart once a batch.

use super::dictionary::TextBuilder;
use super::values::Validity;
use super::{Column, Field, Ints, Kind};
use crate::inputs::{Input, Inputs};
use rustc_hash::FxHashMap;

const NUMBER: Field = Field::new("item", Kind::Int);
const NUMBERS: Field = Field::new("item", Kind::List(&NUMBER));
const TYPE: Field = Field::new("item", Kind::Text);
const VALUE: Field = Field::nullable("item", Kind::Text);

/// Lists that have an entry for each tensor and each other input, a tensor of a list of tensors among them; which input that
/// is says the last.
pub(super) const FIELDS: [Field; 5] = [
    Field::nullable("input_shapes", Kind::List(&NUMBERS)),
    Field::nullable("input_strides", Kind::List(&NUMBERS)),
    Field::nullable("input_types", Kind::List(&TYPE)),
    Field::nullable("concrete_inputs", Kind::List(&VALUE)),
    Field::nullable("input_arguments", Kind::List(&NUMBER)),
];

/// The columns while they are made.
#[derive(Default)]
pub(super) struct InputLists {
    known: FxHashMap<u32, Vec<Entry>>,
    validity: Validity,
    /// Where the lists of each row end: they have equally many entries.
    ends: Vec<i32>,
    shapes: NumberLists,
    strides: NumberLists,
    types: TextBuilder,
    values: TextBuilder,
    arguments: Vec<i64>,
}

/// A tensor or another input.
struct Entry {
    argument: i64,
    dims: Vec<i64>,
    strides: Vec<i64>,
    dtype: String,
    value: Option<String>,
}

/// Lists of numbers, one behind another.
#[derive(Default)]
struct NumberLists {
    ends: Vec<i32>,
    numbers: Vec<i64>,
}

impl InputLists {
    pub(super) fn push(&mut self, inputs: Inputs) {
        let Self { known, shapes, strides, types, values, arguments, .. } = self;
        for entry in known.entry(inputs.0).or_insert_with(|| entries(&inputs.decode())) {
            shapes.push(&entry.dims);
            strides.push(&entry.strides);
            types.push(Some(&entry.dtype));
            values.push(entry.value.as_deref());
            arguments.push(entry.argument);
        }
        self.end_row(true);
    }

    pub(super) fn push_null(&mut self) {
        self.end_row(false);
    }

    fn end_row(&mut self, is_valid: bool) {
        self.ends.push(self.types.len() as i32);
        self.validity.push(is_valid);
    }

    /// How much memory the lists take, about.
    pub(super) fn bytes(&self) -> usize {
        let numbers = self.shapes.numbers.len() + self.strides.numbers.len() + 4 * self.arguments.len();
        numbers * size_of::<i64>() + self.types.bytes() + self.values.bytes()
    }

    /// The columns of [`FIELDS`].
    pub(super) fn finish(self) -> [Column<'static>; 5] {
        let offsets = offsets(&self.ends);
        let lists = |items| Column::Lists(offsets.clone(), self.validity.clone(), Box::new(items));
        [
            lists(self.shapes.finish()),
            lists(self.strides.finish()),
            lists(self.types.finish()),
            lists(self.values.finish()),
            lists(Column::Ints(Ints::Made(self.arguments), Validity::default())),
        ]
    }

    /// The shapes alone.
    pub(super) fn finish_shapes(self) -> Column<'static> {
        Column::Lists(offsets(&self.ends), self.validity, Box::new(self.shapes.finish()))
    }
}

impl NumberLists {
    fn push(&mut self, numbers: &[i64]) {
        self.numbers.extend_from_slice(numbers);
        self.ends.push(self.numbers.len() as i32);
    }

    fn finish(self) -> Column<'static> {
        let numbers = Column::Ints(Ints::Made(self.numbers), Validity::default());
        Column::Lists(offsets(&self.ends), Validity::default(), Box::new(numbers))
    }
}

fn offsets(ends: &[i32]) -> Vec<i32> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.extend_from_slice(ends);
    offsets
}

fn entries(inputs: &[Input]) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(inputs.len());
    for (argument, input) in inputs.iter().enumerate() {
        push_entries(&mut entries, argument as i64, input);
    }
    entries
}

fn push_entries(entries: &mut Vec<Entry>, argument: i64, input: &Input) {
    let other = |dtype: &str, value: Option<String>| Entry {
        argument,
        dims: Vec::new(),
        strides: Vec::new(),
        dtype: dtype.to_owned(),
        value,
    };
    match input {
        Input::Tensor { dtype, dims, strides } => {
            let (dims, strides, dtype) = (dims.clone(), strides.clone(), dtype.to_string());
            entries.push(Entry { argument, dims, strides, dtype, value: None });
        }
        // So that an empty list is an input, too.
        Input::TensorList(tensors) if tensors.is_empty() => entries.push(other("TensorList", None)),
        Input::TensorList(tensors) => tensors.iter().for_each(|tensor| push_entries(entries, argument, tensor)),
        Input::Value { dtype, text } => {
            entries.push(other(dtype, (!text.is_empty()).then(|| text.to_string())));
        }
    }
}
