//! Texts one behind another, and columns of which few texts are distinct.

use super::Column;
use super::values::Validity;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// Texts: number `i` has the bytes from the offset at `i` to the next.
#[derive(Clone, Debug)]
pub(in crate::export) struct Texts {
    pub(in crate::export) offsets: Vec<i32>,
    pub(in crate::export) bytes: Vec<u8>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { offsets: vec![0], bytes: Vec::new() }
    }
}

impl Texts {
    pub(super) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text));
        all
    }

    /// Adds a text. One that would make them too long for their offsets, 2 GiB, is cut: a batch ends long before.
    pub(super) fn push(&mut self, text: &str) {
        let room = i32::MAX as usize - self.bytes.len();
        self.bytes.extend_from_slice(&text.as_bytes()[..text.floor_char_boundary(room)]);
        self.offsets.push(self.bytes.len() as i32);
    }

    pub(in crate::export) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    #[cfg(feature = "parquet")]
    pub(in crate::export) fn bytes_of(&self, number: usize) -> &[u8] {
        &self.bytes[self.offsets[number] as usize..self.offsets[number + 1] as usize]
    }
}

/// A column of texts while it is made: each row has the number of its text. Readers want every text to be there once.
#[derive(Default)]
pub(super) struct Dictionary {
    codes: Vec<u32>,
    validity: Validity,
    /// The number of a text, by what the caller knows it by.
    known: FxHashMap<u32, u32>,
    numbers: FxHashMap<String, u32>,
    texts: Texts,
}

impl Dictionary {
    /// Adds a row with the text that the caller knows by `id`; equal ids have equal texts.
    #[inline]
    pub(super) fn push<'t>(&mut self, id: u32, text: impl FnOnce() -> Cow<'t, str>) {
        let Self { known, numbers, texts, .. } = self;
        let code = *known.entry(id).or_insert_with(|| {
            let text = text();
            if let Some(&code) = numbers.get(&*text) {
                return code;
            }
            let code = texts.len() as u32;
            texts.push(&text);
            numbers.insert(text.into_owned(), code);
            code
        });
        self.codes.push(code);
        self.validity.push(true);
    }

    /// Adds a row without a text.
    #[inline]
    pub(super) fn push_null(&mut self) {
        self.codes.push(0);
        self.validity.push(false);
    }

    /// How long the texts are.
    pub(super) fn bytes(&self) -> usize {
        self.texts.bytes.len()
    }

    pub(super) fn finish(self) -> Column<'static> {
        Column::Symbols(Cow::Owned(self.codes), self.validity, Arc::new(self.texts))
    }
}

/// A column with one of a few texts in each row, while it is made.
#[derive(Default)]
pub(super) struct Choices {
    codes: Vec<u32>,
    validity: Validity,
}

impl Choices {
    #[inline]
    pub(super) fn push(&mut self, choice: u32) {
        self.codes.push(choice);
        self.validity.push(true);
    }

    pub(super) fn finish(self, texts: &Arc<Texts>) -> Column<'static> {
        Column::Symbols(Cow::Owned(self.codes), self.validity, Arc::clone(texts))
    }
}

/// A column of texts while it is made.
#[derive(Default)]
pub(super) struct TextBuilder {
    texts: Texts,
    validity: Validity,
}

impl TextBuilder {
    pub(super) fn push(&mut self, text: Option<&str>) {
        self.texts.push(text.unwrap_or_default());
        self.validity.push(text.is_some());
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.texts.bytes.len()
    }

    pub(super) fn finish(self) -> Column<'static> {
        Column::Texts(self.texts, self.validity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number_whatever_they_are_known_by() {
        let mut column = Dictionary::default();
        for (id, text) in [(7, "a"), (9, "b"), (7, "not asked for"), (11, "a")] {
            column.push(id, || text.into());
        }
        column.push_null();
        let Column::Symbols(codes, validity, texts) = column.finish() else { unreachable!() };
        assert_eq!(*codes, [0, 1, 0, 0, 0]);
        assert_eq!(validity.nulls(), 1);
        assert_eq!((texts.offsets.as_slice(), texts.bytes.as_slice()), ([0, 1, 2].as_slice(), b"ab".as_slice()));
    }
}
