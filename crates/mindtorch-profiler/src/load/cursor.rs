//! Reading JSON from a piece of text that may end anywhere.
//!
//! Nothing here allocates or recurses. A reader that comes to the end of the piece says [`Stop::More`], and is called again
//! from the beginning of what it read when there is more text.

use super::number;
use memchr::memchr2;

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The piece ends here.
    More,
    /// Where the cursor is, there should have been this.
    Expected(&'static str),
}

pub(super) type Read<T> = Result<T, Stop>;

/// Lists and objects in each other, at most. Traces have four.
pub(super) const DEEPEST: u32 = 128;

/// A place in a piece of text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
}

/// What a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// A whole number that fits.
    Int(i64),
    /// Any other number.
    Number,
    /// `NaN` and the infinities, which JSON has not but torch writes.
    NotFinite,
    /// A string, with or without a backslash in it.
    Text {
        is_escaped: bool,
    },
    True,
    False,
    #[default]
    Null,
    /// A list or an object.
    Nested,
}

/// A value and where it stands, quotes and brackets included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Value {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Value {
    /// The value as it is written.
    pub(super) fn raw<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// What is between the quotes of a string.
    pub(super) fn content<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.start + 1..self.end.saturating_sub(1)).unwrap_or_default()
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text { .. })
    }

    /// Whether it is true or false.
    pub(super) fn is_switch(&self) -> bool {
        matches!(self.kind, Kind::True | Kind::False)
    }

    pub(super) fn is_escaped(&self) -> bool {
        matches!(self.kind, Kind::Text { is_escaped: true })
    }

    /// A whole number that is not negative.
    pub(super) fn unsigned(&self, text: &[u8]) -> Option<u64> {
        match self.kind {
            Kind::Int(number) => u64::try_from(number).ok(),
            Kind::Number => std::str::from_utf8(self.raw(text)).ok()?.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn signed(&self) -> Option<i64> {
        if let Kind::Int(number) = self.kind { Some(number) } else { None }
    }
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    /// The byte here.
    #[inline]
    pub(super) fn peek(&self) -> Read<u8> {
        self.text.get(self.at).copied().ok_or(Stop::More)
    }

    /// Skips blanks, and gives the byte behind them.
    #[inline]
    pub(super) fn peek_past_blanks(&mut self) -> Read<u8> {
        loop {
            let byte = self.peek()?;
            if !is_blank(byte) {
                return Ok(byte);
            }
            self.at += 1;
        }
    }

    /// Skips blanks and one byte, which must be this.
    pub(super) fn expect(&mut self, byte: u8, what: &'static str) -> Read<()> {
        if self.peek_past_blanks()? != byte {
            return Err(Stop::Expected(what));
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a string. Its opening quote is here.
    #[inline]
    pub(super) fn string(&mut self) -> Read<Value> {
        let start = self.at;
        let is_escaped = self.skip_string()?;
        Ok(Value { kind: Kind::Text { is_escaped }, start, end: self.at })
    }

    /// Passes over a string, and says whether there is a backslash in it.
    #[inline]
    fn skip_string(&mut self) -> Read<bool> {
        let mut at = self.at + 1;
        let mut is_escaped = false;
        loop {
            at = quote_or_backslash(self.text, at).ok_or(Stop::More)?;
            if self.text[at] == b'"' {
                self.at = at + 1;
                return Ok(is_escaped);
            }
            is_escaped = true;
            at += 2;
        }
    }

    /// Reads a value. What is nested in it has matching brackets and whole strings; [`super::verbatim`] looks closer.
    pub(super) fn value(&mut self) -> Read<Value> {
        let mut value = Value::default();
        self.value_into(&mut value)?;
        Ok(value)
    }

    /// The same, to where the value is wanted: passing it on takes longer than many a value takes to read.
    #[inline]
    pub(super) fn value_into(&mut self, value: &mut Value) -> Read<()> {
        let byte = self.peek_past_blanks()?;
        value.start = self.at;
        match byte {
            b'"' => value.kind = Kind::Text { is_escaped: self.skip_string()? },
            b'[' | b'{' => {
                self.skip_nested()?;
                value.kind = Kind::Nested;
            }
            _ => self.scalar(&mut value.kind)?,
        }
        value.end = self.at;
        Ok(())
    }

    fn skip_nested(&mut self) -> Read<()> {
        // For every open bracket a bit, the innermost last: whether it is a list.
        let mut lists = 0u128;
        let mut depth = 0;
        let mut at = self.at;
        loop {
            let byte = *self.text.get(at).ok_or(Stop::More)?;
            match byte {
                b'"' => {
                    self.at = at;
                    self.skip_string()?;
                    at = self.at;
                    continue;
                }
                b'[' | b'{' => {
                    if depth == DEEPEST {
                        self.at = at;
                        return Err(Stop::Expected("a value that is nested less than 128 deep"));
                    }
                    depth += 1;
                    lists = lists << 1 | u128::from(byte == b'[');
                }
                b']' | b'}' => {
                    if (lists & 1 == 1) != (byte == b']') {
                        self.at = at;
                        return Err(Stop::Expected(if lists & 1 == 1 { "`]`" } else { "`}`" }));
                    }
                    lists >>= 1;
                    depth -= 1;
                    if depth == 0 {
                        self.at = at + 1;
                        return Ok(());
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    #[inline]
    fn scalar(&mut self, kind: &mut Kind) -> Read<()> {
        let start = self.at;
        let mut at = start;
        let is_negative = self.peek()? == b'-';
        at += usize::from(is_negative);
        let first_digit = at;
        let mut number = 0i64;
        loop {
            let byte = *self.text.get(at).ok_or(Stop::More)?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                let digits = at - first_digit;
                let has_leading_zero = digits > 1 && self.text[first_digit] == b'0';
                if digits == 0 || digits > 18 || has_leading_zero || !is_delimiter(byte) {
                    return self.other_scalar(kind);
                }
                self.at = at;
                *kind = Kind::Int(if is_negative { -number } else { number });
                return Ok(());
            }
            number = number.wrapping_mul(10).wrapping_add(i64::from(digit));
            at += 1;
        }
    }

    #[cold]
    fn other_scalar(&mut self, kind: &mut Kind) -> Read<()> {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&byte| is_delimiter(byte)).ok_or(Stop::More)?;
        *kind = match &rest[..length] {
            b"true" => Kind::True,
            b"false" => Kind::False,
            b"null" => Kind::Null,
            b"NaN" | b"nan" | b"-nan" | b"Infinity" | b"-Infinity" | b"inf" | b"-inf" => Kind::NotFinite,
            token if number::is_number(token) => number::whole(token).map_or(Kind::Number, Kind::Int),
            _ => return Err(Stop::Expected("a value")),
        };
        self.at += length;
        Ok(())
    }

    /// Reads a time in microseconds, as nanoseconds. `None` is a value that is not a number, or out of all proportion.
    #[inline]
    pub(super) fn time(&mut self) -> Read<Option<i64>> {
        self.peek_past_blanks()?;
        if let Some((ns, end)) = number::plain_time(self.text, self.at) {
            self.at = end;
            return Ok(Some(ns));
        }
        let value = self.value()?;
        let is_number = matches!(value.kind, Kind::Int(_) | Kind::Number);
        Ok(if is_number { number::time(value.raw(self.text)) } else { None })
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Whether a number or a word ends before this byte.
pub(super) fn is_delimiter(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b',' | b']' | b'}' | b':' | b'"' | b'[' | b'{')
}

/// Where the next quote or backslash is. Most strings are short: the first bytes are looked at here, in words.
#[inline]
fn quote_or_backslash(text: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..4 {
        let Some(word) = text.get(at..at + 8) else { break };
        let word = u64::from_le_bytes(word.try_into().ok()?);
        let found = zero_bytes(word ^ QUOTES) | zero_bytes(word ^ BACKSLASHES);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr2(b'"', b'\\', text.get(at..)?).map(|found| at + found)
}

const EACH: u64 = 0x0101_0101_0101_0101;
const QUOTES: u64 = EACH * b'"' as u64;
const BACKSLASHES: u64 = EACH * b'\\' as u64;

/// The lowest bit that is set is in the first byte that is zero; there is none if no byte is.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(EACH) & !word & (EACH << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Read<Kind> {
        Cursor::new(text.as_bytes(), 0).value().map(|value| value.kind)
    }

    #[test]
    fn values_are_what_they_look_like() {
        for (text, expected) in [
            ("12,", Kind::Int(12)),
            (" -7}", Kind::Int(-7)),
            ("0]", Kind::Int(0)),
            ("999999999999999999,", Kind::Int(999_999_999_999_999_999)),
            ("9223372036854775807,", Kind::Int(i64::MAX)),
            ("-9223372036854775808,", Kind::Int(i64::MIN)),
            ("18446744073709551615,", Kind::Number),
            ("1.5e3 ", Kind::Number),
            ("-0.0,", Kind::Number),
            ("inf,", Kind::NotFinite),
            ("\"a\"", Kind::Text { is_escaped: false }),
            (r#""a\"b""#, Kind::Text { is_escaped: true }),
            ("[[], {\"]\": 1}]", Kind::Nested),
            ("null,", Kind::Null),
            ("true,", Kind::True),
        ] {
            assert_eq!(kind(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_cut_off_needs_more() {
        for text in ["", "  ", "12", "\"abc", "\"abc\\", "\"abc\\\"", "[1, 2", "{\"a\": [}"[..6].as_ref(), "tru", "-"] {
            assert_eq!(kind(text), Err(Stop::More), "{text}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for text in ["01,", "1.,", "+1,", "abc,", ",", "- 1,", "[}", "{\"a\":1]"] {
            assert!(matches!(kind(text), Err(Stop::Expected(_))), "{text}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(matches!(kind(&deep), Err(Stop::Expected(_))));
        let fine = "[".repeat(128) + &"]".repeat(128);
        assert_eq!(kind(&fine), Ok(Kind::Nested));
    }

    #[test]
    fn quotes_are_found_at_every_distance() {
        for length in 0..100 {
            for end in ['"', '\\'] {
                let text =
                    format!("{}{end}{}", "ab€c".repeat(40).chars().take(length).collect::<String>(), "\"\\".repeat(9));
                let expected = text.find(end).unwrap();
                assert_eq!(quote_or_backslash(text.as_bytes(), 0), Some(expected));
            }
        }
        assert_eq!(quote_or_backslash(b"abc", 0), None);
        assert_eq!(quote_or_backslash(b"abc", 7), None);
    }
}
