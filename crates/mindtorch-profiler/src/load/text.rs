//! The texts of strings: what their escapes stand for, and the names of a trace that is read.

use super::cursor::Value;
use super::raw_table::{Found, RawTable};
use std::borrow::Cow;
use std::sync::Arc;

/// The text of a string's content. What is no escape stays as it is, and what is no text becomes U+FFFD: torch does not
/// escape all that it writes.
pub(super) fn unescape(content: &[u8], is_escaped: bool) -> Cow<'_, str> {
    if !is_escaped {
        return String::from_utf8_lossy(content);
    }
    let mut bytes = Vec::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        bytes.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((&escape, after)) = rest.split_first() else {
            bytes.push(b'\\');
            break;
        };
        let plain = match escape {
            b'"' | b'\\' | b'/' => escape,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                rest = after;
                let Some(character) = take_character(&mut rest) else {
                    bytes.extend_from_slice(b"\\u");
                    continue;
                };
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => {
                bytes.push(b'\\');
                continue;
            }
        };
        bytes.push(plain);
        rest = after;
    }
    bytes.extend_from_slice(rest);
    Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The character of an escape, behind its `u`. Half a pair becomes U+FFFD.
fn take_character(rest: &mut &[u8]) -> Option<char> {
    let high = hexadecimal(rest)?;
    *rest = &rest[4..];
    if (0xD800..0xDC00).contains(&high)
        && let Some(after) = rest.strip_prefix(b"\\u")
        && let Some(low) = hexadecimal(after)
        && (0xDC00..0xE000).contains(&low)
    {
        *rest = &after[4..];
        return char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
    }
    Some(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
}

pub(super) fn hexadecimal(text: &[u8]) -> Option<u32> {
    text.get(..4)?.iter().try_fold(0, |all, &byte| Some(all * 16 + char::from(byte).to_digit(16)?))
}

/// The names of a trace that is read, numbered in the order of their first use. Number 0 is the empty name.
#[derive(Debug)]
pub(super) struct LoadedNames {
    texts: Vec<Arc<str>>,
    /// By their bytes.
    plain: RawTable,
    /// By what stands in the file.
    escaped: RawTable,
}

impl Default for LoadedNames {
    fn default() -> Self {
        let mut names = Self { texts: Vec::new(), plain: RawTable::default(), escaped: RawTable::default() };
        names.add("");
        names
    }
}

impl LoadedNames {
    /// The number of the name that this string is.
    #[inline]
    pub(super) fn of_string(&mut self, value: &Value, text: &[u8]) -> u32 {
        self.of_content(value.content(text), value.is_escaped())
    }

    #[inline]
    pub(super) fn of_content(&mut self, content: &[u8], is_escaped: bool) -> u32 {
        let table = if is_escaped { &self.escaped } else { &self.plain };
        match table.find(content) {
            Found::At(name) => name,
            Found::Missing(hash) => self.add_content(content, is_escaped, hash),
        }
    }

    #[cold]
    fn add_content(&mut self, content: &[u8], is_escaped: bool, hash: u64) -> u32 {
        let name = self.add(&unescape(content, is_escaped));
        if is_escaped {
            self.escaped.insert(hash, content, name);
        } else if let Found::Missing(hash) = self.plain.find(content) {
            // It is no text, and known by what was made of it.
            self.plain.insert(hash, content, name);
        }
        name
    }

    /// The number of the name with this text.
    pub(super) fn add(&mut self, text: &str) -> u32 {
        match self.plain.find(text.as_bytes()) {
            Found::At(name) => name,
            Found::Missing(hash) => {
                let name = self.texts.len() as u32;
                self.texts.push(text.into());
                self.plain.insert(hash, text.as_bytes(), name);
                name
            }
        }
    }

    pub(super) fn get(&self, name: u32) -> &str {
        &self.texts[name as usize]
    }

    pub(super) fn into_texts(self) -> Vec<Arc<str>> {
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_json_and_others_stay() {
        for (content, text) in [
            (r"a\nb", "a\nb"),
            (r#"\"\\\/"#, "\"\\/"),
            (r"\u0041\u00e9", "Aé"),
            (r"\ud83d\ude00", "😀"),
            (r"\ud83dx", "\u{fffd}x"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            (r"C:\path\x", "C:\\path\\x"),
            (r"\u12", "\\u12"),
            (r"\", "\\"),
        ] {
            assert_eq!(unescape(content.as_bytes(), true), text, "{content}");
        }
        assert_eq!(unescape(b"a\xffb", false), "a\u{fffd}b");
        assert_eq!(unescape(b"a\xff\\nb", true), "a\u{fffd}\nb");
    }

    #[test]
    fn equal_names_have_equal_numbers_however_they_are_written() {
        let mut names = LoadedNames::default();
        let plain = names.of_content(b"A\\", false);
        assert_eq!(names.of_content(br"\u0041\\", true), plain);
        assert_eq!(names.of_content(b"", false), 0);
        let broken = names.of_content(b"\xff", false);
        assert_eq!(names.of_content(b"\xff", false), broken);
        assert_eq!(names.add("\u{fffd}"), broken);
        assert_eq!(names.get(broken), "\u{fffd}");
    }
}
