//! Durations, as people write them.

use std::ops::Range;

/// Nanoseconds of a unit, the longer names first.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const EXAMPLE: &str = "expected a duration such as 100us, 2.5ms or 1s";

/// The nanoseconds of `100us`, `2.5ms`, `1s` or `80ns`; a number alone is microseconds, as in torch.
pub(crate) fn parse_duration(text: &str) -> Result<u64, String> {
    let unit = UNITS.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)));
    let (number, ns) = unit.unwrap_or((text, &1e3));
    let value: f64 = number.trim_end().parse().map_err(|_| EXAMPLE.to_owned())?;
    if !(value >= 0.0 && value.is_finite()) {
        return Err(EXAMPLE.to_owned());
    }
    Ok((value * ns).round() as u64)
}

/// A time between two others, either of which may be left out: `10ms..25ms`, `..1s`.
pub(crate) fn parse_range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected two times such as 10ms..25ms")?;
    let from = if from.is_empty() { 0 } else { parse_duration(from)? };
    let to = if to.is_empty() { u64::MAX } else { parse_duration(to)? };
    if to < from { Err("it ends before it begins".to_owned()) } else { Ok(from..to) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let cases = [("100us", 100_000), ("2.5ms", 2_500_000), ("1s", 1_000_000_000), ("80ns", 80), ("7", 7_000)];
        for (text, ns) in cases {
            assert_eq!(parse_duration(text), Ok(ns), "{text}");
        }
        for text in ["", "ms", "-1us", "1h", "nan", "infs", "1..2"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_may_be_open() {
        assert_eq!(parse_range("1us..2us"), Ok(1_000..2_000));
        assert_eq!(parse_range("1us.."), Ok(1_000..u64::MAX));
        assert_eq!(parse_range("..1.5us"), Ok(0..1_500));
        assert!(parse_range("2us..1us").is_err());
        assert!(parse_range("2us").is_err());
    }
}
