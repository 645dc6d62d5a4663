//! Positions of what a mask selects.

/// How many bytes of a mask are not 0: how many positions [`positions`] finds.
pub(crate) fn count(mask: &[u8]) -> usize {
    let mut counted = [0];
    super::reduce::count_nonzero(mask, super::line::Axis::whole(mask.len()), &mut counted);
    counted[0] as usize
}

/// The positions of the bytes that are not 0, in order. `out` has the length that [`count`] told.
pub(crate) fn positions(mask: &[u8], out: &mut [i64]) {
    let mut found = 0;
    for (chunk, bytes) in mask.chunks(8).enumerate() {
        // Masks are often mostly empty.
        if bytes.iter().fold(0, |any, &byte| any | byte) == 0 {
            continue;
        }
        for (index, &byte) in bytes.iter().enumerate() {
            // Written always, and overwritten by the next where this one is not selected: no branch to mispredict.
            if let Some(out) = out.get_mut(found) {
                *out = (chunk * 8 + index) as i64;
            }
            found += usize::from(byte != 0);
        }
    }
    debug_assert_eq!(found, out.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::line::samples::whole_numbers;

    #[test]
    fn all_that_is_not_0_is_found_in_order() {
        for len in [0, 1, 7, 8, 9, 1000, 300_000] {
            for range in [1, 2, 100] {
                let mask: Vec<u8> = whole_numbers(len, range).iter().map(|&number| u8::from(number == 0) * 3).collect();
                let expected: Vec<i64> = (0..len).filter(|&place| mask[place] != 0).map(|place| place as i64).collect();
                assert_eq!(count(&mask), expected.len());
                let mut out = vec![-1; expected.len()];
                positions(&mask, &mut out);
                assert_eq!(out, expected);
            }
        }
        assert_eq!(count(&[0; 20]), 0);
        positions(&[0; 20], &mut []);
    }
}
