//! JSON that is kept as it is written, because no column takes it. It is written to other files later, so here is where it is
//! made sure that it is JSON.

use super::cursor::{Cursor, Kind, Stop, Value, is_blank};
use super::text::{hexadecimal, unescape};
use crate::export::push_text;

/// What a text is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A value.
    Value,
    /// The members of an object, without its braces.
    Members,
}

/// Where a text is not JSON, and what should be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

/// The text, if it is JSON and on one line. What torch writes that is not quite JSON (raw control characters, backslashes
/// before anything, `inf`) is put right; line breaks between values are taken out.
pub(super) fn verbatim(raw: &[u8], form: Form) -> Result<String, Broken> {
    let mut checker = Checker { cursor: Cursor::new(raw, 0), clean: Vec::new(), is_clean: true };
    match checker.run(form) {
        Ok(()) if checker.is_clean => Ok(String::from_utf8(raw.to_vec()).unwrap_or_else(|_| lossy(&checker.clean))),
        Ok(()) => Ok(lossy(&checker.clean)),
        Err(Stop::Expected(expected)) => Err(Broken { at: checker.cursor.at, expected }),
        Err(Stop::More) => Err(Broken { at: raw.len(), expected: "more" }),
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct Checker<'a> {
    cursor: Cursor<'a>,
    /// The same without blanks, put right.
    clean: Vec<u8>,
    is_clean: bool,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
}

impl Checker<'_> {
    fn run(&mut self, form: Form) -> Result<(), Stop> {
        // For every open bracket a bit, the innermost last: whether it is a list.
        let mut lists = 0u128;
        let mut depth = u32::from(form == Form::Members);
        let mut next = if form == Form::Members { Next::Key } else { Next::Value };
        loop {
            self.skip_blanks();
            let Ok(byte) = self.cursor.peek() else {
                return self.end(next == Next::CommaOrEnd && depth <= 1, form, depth);
            };
            match (next, byte) {
                (Next::Value | Next::ValueOrEnd, b'[' | b'{') => {
                    if depth == super::cursor::DEEPEST {
                        return Err(Stop::Expected("a value that is nested less than 128 deep"));
                    }
                    depth += 1;
                    lists = lists << 1 | u128::from(byte == b'[');
                    self.copy(byte);
                    next = if byte == b'[' { Next::ValueOrEnd } else { Next::KeyOrEnd };
                }
                (Next::ValueOrEnd, b']') | (Next::KeyOrEnd, b'}') => next = self.close(&mut lists, &mut depth),
                (Next::CommaOrEnd, b']' | b'}') if depth > u32::from(form == Form::Members) => {
                    if (lists & 1 == 1) != (byte == b']') {
                        return Err(Stop::Expected(if lists & 1 == 1 { "`]`" } else { "`}`" }));
                    }
                    next = self.close(&mut lists, &mut depth);
                }
                (Next::CommaOrEnd, b',') if depth > 0 => {
                    self.copy(byte);
                    next = if lists & 1 == 1 { Next::Value } else { Next::Key };
                }
                (Next::Key | Next::KeyOrEnd, b'"') => {
                    self.string()?;
                    self.skip_blanks();
                    if self.cursor.peek() != Ok(b':') {
                        return Err(Stop::Expected("`:`"));
                    }
                    self.copy(b':');
                    next = Next::Value;
                }
                (Next::Value | Next::ValueOrEnd, b'"') => {
                    self.string()?;
                    next = Next::CommaOrEnd;
                }
                (Next::Value | Next::ValueOrEnd, _) => {
                    self.scalar()?;
                    next = Next::CommaOrEnd;
                }
                (Next::Key | Next::KeyOrEnd, _) => return Err(Stop::Expected("a key")),
                (Next::CommaOrEnd, _) => return Err(Stop::Expected("`,` or an end")),
            }
        }
    }

    fn end(&self, is_whole: bool, form: Form, depth: u32) -> Result<(), Stop> {
        let is_whole = is_whole && depth == u32::from(form == Form::Members);
        if is_whole { Ok(()) } else { Err(Stop::More) }
    }

    fn close(&mut self, lists: &mut u128, depth: &mut u32) -> Next {
        if let Ok(byte) = self.cursor.peek() {
            self.copy(byte);
        }
        *lists >>= 1;
        *depth -= 1;
        Next::CommaOrEnd
    }

    fn skip_blanks(&mut self) {
        while let Ok(byte) = self.cursor.peek()
            && is_blank(byte)
        {
            self.is_clean &= byte == b' ';
            self.cursor.at += 1;
        }
    }

    fn copy(&mut self, byte: u8) {
        self.clean.push(byte);
        self.cursor.at += 1;
    }

    fn string(&mut self) -> Result<(), Stop> {
        let value = self.cursor.string()?;
        let content = value.content(self.cursor.text);
        if is_strict(content) && std::str::from_utf8(content).is_ok() {
            self.clean.extend_from_slice(value.raw(self.cursor.text));
        } else {
            self.is_clean = false;
            push_text(&mut self.clean, &unescape(content, value.is_escaped()));
        }
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), Stop> {
        let start = self.cursor.at;
        let value = match self.cursor.value() {
            // The text may end with a number.
            Err(Stop::More) => last_scalar(&self.cursor.text[start..])?,
            value => value?,
        };
        let raw = match value.kind {
            Kind::Nested | Kind::Text { .. } => return Err(Stop::Expected("a value")),
            _ if value.start == start => value.raw(self.cursor.text),
            _ => &self.cursor.text[start..],
        };
        self.cursor.at = start + raw.len();
        if value.kind == Kind::NotFinite {
            self.is_clean = false;
            let name = match raw {
                [b'-', b'i' | b'I', ..] => "-Infinity",
                [b'i' | b'I', ..] => "Infinity",
                _ => "NaN",
            };
            push_text(&mut self.clean, name);
        } else {
            self.clean.extend_from_slice(raw);
        }
        Ok(())
    }
}

/// A number or word that ends where the text does.
fn last_scalar(rest: &[u8]) -> Result<Value, Stop> {
    let mut ended = rest.to_vec();
    ended.push(b',');
    let value = Cursor::new(&ended, 0).value()?;
    // Not its place, which is the caller's.
    Ok(Value { start: usize::MAX, ..value })
}

/// Whether a string's content has no raw control characters and only escapes of JSON.
fn is_strict(content: &[u8]) -> bool {
    let mut rest = content;
    while let Some(at) = rest.iter().position(|&byte| byte < 0x20 || byte == b'\\') {
        let length = match rest[at..] {
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'\\', b'u', ..] if hexadecimal(&rest[at + 2..]).is_some() => 6,
            _ => return false,
        };
        rest = &rest[at + length..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_as_it_is() {
        for text in
            ["1", "-1.5e3", "\"a\\n\\u00e9\"", "[1, 2, {\"x\": null}]", "{}", "[]", "true", "{\"a\": [[], {}]}", " 7 "]
        {
            assert_eq!(verbatim(text.as_bytes(), Form::Value).as_deref(), Ok(text));
        }
        let members = "\"grid\": [2, 1, 1], \"a\":0.5, \"b\": {\"c\": \"d\"}";
        assert_eq!(verbatim(members.as_bytes(), Form::Members).as_deref(), Ok(members));
    }

    #[test]
    fn what_is_nearly_json_is_put_right() {
        for (text, expected) in [
            ("[1,\n 2]", "[1,2]"),
            ("inf", "\"Infinity\""),
            ("[-inf, NaN, nan]", "[\"-Infinity\",\"NaN\",\"NaN\"]"),
            ("\"a\tb\"", "\"a\\u0009b\""),
            (r#""C:\x\u12""#, r#""C:\\x\\u12""#),
        ] {
            assert_eq!(verbatim(text.as_bytes(), Form::Value).as_deref(), Ok(expected));
            serde_json::from_str::<serde_json::Value>(expected).unwrap();
        }
        assert_eq!(verbatim(b"\"\xff\"", Form::Value).as_deref(), Ok("\"\u{fffd}\""));
    }

    #[test]
    fn what_is_not_is_refused_with_its_place() {
        for (text, at) in [
            ("", 0),
            ("[1 2]", 3),
            ("[1,]", 3),
            ("{\"a\" 1}", 5),
            ("{1: 2}", 1),
            ("[}", 1),
            ("{]", 1),
            ("[1}", 2),
            ("1 2", 2),
            ("[1", 2),
            ("{\"a\":}", 5),
            ("\"abc", 4),
        ] {
            assert_eq!(verbatim(text.as_bytes(), Form::Value).map_err(|broken| broken.at), Err(at), "{text}");
        }
        for text in ["", "\"a\"", "\"a\":", "\"a\":1,", "\"a\":1}", "1", "\"a\":1]"] {
            assert!(verbatim(text.as_bytes(), Form::Members).is_err(), "{text}");
        }
        let deep = "[".repeat(500);
        assert!(verbatim(deep.as_bytes(), Form::Value).is_err());
    }
}
