//! Where a mask is not zero, in coordinates.

use super::positions::positions;

/// The coordinates of the bytes of a mask that are not 0, in order: first all in the first dimension, then all in the
/// next. `out` has room for as many in each dimension as [`count`](super::positions::count) told.
pub(crate) fn coordinates(mask: &[u8], shape: &[usize], out: &mut [i64]) {
    let Some(found) = out.len().checked_div(shape.len()).filter(|&found| found > 0) else { return };
    let (first, others) = out.split_at_mut(found);
    positions(mask, first);
    // From the last dimension on, each takes its part of the position, and leaves the rest in the place of the first.
    for (&size, out) in shape[1..].iter().zip(others.chunks_exact_mut(found)).rev() {
        for (position, out) in first.iter_mut().zip(out) {
            (*position, *out) = (*position / size as i64, *position % size as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_come_dimension_by_dimension() {
        let mask = [0, 1, 0, 0, 0, 0, 7, 0, 0, 0, 0, 1];
        let mut out = [0; 9];
        coordinates(&mask, &[2, 3, 2], &mut out);
        assert_eq!(out, [0, 1, 1, 0, 0, 2, 1, 0, 1]);
        coordinates(&[], &[0, 3], &mut []);
    }
}
