//! Convolution as products of the weight with rows of a padded image, for which no matrix of windows has to be written.

#![expect(unsafe_code, reason = "strips and sums are computed through pointers")]

use crate::kernels::conv::ConvShape;
use crate::kernels::conv::padded::Padded;
use crate::kernels::matmul::dots::Dots;
use crate::kernels::matmul::strip::{Rows, Scattered, Stacked, Start, Strip, widest};
use crate::kernels::matmul::vectors::{ARCH, Vectors};
use crate::kernels::real::Real;
use pulp::{Simd, WithSimd};
use std::any::TypeId;
use std::ops::Range;

/// Rows of output that are narrower would leave most of a vector empty.
const NARROW: usize = 8;

/// Whether this way is the faster one.
pub(crate) fn suits(shape: &ConvShape) -> bool {
    let plain = shape.kernel == [1, 1] && shape.stride == [1, 1] && shape.padding == [0, 0];
    !plain && shape.output()[1] >= NARROW
}

/// Whether this way is the faster one for the gradient of the weight: not if there are few numbers to add up, because
/// adding the lanes of a vector takes as long as some additions of vectors.
pub(crate) fn suits_grad_weight(shape: &ConvShape) -> bool {
    let [height, width] = shape.output();
    suits(shape) && (height * width.div_ceil(16) >= 60 || shape.group_out() < 24)
}

/// How many numbers of scratch a thread needs.
pub(crate) fn scratch_len(shape: &ConvShape) -> usize {
    Padded::new(shape).len()
}

/// Computes `planes` of the output, those from number `first` of all channels of all images on.
pub(crate) fn conv2d<T: Real>(
    first: usize,
    planes: &mut [T],
    input: &[T],
    weight: &[T],
    bias: Option<&[T]>,
    shape: &ConvShape,
    scratch: &mut [T],
) {
    let ([height, width], area, window) = (shape.output(), shape.output_area(), shape.window());
    let padded = Padded::new(shape);
    let distances = padded.distances(shape);
    let scratch = &mut scratch[..padded.len()];
    for (group, channels, planes) in shape.by_group(first, planes, area) {
        let input = shape.group_of(input, group);
        for y in (0..height).step_by(padded.band) {
            let rows = padded.band.min(height - y);
            padded.copy(scratch, input, y, rows, shape);
            let band = Band {
                rows,
                width,
                padded: scratch.as_ptr(),
                padded_step: shape.stride[0] * padded.pitch,
                distances: &distances,
                depth: padded.few_channels(shape) * shape.kernel[0] * shape.kernel[1],
                channels: channels.len(),
                weight: weight[channels.start * window..].as_ptr(),
                bias: bias.map(|bias| bias[channels.clone()].as_ptr()),
                out: planes[y * width..].as_mut_ptr(),
                out_plane: area,
            };
            // SAFETY: the padded band, the weight, the bias and the planes are borrowed, and as large as the shape says.
            unsafe { band.compute() };
        }
    }
}

/// Rows of output of some channels, and what they are computed of.
#[derive(Clone, Copy)]
struct Band<'a, T> {
    rows: usize,
    width: usize,
    padded: *const T,
    padded_step: usize,
    distances: &'a [usize],
    /// How many of them there are for as many input channels as fit into the first-level cache.
    depth: usize,
    channels: usize,
    weight: *const T,
    bias: Option<*const T>,
    out: *mut T,
    out_plane: usize,
}

impl<'a, T: Real> Band<'a, T> {
    /// # Safety
    /// The pointers mean as many numbers as the sizes say, and nobody else uses those of `out`.
    unsafe fn compute(self) {
        if TypeId::of::<T>() == TypeId::of::<f32>() {
            ARCH.dispatch(self.cast::<f32>());
        } else {
            ARCH.dispatch(self.cast::<f64>());
        }
    }

    fn cast<U>(self) -> Band<'a, U> {
        let Self { rows, width, padded_step, distances, depth, channels, out_plane, .. } = self;
        let (padded, weight, bias, out) =
            (self.padded.cast(), self.weight.cast(), self.bias.map(<*const T>::cast), self.out.cast());
        Band { rows, width, padded, padded_step, distances, depth, channels, weight, bias, out, out_plane }
    }
}

impl<T: Vectors> WithSimd for Band<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = T::lanes::<S>();
        for first in (0..self.distances.len()).step_by(self.depth) {
            let taps = first..self.distances.len().min(first + self.depth);
            // Several narrow rows at once, so that there are enough sums.
            match self.width.div_ceil(lanes) {
                1 => self.stacks::<S, 1>(simd, &taps),
                2 => self.stacks::<S, 2>(simd, &taps),
                _ => self.strips(simd, &taps),
            }
        }
    }
}

impl<T: Vectors> Band<'_, T> {
    /// All rows, several at a time, each of which is `N` vectors wide.
    #[inline(always)]
    fn stacks<S: Simd, const N: usize>(&self, simd: S, taps: &Range<usize>) {
        let most = widest::<S>() / N;
        for y in (0..self.rows).step_by(most) {
            let vectors = most.min(self.rows - y) * N;
            let last = self.width - (N - 1) * T::lanes::<S>();
            let rows = self.scattered(y, 0, taps);
            let b = Stacked::<T, N> { rows, step: self.padded_step, result_step: self.width };
            // SAFETY: as promised to `compute`; after the padded rows there is room for a vector.
            unsafe { self.strip(y, 0, taps, vectors, last, b).compute(simd) };
        }
    }

    /// All rows, one after another.
    #[inline(always)]
    fn strips<S: Simd>(&self, simd: S, taps: &Range<usize>) {
        let lanes = T::lanes::<S>();
        let most = widest::<S>() * lanes;
        for (y, x) in (0..self.rows).flat_map(|y| (0..self.width).step_by(most).map(move |x| (y, x))) {
            let cols = most.min(self.width - x);
            let (vectors, last) = (cols.div_ceil(lanes), (cols - 1) % lanes + 1);
            // SAFETY: as promised to `compute`; after the padded rows there is room for a vector.
            unsafe { self.strip(y, x, taps, vectors, last, self.scattered(y, x, taps)).compute(simd) };
        }
    }

    /// What the outputs from a place on see, one row for each of `taps`.
    #[inline(always)]
    fn scattered(&self, y: usize, x: usize, taps: &Range<usize>) -> Scattered<'_, T> {
        let origin = self.padded.wrapping_add(y * self.padded_step + x);
        Scattered { origin, distances: &self.distances[taps.clone()] }
    }

    /// What `taps` add to the outputs from a place on, in all channels.
    #[inline(always)]
    fn strip<B: Rows<T>>(
        &self,
        y: usize,
        x: usize,
        taps: &Range<usize>,
        vectors: usize,
        last: usize,
        b: B,
    ) -> Strip<T, B> {
        Strip {
            rows: self.channels,
            vectors,
            last,
            depth: taps.len(),
            a: self.weight.wrapping_add(taps.start),
            a_row: self.distances.len(),
            a_col: 1,
            b,
            c: self.out.wrapping_add(y * self.width + x),
            c_row: self.out_plane,
            alpha: T::ONE,
            start: match self.bias {
                _ if taps.start > 0 => Start::Scaled(T::ONE),
                Some(bias) => Start::Rows(bias),
                None => Start::Zero,
            },
        }
    }
}

/// Adds to `rows` of the gradient of the weight, those from channel `first` on.
pub(crate) fn grad_weight<T: Real>(
    first: usize,
    rows: &mut [T],
    grad_out: &[T],
    input: &[T],
    shape: &ConvShape,
    scratch: &mut [T],
) {
    let ([height, width], area, window) = (shape.output(), shape.output_area(), shape.window());
    let padded = Padded::new(shape);
    let distances = padded.distances(shape);
    let scratch = &mut scratch[..padded.len()];
    for image in 0..shape.batch {
        for (group, channels, rows) in shape.by_group(first, rows, window) {
            let input = shape.group_of(input, image * shape.groups + group);
            let grad_out = &grad_out[(image * shape.out_channels + channels.start) * area..];
            for y in (0..height).step_by(padded.band) {
                let count = padded.band.min(height - y);
                padded.copy(scratch, input, y, count, shape);
                let sums = Sums(Dots {
                    rows: channels.len(),
                    cols: window,
                    len: width,
                    count,
                    a: grad_out[y * width..].as_ptr(),
                    a_row: area,
                    a_step: width,
                    b: Scattered { origin: scratch.as_ptr(), distances: &distances },
                    b_step: shape.stride[0] * padded.pitch,
                    c: rows.as_mut_ptr(),
                    c_row: window,
                    alpha: T::ONE,
                    beta: T::ONE,
                });
                // SAFETY: the padded band, the gradients and the rows are borrowed, and as large as the shape says.
                unsafe { sums.compute() };
            }
        }
    }
}

/// Sums over rows of output.
struct Sums<'a, T>(Dots<T, Scattered<'a, T>>);

impl<'a, T: Real> Sums<'a, T> {
    /// # Safety
    /// As for [`Dots::compute`].
    unsafe fn compute(self) {
        if TypeId::of::<T>() == TypeId::of::<f32>() {
            ARCH.dispatch(self.cast::<f32>());
        } else {
            ARCH.dispatch(self.cast::<f64>());
        }
    }

    fn cast<U: Real>(self) -> Sums<'a, U> {
        let Dots { rows, cols, len, count, a_row, a_step, b_step, c_row, .. } = self.0;
        let b = Scattered { origin: self.0.b.origin.cast(), distances: self.0.b.distances };
        let (a, c, alpha, beta) = (self.0.a.cast(), self.0.c.cast(), U::ONE, U::ONE);
        Sums(Dots { rows, cols, len, count, a, a_row, a_step, b, b_step, c, c_row, alpha, beta })
    }
}

impl<T: Vectors> WithSimd for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: as promised to `Sums::compute`.
        unsafe { self.0.compute(simd) };
    }
}
