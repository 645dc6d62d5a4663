//! Bands of an image with the padding around them, laid out so that what a number of the kernel sees lies side by side.

use crate::kernels::conv::ConvShape;
use crate::kernels::im2col::inside;
use crate::kernels::real::Real;

/// Numbers that a band may have, so that it stays in a cache.
const BAND: usize = 1 << 17;
/// Numbers that a row of output may see, so that they stay in the first-level cache.
const SEEN: usize = 1 << 13;
/// Numbers of the weight that stay in the second-level cache.
const WEIGHT: usize = 1 << 16;
/// Numbers after the last band that may be read, though nothing comes of them: those of a vector.
const SLACK: usize = 64;

/// How a band of a group of channels is laid out. A row is divided into as many phases as the stride is wide: first every
/// number that is a multiple of the stride away from the first one, then every number after one of these, and so on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Padded {
    /// Rows of output that a band is for, at most.
    pub(crate) band: usize,
    /// From a row to the next.
    pub(crate) pitch: usize,
    /// From a phase of a row to the next.
    phase: usize,
    /// From a channel to the next.
    plane: usize,
    channels: usize,
}

impl Padded {
    pub(crate) fn new(shape: &ConvShape) -> Self {
        let ([height, width], channels, stride) = (shape.output(), shape.group_in(), shape.stride);
        let phase = width + (shape.span(1) - 1) / stride[1];
        let pitch = phase * stride[1];
        let rows = |band: usize| (band - 1) * stride[0] + shape.span(0);
        let mut bands = 1;
        while channels * rows(height.div_ceil(bands)) * pitch > BAND && bands < height {
            bands += 1;
        }
        let band = height.div_ceil(bands);
        Self { band, pitch, phase, plane: rows(band) * pitch, channels }
    }

    /// How many numbers a band takes.
    pub(crate) fn len(&self) -> usize {
        self.channels * self.plane + SLACK
    }

    /// How many channels a row of output can see, so that what it sees and the weight for it stay in caches.
    pub(crate) fn few_channels(&self, shape: &ConvShape) -> usize {
        let taps = shape.kernel[0] * shape.kernel[1];
        let most = (SEEN / (shape.kernel[0] * self.pitch)).min(WEIGHT / (taps * shape.group_out())).max(1);
        self.channels.div_ceil(self.channels.div_ceil(most))
    }

    /// How far each number of the kernel, in the order of the weight, is from the output's place.
    pub(crate) fn distances(&self, shape: &ConvShape) -> Vec<usize> {
        let [height, width] = shape.kernel;
        let tap = |channel: usize, y: usize, x: usize| {
            let (y, x) = (y * shape.dilation[0], x * shape.dilation[1]);
            channel * self.plane + y * self.pitch + x % shape.stride[1] * self.phase + x / shape.stride[1]
        };
        let rows = (0..self.channels).flat_map(|channel| (0..height).map(move |y| (channel, y)));
        rows.flat_map(|(channel, y)| (0..width).map(move |x| tap(channel, y, x))).collect()
    }

    /// Copies what `rows` rows of output from `first` on see of `input`, the channels of a group.
    pub(crate) fn copy<T: Real>(&self, to: &mut [T], input: &[T], first: usize, rows: usize, shape: &ConvShape) {
        let [height, width] = shape.input;
        let seen = (rows - 1) * shape.stride[0] + shape.span(0);
        for (plane, input) in to.chunks_exact_mut(self.plane).zip(input.chunks_exact(height * width)) {
            for (index, row) in plane.chunks_exact_mut(self.pitch).take(seen).enumerate() {
                match (first * shape.stride[0] + index).checked_sub(shape.padding[0]) {
                    Some(y) if y < height => self.copy_row(row, &input[y * width..][..width], shape),
                    _ => row.fill(T::ZERO),
                }
            }
        }
    }

    fn copy_row<T: Real>(&self, to: &mut [T], from: &[T], shape: &ConvShape) {
        let (stride, padding) = (shape.stride[1], shape.padding[1]);
        for (offset, to) in to.chunks_exact_mut(self.phase).enumerate() {
            let xs = inside(self.phase, from.len(), stride, padding, offset);
            to[..xs.start].fill(T::ZERO);
            to[xs.end..].fill(T::ZERO);
            let to = &mut to[xs.clone()];
            if to.is_empty() {
                continue;
            }
            let from = &from[xs.start * stride + offset - padding..];
            if stride == 1 {
                to.copy_from_slice(&from[..to.len()]);
            } else {
                for (to, &from) in to.iter_mut().zip(from.iter().step_by(stride)) {
                    *to = from;
                }
            }
        }
    }
}
