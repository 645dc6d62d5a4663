//! What the environment says of the accelerators.

use super::error::NpuError;
use super::region::host_memory;
use std::sync::OnceLock;

/// Every thread keeps a stream for each.
pub(super) const MAX_DEVICES: u16 = 16;

const COUNT: &str = "MINDTORCH_NPU_COUNT";
const MEMORY: &str = "MINDTORCH_NPU_MEMORY";

const DEFAULT_MEMORY: u64 = 4 << 30;
/// The smallest segment that memory is set aside in.
const LEAST_MEMORY: u64 = 2 << 20;

/// How many accelerators there are, and what each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) devices: u16,
    /// Bytes.
    pub(super) memory: u64,
}

impl Settings {
    /// The settings of this process: what the environment said when it was first asked.
    pub(super) fn get() -> Result<Self, NpuError> {
        static SETTINGS: OnceLock<Result<Settings, NpuError>> = OnceLock::new();
        let read = || Self::read(|variable| Some(std::env::var_os(variable)?.to_string_lossy().into_owned()));
        SETTINGS.get_or_init(read).clone()
    }

    fn read(value_of: impl Fn(&str) -> Option<String>) -> Result<Self, NpuError> {
        let devices = match value_of(COUNT) {
            None => 1,
            Some(value) => parse_count(&value)
                .ok_or_else(|| invalid(COUNT, value, &format!("a number from 0 to {MAX_DEVICES}")))?,
        };
        let memory = match value_of(MEMORY) {
            None => host_memory().map_or(DEFAULT_MEMORY, |host| DEFAULT_MEMORY.min(host / 2)).max(LEAST_MEMORY),
            Some(value) => parse_bytes(&value).filter(|&bytes| bytes >= LEAST_MEMORY).ok_or_else(|| {
                invalid(MEMORY, value, "a number of bytes of at least 2 MiB, such as 1073741824, 512M or 4GiB")
            })?,
        };
        Ok(Self { devices, memory })
    }
}

fn invalid(variable: &'static str, value: String, expected: &str) -> NpuError {
    NpuError::InvalidSetting { variable, value, expected: expected.to_owned() }
}

fn parse_count(value: &str) -> Option<u16> {
    value.trim().parse().ok().filter(|&count| count <= MAX_DEVICES)
}

/// A whole number, and K, M, G or T, or those with iB; all are powers of 1024.
fn parse_bytes(value: &str) -> Option<u64> {
    let value = value.trim().to_ascii_lowercase();
    let unit_at = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(unit_at);
    let power = match unit.trim_start() {
        "" => 0,
        "k" | "kib" => 1,
        "m" | "mib" => 2,
        "g" | "gib" => 3,
        "t" | "tib" => 4,
        _ => return None,
    };
    let bytes = number.parse::<u64>().ok()?.checked_mul(1024u64.pow(power))?;
    // Addresses are signed where they are differences.
    i64::try_from(bytes).is_ok().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(count: Option<&str>, memory: Option<&str>) -> Result<Settings, String> {
        let value_of = |variable: &str| if variable == COUNT { count } else { memory }.map(str::to_owned);
        Settings::read(value_of).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_may_have_a_unit() {
        for (text, bytes) in
            [("4194304", 4 << 20), ("4096K", 4 << 20), ("512M", 512 << 20), (" 2 GiB ", 2 << 30), ("1t", 1 << 40)]
        {
            assert_eq!(read(None, Some(text)), Ok(Settings { devices: 1, memory: bytes }), "{text}");
        }
        assert_eq!(read(Some(" 2 "), Some("4MiB")).unwrap().devices, 2);
        assert_eq!(read(Some("0"), None).unwrap().devices, 0);
    }

    #[test]
    fn the_default_is_some_of_the_hosts_memory() {
        let memory = read(None, None).unwrap().memory;
        assert!((LEAST_MEMORY..=DEFAULT_MEMORY).contains(&memory), "{memory}");
    }

    #[test]
    fn what_means_nothing_is_said_with_the_variables_name() {
        for bad in ["", "two", "-1", "17", "1.5"] {
            let error = read(Some(bad), None).unwrap_err();
            assert_eq!(error, format!("MINDTORCH_NPU_COUNT must be a number from 0 to 16, but it is {bad:?}"));
        }
        for bad in ["", "lots", "-1", "4MB", "1.5G", "1048576", "99999999999999999999", "9999999999T", "K"] {
            let error = read(None, Some(bad)).unwrap_err();
            assert!(error.starts_with("MINDTORCH_NPU_MEMORY must be a number of bytes of at least 2 MiB"), "{error}");
            assert!(error.ends_with(&format!("but it is {bad:?}")), "{error}");
        }
    }
}
