//! Scaled dot product attention, a block of queries at a time: the probabilities of a block never leave the cache.

use super::lanes;
use super::matmul::{Mat, MatMut, matmul};
use super::parallel;
use super::real::Real;
use super::rows::{self, Rows, RowsMut, Slabs};
use super::simd::vectorized;
use std::ops::Range;

/// Queries that are worked on together.
const BLOCK: usize = 64;
/// So many multiplications are worth another thread.
const GRAIN: usize = 1 << 20;

/// How many there are of what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Heads of all batches together.
    pub(crate) heads: usize,
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    /// Numbers of a query, and of a key.
    pub(crate) features: usize,
    /// Numbers of a value.
    pub(crate) values: usize,
}

/// What is added to the scores: matrices with a row for each query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask<'a, T> {
    pub(crate) data: &'a [T],
    /// Each matrix is for so many heads in turn; after the last comes the first again.
    pub(crate) repeat: usize,
}

/// `softmax(query @ key^T * scale + mask) @ value` for every head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attention<'a, T> {
    pub(crate) query: &'a [T],
    pub(crate) key: &'a [T],
    pub(crate) value: &'a [T],
    pub(crate) mask: Option<Mask<'a, T>>,
    pub(crate) shape: Shape,
    pub(crate) scale: T,
    /// Whether a query sees only the keys up to its own number.
    pub(crate) causal: bool,
}

/// Where the gradients of query, key and value go.
#[derive(Debug)]
pub(crate) struct Gradients<'a, T> {
    pub(crate) query: &'a mut [T],
    pub(crate) key: &'a mut [T],
    pub(crate) value: &'a mut [T],
}

impl Shape {
    /// How much scratch memory a forward pass needs.
    pub(crate) fn forward_scratch_len(self) -> usize {
        self.pieces() * self.block_len()
    }

    /// How much scratch memory a backward pass needs.
    pub(crate) fn backward_scratch_len(self) -> usize {
        self.pieces() * 2 * self.block_len()
    }

    /// How many scores a block of queries has.
    fn block_len(self) -> usize {
        self.queries.min(BLOCK) * self.keys
    }

    fn pieces(self) -> usize {
        parallel::num_threads().min(self.heads).max(1)
    }
}

impl<T: Real> Attention<'_, T> {
    /// The output, and for every query the logarithm of the sum of the exponentials of its scores.
    pub(crate) fn forward(&self, out: &mut [T], log_sums: &mut [T], scratch: &mut [T]) {
        let Shape { queries, values, .. } = self.shape;
        let heads = (RowsMut::new(out, queries * values), RowsMut::new(log_sums, queries));
        self.for_heads(heads, scratch, self.shape.block_len(), |head, (out, log_sums), scores| {
            for block in self.blocks() {
                let log_sums = &mut log_sums.data[block.clone()];
                let out = &mut out.data[block.start * values..block.end * values];
                self.forward_block(head, block, out, log_sums, scores);
            }
        });
    }

    fn forward_block(&self, head: usize, block: Range<usize>, out: &mut [T], log_sums: &mut [T], scores: &mut [T]) {
        let Shape { keys, values, .. } = self.shape;
        let (rows, seen) = (block.len(), self.seen(block.end - 1));
        if seen == 0 {
            out.fill(T::ZERO);
            log_sums.fill(T::ZERO);
            return;
        }
        let scores = &mut scores[..rows * seen];
        self.scores(head, block.clone(), scores, seen);
        vectorized(
            #[inline(always)]
            || {
                for ((row, scores), log_sum) in block.zip(scores.chunks_exact_mut(seen)).zip(&mut *log_sums) {
                    let scores = self.mask_row(head, row, scores);
                    let max = lanes::max(scores);
                    // A query that sees no key has a sum of zero.
                    let max = if max == T::NEG_INFINITY { T::ZERO } else { max };
                    for score in &mut *scores {
                        *score = (*score - max).exp();
                    }
                    let sum = lanes::sum(scores);
                    *log_sum = if sum == T::ZERO { T::ZERO } else { max + sum.ln() };
                    let scale = if sum == T::ZERO { T::ZERO } else { T::ONE / sum };
                    for score in scores {
                        *score *= scale;
                    }
                }
            },
        );
        let value = Mat::row_major(&self.value[head * keys * values..][..seen * values], seen, values);
        matmul(MatMut::row_major(out, rows, values), T::ONE, Mat::row_major(scores, rows, seen), value, T::ZERO);
    }

    /// The gradients, made of those of the output, the output itself and the logarithms that the forward pass gave.
    pub(crate) fn backward(
        &self,
        gradients: Gradients<'_, T>,
        grad: &[T],
        out: &[T],
        log_sums: &[T],
        scratch: &mut [T],
    ) {
        let Shape { queries, keys, features, values, .. } = self.shape;
        let Gradients { query, key, value } = gradients;
        let heads = (
            RowsMut::new(query, queries * features),
            RowsMut::new(key, keys * features),
            RowsMut::new(value, keys * values),
        );
        self.for_heads(heads, scratch, 2 * self.shape.block_len(), |head, (query, key, value), scratch| {
            key.data.fill(T::ZERO);
            value.data.fill(T::ZERO);
            let of_head = head * queries * values..(head + 1) * queries * values;
            let (grad, out) = (&grad[of_head.clone()], &out[of_head]);
            let log_sums = &log_sums[head * queries..][..queries];
            for block in self.blocks() {
                let places = block.start * values..block.end * values;
                let gradients = Gradients {
                    query: &mut query.data[block.start * features..block.end * features],
                    key: &mut *key.data,
                    value: &mut *value.data,
                };
                let rows = (&grad[places.clone()], &out[places], &log_sums[block.clone()]);
                self.backward_block(head, block, gradients, rows, scratch);
            }
        });
    }

    /// The gradients of a block of queries; what it has for keys and values is added.
    fn backward_block(
        &self,
        head: usize,
        block: Range<usize>,
        gradients: Gradients<'_, T>,
        (grad, out, log_sums): (&[T], &[T], &[T]),
        scratch: &mut [T],
    ) {
        let Shape { queries, keys, features, values, .. } = self.shape;
        let (rows, seen) = (block.len(), self.seen(block.end - 1));
        let Gradients { query: grad_query, key: grad_key, value: grad_value } = gradients;
        if seen == 0 || values == 0 {
            grad_query.fill(T::ZERO);
            return;
        }
        let (probabilities, slopes) = scratch.split_at_mut(self.shape.block_len());
        let (probabilities, slopes) = (&mut probabilities[..rows * seen], &mut slopes[..rows * seen]);
        let query = &self.query[(head * queries + block.start) * features..][..rows * features];
        let key = Mat::row_major(&self.key[head * keys * features..][..seen * features], seen, features);
        let value = Mat::row_major(&self.value[head * keys * values..][..seen * values], seen, values);
        let grad_out = Mat::row_major(grad, rows, values);

        self.scores(head, block.clone(), probabilities, seen);
        matmul(MatMut::row_major(slopes, rows, seen), T::ONE, grad_out, value.t(), T::ZERO);
        vectorized(
            #[inline(always)]
            || {
                let scores = probabilities.chunks_exact_mut(seen).zip(slopes.chunks_exact_mut(seen));
                let outputs = grad.chunks_exact(values).zip(out.chunks_exact(values)).zip(log_sums);
                for ((row, (scores, slopes)), ((grad, out), &log_sum)) in block.clone().zip(scores).zip(outputs) {
                    let scores = self.mask_row(head, row, scores);
                    let mean = lanes::dot(grad, out);
                    let (slopes, unseen) = slopes.split_at_mut(scores.len());
                    for (score, slope) in scores.iter_mut().zip(slopes) {
                        *score = (*score - log_sum).exp();
                        *slope = *score * (*slope - mean) * self.scale;
                    }
                    unseen.fill(T::ZERO);
                }
            },
        );
        let probabilities = Mat::row_major(probabilities, rows, seen);
        let slopes = Mat::row_major(slopes, rows, seen);
        let grad_value = MatMut::row_major(&mut grad_value[..seen * values], seen, values);
        matmul(grad_value, T::ONE, probabilities.t(), grad_out, T::ONE);
        matmul(MatMut::row_major(grad_query, rows, features), T::ONE, slopes, key, T::ZERO);
        let grad_key = MatMut::row_major(&mut grad_key[..seen * features], seen, features);
        matmul(grad_key, T::ONE, slopes.t(), Mat::row_major(query, rows, features), T::ONE);
    }

    fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let queries = self.shape.queries;
        (0..queries).step_by(BLOCK).map(move |start| start..queries.min(start + BLOCK))
    }

    /// How many keys a query sees.
    #[inline(always)]
    fn seen(&self, query: usize) -> usize {
        if self.causal { self.shape.keys.min(query + 1) } else { self.shape.keys }
    }

    /// The scores of a block of queries for the first keys, without the mask.
    fn scores(&self, head: usize, block: Range<usize>, scores: &mut [T], seen: usize) {
        let Shape { queries, keys, features, .. } = self.shape;
        let query = &self.query[(head * queries + block.start) * features..][..block.len() * features];
        let query = Mat::row_major(query, block.len(), features);
        let key = Mat::row_major(&self.key[head * keys * features..][..seen * features], seen, features);
        matmul(MatMut::row_major(scores, query.rows, seen), self.scale, query, key.t(), T::ZERO);
    }

    /// Adds the mask to the scores that the query of this row sees, and gives them; sets the others to zero.
    #[inline(always)]
    fn mask_row<'b>(&self, head: usize, row: usize, scores: &'b mut [T]) -> &'b mut [T] {
        let Shape { queries, keys, .. } = self.shape;
        let (scores, unseen) = scores.split_at_mut(self.seen(row));
        unseen.fill(T::ZERO);
        if let Some(Mask { data, repeat }) = self.mask {
            let matrix = head / repeat % (data.len() / (queries * keys));
            for (score, &mask) in scores.iter_mut().zip(&data[(matrix * queries + row) * keys..]) {
                *score += mask;
            }
        }
        scores
    }

    /// Calls `work` for every head, with its rows and a slab of scratch memory, in parallel.
    fn for_heads<R: Rows>(&self, rows: R, scratch: &mut [T], slab: usize, work: impl Fn(usize, R, &mut [T]) + Sync) {
        let Shape { heads, queries, keys, features, values } = self.shape;
        // No more pieces than there are slabs.
        let grain = heads.div_ceil((scratch.len() / slab.max(1)).max(1));
        let grain = grain.max(GRAIN.div_ceil((queries * keys * (features + values)).max(1)));
        let slabs = Slabs { data: scratch, length: slab };
        rows::for_each((rows, slabs), heads, grain, |first, count, (mut rows, slab)| {
            for head in first..first + count {
                let (these, others) = rows.split_at(1);
                work(head, these, slab.data);
                rows = others;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|index| ((index * 7919 + seed * 31) % 1009) as f64 / 500.0 - 1.0).collect()
    }

    fn assert_close(got: &[f64], wanted: &[f64]) {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
        assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(close), "{got:?}\n{wanted:?}");
    }

    /// The probabilities of all heads.
    fn probabilities(of: &Attention<'_, f64>) -> Vec<f64> {
        let Shape { heads, queries, keys, features, .. } = of.shape;
        let mut all = Vec::new();
        for head in 0..heads {
            for query in 0..queries {
                let score = |key: usize| {
                    let (q, k) = ((head * queries + query) * features, (head * keys + key) * features);
                    let dot: f64 = (0..features).map(|i| of.query[q + i] * of.key[k + i]).sum();
                    let mask = of.mask.map_or(0.0, |mask| {
                        let matrix = head / mask.repeat % (mask.data.len() / (queries * keys));
                        mask.data[(matrix * queries + query) * keys + key]
                    });
                    if of.causal && key > query { f64::NEG_INFINITY } else { dot * of.scale + mask }
                };
                let weights: Vec<f64> = (0..keys).map(|key| score(key).exp()).collect();
                let sum: f64 = weights.iter().sum();
                all.extend(weights.iter().map(|weight| if sum == 0.0 { 0.0 } else { weight / sum }));
            }
        }
        all
    }

    fn check(of: &Attention<'_, f64>) {
        let Shape { heads, queries, keys, features, values } = of.shape;
        let p = probabilities(of);
        let at = |head: usize, query: usize, key: usize| p[(head * queries + query) * keys + key];
        let mut out = vec![f64::NAN; heads * queries * values];
        let mut log_sums = vec![f64::NAN; heads * queries];
        let mut scratch = vec![f64::NAN; of.shape.forward_scratch_len()];
        of.forward(&mut out, &mut log_sums, &mut scratch);

        let grad = numbers(out.len(), 9);
        let mut wanted = vec![0.0; out.len()];
        let mut wanted_grads = (vec![0.0; of.query.len()], vec![0.0; of.key.len()], vec![0.0; of.value.len()]);
        for head in 0..heads {
            for query in 0..queries {
                let row = (head * queries + query) * values;
                let slope = |key: usize| -> f64 {
                    (0..values).map(|i| grad[row + i] * of.value[(head * keys + key) * values + i]).sum()
                };
                let mean: f64 = (0..keys).map(|key| at(head, query, key) * slope(key)).sum();
                for key in 0..keys {
                    let p = at(head, query, key);
                    for i in 0..values {
                        wanted[row + i] += p * of.value[(head * keys + key) * values + i];
                        wanted_grads.2[(head * keys + key) * values + i] += p * grad[row + i];
                    }
                    let of_score = p * (slope(key) - mean) * of.scale;
                    for i in 0..features {
                        let (q, k) = ((head * queries + query) * features + i, (head * keys + key) * features + i);
                        wanted_grads.0[q] += of_score * of.key[k];
                        wanted_grads.1[k] += of_score * of.query[q];
                    }
                }
            }
        }
        assert_close(&out, &wanted);

        let mut grads = (vec![f64::NAN; of.query.len()], vec![f64::NAN; of.key.len()], vec![f64::NAN; of.value.len()]);
        let mut scratch = vec![f64::NAN; of.shape.backward_scratch_len()];
        let gradients = Gradients { query: &mut grads.0, key: &mut grads.1, value: &mut grads.2 };
        of.backward(gradients, &grad, &out, &log_sums, &mut scratch);
        assert_close(&grads.0, &wanted_grads.0);
        assert_close(&grads.1, &wanted_grads.1);
        assert_close(&grads.2, &wanted_grads.2);
    }

    #[test]
    fn attention_agrees_with_the_definition() {
        for (heads, queries, keys, features, values) in [
            (1, 1, 1, 1, 1),
            (2, 5, 7, 4, 3),
            (3, 7, 5, 2, 6),
            (4, 130, 140, 8, 8),
            (2, 100, 30, 3, 2),
            (2, 3, 0, 4, 4),
            (2, 0, 3, 4, 4),
            (1, 3, 2, 4, 0),
            (0, 3, 3, 4, 4),
        ] {
            let shape = Shape { heads, queries, keys, features, values };
            let (query, key, value) = (
                numbers(heads * queries * features, 1),
                numbers(heads * keys * features, 2),
                numbers(heads * keys * values, 3),
            );
            let plain =
                Attention { query: &query, key: &key, value: &value, mask: None, shape, scale: 0.7, causal: false };
            check(&plain);
            check(&Attention { causal: true, ..plain });
            let one = numbers(queries * keys, 4);
            check(&Attention { mask: Some(Mask { data: &one, repeat: heads }), ..plain });
            let mut many = numbers(heads * queries * keys, 5);
            // One query that sees nothing.
            let first = keys.min(many.len());
            many[..first].fill(f64::NEG_INFINITY);
            check(&Attention { mask: Some(Mask { data: &many, repeat: 1 }), causal: true, ..plain });
        }
    }

    #[test]
    fn threads_share_the_heads() {
        let shape = Shape { heads: 5, queries: 300, keys: 300, features: 16, values: 16 };
        let numbers = numbers(5 * 300 * 16, 1);
        let attention =
            Attention { query: &numbers, key: &numbers, value: &numbers, mask: None, shape, scale: 0.25, causal: true };
        let run = |threads: usize| {
            parallel::set_num_threads(threads);
            let (mut out, mut log_sums) = (vec![0.0; numbers.len()], vec![0.0; 5 * 300]);
            attention.forward(&mut out, &mut log_sums, &mut vec![0.0; shape.forward_scratch_len()]);
            (out, log_sums)
        };
        assert_eq!(run(1), run(2));
    }
}
