//! The things that records refer to by id: names, stacks and operator inputs.

use crate::intern::{Interner, Recent};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

thread_local! {
    static RECENT_NAMES: RefCell<Recent<str>> = const { RefCell::new(Recent::new()) };
    static RECENT_STACKS: RefCell<Recent<[u32]>> = const { RefCell::new(Recent::new()) };
    static RECENT_INPUTS: RefCell<Recent<[i64]>> = const { RefCell::new(Recent::new()) };
}

pub(crate) static NAMES: Interner<str> = Interner::new(&RECENT_NAMES);
pub(crate) static STACKS: Interner<[u32]> = Interner::new(&RECENT_STACKS);
pub(crate) static INPUTS: Interner<[i64]> = Interner::new(&RECENT_INPUTS);

/// An interned name. Equal texts give equal names, in the whole process, for as long as it runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name(pub(crate) u32);

impl Name {
    /// The name with this text: about 10 ns for a short text that this thread used lately.
    pub fn new(text: &str) -> Self {
        if text.is_empty() { Self(0) } else { Self(NAMES.id(text)) }
    }

    /// The name with these bytes, which should be UTF-8; what is not is replaced by U+FFFD, visibly.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::new(&String::from_utf8_lossy(bytes))
    }

    /// The text.
    pub fn text(self) -> Arc<str> {
        NAMES.value(self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({:?})", self.text())
    }
}

/// An interned source stack, innermost frame first. Equal stacks give equal ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stack(pub(crate) u32);

impl Stack {
    /// No stack.
    pub const NONE: Self = Self(0);

    /// The stack of these frames, innermost first, each written as torch writes it: `file(line): function`.
    pub fn new(frames: &[Name]) -> Self {
        if frames.is_empty() {
            return Self::NONE;
        }
        let ids: SmallVec<[u32; 32]> = frames.iter().map(|frame| frame.0).collect();
        Self(STACKS.id(&ids))
    }

    /// The stack of one frame.
    pub(crate) fn of_site(frame: &str) -> Self {
        Self::new(&[Name::new(frame)])
    }

    /// The frames, innermost first.
    pub fn frames(self) -> Vec<Name> {
        STACKS.value(self.0).map_or_else(Vec::new, |ids| ids.iter().map(|&id| Name(id)).collect())
    }
}

/// Interned operator inputs: their shapes, strides, types and plain values. Equal inputs give equal ids.
///
/// ```
/// use mindtorch_profiler::{Input, Inputs};
/// let inputs = Inputs::encode().tensor("float", &[2, 3], &[3, 1]).value("Scalar", "1").finish();
/// assert_eq!(inputs.decode()[0], Input::tensor("float", &[2, 3], &[3, 1]));
/// assert_eq!(inputs, Inputs::encode().tensor("float", &[2, 3], &[3, 1]).value("Scalar", "1").finish());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Inputs(pub(crate) u32);

impl Inputs {
    /// No inputs were captured.
    pub const NONE: Self = Self(0);

    /// Starts describing an operator's inputs, in order.
    pub fn encode() -> InputsEncoder {
        InputsEncoder { words: SmallVec::new() }
    }

    /// The inputs, in order.
    pub fn decode(self) -> Vec<Input> {
        let Some(words) = INPUTS.value(self.0) else { return Vec::new() };
        let mut words = words.iter().copied();
        std::iter::from_fn(|| Input::read(&mut words)).collect()
    }
}

/// One operator input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A tensor.
    Tensor {
        /// Its element type, in torch's words: `"float"`, `"long int"`, `"c10::Half"`.
        dtype: Arc<str>,
        /// Its sizes.
        dims: Vec<i64>,
        /// Its strides, in elements.
        strides: Vec<i64>,
    },
    /// A list of tensors.
    TensorList(Vec<Input>),
    /// Anything else.
    Value {
        /// Its type, in torch's words: `"Scalar"`, `"ScalarList"`, or `""`.
        dtype: Arc<str>,
        /// Its value as text, or `""`.
        text: Arc<str>,
    },
}

const TENSOR: i64 = 0;
const LIST: i64 = 1;
const VALUE: i64 = 2;

impl Input {
    /// A tensor.
    pub fn tensor(dtype: &str, dims: &[i64], strides: &[i64]) -> Self {
        Self::Tensor { dtype: dtype.into(), dims: dims.to_vec(), strides: strides.to_vec() }
    }

    fn read(words: &mut impl Iterator<Item = i64>) -> Option<Self> {
        let name = |id: i64| Name(id as u32).text();
        Some(match words.next()? {
            TENSOR => {
                let dtype = name(words.next()?);
                let rank = words.next()? as usize;
                let dims = words.by_ref().take(rank).collect();
                Self::Tensor { dtype, dims, strides: words.by_ref().take(rank).collect() }
            }
            LIST => {
                let count = words.next()?;
                Self::TensorList((0..count).map_while(|_| Self::read(words)).collect())
            }
            _ => Self::Value { dtype: name(words.next()?), text: name(words.next()?) },
        })
    }
}

/// Describes an operator's inputs without allocating, for up to about six tensors.
#[derive(Debug)]
pub struct InputsEncoder {
    words: SmallVec<[i64; 64]>,
}

impl InputsEncoder {
    /// Adds a tensor. `dims` and `strides` have one entry a dimension.
    ///
    /// # Panics
    /// When the two differ in length.
    pub fn tensor(mut self, dtype: &str, dims: &[i64], strides: &[i64]) -> Self {
        assert_eq!(dims.len(), strides.len(), "a tensor has one stride for each dimension");
        self.words.extend([TENSOR, i64::from(Name::new(dtype).0), dims.len() as i64]);
        self.words.extend_from_slice(dims);
        self.words.extend_from_slice(strides);
        self
    }

    /// Adds a tensor whose type is known by name. There is a stride for each size; one that is missing is 0.
    pub fn tensor_of(mut self, dtype: Name, dims: &[usize], strides: &[usize]) -> Self {
        self.words.extend([TENSOR, i64::from(dtype.0), dims.len() as i64]);
        self.words.extend(dims.iter().map(|&dim| dim as i64));
        let strides = strides.iter().copied().chain(std::iter::repeat(0)).take(dims.len());
        self.words.extend(strides.map(|stride| stride as i64));
        self
    }

    /// Adds anything that is not a tensor, by names of its type and its value.
    pub fn value_of(mut self, dtype: Name, text: Name) -> Self {
        self.words.extend([VALUE, i64::from(dtype.0), i64::from(text.0)]);
        self
    }

    /// The next `count` tensors are a list, one input.
    pub fn list_of(mut self, count: usize) -> Self {
        self.words.extend([LIST, count as i64]);
        self
    }

    /// Adds anything that is not a tensor.
    pub fn value(self, dtype: &str, text: &str) -> Self {
        self.value_of(Name::new(dtype), Name::new(text))
    }

    /// The interned inputs.
    pub fn finish(self) -> Inputs {
        if self.words.is_empty() { Inputs::NONE } else { Inputs(INPUTS.id(&self.words)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_bytes_and_show_what_is_not_text() {
        for text in ["", "a", "say \"hi\"", "a\\b", "a\nb", "a\0b", "日本語", "re"] {
            assert_eq!(&*Name::new(text).text(), text);
        }
        assert_eq!(&*Name::from_bytes(b"a\xffb").text(), "a\u{fffd}b");
    }

    #[test]
    fn inputs_survive_encoding() {
        let inputs = Inputs::encode()
            .tensor("float", &[2, 3], &[3, 1])
            .list_of(2)
            .tensor("long int", &[], &[])
            .tensor("c10::Half", &[0], &[1])
            .value("ScalarList", "[4, 3]")
            .value("", "")
            .tensor_of(Name::new("float"), &[2], &[1])
            .finish();
        let list = vec![Input::tensor("long int", &[], &[]), Input::tensor("c10::Half", &[0], &[1])];
        assert_eq!(
            inputs.decode(),
            [
                Input::tensor("float", &[2, 3], &[3, 1]),
                Input::TensorList(list),
                Input::Value { dtype: "ScalarList".into(), text: "[4, 3]".into() },
                Input::Value { dtype: "".into(), text: "".into() },
                Input::tensor("float", &[2], &[1]),
            ]
        );
        assert_eq!(Inputs::encode().finish(), Inputs::NONE);
        assert!(Inputs::NONE.decode().is_empty());
    }

    #[test]
    fn stacks_keep_their_frames() {
        let frames = [Name::new("leaf.py(3): leaf"), Name::new("main.py(9): <module>")];
        assert_eq!(Stack::new(&frames).frames(), frames);
        assert_eq!(Stack::new(&frames), Stack::new(&frames));
        assert_eq!(Stack::new(&[]), Stack::NONE);
    }
}
