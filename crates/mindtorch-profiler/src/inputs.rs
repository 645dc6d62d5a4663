//! What operators are given: interned, so that a record has an id for all of it.

use crate::intern::{Interner, Recent};
use crate::names::Name;
use crate::quiet::Quiet;
use crate::recorder::{pair, unpair};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static RECENT: RefCell<Recent<[u64]>> = const { RefCell::new(Recent::new()) };
}

pub(crate) static INPUTS: Interner<[u64]> = Interner::new(&RECENT);

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

    /// The depth to which lists are kept; PyTorch's inputs have depth 1, a list of tensors. Interning replaces a list that is
    /// nested deeper by a value without type and text, so that code that follows the nesting needs little stack, whether a
    /// program or a file gave the inputs.
    pub const MAX_DEPTH: usize = 16;

    /// Starts describing an operator's inputs, in order.
    #[inline]
    pub fn encode() -> InputsEncoder {
        InputsEncoder { words: [0; SHORT], length: 0, long: Vec::new() }
    }

    /// The inputs, in order, but for those that have a keyword.
    pub fn decode(self) -> Vec<Input> {
        let mut inputs = Vec::new();
        self.read(|keyword, input| {
            if keyword.is_none() {
                inputs.push(input);
            }
        });
        inputs
    }

    /// The inputs that have a keyword, each with it.
    pub fn keywords(self) -> Vec<(Arc<str>, Input)> {
        let mut keywords = Vec::new();
        self.read(|keyword, input| keywords.extend(keyword.map(|keyword| (keyword, input))));
        keywords
    }

    fn read(self, mut see: impl FnMut(Option<Arc<str>>, Input)) {
        let Some(words) = INPUTS.value(self.0) else { return };
        let mut words = words.iter().copied();
        while let Some(first) = words.next() {
            let (name, what) = unpair(first);
            let input = if kind_of(what) == KEYWORD {
                words
                    .next()
                    .and_then(|first| Input::read(first, &mut words))
                    .map(|input| (Some(Name(name).text()), input))
            } else {
                Input::read(first, &mut words).map(|input| (None, input))
            };
            let Some((keyword, input)) = input else { return };
            see(keyword, input);
        }
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
        /// Its strides, in elements; none if it is not laid out so.
        strides: Vec<i64>,
    },
    /// A list of tensors; of an input with a keyword, of anything. [`Inputs::decode`] and [`Inputs::keywords`] return lists
    /// that are nested at most [`Inputs::MAX_DEPTH`] deep.
    TensorList(Vec<Input>),
    /// Anything else.
    Value {
        /// Its type, in torch's words: `"Scalar"`, `"ScalarList"`, `"String"`, or `""`.
        dtype: Arc<str>,
        /// Its value as text, or `""`.
        text: Arc<str>,
    },
}

/// What an input is, in the lowest bits of its first word.
const TENSOR: u64 = 0;
const LIST: u64 = 1;
const VALUE: u64 = 2;
const INTS: u64 = 3;
/// A tensor without strides.
const UNSTRIDED: u64 = 4;
/// Not an input itself: the next one has a keyword, whose name stands where an input has its type's.
const KEYWORD: u64 = 5;
const KIND_BITS: u32 = 3;

#[inline]
fn kind_of(what: u32) -> u64 {
    u64::from(what) & ((1 << KIND_BITS) - 1)
}

/// What the word of a value is, where an input has the number of its dimensions. Numbers become text when someone reads them.
const TEXT: usize = 0;
const FLOAT: usize = 1;
const INT: usize = 2;

/// The first word of an input: what it is, how many dimensions or tensors it has, and the name of its type.
#[inline]
fn first_word(kind: u64, count: usize, dtype: Name) -> u64 {
    pair(dtype.0, (count as u32) << KIND_BITS) | kind
}

/// The number of words that belong to an input beside its first one. Those of a list's items are not counted.
fn operand_count(kind: u64, count: usize) -> usize {
    match kind {
        TENSOR => 2 * count,
        UNSTRIDED | INTS => count,
        LIST | KEYWORD => 0,
        _ => 1,
    }
}

/// Encoded inputs in which lists that are nested deeper than [`Inputs::MAX_DEPTH`] are elided; `None` if there are none.
/// Does not recurse, since the words may come from a file.
pub(crate) fn elide_deep_lists(words: &[u64]) -> Option<Vec<u64>> {
    let mut result: Option<Vec<u64>> = None;
    // How many items are left of each list around this place, the innermost last.
    let mut open: Vec<usize> = Vec::new();
    // How many items are left to skip of an elided list and the lists in it.
    let mut elided = 0;
    let mut at = 0;
    while let Some(&first) = words.get(at) {
        let (_, what) = unpair(first);
        let (kind, count) = (kind_of(what), (what >> KIND_BITS) as usize);
        let end = words.len().min(at + 1 + operand_count(kind, count));
        let input = &words[at..end];
        at = end;
        let items = if kind == LIST { count } else { 0 };
        if elided > 0 {
            elided += items;
            elided -= 1;
            continue;
        }
        while open.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if kind == LIST && open.len() == Inputs::MAX_DEPTH {
            let result = result.get_or_insert_with(|| words[..at - input.len()].to_vec());
            result.extend([first_word(VALUE, TEXT, Name::EMPTY), u64::from(Name::EMPTY.0)]);
            elided = items;
            continue;
        }
        if kind == LIST {
            open.push(items);
        }
        if let Some(result) = &mut result {
            result.extend_from_slice(input);
        }
    }
    result
}

impl Input {
    /// A tensor.
    pub fn tensor(dtype: &str, dims: &[i64], strides: &[i64]) -> Self {
        Self::Tensor { dtype: dtype.into(), dims: dims.to_vec(), strides: strides.to_vec() }
    }

    /// Decodes an input. Recurses for lists, which [`elide_deep_lists`] keeps from being nested deep.
    fn read(first: u64, words: &mut impl Iterator<Item = u64>) -> Option<Self> {
        let (dtype, what) = unpair(first);
        let dtype = Name(dtype).text();
        let count = (what >> KIND_BITS) as usize;
        Some(match kind_of(what) {
            TENSOR => {
                let mut sizes = || words.by_ref().take(count).map(u64::cast_signed).collect();
                Self::Tensor { dtype, dims: sizes(), strides: sizes() }
            }
            UNSTRIDED => {
                let dims = words.by_ref().take(count).map(u64::cast_signed).collect();
                Self::Tensor { dtype, dims, strides: Vec::new() }
            }
            LIST => {
                let mut items = Vec::new();
                for _ in 0..count {
                    let first = words.next()?;
                    items.push(Self::read(first, words)?);
                }
                Self::TensorList(items)
            }
            INTS => {
                let ints: Vec<_> = words.by_ref().take(count).map(|word| word.cast_signed().to_string()).collect();
                Self::Value { dtype, text: format!("[{}]", ints.join(", ")).into() }
            }
            // Only an input that is not in a list has a keyword, and it has one.
            KEYWORD => return None,
            _ => {
                let word = words.next()?;
                let text = match count {
                    FLOAT => float_text(f64::from_bits(word)).into(),
                    INT => word.cast_signed().to_string().into(),
                    _ => Name(word as u32).text(),
                };
                Self::Value { dtype, text }
            }
        })
    }
}

/// A number as C++ prints a double, which is what torch writes into traces, with no more digits than it takes.
///
/// ```
/// use mindtorch_profiler::float_text;
/// assert_eq!([float_text(2.0), float_text(-0.5), float_text(1e300)], ["2.", "-0.5", "1e300"]);
/// ```
pub fn float_text(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e16 {
        format!("{value:.0}.")
    } else if size.is_finite() && !(1e-7..1e16).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Encoded inputs with other ids of names, as `name` gives them.
pub(crate) fn map_names(words: &[u64], name: impl Fn(u32) -> u32) -> Vec<u64> {
    let mut mapped = Vec::with_capacity(words.len());
    let mut words = words.iter().copied();
    while let Some(first) = words.next() {
        let (dtype, what) = unpair(first);
        mapped.push(pair(name(dtype), what));
        let (kind, count) = (kind_of(what), (what >> KIND_BITS) as usize);
        let has_name = !matches!(kind, TENSOR | LIST | INTS | UNSTRIDED | KEYWORD) && !matches!(count, FLOAT | INT);
        let operands = words.by_ref().take(operand_count(kind, count));
        mapped.extend(operands.map(|word| if has_name { u64::from(name(word as u32)) } else { word }));
    }
    mapped
}

/// Describes an operator's inputs without allocating, for up to about ten tensors.
#[derive(Debug)]
pub struct InputsEncoder {
    words: [u64; SHORT],
    length: usize,
    /// All of the words, if they are more than fit.
    long: Vec<u64>,
}

const SHORT: usize = 48;

impl InputsEncoder {
    /// Adds a tensor. `dims` and `strides` have one entry a dimension.
    ///
    /// # Panics
    /// When the two differ in length.
    pub fn tensor(&mut self, dtype: &str, dims: &[i64], strides: &[i64]) -> &mut Self {
        assert_eq!(dims.len(), strides.len(), "a tensor has one stride for each dimension");
        self.push(&[first_word(TENSOR, dims.len(), Name::new(dtype))], |&word| word);
        self.push(dims, |size| size.cast_unsigned());
        self.push(strides, |stride| stride.cast_unsigned());
        self
    }

    /// Adds a tensor whose type is known by name. There is a stride for each size; one that is missing is 0.
    #[inline]
    pub fn tensor_of(&mut self, dtype: Name, dims: &[usize], strides: &[usize]) -> &mut Self {
        let rank = dims.len();
        let first = first_word(TENSOR, rank, dtype);
        let end = self.length + 1 + 2 * rank;
        // One look at the room that is left, since this is done for every tensor that is given to anything.
        match self.words.get_mut(self.length..end) {
            Some([place, sizes @ ..]) if strides.len() == rank => {
                *place = first;
                let (to_dims, to_strides) = sizes.split_at_mut(rank);
                for ((to_dim, to_stride), (&dim, &stride)) in
                    to_dims.iter_mut().zip(to_strides).zip(dims.iter().zip(strides))
                {
                    (*to_dim, *to_stride) = (dim as u64, stride as u64);
                }
                self.length = end;
            }
            _ => self.long_tensor(first, dims, strides),
        }
        self
    }

    /// The same for sizes and strides as they come from elsewhere, which need not be positive. A tensor that has no strides is
    /// shown without.
    pub fn tensor_of_words(&mut self, dtype: Name, dims: &[u64], strides: &[u64]) -> &mut Self {
        let kind = if strides.is_empty() && !dims.is_empty() { UNSTRIDED } else { TENSOR };
        self.push(&[first_word(kind, dims.len(), dtype)], |&word| word);
        self.push(dims, |&size| size);
        if kind == TENSOR {
            self.push(&strides[..dims.len().min(strides.len())], |&stride| stride);
        }
        self
    }

    #[cold]
    fn long_tensor(&mut self, first: u64, dims: &[usize], strides: &[usize]) {
        self.push(&[first], |&word| word);
        self.push(dims, |&size| size as u64);
        for at in 0..dims.len() {
            self.push(&[strides.get(at).copied().unwrap_or(0)], |&stride| stride as u64);
        }
    }

    /// Adds anything that is not a tensor, by names of its type and its value.
    #[inline]
    pub fn value_of(&mut self, dtype: Name, text: Name) -> &mut Self {
        self.push(&[first_word(VALUE, TEXT, dtype), u64::from(text.0)], |&word| word);
        self
    }

    /// Adds a number, by the name of its type; it is shown as [`float_text`] writes it.
    #[inline]
    pub fn float_of(&mut self, dtype: Name, value: f64) -> &mut Self {
        self.push(&[first_word(VALUE, FLOAT, dtype), value.to_bits()], |&word| word);
        self
    }

    /// Adds a whole number, by the name of its type.
    #[inline]
    pub fn int_of(&mut self, dtype: Name, value: i64) -> &mut Self {
        self.push(&[first_word(VALUE, INT, dtype), value.cast_unsigned()], |&word| word);
        self
    }

    /// Adds a list of whole numbers, by the name of its type; it is shown as `[2, 3]`.
    #[inline]
    pub fn ints_of(&mut self, dtype: Name, values: impl ExactSizeIterator<Item = i64>) -> &mut Self {
        self.push(&[first_word(INTS, values.len(), dtype)], |&word| word);
        for value in values {
            self.push(&[value.cast_unsigned()], |&word| word);
        }
        self
    }

    /// The next `count` tensors are a list, one input.
    pub fn list_of(&mut self, count: usize) -> &mut Self {
        self.push(&[first_word(LIST, count, Name::EMPTY)], |&word| word);
        self
    }

    /// The next input has a keyword.
    pub fn keyword(&mut self, keyword: Name) -> &mut Self {
        self.push(&[first_word(KEYWORD, 0, keyword)], |&word| word);
        self
    }

    /// Adds anything that is not a tensor.
    pub fn value(&mut self, dtype: &str, text: &str) -> &mut Self {
        self.value_of(Name::new(dtype), Name::new(text))
    }

    /// The interned inputs.
    pub fn finish(&self) -> Inputs {
        let words = if self.long.is_empty() { &self.words[..self.length] } else { &self.long };
        if words.is_empty() { Inputs::NONE } else { Inputs(INPUTS.id(words)) }
    }

    #[inline]
    fn push<T>(&mut self, values: &[T], word: impl Fn(&T) -> u64) {
        let end = self.length + values.len();
        match self.words.get_mut(self.length..end) {
            Some(room) => {
                for (place, value) in room.iter_mut().zip(values) {
                    *place = word(value);
                }
                self.length = end;
            }
            None => self.push_long(values, word),
        }
    }

    #[cold]
    fn push_long<T>(&mut self, values: &[T], word: impl Fn(&T) -> u64) {
        let _quiet = Quiet::new();
        if self.long.is_empty() {
            self.long.extend_from_slice(&self.words[..self.length]);
            // Full, so that what follows comes here too.
            self.length = SHORT;
        }
        self.long.extend(values.iter().map(word));
    }
}

impl Drop for InputsEncoder {
    #[inline]
    fn drop(&mut self) {
        if !self.long.is_empty() {
            let _quiet = Quiet::new();
            self.long = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            .tensor_of(Name::new("float"), &[2, 3], &[1])
            .ints_of(Name::new("ScalarList"), [4, -3].into_iter())
            .ints_of(Name::new("ScalarList"), [].into_iter())
            .tensor_of_words(Name::new("float"), &[4, 5], &[5, 1])
            .tensor_of_words(Name::new("float"), &[4, 5], &[])
            .tensor_of_words(Name::new("float"), &[], &[])
            .int_of(Name::new("Scalar"), -7)
            .float_of(Name::new("Scalar"), 1e-5)
            .float_of(Name::new("Scalar"), f64::NEG_INFINITY)
            .finish();
        let list = vec![Input::tensor("long int", &[], &[]), Input::tensor("c10::Half", &[0], &[1])];
        let value = |dtype: &str, text: &str| Input::Value { dtype: dtype.into(), text: text.into() };
        assert_eq!(
            inputs.decode(),
            [
                Input::tensor("float", &[2, 3], &[3, 1]),
                Input::TensorList(list),
                value("ScalarList", "[4, 3]"),
                value("", ""),
                Input::tensor("float", &[2], &[1]),
                Input::tensor("float", &[2, 3], &[1, 0]),
                value("ScalarList", "[4, -3]"),
                value("ScalarList", "[]"),
                Input::tensor("float", &[4, 5], &[5, 1]),
                Input::tensor("float", &[4, 5], &[]),
                Input::tensor("float", &[], &[]),
                value("Scalar", "-7"),
                value("Scalar", "0.00001"),
                value("Scalar", "-inf"),
            ]
        );
        assert_eq!(Inputs::encode().finish(), Inputs::NONE);
    }

    #[test]
    fn there_may_be_any_number_of_inputs() {
        for count in [SHORT / 5, SHORT / 5 + 1, SHORT, 1000] {
            let mut encoder = Inputs::encode();
            for size in 0..count {
                encoder.tensor("float", &[size as i64, 2], &[2, 1]);
            }
            let inputs = encoder.finish().decode();
            assert_eq!(inputs.len(), count);
            assert_eq!(inputs[count - 1], Input::tensor("float", &[count as i64 - 1, 2], &[2, 1]));
        }
    }

    #[test]
    fn names_are_mapped_wherever_they_are() {
        let encode = |float: &str, scalar: &str, text: &str| {
            Inputs::encode()
                .tensor(float, &[2, 3], &[3, 1])
                .list_of(1)
                .tensor(float, &[], &[])
                .value(scalar, text)
                .ints_of(Name::new(scalar), [7, 8].into_iter())
                .float_of(Name::new(scalar), 0.5)
                .int_of(Name::new(scalar), 1)
                .tensor_of_words(Name::new(float), &[1], &[])
                .finish()
        };
        let words = |inputs: Inputs| INPUTS.value(inputs.0).unwrap();
        let longer = |id: u32| Name::new(&format!("{} there", Name(id).text())).0;
        // The list has no type.
        let mapped = map_names(&words(encode("a", "b", "c")), |id| if id == 0 { 0 } else { longer(id) });
        assert_eq!(mapped, *words(encode("a there", "b there", "c there")));
        assert_eq!(map_names(&[first_word(TENSOR, 1 << 29, Name(1))], |id| id).len(), 1);
    }

    fn value(text: &str) -> Input {
        Input::Value { dtype: "".into(), text: text.into() }
    }

    /// A number inside this many lists, and a tensor.
    fn nested(depth: usize) -> Inputs {
        let mut encoder = Inputs::encode();
        (0..depth).for_each(|_| _ = encoder.list_of(1));
        encoder.int_of(Name::EMPTY, 7).tensor("float", &[2], &[1]).finish()
    }

    fn in_lists(depth: usize, innermost: Vec<Input>) -> Input {
        (1..depth).fold(Input::TensorList(innermost), |list, _| Input::TensorList(vec![list]))
    }

    #[test]
    fn lists_are_kept_up_to_the_maximum_depth() {
        const MAX: usize = Inputs::MAX_DEPTH;
        let tensor = Input::tensor("float", &[2], &[1]);
        for depth in [1, 2, MAX - 1, MAX] {
            assert_eq!(nested(depth).decode(), [in_lists(depth, vec![value("7")]), tensor.clone()]);
        }
        for depth in [MAX + 1, MAX + 2] {
            assert_eq!(nested(depth).decode(), [in_lists(MAX, vec![value("")]), tensor.clone()]);
        }
    }

    #[test]
    fn eliding_a_list_keeps_the_inputs_around_it() {
        let mut encoder = Inputs::encode();
        (1..Inputs::MAX_DEPTH).for_each(|_| _ = encoder.list_of(1));
        encoder.list_of(3).int_of(Name::EMPTY, 1);
        // The elided list. Its numbers are equal to the first words of lists.
        encoder.list_of(3).tensor("float", &[9, 9], &[9, 9]).list_of(0);
        encoder.ints_of(Name::EMPTY, [1, 9, 17].into_iter());
        encoder.int_of(Name::EMPTY, 2);
        encoder.int_of(Name::EMPTY, 3).keyword(Name::new("names")).list_of(1).int_of(Name::EMPTY, 4);
        let inputs = encoder.finish();
        let innermost = vec![value("1"), value(""), value("2")];
        assert_eq!(inputs.decode(), [in_lists(Inputs::MAX_DEPTH, innermost), value("3")]);
        assert_eq!(inputs.keywords(), [("names".into(), in_lists(1, vec![value("4")]))]);
        let words = INPUTS.value(inputs.0).unwrap();
        assert_eq!(elide_deep_lists(&words), None);
        assert_eq!(map_names(&words, |id| id), *words);
    }

    #[test]
    fn very_deep_lists_do_not_overflow_the_stack() {
        let inputs = nested(200_000);
        assert_eq!(inputs.decode().len(), 2);
        assert_eq!(nested(200_000), inputs);
        let mut encoder = Inputs::encode();
        encoder.keyword(Name::new("names"));
        (0..200_000).for_each(|_| _ = encoder.list_of(1));
        // The words end in the lists, of which the outer ones are whole.
        assert_eq!(encoder.finish().keywords(), [("names".into(), in_lists(Inputs::MAX_DEPTH, vec![value("")]))]);
    }

    #[test]
    fn no_inputs_are_none() {
        assert!(Inputs::NONE.decode().is_empty());
    }

    #[test]
    fn keywords_are_apart_and_survive_other_ids() {
        let inputs = Inputs::encode()
            .tensor("float", &[2], &[1])
            .keyword(Name::new("grid"))
            .value("String", "(4, 1)")
            .keyword(Name::new("files"))
            .list_of(2)
            .value("String", "a")
            .value("String", "b")
            .int_of(Name::new("Scalar"), 3)
            .finish();
        let value = |dtype: &str, text: &str| Input::Value { dtype: dtype.into(), text: text.into() };
        let files = Input::TensorList(vec![value("String", "a"), value("String", "b")]);
        assert_eq!(inputs.decode(), [Input::tensor("float", &[2], &[1]), value("Scalar", "3")]);
        let keywords = [("grid".into(), value("String", "(4, 1)")), ("files".into(), files)];
        assert_eq!(inputs.keywords(), keywords);
        let words = INPUTS.value(inputs.0).expect("they are interned");
        assert_eq!(map_names(&words, |name| name), *words);
    }
}
