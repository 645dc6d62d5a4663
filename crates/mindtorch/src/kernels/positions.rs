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
