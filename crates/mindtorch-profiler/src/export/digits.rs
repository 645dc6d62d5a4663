//! Numbers as decimal text. A trace is mostly numbers, so they are made eight digits at a time, in a register, and stored
//! with one write of a fixed length, of which what is no digit is then cut off.

const EIGHT: u64 = 100_000_000;

/// Where digits go to.
pub(super) trait Digits {
    /// Appends the first `length` bytes of these.
    fn put<const N: usize>(&mut self, bytes: [u8; N], length: usize);
}

impl Digits for Vec<u8> {
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N], length: usize) {
        let end = self.len() + length;
        self.extend_from_slice(&bytes);
        self.truncate(end);
    }
}

/// Appends a number.
#[inline(always)]
pub(super) fn push_number(out: &mut impl Digits, number: u64) {
    if number < 10 {
        // Half of all numbers: steps, ids that are none, short times.
        out.put([b'0' + number as u8], 1);
    } else if number < EIGHT {
        push_leading(out, number);
    } else if number < EIGHT * EIGHT {
        push_leading(out, number / EIGHT);
        push_eight(out, number % EIGHT);
    } else {
        push_leading(out, number / EIGHT / EIGHT);
        push_eight(out, number / EIGHT % EIGHT);
        push_eight(out, number % EIGHT);
    }
}

/// Appends a number that may be negative.
#[inline]
pub(super) fn push_int(out: &mut impl Digits, number: i64) {
    out.put([b'-'], usize::from(number < 0));
    push_number(out, number.unsigned_abs());
}

/// Appends nanoseconds as microseconds with three decimals. The only place where times become text, so that equal times
/// are equal texts and nothing is rounded.
#[inline(always)]
pub(super) fn push_micros(out: &mut impl Digits, ns: u64) {
    push_number(out, ns / 1000);
    let rest = (ns % 1000) as u32;
    let digit = |value: u32| b'0' + (value % 10) as u8;
    out.put([b'.', digit(rest / 100), digit(rest / 10), digit(rest)], 4);
}

/// Appends a number below 10^8 without leading zeros.
#[inline(always)]
fn push_leading(out: &mut impl Digits, number: u64) {
    let digits = eight_digits(number);
    let zeros = (digits.trailing_zeros() / 8).min(7);
    out.put(((digits | ASCII) >> (8 * zeros)).to_le_bytes(), 8 - zeros as usize);
}

/// Appends a number below 10^8 with leading zeros.
#[inline(always)]
fn push_eight(out: &mut impl Digits, number: u64) {
    out.put((eight_digits(number) | ASCII).to_le_bytes(), 8);
}

/// Eight times the digit zero.
const ASCII: u64 = u64::from_le_bytes([b'0'; 8]);

/// The digits of a number below 10^8, one in each byte, the first in the lowest. The halves, the quarters and the eighths
/// of the number are divided side by side; the factors are reciprocals that are exact for what they are used on.
#[inline]
fn eight_digits(number: u64) -> u64 {
    let halves = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x7f_0000_007f;
    let quarters = hundreds | ((halves - hundreds * 100) << 16);
    let tens = ((quarters * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((quarters - tens * 10) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"x".to_vec();
        push(&mut out);
        String::from_utf8(out).unwrap().split_off(1)
    }

    #[test]
    fn numbers_are_as_the_standard_library_writes_them() {
        let around = |power: u32| {
            let power = 10u64.pow(power);
            [power - 1, power, power + 1, power.wrapping_mul(3) / 2, power.wrapping_mul(9)]
        };
        let numbers = (0..20).flat_map(around).chain([u64::MAX, u64::MAX - 1]);
        for number in numbers.chain(0..100_000) {
            assert_eq!(text(|out| push_number(out, number)), number.to_string());
        }
        for number in [i64::MIN, -1, 0, 1, i64::MAX] {
            assert_eq!(text(|out| push_int(out, number)), number.to_string());
        }
        // All that the reciprocals are used on.
        for number in (0..EIGHT).step_by(9_973).chain((0..10_000).map(|half| half * 10_001)) {
            assert_eq!(text(|out| push_eight(out, number)), format!("{number:08}"));
        }
    }

    #[test]
    fn times_have_three_decimals_and_are_exact() {
        let micros = |ns| text(|out| push_micros(out, ns));
        assert_eq!(micros(0), "0.000");
        assert_eq!(micros(7), "0.007");
        assert_eq!(micros(1_020), "1.020");
        assert_eq!(micros(3_865_636_529_078_274), "3865636529078.274");
        assert_eq!(micros(u64::MAX), "18446744073709551.615");
    }
}
