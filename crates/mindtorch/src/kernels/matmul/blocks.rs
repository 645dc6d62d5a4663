//! A product of matrices, block by block, where the instruction set is known.

#![expect(unsafe_code, reason = "matrices are read and written through pointers")]

use super::dots::Dots;
use super::panel::{Block, Panel};
use super::product::Product;
use super::strip::{Even, Start, Strip, widest};
use super::vectors::Vectors;
use pulp::{Simd, WithSimd};

/// Bytes that are likely to stay in the second-level cache.
const CACHE: usize = 1 << 20;
/// From so many rows of `a` on it pays to copy strips of `b`.
const COPY_ROWS: usize = 192;
/// From so much depth on it pays to copy strips of `b`.
const COPY_DEPTH: usize = 32;
/// How deep strips are that are copied: what the first-level cache holds.
const COPIED_DEPTH: usize = 128;
/// How deep strips are that are read where they are.
const DEPTH: usize = 256;
/// The most rows for which sums along the depth are faster than strips of a transposed `b`.
const DOT_ROWS: usize = 8;

/// A product whose rows are contiguous, to be computed by one thread.
pub(crate) struct Blocks<'a, T> {
    product: Product<T>,
    panel: &'a mut Panel,
}

impl<'a, T: Vectors> Blocks<'a, T> {
    /// The product as something to dispatch.
    ///
    /// # Safety
    /// Until it has been computed, the pointers and strides mean matrices that can be read, and one that can be written and
    /// that nobody else uses.
    pub(crate) unsafe fn new(product: Product<T>, panel: &'a mut Panel) -> Self {
        debug_assert_eq!(product.c_col, 1);
        Self { product, panel }
    }

    /// # Safety
    /// As for [`Self::new`].
    #[inline(always)]
    unsafe fn by_strips<S: Simd>(self, simd: S) {
        let Self { product, panel } = self;
        let lanes = T::lanes::<S>();
        let width = (widest::<S>() * lanes).min(product.cols.next_multiple_of(lanes));
        let copies = product.b_col != 1 || (product.rows >= COPY_ROWS && product.depth >= COPY_DEPTH);
        let block_rows = block_rows(&product, copies);
        let most = if copies && product.rows * product.cols * size_of::<T>() <= CACHE { COPIED_DEPTH } else { DEPTH };
        let depth = even(product.depth, most.min(Panel::rows::<T>(width)));
        let far = product.depth * product.cols * size_of::<T>() > CACHE;
        for i in (0..product.rows).step_by(block_rows.max(1)) {
            let rows = block_rows.min(product.rows - i);
            // Without depth there still is the start to write.
            for k in (0..product.depth.max(1)).step_by(depth) {
                let depth = depth.min(product.depth - k);
                let beta = if k == 0 { product.beta } else { T::ONE };
                for j in (0..product.cols).step_by(width) {
                    let cols = width.min(product.cols - j);
                    // SAFETY: these are parts of the matrices; a strip that is not copied ends with a whole vector.
                    unsafe {
                        let first = product.b.add(k * product.b_row + j * product.b_col);
                        let b = if copies || !cols.is_multiple_of(lanes) {
                            panel.copy(
                                simd,
                                Block { first, rows: depth, cols, row: product.b_row, col: product.b_col, far },
                            )
                        } else {
                            Even { first, step: product.b_row }
                        };
                        let strip = Strip {
                            rows,
                            vectors: cols.div_ceil(lanes),
                            last: (cols - 1) % lanes + 1,
                            depth,
                            a: product.a.add(i * product.a_row + k * product.a_col),
                            a_row: product.a_row,
                            a_col: product.a_col,
                            b,
                            c: product.c.add(i * product.c_row + j),
                            c_row: product.c_row,
                            alpha: product.alpha,
                            start: if beta == T::ZERO { Start::Zero } else { Start::Scaled(beta) },
                        };
                        strip.compute(simd);
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`Self::new`]; `a_col` and `b_row` are one.
    #[inline(always)]
    unsafe fn by_dots<S: Simd>(self, simd: S) {
        let product = self.product;
        let dots = Dots {
            rows: product.rows,
            cols: product.cols,
            len: product.depth,
            count: 1,
            a: product.a,
            a_row: product.a_row,
            a_step: 0,
            b: Even { first: product.b, step: product.b_col },
            b_step: 0,
            c: product.c,
            c_row: product.c_row,
            alpha: product.alpha,
            beta: product.beta,
        };
        // SAFETY: the caller's promise.
        unsafe { dots.compute(simd) };
    }
}

impl<T: Vectors> WithSimd for Blocks<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let product = &self.product;
        let along_depth = product.a_col == 1 && product.b_row == 1;
        let few = product.rows <= DOT_ROWS && product.depth >= 32 * product.rows;
        // SAFETY: as promised to `Self::new`.
        unsafe {
            if along_depth && few {
                self.by_dots(simd);
            } else {
                self.by_strips(simd);
            }
        }
    }
}

/// How many rows strips pass over before it is the turn of the next ones.
fn block_rows<T>(product: &Product<T>, copies: bool) -> usize {
    if !copies {
        // What has little depth is mostly writing, which is fastest along the rows.
        return if product.depth < COPY_DEPTH { 24 } else { product.rows };
    }
    // As many as stay in the second-level cache. Where each row is a page of its own, more than a few hundred are slow.
    if product.cols * size_of::<T>() < 4096 { 1026 } else { 258 }
}

/// How long the parts of `whole` are, none longer than `most`, all about as long.
fn even(whole: usize, most: usize) -> usize {
    whole.div_ceil(whole.div_ceil(most).max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product of numbers that are exact however they are added, with the given instruction set.
    fn product<T: Vectors>(
        rows: usize,
        depth: usize,
        cols: usize,
        b_turned: bool,
        dispatch: impl Fn(Blocks<'_, T>),
    ) -> Vec<T> {
        let numbers = |len: usize| (0..len).map(|i| T::from_f64((i % 13) as f64 - 6.0)).collect::<Vec<_>>();
        let (a, b) = (numbers(rows * depth), numbers(depth * cols));
        let mut c = vec![T::ZERO; rows * cols];
        let (b_row, b_col) = if b_turned { (1, depth) } else { (cols, 1) };
        let product = Product {
            rows,
            cols,
            depth,
            a: a.as_ptr(),
            a_row: depth,
            a_col: 1,
            b: b.as_ptr(),
            b_row,
            b_col,
            c: c.as_mut_ptr(),
            c_row: cols,
            c_col: 1,
            alpha: T::ONE,
            beta: T::ZERO,
        };
        // SAFETY: the vectors are as long as the sizes and strides say.
        Panel::with(|panel| dispatch(unsafe { Blocks::new(product, panel) }));
        c
    }

    fn check<T: Vectors>() {
        for (rows, depth, cols) in [(1, 50, 40), (13, 7, 3), (20, 140, 37), (200, 40, 70)] {
            for b_turned in [false, true] {
                let plain = product::<T>(rows, depth, cols, b_turned, |blocks| blocks.with_simd(pulp::Scalar));
                let best = product::<T>(rows, depth, cols, b_turned, |blocks| pulp::Arch::new().dispatch(blocks));
                assert_eq!(plain, best, "{rows} by {depth} by {cols}");
                #[cfg(target_arch = "x86_64")]
                if let Some(simd) = pulp::x86::V3::try_new() {
                    let middle = product::<T>(rows, depth, cols, b_turned, |blocks| Simd::vectorize(simd, blocks));
                    assert_eq!(plain, middle, "{rows} by {depth} by {cols}");
                }
            }
        }
    }

    #[test]
    fn instruction_sets_agree() {
        check::<f32>();
        check::<f64>();
    }
}
