//! JSON text, streamed through one buffer.

use std::io::{self, Write};

/// The buffer goes to the writer when it has grown past this.
const FULL: usize = 64 * 1024;

/// Collects text and passes it on in large pieces.
///
/// The methods append what they are given; that the whole is JSON is up to the caller.
pub(super) struct JsonWriter<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
}

impl<'a> JsonWriter<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, buffer: Vec::with_capacity(FULL + FULL / 4) }
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

    #[inline]
    pub(super) fn int(&mut self, number: impl itoa::Integer) {
        self.raw(itoa::Buffer::new().format(number));
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

/// Appends nanoseconds as microseconds with three decimals. The only place where times become text, so that equal times
/// are equal texts and nothing is rounded.
#[inline]
pub(super) fn push_micros(out: &mut Vec<u8>, ns: u64) {
    let rest = (ns % 1000) as u32;
    out.extend_from_slice(itoa::Buffer::new().format(ns / 1000).as_bytes());
    let digit = |value: u32| b'0' + (value % 10) as u8;
    out.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
}

/// Appends `text` as a string literal.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
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

    fn micros(ns: u64) -> String {
        let mut out = Vec::new();
        push_micros(&mut out, ns);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_have_three_decimals_and_are_exact() {
        assert_eq!(micros(0), "0.000");
        assert_eq!(micros(7), "0.007");
        assert_eq!(micros(1_020), "1.020");
        assert_eq!(micros(3_865_636_529_078_274), "3865636529078.274");
        assert_eq!(micros(u64::MAX), "18446744073709551.615");
    }

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
