//! The largest number of each window of an image.

use super::parallel;
use super::pool::PoolShape;
use super::real::Real;
use super::simd::vectorized;

/// Outputs that are compared at a time.
const LANES: usize = 16;

/// The largest number of each window, and its place in its plane. The last NaN counts as the largest; padding does not count.
pub(crate) fn max_pool2d<T: Real>(out: &mut [T], indices: &mut [i64], input: &[T], shape: &PoolShape) {
    let (area, input_area) = (shape.output_area(), shape.input_area());
    debug_assert!(out.len() == shape.planes * area && indices.len() == out.len());
    debug_assert_eq!(input.len(), shape.planes * input_area);
    if out.is_empty() {
        return;
    }
    let pieces = (shape.planes / shape.grain()).clamp(1, parallel::num_threads());
    let planes = shape.planes.div_ceil(pieces);
    let parts = out.chunks_mut(planes * area).zip(indices.chunks_mut(planes * area));
    let mut parts: Vec<_> = parts.zip(input.chunks(planes * input_area)).collect();
    parallel::for_rows(&mut parts, 1, 1, |_, parts| {
        for ((out, indices), input) in parts {
            let planes = out.chunks_exact_mut(area).zip(indices.chunks_exact_mut(area));
            for ((out, indices), input) in planes.zip(input.chunks_exact(input_area)) {
                vectorized(
                    #[inline(always)]
                    || pool_plane(out, indices, input, shape),
                );
            }
        }
    });
}

#[inline(always)]
fn pool_plane<T: Real>(out: &mut [T], indices: &mut [i64], input: &[T], shape: &PoolShape) {
    let out_width = shape.output[1];
    for (y, (out, indices)) in out.chunks_exact_mut(out_width).zip(indices.chunks_exact_mut(out_width)).enumerate() {
        for (block, (out, indices)) in out.chunks_mut(LANES).zip(indices.chunks_mut(LANES)).enumerate() {
            // Strides that the compiler knows let it use vectors.
            match shape.stride[1] {
                1 => pool_block(out, indices, input, y, block * LANES, 1, shape),
                2 => pool_block(out, indices, input, y, block * LANES, 2, shape),
                stride => pool_block(out, indices, input, y, block * LANES, stride, shape),
            }
        }
    }
}

/// Outputs of row `y` from `x` on.
#[inline(always)]
fn pool_block<T: Real>(
    out: &mut [T],
    indices: &mut [i64],
    input: &[T],
    y: usize,
    x: usize,
    stride: usize,
    shape: &PoolShape,
) {
    let (width, padding) = (shape.input[1], shape.padding);
    let mut largest = [T::NEG_INFINITY; LANES];
    // How far from the beginning of its window each largest number is: as a number like the others, so that one comparison
    // chooses both. It stays negative where everything is infinitely small.
    let mut distances = [-T::ONE; LANES];
    for ky in 0..shape.kernel[0] {
        let Some(row) = shape.row(y, ky) else { continue };
        let row = &input[row * width..][..width];
        for kx in 0..shape.kernel[1] {
            let offset = kx * shape.dilation[1];
            let numbers = every(row, x * stride + offset, stride, padding[1], out.len());
            let distance = T::from_usize(ky * shape.dilation[0] * width + offset);
            for lane in 0..LANES {
                let better = (numbers[lane] > largest[lane]) | numbers[lane].is_nan();
                largest[lane] = if better { numbers[lane] } else { largest[lane] };
                distances[lane] = if better { distance } else { distances[lane] };
            }
        }
    }
    out.copy_from_slice(&largest[..out.len()]);
    let first = (y * shape.stride[0] * width + x * stride) as i64 - (padding[0] * width + padding[1]) as i64;
    for (lane, (index, distance)) in indices.iter_mut().zip(distances).enumerate() {
        *index = first + (lane * stride) as i64 + distance.to_f64() as i64;
        if distance < T::ZERO {
            *index = (first_inside(y, shape, 0) * width + first_inside(x + lane, shape, 1)) as i64;
        }
    }
}

/// The first `count` of every `stride`th number from `start` on, counted from where the padding of `row` begins; what is not
/// in `row` is infinitely small.
#[inline(always)]
fn every<T: Real>(row: &[T], start: usize, stride: usize, padding: usize, count: usize) -> [T; LANES] {
    let mut numbers = [T::NEG_INFINITY; LANES];
    let reach = (LANES - 1) * stride + 1;
    if start >= padding && count == LANES && start - padding + reach <= row.len() {
        let row = &row[start - padding..][..reach];
        for lane in 0..LANES {
            numbers[lane] = row[lane * stride];
        }
    } else {
        for (lane, number) in numbers[..count].iter_mut().enumerate() {
            let place = (start + lane * stride).wrapping_sub(padding);
            *number = row.get(place).copied().unwrap_or(T::NEG_INFINITY);
        }
    }
    numbers
}

/// The first place along an axis that a window sees of the input.
#[inline(always)]
fn first_inside(output: usize, shape: &PoolShape, axis: usize) -> usize {
    let (start, padding, dilation) = (output * shape.stride[axis], shape.padding[axis], shape.dilation[axis]);
    let first = if start >= padding { start } else { start + (padding - start).div_ceil(dilation) * dilation };
    // A window may jump over a short input; even then the index is a place of it.
    (first - padding).min(shape.input[axis] - 1)
}

/// The gradient of [`max_pool2d`] with respect to its input.
pub(crate) fn max_pool2d_grad<T: Real>(grad_input: &mut [T], grad_out: &[T], indices: &[i64], shape: &PoolShape) {
    let (area, input_area) = (shape.output_area(), shape.input_area());
    debug_assert!(grad_out.len() == shape.planes * area && indices.len() == grad_out.len());
    debug_assert_eq!(grad_input.len(), shape.planes * input_area);
    if grad_out.is_empty() {
        return grad_input.fill(T::ZERO);
    }
    parallel::for_rows(grad_input, input_area, shape.grain(), |first, planes| {
        planes.fill(T::ZERO);
        let grads = grad_out.chunks_exact(area).zip(indices.chunks_exact(area)).skip(first);
        for (plane, (grads, indices)) in planes.chunks_exact_mut(input_area).zip(grads) {
            for (&grad, &index) in grads.iter().zip(indices) {
                plane[index as usize] += grad;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f32 = f32::NAN;
    const LOW: f32 = f32::NEG_INFINITY;

    fn pool(input: &[f32], shape: &PoolShape) -> (Vec<f32>, Vec<i64>) {
        let len = shape.planes * shape.output_area();
        let (mut out, mut indices) = (vec![7.0; len], vec![7; len]);
        max_pool2d(&mut out, &mut indices, input, shape);
        (out, indices)
    }

    fn naive(input: &[f32], shape: &PoolShape) -> (Vec<f32>, Vec<i64>) {
        let (mut out, mut indices) = (vec![], vec![]);
        for plane in input.chunks(shape.input_area()) {
            for (y, x) in (0..shape.output[0]).flat_map(|y| (0..shape.output[1]).map(move |x| (y, x))) {
                let (mut largest, mut index) = (LOW, None);
                for (ky, kx) in (0..shape.kernel[0]).flat_map(|ky| (0..shape.kernel[1]).map(move |kx| (ky, kx))) {
                    let row = (y * shape.stride[0] + ky * shape.dilation[0]).wrapping_sub(shape.padding[0]);
                    let col = (x * shape.stride[1] + kx * shape.dilation[1]).wrapping_sub(shape.padding[1]);
                    if row < shape.input[0] && col < shape.input[1] {
                        let place = row * shape.input[1] + col;
                        if index.is_none() || plane[place] > largest || plane[place].is_nan() {
                            (largest, index) = (plane[place], Some(place));
                        }
                    }
                }
                out.push(largest);
                indices.push(index.unwrap() as i64);
            }
        }
        (out, indices)
    }

    #[test]
    fn pooling_agrees_with_a_plain_loop() {
        let parameters =
            [([2, 2], [2, 2], [0, 0], [1, 1]), ([3, 2], [1, 3], [1, 1], [1, 2]), ([2, 3], [3, 1], [1, 0], [2, 1])];
        for (kernel, stride, padding, dilation) in parameters {
            for (ceil_mode, input) in [(false, [9, 7]), (true, [8, 6]), (false, [33, 40])] {
                let output = [0, 1].map(|axis| {
                    super::super::pool::pooled_len(
                        input[axis],
                        kernel[axis],
                        stride[axis],
                        padding[axis],
                        dilation[axis],
                        ceil_mode,
                    )
                });
                let shape = PoolShape { planes: 3, input, output, kernel, stride, padding, dilation };
                let numbers: Vec<f32> = (0..3 * shape.input_area()).map(|i| ((i * 7919) % 101) as f32).collect();
                assert_eq!(pool(&numbers, &shape), naive(&numbers, &shape), "{shape:?}");
            }
        }
    }

    #[test]
    fn the_last_nan_wins_and_infinities_keep_the_first_place() {
        #[rustfmt::skip]
        let input = [
            1.0, NAN, NAN, 2.0,
            NAN, 3.0, 4.0, 5.0,
            LOW, LOW, LOW, LOW,
            LOW, LOW, LOW, LOW,
        ];
        let shape = PoolShape {
            planes: 1,
            input: [4, 4],
            output: [2, 2],
            kernel: [2, 2],
            stride: [2, 2],
            padding: [0, 0],
            dilation: [1, 1],
        };
        let (out, indices) = pool(&input, &shape);
        assert!(out[0].is_nan() && out[1].is_nan() && out[2..] == [LOW, LOW]);
        assert_eq!(indices, [4, 2, 8, 10]);
    }

    #[test]
    fn gradients_go_where_the_largest_number_was() {
        let shape = PoolShape {
            planes: 2,
            input: [1, 4],
            output: [1, 3],
            kernel: [1, 2],
            stride: [1, 1],
            padding: [0, 0],
            dilation: [1, 1],
        };
        let (_, indices) = pool(&[0.0, 5.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0], &shape);
        let mut grad = [9.0; 8];
        max_pool2d_grad(&mut grad, &[1.0, 10.0, 100.0, 1.0, 10.0, 100.0], &indices, &shape);
        assert_eq!(grad, [0.0, 11.0, 0.0, 100.0, 1.0, 10.0, 100.0, 0.0]);
    }
}
