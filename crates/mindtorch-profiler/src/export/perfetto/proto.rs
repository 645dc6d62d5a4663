//! Protobuf, as far as a trace needs it: numbers, texts, and messages within messages.
//!
//! Everything is appended to a buffer. A message comes after its length, which is known when it ends: one byte is kept free
//! for it, and more room is made in the few that are longer than 127 bytes.

use std::io::{self, Write};

/// The buffer goes to the writer when it has grown past this.
const FULL: usize = 64 * 1024;

/// How a field is written: as a number,
pub(super) const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
/// or as bytes that follow their length.
pub(super) const LENGTH: u32 = 2;

/// Numbers below this take four bytes at most.
const SHORT: u64 = 1 << 28;

/// Collects packets and passes them on in large pieces.
pub(super) struct Output<'w> {
    out: &'w mut dyn Write,
    pub(super) buffer: Buffer,
}

impl<'w> Output<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self { out, buffer: Buffer { bytes: vec![0; FULL + FULL / 4], length: 0 } }
    }

    /// Passes the bytes on if there are many. To be called between packets.
    #[inline]
    pub(super) fn checkpoint(&mut self) -> io::Result<()> {
        if self.buffer.length >= FULL { self.pass_on() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.pass_on()?;
        self.out.flush()
    }

    #[cold]
    fn pass_on(&mut self) -> io::Result<()> {
        self.out.write_all(self.buffer.as_bytes())?;
        self.buffer.clear();
        Ok(())
    }
}

/// Bytes on their way. There is always room behind them, so that a field of a few bytes is one store of eight, of which the
/// next field overwrites what was too much.
#[derive(Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    length: usize,
}

/// A message that has begun: where its content starts.
#[derive(Clone, Copy)]
#[must_use = "a message that is not ended has no length"]
pub(super) struct Message(usize);

impl Buffer {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Appends the first `count` bytes of a word, from the lowest.
    #[inline(always)]
    pub(super) fn word(&mut self, word: u64, count: usize) {
        if self.bytes.len() < self.length + 8 {
            self.make_room(8);
        }
        self.bytes[self.length..self.length + 8].copy_from_slice(&word.to_le_bytes());
        self.length += count;
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        if self.bytes.len() < self.length + bytes.len() {
            self.make_room(bytes.len());
        }
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    #[cold]
    fn make_room(&mut self, count: usize) {
        let enough = (self.length + count).max(self.bytes.len() * 2).max(64);
        self.bytes.resize(enough, 0);
    }

    /// Appends a number: seven bits a byte, the lowest first.
    #[inline(always)]
    pub(super) fn varint(&mut self, mut number: u64) {
        while number >= SHORT {
            self.word(number | 0x80, 1);
            number >>= 7;
        }
        let (word, count) = short_varint(number);
        self.word(word, count);
    }

    /// A field with a number, or a flag, or an enumerator.
    #[inline(always)]
    pub(super) fn number(&mut self, field: u32, value: u64) {
        let (tag, count) = short_varint(u64::from(field << 3 | VARINT));
        if value < SHORT {
            let (word, more) = short_varint(value);
            self.word(tag | word << (8 * count), count + more);
        } else {
            self.word(tag, count);
            self.varint(value);
        }
    }

    /// A field with a number that may be negative: those take ten bytes.
    #[inline(always)]
    pub(super) fn signed(&mut self, field: u32, value: i64) {
        self.number(field, value as u64);
    }

    /// A field with a number that always takes eight bytes.
    #[inline(always)]
    pub(super) fn fixed(&mut self, field: u32, value: u64) {
        let (tag, count) = short_varint(u64::from(field << 3 | FIXED_64));
        self.word(tag, count);
        self.word(value, 8);
    }

    pub(super) fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    pub(super) fn text(&mut self, field: u32, value: &str) {
        self.field(field, value.as_bytes());
    }

    /// A field with bytes, or a message that is finished.
    pub(super) fn field(&mut self, field: u32, value: &[u8]) {
        let (tag, count) = short_varint(u64::from(field << 3 | LENGTH));
        self.word(tag, count);
        self.varint(value.len() as u64);
        self.extend(value);
    }

    /// Begins a field with a message: what follows is its content, until [`Buffer::end`].
    #[inline(always)]
    pub(super) fn begin(&mut self, field: u32) -> Message {
        let (tag, count) = short_varint(u64::from(field << 3 | LENGTH));
        self.word(tag, count + 1);
        Message(self.length)
    }

    /// A message that has begun `before` bytes ago, after one byte that is free for its length.
    #[inline(always)]
    pub(super) fn begun_before(&self, before: usize) -> Message {
        Message(self.length - before)
    }

    #[inline(always)]
    pub(super) fn end(&mut self, Message(start): Message) {
        let length = self.length - start;
        if length < 0x80 {
            self.bytes[start - 1] = length as u8;
        } else {
            self.make_room_for_length(start, length);
        }
    }

    #[cold]
    fn make_room_for_length(&mut self, start: usize, length: usize) {
        let more = varint_length(length as u64) - 1;
        // Whatever it is: it will be overwritten.
        (0..more).for_each(|_| self.word(0, 1));
        self.bytes.copy_within(start..start + length, start + more);
        let mut left = length;
        for (at, byte) in self.bytes[start - 1..start + more].iter_mut().enumerate() {
            *byte = left as u8 & 0x7f | if at < more { 0x80 } else { 0 };
            left >>= 7;
        }
    }
}

/// The bytes of a number below [`SHORT`], from the lowest, and how many they are. Without a branch, since lengths differ from
/// one to the next.
#[inline(always)]
pub(super) const fn short_varint(number: u64) -> (u64, usize) {
    let spread = number & 0x7f | (number & 0x3f80) << 1 | (number & 0x1f_c000) << 2 | (number & 0xfe0_0000) << 3;
    const CONTINUED: [u64; 5] = [0, 0, 0x80, 0x8080, 0x80_8080];
    let count = varint_length(number);
    (spread | CONTINUED[count], count)
}

/// The bytes of any number of 32 bits, and how many they are.
#[inline(always)]
pub(super) const fn varint_of(number: u32) -> (u64, usize) {
    let number = number as u64;
    let (word, count) = short_varint(number & (SHORT - 1));
    if number < SHORT { (word, count) } else { (word | 0x8080_8080 | number >> 28 << 32, 5) }
}

/// The bytes that a number takes.
#[inline(always)]
pub(super) const fn varint_length(number: u64) -> usize {
    // A seventh of the bits, rounded up.
    let bits = 64 - (number | 1).leading_zeros() as usize;
    (bits * 9 + 64) / 64
}

/// The byte before a field with a number up to 15.
pub(super) const fn short_tag(field: u32, kind: u32) -> u64 {
    assert!(field < 16);
    (field << 3 | kind) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(number: u64) -> Vec<u8> {
        let mut out = Buffer::default();
        out.varint(number);
        out.as_bytes().to_vec()
    }

    /// Numbers around every change of length.
    fn numbers() -> impl Iterator<Item = u64> {
        let around = |bits: u32| {
            let power = 1u64 << bits;
            [power - 1, power, power + 1]
        };
        (0..64).flat_map(around).chain([u64::MAX])
    }

    #[test]
    fn numbers_are_groups_of_seven_bits() {
        assert_eq!(written(0), [0]);
        assert_eq!(written(300), [0xac, 2]);
        for number in numbers() {
            let bytes = written(number);
            let (last, others) = bytes.split_last().unwrap();
            assert!(last & 0x80 == 0 && others.iter().all(|byte| byte & 0x80 != 0));
            let value = bytes.iter().rev().fold(0u128, |value, byte| value << 7 | u128::from(byte & 0x7f));
            assert_eq!(value, u128::from(number));
            assert_eq!(bytes.len(), varint_length(number));
            if let Ok(small) = u32::try_from(number) {
                let (word, count) = varint_of(small);
                assert_eq!(bytes, word.to_le_bytes()[..count]);
            }
            assert!(bytes.len() == 1 || *last != 0, "{number} is longer than it must be");
        }
    }

    #[test]
    fn fields_are_a_tag_and_a_value() {
        for field in [1, 15, 16, 47, 2047] {
            for value in numbers() {
                let mut out = Buffer::default();
                out.number(field, value);
                assert_eq!(out.as_bytes(), [written(u64::from(field << 3)), written(value)].concat());
            }
        }
        let mut out = Buffer::default();
        out.double(44, -2.5);
        assert_eq!(out.as_bytes(), [&[0xe1, 2][..], &(-2.5f64).to_le_bytes()].concat());
    }

    #[test]
    fn messages_of_any_length_follow_their_length() {
        for length in [0, 1, 126, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152] {
            let content = vec![7u8; length];
            let mut expected = Buffer::default();
            expected.number(1, 9);
            expected.field(5, &content);
            let mut out = Buffer::default();
            out.number(1, 9);
            let message = out.begin(5);
            out.extend(&content);
            out.end(message);
            assert!(out.as_bytes() == expected.as_bytes(), "{length}");
        }
    }

    #[test]
    fn long_messages_hold_long_messages() {
        let mut out = Buffer::default();
        let outer = out.begin(1);
        let inner = out.begin(2);
        out.extend(&[3; 200]);
        out.end(inner);
        out.number(3, 1);
        out.end(outer);
        let head = [10, 0xcd, 1, 18, 0xc8, 1];
        assert_eq!(out.as_bytes(), [&head[..], &[3; 200], &[24, 1]].concat());
    }
}
