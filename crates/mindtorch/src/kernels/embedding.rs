//! Rows of a table, by their numbers.

use super::parallel;
use super::simd::vectorized;
use std::ops::AddAssign;

/// So many numbers are worth another thread.
const GRAIN: usize = 200_000;

/// An index that is not within `0..length`, if there is one.
pub(crate) fn check_indices(indices: &[i64], length: usize) -> Option<i64> {
    // A negative index is a very large one, so that one comparison does for both bounds.
    let largest = vectorized(|| indices.iter().fold(0, |largest, &index| index.cast_unsigned().max(largest)));
    if largest < length as u64 || indices.is_empty() {
        return None;
    }
    indices.iter().copied().find(|index| index.cast_unsigned() >= length as u64)
}

/// The rows of `table` that `indices` name, one after the other.
pub(crate) fn embedding<T: Copy + Send + Sync>(out: &mut [T], table: &[T], indices: &[i64], width: usize) {
    debug_assert_eq!(out.len(), indices.len() * width);
    parallel::for_rows(out, width, GRAIN.div_ceil(width.max(1)), |first, rows| {
        for (out, &index) in rows.chunks_exact_mut(width).zip(&indices[first..]) {
            out.copy_from_slice(&table[index as usize * width..][..width]);
        }
    });
}

/// The gradient of [`embedding`] with respect to the table: each row of `grad` added where it came from, except from
/// `padding_index`.
pub(crate) fn embedding_backward<T: Copy + Default + AddAssign + Send + Sync>(
    grad_table: &mut [T],
    grad: &[T],
    indices: &[i64],
    width: usize,
    padding_index: Option<i64>,
) {
    debug_assert_eq!(grad.len(), indices.len() * width);
    let table_rows = grad_table.len() / width.max(1);
    let grain = if indices.len() * width < 2 * GRAIN { usize::MAX } else { table_rows.div_ceil(64) };
    // Each thread adds to its own rows of the table, so that the order of the sums does not depend on the threads.
    parallel::for_rows(grad_table, width, grain, |first, rows| {
        rows.fill(T::default());
        let mine = first..first + rows.len() / width;
        vectorized(
            #[inline(always)]
            || {
                for (&index, grad) in indices.iter().zip(grad.chunks_exact(width)) {
                    if Some(index) == padding_index || !mine.contains(&(index as usize)) {
                        continue;
                    }
                    let row = &mut rows[(index as usize - first) * width..][..width];
                    for (sum, &grad) in row.iter_mut().zip(grad) {
                        *sum += grad;
                    }
                }
            },
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_checked() {
        assert_eq!(check_indices(&[], 0), None);
        assert_eq!(check_indices(&[0], 0), Some(0));
        assert_eq!(check_indices(&[0, 4, 2], 5), None);
        assert_eq!(check_indices(&[0, 5, 2, 7], 5), Some(5));
        assert_eq!(check_indices(&[3, -1, 9], 5), Some(-1));
    }

    #[test]
    fn rows_are_copied_and_their_gradients_added() {
        for threads in [1, 2] {
            parallel::set_num_threads(threads);
            for (rows, width, count) in [(3, 4, 7), (1, 1, 1), (10, 64, 8000), (5, 3, 0), (4, 0, 3)] {
                let table: Vec<f64> = (0..rows * width).map(|index| index as f64).collect();
                let indices: Vec<i64> = (0..count).map(|index| (index * 7 % rows) as i64).collect();
                let mut out = vec![f64::NAN; count * width];
                embedding(&mut out, &table, &indices, width);
                let place = |index: usize| indices[index / width] as usize * width + index % width;
                assert!((0..out.len()).all(|index| out[index] == table[place(index)]));
                for padding_index in [None, Some(0)] {
                    let mut grad_table = vec![f64::NAN; table.len()];
                    embedding_backward(&mut grad_table, &out, &indices, width, padding_index);
                    let mut wanted = vec![0.0; table.len()];
                    for index in (0..out.len()).filter(|index| Some(indices[index / width]) != padding_index) {
                        wanted[place(index)] += out[index];
                    }
                    assert_eq!(grad_table, wanted);
                }
            }
        }
    }
}
