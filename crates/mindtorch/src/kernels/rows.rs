//! Several slices divided together among threads.

use super::parallel;
use std::sync::{Mutex, PoisonError};

/// Rows that can be divided in two, to be worked on by two threads.
pub(crate) trait Rows: Send + Sized {
    /// The first `rows`, and the others.
    fn split_at(self, rows: usize) -> (Self, Self);
}

/// Rows that are written, each of `width` numbers.
#[derive(Debug)]
pub(crate) struct RowsMut<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) width: usize,
}

impl<'a, T> RowsMut<'a, T> {
    pub(crate) fn new(data: &'a mut [T], width: usize) -> Self {
        Self { data, width }
    }
}

impl<T: Send> Rows for RowsMut<'_, T> {
    fn split_at(self, rows: usize) -> (Self, Self) {
        let (first, second) = self.data.split_at_mut(rows * self.width);
        (Self::new(first, self.width), Self::new(second, self.width))
    }
}

impl<R: Rows> Rows for Option<R> {
    fn split_at(self, rows: usize) -> (Self, Self) {
        self.map(|all| all.split_at(rows)).unzip()
    }
}

impl<A: Rows, B: Rows> Rows for (A, B) {
    fn split_at(self, rows: usize) -> (Self, Self) {
        let (first_a, second_a) = self.0.split_at(rows);
        let (first_b, second_b) = self.1.split_at(rows);
        ((first_a, first_b), (second_a, second_b))
    }
}

impl<A: Rows, B: Rows, C: Rows> Rows for (A, B, C) {
    fn split_at(self, rows: usize) -> (Self, Self) {
        let ((first_a, first_b), (second_a, second_b)) = (self.0, self.1).split_at(rows);
        let (first_c, second_c) = self.2.split_at(rows);
        ((first_a, first_b, first_c), (second_a, second_b, second_c))
    }
}

/// Memory to work in, a slab of it for each piece of rows.
#[derive(Debug)]
pub(crate) struct Slabs<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) length: usize,
}

impl<T: Send> Rows for Slabs<'_, T> {
    /// One slab for the first rows, however many they are.
    fn split_at(self, _: usize) -> (Self, Self) {
        let (first, others) = self.data.split_at_mut(self.length);
        (Self { data: first, length: self.length }, Self { data: others, length: self.length })
    }
}

/// Calls `work` with the number of the first row, how many they are and the rows themselves, in parallel, at least `grain`
/// of the `count` rows at a time.
pub(crate) fn for_each<R: Rows>(rows: R, count: usize, grain: usize, work: impl Fn(usize, usize, R) + Sync) {
    if count == 0 {
        return;
    }
    let pieces = parallel::num_threads().min(count / grain.max(1));
    if pieces < 2 {
        return work(0, count, rows);
    }
    let mut parts = Vec::with_capacity(pieces);
    let (mut rest, mut first) = (rows, 0);
    for piece in 1..=pieces {
        let end = count * piece / pieces;
        let (these, others) = rest.split_at(end - first);
        parts.push(Mutex::new(Some((first, end - first, these))));
        (rest, first) = (others, end);
    }
    // Nobody else has a part's lock: it is there to hand the part to its thread.
    parallel::for_ranges(pieces, 1, |range| {
        for part in &parts[range] {
            if let Some((first, count, rows)) = part.lock().unwrap_or_else(PoisonError::into_inner).take() {
                work(first, count, rows);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_slices_are_divided_at_the_same_rows() {
        parallel::set_num_threads(3);
        let (mut wide, mut narrow, mut last) = (vec![0; 101 * 3], vec![0; 101], vec![0; 101 * 2]);
        let rows = (
            RowsMut::new(&mut wide, 3),
            Some(RowsMut::new(&mut narrow, 1)),
            (RowsMut::new(&mut last, 2), None::<RowsMut<'_, u8>>, Slabs { data: &mut [0; 3 * 5], length: 5 }),
        );
        for_each(rows, 101, 2, |first, count, (wide, narrow, (last, none, slab))| {
            assert!(
                none.is_none() && slab.data.len() >= 5 && wide.data.len() == 3 * count && last.data.len() == 2 * count
            );
            let narrow = narrow.expect("was given").data;
            for (row, narrow) in narrow.iter_mut().enumerate() {
                wide.data[3 * row..3 * row + 3].fill(first + row);
                *narrow = first + row;
                last.data[2 * row..2 * row + 2].fill(first + row);
            }
        });
        for row in 0..101 {
            assert!(wide[3 * row..3 * row + 3] == [row; 3] && narrow[row] == row && last[2 * row + 1] == row);
        }
    }
}
