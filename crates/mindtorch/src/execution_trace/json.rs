//! The pieces of JSON that are not put together by hand.

use std::fmt::Write;

/// Appends a string literal.
pub(super) fn push_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control < ' ' => write!(out, "\\u{:04x}", control as u32).expect("a string takes everything"),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A number. Those that JSON has not are strings, as torch writes them.
pub(super) fn float(number: f64) -> String {
    if number.is_finite() {
        format!("{number:?}")
    } else if number.is_nan() {
        "\"nan\"".to_owned()
    } else {
        format!("\"{number}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_in_a_text_stays_in_its_quotes() {
        let mut out = String::new();
        push_text(&mut out, "a \"b\"\\\n\u{1}é😀");
        assert_eq!(out, "\"a \\\"b\\\"\\\\\\u000a\\u0001é😀\"");
    }

    #[test]
    fn numbers_that_json_has_not_are_texts() {
        let all = [0.0, 1.0 / 3.0, 1e30, f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(float);
        assert_eq!(all, ["0.0", "0.3333333333333333", "1e30", "\"nan\"", "\"inf\"", "\"-inf\""]);
    }
}
