//! The windows of an image as the columns of a matrix, and back.

use super::conv::ConvShape;
use super::real::Real;
use std::ops::Range;

/// The places `o` of `0..output` whose number of the window at `offset` lies inside an input of length `input`.
pub(crate) fn inside(output: usize, input: usize, stride: usize, padding: usize, offset: usize) -> Range<usize> {
    // The input's place is o * stride + offset - padding.
    let start = padding.saturating_sub(offset).div_ceil(stride);
    let end = (input + padding).saturating_sub(offset).div_ceil(stride).min(output);
    start.min(end)..end
}

/// Writes into `columns` [channels * kernel height * kernel width, output height * output width] what the windows see of
/// `image` [channels, height, width]; zero where they reach beyond it.
pub(crate) fn im2col<T: Real>(columns: &mut [T], image: &[T], channels: usize, shape: &ConvShape) {
    let [height, width] = shape.input;
    let [out_height, out_width] = shape.output();
    let [kernel_height, kernel_width] = shape.kernel;
    debug_assert_eq!(image.len(), channels * height * width);
    debug_assert_eq!(columns.len(), channels * kernel_height * kernel_width * out_height * out_width);
    let mut rows = columns.chunks_exact_mut(out_height * out_width);
    for channel in image.chunks_exact(height * width) {
        for (ky, kx) in (0..kernel_height).flat_map(|ky| (0..kernel_width).map(move |kx| (ky, kx))) {
            let Some(row) = rows.next() else { return };
            let (y_offset, x_offset) = (ky * shape.dilation[0], kx * shape.dilation[1]);
            let ys = inside(out_height, height, shape.stride[0], shape.padding[0], y_offset);
            let xs = inside(out_width, width, shape.stride[1], shape.padding[1], x_offset);
            row[..ys.start * out_width].fill(T::ZERO);
            row[ys.end * out_width..].fill(T::ZERO);
            for y in ys {
                let line = &mut row[y * out_width..][..out_width];
                let source = &channel[(y * shape.stride[0] + y_offset - shape.padding[0]) * width..][..width];
                line[..xs.start].fill(T::ZERO);
                line[xs.end..].fill(T::ZERO);
                let line = &mut line[xs.clone()];
                if line.is_empty() {
                    continue;
                }
                let source = &source[xs.start * shape.stride[1] + x_offset - shape.padding[1]..];
                if shape.stride[1] == 1 {
                    line.copy_from_slice(&source[..line.len()]);
                } else {
                    for (number, from) in line.iter_mut().zip(source.iter().step_by(shape.stride[1])) {
                        *number = *from;
                    }
                }
            }
        }
    }
}

/// Adds to `image` [channels, height, width] what `columns` (as [`im2col`] writes them) say of its numbers.
pub(crate) fn col2im<T: Real>(image: &mut [T], columns: &[T], channels: usize, shape: &ConvShape) {
    let [height, width] = shape.input;
    let [out_height, out_width] = shape.output();
    let [kernel_height, kernel_width] = shape.kernel;
    debug_assert_eq!(image.len(), channels * height * width);
    debug_assert_eq!(columns.len(), channels * kernel_height * kernel_width * out_height * out_width);
    let mut rows = columns.chunks_exact(out_height * out_width);
    for channel in image.chunks_exact_mut(height * width) {
        for (ky, kx) in (0..kernel_height).flat_map(|ky| (0..kernel_width).map(move |kx| (ky, kx))) {
            let Some(row) = rows.next() else { return };
            let (y_offset, x_offset) = (ky * shape.dilation[0], kx * shape.dilation[1]);
            let ys = inside(out_height, height, shape.stride[0], shape.padding[0], y_offset);
            let xs = inside(out_width, width, shape.stride[1], shape.padding[1], x_offset);
            if xs.is_empty() {
                continue;
            }
            for y in ys {
                let line = &row[y * out_width..][xs.clone()];
                let target = &mut channel[(y * shape.stride[0] + y_offset - shape.padding[0]) * width..][..width];
                let target = &mut target[xs.start * shape.stride[1] + x_offset - shape.padding[1]..];
                if shape.stride[1] == 1 {
                    for (to, &number) in target.iter_mut().zip(line) {
                        *to += number;
                    }
                } else {
                    for (to, &number) in target.iter_mut().step_by(shape.stride[1]).zip(line) {
                        *to += number;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_inside_the_input_are_meant() {
        for (input, stride, padding, offset) in
            [(5usize, 1, 0, 0), (5, 1, 2, 0), (5, 2, 1, 3), (4, 3, 5, 1), (2, 1, 0, 4)]
        {
            for output in [0, 1, 4, 9] {
                let naive: Vec<usize> = (0..output)
                    .filter(|&o: &usize| (o * stride + offset).checked_sub(padding).is_some_and(|place| place < input))
                    .collect();
                let found: Vec<_> = inside(output, input, stride, padding, offset).collect();
                assert_eq!(found, naive, "{output} of {input}, {stride} {padding} {offset}");
            }
        }
    }

    #[test]
    fn windows_become_columns_and_back() {
        let shape = ConvShape {
            batch: 1,
            in_channels: 2,
            out_channels: 1,
            groups: 1,
            input: [3, 4],
            kernel: [2, 2],
            stride: [2, 1],
            padding: [1, 0],
            dilation: [1, 2],
        };
        let image: Vec<f32> = (1..=24).map(|number| number as f32).collect();
        let mut columns = vec![f32::NAN; 8 * 4];
        im2col(&mut columns, &image, 2, &shape);
        #[rustfmt::skip]
        assert_eq!(columns[..16], [
            0.0, 0.0, 5.0, 6.0,
            0.0, 0.0, 7.0, 8.0,
            1.0, 2.0, 9.0, 10.0,
            3.0, 4.0, 11.0, 12.0,
        ]);
        let mut seen = vec![0.0; 24];
        col2im(&mut seen, &columns, 2, &shape);
        assert_eq!(seen, image, "every number is in one window");
    }
}
