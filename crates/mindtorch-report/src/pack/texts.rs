//! What events refer to by number: names, inputs and stacks, each once.

use mindtorch_profiler::{DeviceKind, Input, Inputs, Name, SpanKind, Stack};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::hash::Hash;

/// What an event is, in the order of [`Kind::LABELS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind(u8);

impl Kind {
    /// What people call them.
    pub(crate) const LABELS: [&str; 11] = [
        "operator",
        "backward",
        "annotation",
        "runtime call",
        "function",
        "kernel",
        "copy",
        "memory set",
        "synchronisation",
        "device annotation",
        "mark",
    ];
    pub(crate) const MARK: Self = Self(10);

    pub(crate) fn of_span(kind: SpanKind) -> Self {
        Self(match kind {
            SpanKind::Op => 0,
            SpanKind::Backward => 1,
            SpanKind::Annotation => 2,
            SpanKind::Runtime => 3,
            SpanKind::Function => 4,
        })
    }

    pub(crate) fn of_device(kind: DeviceKind) -> Self {
        Self(match kind {
            DeviceKind::Kernel => 5,
            DeviceKind::Copy => 6,
            DeviceKind::Set => 7,
            DeviceKind::Sync => 8,
            DeviceKind::Annotation => 9,
        })
    }
}

/// A name of events of one kind: its text and its kind.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NameRow(pub(crate) String, pub(crate) u8);

/// Numbers of things, in the order in which they were first seen.
#[derive(Debug)]
struct Numbers<K>(FxHashMap<K, u32>);

impl<K: Eq + Hash> Numbers<K> {
    /// The thing's number, and whether it is new.
    fn of(&mut self, thing: K) -> (u32, bool) {
        let next = self.0.len() as u32;
        let number = *self.0.entry(thing).or_insert(next);
        (number, number == next)
    }
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

/// The tables.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// By address: a trace has each of its names in one place, and looking at that is quicker than at the text.
    name_places: FxHashMap<(usize, usize, Kind), u32>,
    name_numbers: Numbers<(String, Kind)>,
    pub(crate) names: Vec<NameRow>,
    input_numbers: Numbers<Inputs>,
    pub(crate) inputs: Vec<Vec<String>>,
    frame_numbers: Numbers<Name>,
    pub(crate) frames: Vec<String>,
    stack_numbers: Numbers<Stack>,
    /// Numbers of frames, innermost first.
    pub(crate) stacks: Vec<Vec<u32>>,
}

impl Texts {
    /// The number of a name. The text has to stay where it is until [`Texts::forget_places`].
    pub(crate) fn name(&mut self, text: &str, kind: Kind) -> u32 {
        let place = (text.as_ptr() as usize, text.len(), kind);
        if let Some(&number) = self.name_places.get(&place) {
            return number;
        }
        let (number, is_new) = self.name_numbers.of((text.to_owned(), kind));
        if is_new {
            self.names.push(NameRow(text.to_owned(), kind.0));
        }
        self.name_places.insert(place, number);
        number
    }

    /// The next names may be at the same addresses as others before.
    pub(crate) fn forget_places(&mut self) {
        self.name_places.clear();
    }

    /// The number of an operator's inputs, from 1; 0 is none.
    pub(crate) fn inputs(&mut self, inputs: Inputs) -> u32 {
        if inputs == Inputs::NONE {
            return 0;
        }
        let (number, is_new) = self.input_numbers.of(inputs);
        if is_new {
            let keywords = inputs.keywords().into_iter().map(|(keyword, input)| format!("{keyword}={}", text(&input)));
            self.inputs.push(inputs.decode().iter().map(text).chain(keywords).collect());
        }
        number + 1
    }

    /// The number of a stack, from 1; 0 is none.
    pub(crate) fn stack(&mut self, stack: Stack) -> u32 {
        if stack == Stack::NONE {
            return 0;
        }
        let (number, is_new) = self.stack_numbers.of(stack);
        if is_new {
            let frames = stack.frames().into_iter().map(|frame| self.frame(frame)).collect();
            self.stacks.push(frames);
        }
        number + 1
    }

    fn frame(&mut self, frame: Name) -> u32 {
        let (number, is_new) = self.frame_numbers.of(frame);
        if is_new {
            self.frames.push(frame.text().to_string());
        }
        number
    }
}

/// An input for people: `float [8, 4]`, `0.5`, `[float [2], float [3]]`.
fn text(input: &Input) -> String {
    match input {
        Input::Tensor { dtype, dims, .. } => format!("{dtype} {dims:?}"),
        Input::TensorList(list) => format!("[{}]", list.iter().map(text).collect::<Vec<_>>().join(", ")),
        Input::Value { dtype, text } if text.is_empty() => dtype.to_string(),
        Input::Value { text, .. } => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_for_each_kind() {
        let mut texts = Texts::default();
        let (op, kernel) = (Kind::of_span(SpanKind::Op), Kind::of_device(DeviceKind::Kernel));
        let again = String::from("mm");
        assert_eq!(
            [texts.name("mm", op), texts.name("mm", kernel), texts.name(&again, op), texts.name("add", op)],
            [0, 1, 0, 2]
        );
        assert_eq!(texts.names[1], NameRow("mm".to_owned(), 5));
        assert_eq!(Kind::LABELS[5], "kernel");
        assert_eq!(Kind::LABELS[usize::from(Kind::MARK.0)], "mark");
    }

    #[test]
    fn inputs_are_written_for_people() {
        let mut inputs = Inputs::encode();
        inputs.tensor("float", &[8, 4], &[4, 1]).list_of(2).tensor("int", &[2], &[1]).tensor("int", &[], &[]);
        inputs.value("Scalar", "0.5").value("String", "").keyword(Name::new("out")).value("Scalar", "1");
        let mut texts = Texts::default();
        assert_eq!(
            [texts.inputs(inputs.finish()), texts.inputs(Inputs::NONE), texts.inputs(inputs.finish())],
            [1, 0, 1]
        );
        assert_eq!(texts.inputs[0], ["float [8, 4]", "[int [2], int []]", "0.5", "String", "out=1"]);
    }

    #[test]
    fn stacks_share_their_frames() {
        let [leaf, main] = ["a.py(1): leaf", "a.py(9): <module>"].map(Name::new);
        let mut texts = Texts::default();
        let numbers = [&[leaf, main][..], &[main], &[leaf, main], &[]].map(|frames| texts.stack(Stack::new(frames)));
        assert_eq!(numbers, [1, 2, 1, 0]);
        assert_eq!((texts.frames.len(), texts.stacks), (2, vec![vec![0, 1], vec![1]]));
    }
}
