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

/// Collects packets and passes them on in large pieces.
pub(super) struct Output<'w> {
    out: &'w mut dyn Write,
    pub(super) buffer: Vec<u8>,
}

impl<'w> Output<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self { out, buffer: Vec::with_capacity(FULL + FULL / 4) }
    }

    /// Passes the bytes on if there are many. To be called between packets.
    #[inline]
    pub(super) fn checkpoint(&mut self) -> io::Result<()> {
        if self.buffer.len() >= FULL { self.pass_on() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.pass_on()?;
        self.out.flush()
    }

    #[cold]
    fn pass_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Appends a number: seven bits a byte, the lowest first.
#[inline]
pub(super) fn varint(out: &mut Vec<u8>, number: u64) {
    let low = |shift: u32| (number >> shift) as u8 | 0x80;
    let last = |shift: u32| (number >> shift) as u8;
    match number {
        0..0x80 => out.push(last(0)),
        0x80..0x4000 => out.extend_from_slice(&[low(0), last(7)]),
        0x4000..0x20_0000 => out.extend_from_slice(&[low(0), low(7), last(14)]),
        0x20_0000..0x1000_0000 => out.extend_from_slice(&[low(0), low(7), low(14), last(21)]),
        _ => long_varint(out, number),
    }
}

fn long_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The bytes that [`varint`] takes.
#[inline]
pub(super) const fn varint_length(number: u64) -> usize {
    (70 - (number | 1).leading_zeros() as usize) / 7
}

#[inline(always)]
fn tag(out: &mut Vec<u8>, field: u32, kind: u32) {
    varint(out, u64::from(field << 3 | kind));
}

/// The byte before a field with a number up to 15.
pub(super) const fn short_tag(field: u32, kind: u32) -> u8 {
    assert!(field < 16);
    (field << 3 | kind) as u8
}

/// A field with a number, or a flag, or an enumerator.
#[inline(always)]
pub(super) fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    tag(out, field, VARINT);
    varint(out, value);
}

/// A field with a number that may be negative: those take ten bytes.
#[inline(always)]
pub(super) fn signed(out: &mut Vec<u8>, field: u32, value: i64) {
    number(out, field, value as u64);
}

/// A field with a number that always takes eight bytes.
#[inline(always)]
pub(super) fn fixed(out: &mut Vec<u8>, field: u32, value: u64) {
    tag(out, field, FIXED_64);
    out.extend_from_slice(&value.to_le_bytes());
}

pub(super) fn double(out: &mut Vec<u8>, field: u32, value: f64) {
    fixed(out, field, value.to_bits());
}

pub(super) fn text(out: &mut Vec<u8>, field: u32, value: &str) {
    bytes(out, field, value.as_bytes());
}

pub(super) fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    tag(out, field, LENGTH);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// A message that has begun: where its content starts.
#[derive(Clone, Copy)]
#[must_use = "a message that is not ended has no length"]
pub(super) struct Message(usize);

/// Begins a field with a message: what follows is its content, until [`end`].
#[inline(always)]
pub(super) fn begin(out: &mut Vec<u8>, field: u32) -> Message {
    tag(out, field, LENGTH);
    out.push(0);
    Message(out.len())
}

#[inline(always)]
pub(super) fn end(out: &mut Vec<u8>, Message(start): Message) {
    let length = out.len() - start;
    if length < 0x80 {
        out[start - 1] = length as u8;
    } else {
        make_room_for_length(out, start, length);
    }
}

#[cold]
fn make_room_for_length(out: &mut Vec<u8>, start: usize, length: usize) {
    let more = varint_length(length as u64) - 1;
    out.resize(out.len() + more, 0);
    out.copy_within(start..start + length, start + more);
    let mut left = length;
    for (at, byte) in out[start - 1..start + more].iter_mut().enumerate() {
        *byte = left as u8 & 0x7f | if at < more { 0x80 } else { 0 };
        left >>= 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(number: u64) -> Vec<u8> {
        let mut out = Vec::new();
        varint(&mut out, number);
        out
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
            assert!(bytes.len() == 1 || *last != 0, "{number} is longer than it must be");
        }
    }

    #[test]
    fn messages_of_any_length_follow_their_length() {
        for length in [0, 1, 126, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152] {
            let content = vec![7u8; length];
            let mut expected = vec![9];
            bytes(&mut expected, 5, &content);
            let mut out = vec![9];
            let message = begin(&mut out, 5);
            out.extend_from_slice(&content);
            end(&mut out, message);
            assert!(out == expected, "{length}");
        }
    }

    #[test]
    fn long_messages_hold_long_messages() {
        let mut out = Vec::new();
        let outer = begin(&mut out, 1);
        let inner = begin(&mut out, 2);
        out.extend_from_slice(&[3; 200]);
        end(&mut out, inner);
        number(&mut out, 3, 1);
        end(&mut out, outer);
        let head = [10, 0xcd, 1, 18, 0xc8, 1];
        assert_eq!(out, [&head[..], &[3; 200], &[24, 1]].concat());
    }
}
