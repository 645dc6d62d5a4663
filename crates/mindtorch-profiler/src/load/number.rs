//! Times: decimal texts of microseconds, as nanoseconds. They never pass through a float, which would round them.

/// A time that lies further away than this, some 155 years, is not one. A trace is shorter, so that what it is written as
/// can be read again.
const FURTHEST: i64 = (1 << 62) + (1 << 58);

/// Reads a time of the usual form, `3865628089493.952`, and says where it ends. `None` is any other.
#[inline]
pub(super) fn plain_time(text: &[u8], start: usize) -> Option<(i64, usize)> {
    let mut at = start;
    let mut number = 0i64;
    let digit = |at: usize| {
        let digit = text.get(at)?.wrapping_sub(b'0');
        (digit <= 9).then_some(digit)
    };
    while let Some(digit) = digit(at) {
        // Fifteen digits are 31 years in nanoseconds, a thousand times that in microseconds.
        if at - start == 15 {
            return None;
        }
        number = number * 10 + i64::from(digit);
        at += 1;
    }
    if at == start || text.get(at) != Some(&b'.') {
        return None;
    }
    let (tenths, hundredths, thousandths) = (digit(at + 1)?, digit(at + 2)?, digit(at + 3)?);
    let end = *text.get(at + 4)?;
    if !matches!(end, b',' | b'\n' | b'}' | b' ' | b'\r') || (at - start > 1 && text[start] == b'0') {
        return None;
    }
    let rest = i64::from(tenths) * 100 + i64::from(hundredths) * 10 + i64::from(thousandths);
    Some((number * 1000 + rest, at + 4))
}

/// Reads a time of any form that JSON has for numbers, to the nearest nanosecond. `None` if it is out of range.
pub(super) fn time(token: &[u8]) -> Option<i64> {
    let (is_negative, digits) = token.strip_prefix(b"-").map_or((false, token), |rest| (true, rest));
    let (mantissa, exponent) = match digits.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&digits[..at], exponent(&digits[at + 1..])),
        None => (digits, 0),
    };
    let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
    // The place of the point among the digits, for nanoseconds. No text is long enough to come near the limits.
    let mut places = (point as i64).saturating_add(exponent).saturating_add(3);
    let mut ns = 0i64;
    let mut rounds_up = false;
    for digit in mantissa.iter().filter(|&&byte| byte != b'.').map(|byte| i64::from(byte.wrapping_sub(b'0'))) {
        if places <= 0 {
            rounds_up = places == 0 && digit >= 5;
            break;
        }
        ns = ns.checked_mul(10)?.checked_add(digit)?;
        places -= 1;
    }
    while places > 0 && ns != 0 {
        ns = ns.checked_mul(10)?;
        places -= 1;
    }
    ns += i64::from(rounds_up);
    (ns <= FURTHEST).then_some(if is_negative { -ns } else { ns })
}

/// An exponent; those that are too large for any time are simply large.
fn exponent(text: &[u8]) -> i64 {
    let (sign, digits) = match text.split_first() {
        Some((b'-', rest)) => (-1, rest),
        Some((b'+', rest)) => (1, rest),
        _ => (1, text),
    };
    let number = digits.iter().fold(0i64, |all, byte| (all * 10 + i64::from(byte.wrapping_sub(b'0'))).min(1 << 40));
    sign * number
}

/// A whole number, if it fits.
pub(super) fn whole(token: &[u8]) -> Option<i64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

/// Whether this is a number of JSON.
pub(super) fn is_number(token: &[u8]) -> bool {
    let token = token.strip_prefix(b"-").unwrap_or(token);
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(token);
    if whole == 0 || (whole > 1 && token[0] == b'0') {
        return false;
    }
    let mut rest = &token[whole..];
    if let Some(after) = rest.strip_prefix(b".") {
        let decimals = digits(after);
        if decimals == 0 {
            return false;
        }
        rest = &after[decimals..];
    }
    if let Some(after) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let after = after.strip_prefix(b"+").or_else(|| after.strip_prefix(b"-")).unwrap_or(after);
        let count = digits(after);
        if count == 0 {
            return false;
        }
        rest = &after[count..];
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, ns) in [
            ("0", 0),
            ("1", 1_000),
            ("3865628089493.952", 3_865_628_089_493_952),
            ("0.001", 1),
            ("32.90899999999999", 32_909),
            ("0.0004", 0),
            ("0.0005", 1),
            ("7.25", 7_250),
            ("-1.5", -1_500),
            ("1e3", 1_000_000),
            ("1.25E+2", 125_000),
            ("125e-3", 125),
            ("1e-9", 0),
            ("4e-4", 0),
            ("5e-4", 1),
            ("0e999999999999999999999", 0),
            ("4503599627370497.001", 4_503_599_627_370_497_001),
        ] {
            assert_eq!(time(text.as_bytes()), Some(ns), "{text}");
        }
        for text in ["1e300", "-1e300", "99999999999999999999", "1e18446744073709551616"] {
            assert_eq!(time(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn plain_times_are_read_in_one_go_and_others_left() {
        let plain = |text: &str| plain_time(text.as_bytes(), 0);
        assert_eq!(plain("3865628089493.952,"), Some((3_865_628_089_493_952, 17)));
        assert_eq!(plain("0.331\n"), Some((331, 5)));
        for text in
            ["1,", "1.5,", "1.5000,", "01.000,", "-1.000,", "1.000", "1.00e2,", ".123,", "1234567890123456.000,"]
        {
            assert_eq!(plain(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_those_of_json() {
        for text in ["0", "-0", "10", "1.0", "1e5", "1E-5", "-1.25e+10"] {
            assert!(is_number(text.as_bytes()), "{text}");
        }
        for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "1x", "0x10", "+1", "1.5.5"] {
            assert!(!is_number(text.as_bytes()), "{text}");
        }
    }
}
