//! Text in HTML and SVG.

use std::borrow::Cow;

/// The text as HTML and XML write it, between tags and in quoted attributes: nothing in it is markup, whatever it looks like.
///
/// XML has no place for control characters, which become U+FFFD.
///
/// ```
/// use mindtorch_profiler::markup_text;
/// assert_eq!(markup_text("a < b"), "a &lt; b");
/// ```
pub fn markup_text(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| replacement(character).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match replacement(character) {
            Some(replacement) => escaped.push_str(replacement),
            None => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// What is written instead of a character, if it cannot be written as it is.
fn replacement(character: char) -> Option<&'static str> {
    match character {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        '\t' | '\n' | '\r' => None,
        character if character.is_control() => Some("\u{fffd}"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup() {
        assert_eq!(
            markup_text("<b title='1' id=\"2\">&amp;</b>"),
            "&lt;b title=&#39;1&#39; id=&quot;2&quot;&gt;&amp;amp;&lt;/b&gt;"
        );
    }

    #[test]
    fn control_characters_are_replaced_and_spaces_are_not() {
        assert_eq!(markup_text("a\u{0}b\u{1b}\u{85}c"), "a\u{fffd}b\u{fffd}\u{fffd}c");
        assert_eq!(markup_text("a\tb\r\n"), "a\tb\r\n");
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(markup_text("aten::mm 日本語"), Cow::Borrowed("aten::mm 日本語")));
    }
}
