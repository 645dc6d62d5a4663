//! JSON text, streamed through one buffer.

use super::digits::{Digits, push_int, push_micros, push_number};
use std::io::{self, Write};

/// The buffer goes to the writer when it has grown past this.
const FULL: usize = 64 * 1024;

/// What a [`Line`] has room for.
const ROOM: usize = 256;

/// Collects text and passes it on in large pieces.
///
/// The methods append what they are given; that the whole is JSON is up to the caller.
pub(super) struct JsonWriter<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    /// What has left the buffer.
    passed_on: u64,
}

impl<'a> JsonWriter<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, buffer: Vec::with_capacity(FULL + FULL / 4), passed_on: 0 }
    }

    /// Room for a few short texts and numbers, at most [`ROOM`] bytes in all, which [`Self::keep`] then keeps.
    #[inline]
    pub(super) fn line(&mut self) -> Line<'_> {
        self.buffer.resize(self.buffer.len() + ROOM, 0);
        Line { bytes: self.buffer.last_chunk_mut().expect("that much was added"), length: 0 }
    }

    /// Keeps as much of the last line as was written.
    #[inline]
    pub(super) fn keep(&mut self, length: usize) {
        self.buffer.truncate(self.buffer.len() - ROOM + length);
    }

    /// Appends finished text.
    #[inline]
    pub(super) fn raw(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// Appends finished text.
    #[inline]
    pub(super) fn bytes(&mut self, text: &[u8]) {
        self.buffer.extend_from_slice(text);
    }

    /// Appends a number that is not negative.
    #[inline]
    pub(super) fn number(&mut self, number: u64) {
        push_number(&mut self.buffer, number);
    }

    /// Appends an integer.
    #[inline]
    pub(super) fn int(&mut self, number: impl Integer) {
        number.push(&mut self.buffer);
    }

    /// Appends a string literal.
    pub(super) fn text(&mut self, text: &str) {
        push_text(&mut self.buffer, text);
    }

    /// Appends nanoseconds as microseconds.
    #[inline]
    pub(super) fn micros(&mut self, ns: u64) {
        push_micros(&mut self.buffer, ns);
    }

    /// Appends a number. JSON has none that are not finite: those become strings.
    pub(super) fn float(&mut self, number: f64) {
        if number.is_finite() {
            write!(self.buffer, "{number:?}").expect("a vector takes everything");
        } else if number.is_nan() {
            self.raw("\"NaN\"");
        } else {
            self.raw(if number > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" });
        }
    }

    /// Passes the text on if there is much of it. To be called between events.
    #[inline]
    pub(super) fn checkpoint(&mut self) -> io::Result<()> {
        if self.buffer.len() >= FULL { self.pass_on() } else { Ok(()) }
    }

    /// The bytes that were written so far.
    pub(super) fn position(&self) -> u64 {
        self.passed_on + self.buffer.len() as u64
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.pass_on()?;
        self.out.flush()
    }

    #[cold]
    fn pass_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.passed_on += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// A number that [`JsonWriter::int`] can write.
pub(super) trait Integer {
    fn push(self, out: &mut Vec<u8>);
}

macro_rules! integers {
    ($push:ident as $wide:ty: $($narrow:ty)*) => {$(
        impl Integer for $narrow {
            #[inline]
            fn push(self, out: &mut Vec<u8>) {
                $push(out, self as $wide);
            }
        }
    )*};
}

integers!(push_number as u64: u8 u16 u32 u64 usize);
integers!(push_int as i64: i32 i64);

/// The end of the buffer, with its length at hand: between two short texts, nothing is checked but that there is room.
pub(super) struct Line<'a> {
    bytes: &'a mut [u8; ROOM],
    length: usize,
}

impl Line<'_> {
    #[inline(always)]
    pub(super) fn raw<const N: usize>(&mut self, text: &[u8; N]) {
        self.put(*text, N);
    }

    #[inline(always)]
    pub(super) fn number(&mut self, number: u64) {
        push_number(self, number);
    }

    #[inline(always)]
    pub(super) fn micros(&mut self, ns: u64) {
        push_micros(self, ns);
    }

    /// What was written so far.
    pub(super) fn length(&self) -> usize {
        self.length
    }
}

impl Digits for Line<'_> {
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N], length: usize) {
        self.bytes[self.length..self.length + N].copy_from_slice(&bytes);
        self.length += length;
    }
}

/// Appends `text` as a string literal.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

/// Appends `text` as it stands within a string literal: the quote, the backslash and control characters are escaped, all
/// else is UTF-8.
pub(super) fn push_escaped(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[copied..at]);
        copied = at + 1;
        if byte < 0x20 {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        } else {
            out.extend_from_slice(&[b'\\', byte]);
        }
    }
    out.extend_from_slice(&bytes[copied..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_survives_a_parser() {
        let all: String = (0..0x2100).filter_map(char::from_u32).chain(['\u{feff}', '😀', char::MAX]).collect();
        let mut out = Vec::new();
        push_text(&mut out, &all);
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), all);
    }

    #[test]
    fn numbers_are_json_whatever_they_are() {
        let shown = |number| {
            let mut out = Vec::new();
            let mut json = JsonWriter::new(&mut out);
            json.float(number);
            json.finish().unwrap();
            serde_json::from_slice::<serde_json::Value>(&out).unwrap()
        };
        for number in [0.0, -0.0, 1.5, 1e300, 1e-300, f64::MAX, f64::MIN_POSITIVE, -3.0] {
            assert_eq!(shown(number).as_f64(), Some(number));
        }
        assert_eq!(shown(f64::NAN), "NaN");
        assert_eq!(shown(f64::INFINITY), "Infinity");
        assert_eq!(shown(f64::NEG_INFINITY), "-Infinity");
    }
}
