//! JSON texts as arguments: what a trace that was read says of its events, and metadata.

use super::field::annotation;
use super::interned::Interned;
use super::proto::Buffer;

/// What is nested deeper is a text.
const DEEPEST: usize = 32;

/// Appends the content of an argument with the value of a JSON text. A text that is not JSON is the value itself.
pub(super) fn push_value(out: &mut Buffer, interned: &mut Interned<'_>, json: &str) {
    let start = out.len();
    let mut reader = Reader { json, at: 0, text: String::new() };
    if reader.value(out, interned, 0).is_none() || !reader.is_at_end() {
        out.truncate(start);
        out.text(annotation::STRING_VALUE, json);
    }
}

/// Appends an argument, or an entry of one, in `field` for each of the members of an object, given without its braces.
/// `None`: the text is not that, and nothing was appended.
pub(super) fn push_members(out: &mut Buffer, interned: &mut Interned<'_>, field: u32, members: &str) -> Option<()> {
    let start = out.len();
    let mut reader = Reader { json: members, at: 0, text: String::new() };
    let pushed = reader.members(out, interned, field, 0).filter(|()| reader.is_at_end());
    if pushed.is_none() {
        out.truncate(start);
    }
    pushed
}

struct Reader<'t> {
    json: &'t str,
    at: usize,
    /// The text that was read last, without escapes.
    text: String,
}

impl<'t> Reader<'t> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.json.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !b" \t\r\n".contains(byte)).unwrap_or(rest.len());
        self.json.as_bytes().get(self.at).copied()
    }

    fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        let is_next = self.peek()? == byte;
        self.at += usize::from(is_next);
        is_next.then_some(())
    }

    fn value(&mut self, out: &mut Buffer, interned: &mut Interned<'_>, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => {
                self.string()?;
                let text = interned.text(&self.text);
                out.number(annotation::STRING_VALUE_IID, u64::from(text));
            }
            b'{' | b'[' => self.nested(out, interned, depth)?,
            _ => self.scalar(out)?,
        }
        Some(())
    }

    /// An object or a list. An empty one is a text: an argument without a value would not be shown.
    fn nested(&mut self, out: &mut Buffer, interned: &mut Interned<'_>, depth: usize) -> Option<()> {
        if depth >= DEEPEST {
            return None;
        }
        let is_object = self.peek()? == b'{';
        let close = if is_object { b'}' } else { b']' };
        self.at += 1;
        if self.take(close).is_some() {
            out.text(annotation::STRING_VALUE, if is_object { "{}" } else { "[]" });
            return Some(());
        }
        if is_object {
            self.members(out, interned, annotation::DICT_ENTRIES, depth + 1)?;
        } else {
            loop {
                let item = out.begin(annotation::ARRAY_VALUES);
                self.value(out, interned, depth + 1)?;
                out.end(item);
                if self.take(b',').is_none() {
                    break;
                }
            }
        }
        self.take(close)
    }

    fn members(&mut self, out: &mut Buffer, interned: &mut Interned<'_>, field: u32, depth: usize) -> Option<()> {
        loop {
            self.string()?;
            let key = interned.other_key(&self.text);
            self.take(b':')?;
            let member = out.begin(field);
            out.number(annotation::NAME_IID, u64::from(key));
            self.value(out, interned, depth)?;
            out.end(member);
            if self.take(b',').is_none() {
                return Some(());
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn scalar(&mut self, out: &mut Buffer) -> Option<()> {
        let rest = &self.json[self.at..];
        let word = &rest[..rest.find(|c: char| ",]} \t\r\n".contains(c)).unwrap_or(rest.len())];
        self.at += word.len();
        match word {
            "true" | "false" => out.number(annotation::BOOL_VALUE, u64::from(word == "true")),
            "null" => out.text(annotation::STRING_VALUE, word),
            _ if !word.starts_with(|c: char| c.is_ascii_digit() || c == '-') => return None,
            _ => match (word.parse::<i64>(), word.parse::<u64>()) {
                (Ok(number), _) => out.signed(annotation::INT_VALUE, number),
                (_, Ok(number)) => out.number(annotation::UINT_VALUE, number),
                _ => out.double(annotation::DOUBLE_VALUE, word.parse().ok()?),
            },
        }
        Some(())
    }

    /// Reads a string literal into `text`.
    fn string(&mut self) -> Option<()> {
        self.take(b'"')?;
        self.text.clear();
        loop {
            let rest = &self.json[self.at..];
            let plain = rest.find(['"', '\\'])?;
            self.text.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest.as_bytes()[plain] == b'"' {
                return Some(());
            }
            self.escape()?;
        }
    }

    fn escape(&mut self) -> Option<()> {
        let letter = *self.json.as_bytes().get(self.at)?;
        self.at += 1;
        let character = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.escaped_unit()?,
            _ => return None,
        };
        self.text.push(character);
        Some(())
    }

    /// The character of `\uXXXX`, or of two of them. Half a pair stands for nothing and is shown as such.
    fn escaped_unit(&mut self) -> Option<char> {
        let first = self.unit()?;
        let is_first_half = (0xD800..0xDC00).contains(&first);
        if is_first_half && self.json.as_bytes()[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.unit()?;
            if (0xDC00..0xE000).contains(&second) {
                return char::from_u32(0x10000 + ((first - 0xD800) << 10 | (second - 0xDC00)));
            }
            self.at = before;
        }
        Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.json.get(self.at..self.at + 4)?;
        self.at += 4;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::perfetto::field::event;

    fn members(text: &str) -> Option<Vec<u8>> {
        let (mut out, mut interned) = (Buffer::default(), Interned::new(&[]));
        out.number(1, 1);
        let pushed = push_members(&mut out, &mut interned, event::DEBUG_ANNOTATIONS, text);
        let written = out.as_bytes()[2..].to_vec();
        assert!(pushed.is_some() || written.is_empty(), "half an argument is left");
        pushed.map(|()| written)
    }

    #[test]
    fn members_are_arguments() {
        let mut expected = Buffer::default();
        let argument = expected.begin(event::DEBUG_ANNOTATIONS);
        // The first number for keys that are none of ours.
        expected.number(annotation::NAME_IID, 65);
        for number in [1, 2] {
            let item = expected.begin(annotation::ARRAY_VALUES);
            expected.signed(annotation::INT_VALUE, number);
            expected.end(item);
        }
        expected.end(argument);
        let argument = expected.begin(event::DEBUG_ANNOTATIONS);
        expected.number(annotation::NAME_IID, 66);
        expected.double(annotation::DOUBLE_VALUE, 0.5);
        expected.end(argument);
        assert_eq!(members("\"grid\": [1, 2],\n\"occupancy\": 0.5").unwrap(), expected.as_bytes());
    }

    #[test]
    fn what_is_no_member_leaves_nothing() {
        let deep = format!("\"a\":{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        for text in ["", "\"a\"", "\"a\":", "\"a\":1,", "\"a\":[1", "\"a\":\"\\u12\"", "\"a\":x", "\"a\":1 1", &deep] {
            assert_eq!(members(text), None);
        }
    }
}
