//! The parts of an entry: numbers, texts and lists, one after another.

/// Writes fields to the end of a buffer.
pub(super) struct FieldWriter<'a>(pub(super) &'a mut Vec<u8>);

impl FieldWriter<'_> {
    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn flag(&mut self, value: bool) {
        self.u8(value.into());
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_ne_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_ne_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_ne_bytes());
    }

    pub(super) fn u64s(&mut self, values: &[u64]) {
        values.iter().for_each(|&value| self.u64(value));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(super) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.length(items.len());
        for item in items {
            write(self, item);
        }
    }

    /// An entry with more than four billion of anything is too long to be written, whatever this says.
    fn length(&mut self, length: usize) {
        self.u32(u32::try_from(length).unwrap_or(u32::MAX));
    }
}

/// Reads fields from the front of some bytes. `None` is that they are not there, or not what they should be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.bytes().map(|[byte]| byte)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_ne_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_ne_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_ne_bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = self.u32()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    /// A list whose items take `bytes_each` or more. Room is made only for as many as there can be.
    pub(super) fn list<T>(
        &mut self,
        bytes_each: usize,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let length = self.u32()? as usize;
        if length > self.0.len() / bytes_each {
            return None;
        }
        (0..length).map(|_| read(self)).collect()
    }

    /// `value`, if nothing is left.
    pub(super) fn end<T>(self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_cannot_be_there_takes_no_memory() {
        let mut bytes = u32::MAX.to_ne_bytes().to_vec();
        bytes.extend([0; 64]);
        assert_eq!(Fields(&bytes).list(8, Fields::u64), None);
        assert_eq!(Fields(&bytes).text(), None);
    }

    #[test]
    fn what_is_left_over_or_no_text_is_refused() {
        assert_eq!(Fields(&[7]).end(()), None);
        assert_eq!(Fields(&[]).end(3), Some(3));
        assert_eq!(Fields(&[2]).flag(), None);
        let mut bytes = Vec::new();
        FieldWriter(&mut bytes).text("ä");
        assert_eq!(Fields(&bytes).text(), Some("ä"));
        bytes[4] = 0xff;
        assert_eq!(Fields(&bytes).text(), None);
    }
}
