//! Amounts with their units, as people write them: `"12 ms"`, `"1.5 GiB"`, `"5 %"`.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;

/// A time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nanoseconds(pub f64);
/// A size of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes(pub f64);
/// A part of something: 0.05 is `"5 %"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part(pub f64);

const TIMES: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
const PARTS: &[(&str, f64)] = &[("%", 0.01)];

/// Reads a text that is a number and one of these units.
fn read(text: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    match (number.parse::<f64>(), factor) {
        (Ok(number), Some(factor)) => Ok(number * factor),
        _ => {
            let units: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
            Err(format!("expected a number with a unit ({}), found \"{text}\"", units.join(", ")))
        }
    }
}

struct Amount(&'static [(&'static str, f64)]);

impl Visitor<'_> for Amount {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text of a number and a unit, such as \"12 {}\"", self.0[self.0.len() / 2].0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
        read(text, self.0).map_err(E::custom)
    }
}

macro_rules! amount {
    ($name:ident, $units:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_str(Amount($units)).map(Self)
            }
        }
    };
}
amount!(Nanoseconds, TIMES);
amount!(Bytes, SIZES);
amount!(Part, PARTS);

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        let (unit, factor) = match size {
            _ if size >= 1e9 => ("s", 1e9),
            _ if size >= 1e6 => ("ms", 1e6),
            _ if size >= 1e3 => ("us", 1e3),
            _ => ("ns", 1.0),
        };
        write!(f, "{:.3} {unit}", self.0 / factor)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        let (unit, factor) = match size {
            _ if size >= 1_073_741_824.0 => ("GiB", 1_073_741_824.0),
            _ if size >= 1_048_576.0 => ("MiB", 1_048_576.0),
            _ if size >= 1024.0 => ("KiB", 1024.0),
            _ => return write!(f, "{} B", self.0),
        };
        write!(f, "{:.2} {unit}", self.0 / factor)
    }
}

/// With its sign if that is asked for: `{:+}`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        if f.sign_plus() { write!(f, "{percent:+.1} %") } else { write!(f, "{percent:.1} %") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        assert_eq!(read("12 ms", TIMES), Ok(12e6));
        assert_eq!(read("350us", TIMES), Ok(350e3));
        assert_eq!(read(" 1.5 GiB ", SIZES), Ok(1.5 * 1_073_741_824.0));
        assert_eq!(read("5 %", PARTS), Ok(0.05));
        for (text, units) in
            [("12", TIMES), ("12 min", TIMES), ("ms", TIMES), ("-1 ms", TIMES), ("1.2.3 s", TIMES), ("5", PARTS)]
        {
            let error = read(text, units).unwrap_err();
            assert!(error.contains(text) && error.contains("unit"), "{error}");
        }
    }

    #[test]
    fn amounts_are_shown_with_units() {
        assert_eq!(Nanoseconds(12_345_678.0).to_string(), "12.346 ms");
        assert_eq!(Nanoseconds(-1500.0).to_string(), "-1.500 us");
        assert_eq!(Bytes(1_610_612_736.0).to_string(), "1.50 GiB");
        assert_eq!(Bytes(100.0).to_string(), "100 B");
        assert_eq!(Part(0.125).to_string(), "12.5 %");
        assert_eq!(format!("{:+} {:+}", Part(0.125), Part(-0.02)), "+12.5 % -2.0 %");
    }
}
