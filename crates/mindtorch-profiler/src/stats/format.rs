//! Numbers as torch's tables write them.

use super::TimeUnit;

/// A time as torch's tables write it: `1.234us`, `1.234ms` or `1.234s`, in the unit that fits.
pub fn format_time(us: f64) -> String {
    time(us, None)
}

/// A size as torch's tables write it: `64 B`, `1.50 KB`, in powers of 1024.
pub fn format_memory(bytes: i64) -> String {
    memory(bytes)
}

/// `1.234us`, `1.234ms` or `1.234s`: the unit that fits, or the one that is asked for.
pub(super) fn time(us: f64, unit: Option<TimeUnit>) -> String {
    let unit = unit.unwrap_or(if us >= 1e6 {
        TimeUnit::Seconds
    } else if us >= 1e3 {
        TimeUnit::Milliseconds
    } else {
        TimeUnit::Microseconds
    });
    match unit {
        TimeUnit::Seconds => format!("{:.3}s", us / 1e6),
        TimeUnit::Milliseconds => format!("{:.3}ms", us / 1e3),
        TimeUnit::Microseconds => format!("{us:.3}us"),
    }
}

/// `12.34%`, or `NaN` of nothing.
pub(super) fn share(part: f64, whole: f64) -> String {
    if whole == 0.0 { "NaN".to_owned() } else { format!("{:.2}%", part * 100.0 / whole) }
}

/// `1.50 KB`, in powers of 1024.
pub(super) fn memory(bytes: i64) -> String {
    const KB: f64 = 1024.0;
    const MB: f64 = 1024.0 * KB;
    const GB: f64 = 1024.0 * MB;
    let size = bytes as f64;
    match size.abs() {
        big if big >= GB => format!("{:.2} GB", size / GB),
        big if big >= MB => format!("{:.2} MB", size / MB),
        big if big >= KB => format!("{:.2} KB", size / KB),
        _ => format!("{bytes} B"),
    }
}

/// The scale of a FLOPs column whose smallest value this is: what to multiply by, and the heading's unit.
pub(super) fn flops_scale(smallest: u64) -> (f64, &'static str) {
    const UNITS: [&str; 6] = ["FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"];
    let mut power = 0;
    while power + 1 < UNITS.len() && smallest as f64 >= 10f64.powi(3 * (power as i32 + 1)) {
        power += 1;
    }
    (10f64.powi(-3 * power as i32), UNITS[power])
}

/// The first `width` characters.
pub(super) fn head(text: &str, width: usize) -> &str {
    text.char_indices().nth(width).map_or(text, |(at, _)| &text[..at])
}

/// The last `width` characters, with dots where something was left out.
pub(super) fn tail(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length - width).collect();
    if width > 3 { format!("...{}", kept.chars().skip(3).collect::<String>()) } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_the_unit_that_fits() {
        let cases = [(0.0, "0.000us"), (999.999, "999.999us"), (1e3, "1.000ms"), (1e6, "1.000s"), (0.012, "0.012us")];
        for (us, text) in cases {
            assert_eq!(time(us, None), text);
        }
        assert_eq!(time(1e3, Some(TimeUnit::Microseconds)), "1000.000us");
        assert_eq!(time(1e3, Some(TimeUnit::Seconds)), "0.001s");
    }

    #[test]
    fn memory_is_in_powers_of_1024_and_keeps_its_sign() {
        let cases = [
            (0, "0 B"),
            (-64, "-64 B"),
            (1024, "1.00 KB"),
            (-1536, "-1.50 KB"),
            (1 << 20, "1.00 MB"),
            (5 << 30, "5.00 GB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(memory(bytes), text);
        }
    }

    #[test]
    fn shares_of_nothing_are_not_a_number() {
        assert_eq!(share(1.0, 3.0), "33.33%");
        assert_eq!(share(0.0, 0.0), "NaN");
    }

    #[test]
    fn flops_are_scaled_by_the_smallest() {
        assert_eq!(flops_scale(1).1, "FLOPs");
        assert_eq!(flops_scale(1000).1, "KFLOPs");
        assert_eq!(flops_scale(999_999).1, "KFLOPs");
        assert_eq!(flops_scale(u64::MAX).1, "PFLOPs");
    }

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(head("日本語", 2), "日本");
        assert_eq!(head("ab", 5), "ab");
        assert_eq!(tail("/a/long/path.py(3): f", 10), "...y(3): f");
        assert_eq!(tail("short", 10), "short");
    }
}
