//! Windows that slide over images, each giving one number: the sizes that every pooling shares.

/// Numbers read that are worth a thread of their own.
const GRAIN: usize = 200_000;

/// The sizes of a pooling. A pair is height and width. Images lie one after another: [planes, height, width].
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolShape {
    pub(crate) planes: usize,
    pub(crate) input: [usize; 2],
    pub(crate) output: [usize; 2],
    pub(crate) kernel: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) padding: [usize; 2],
    pub(crate) dilation: [usize; 2],
}

impl PoolShape {
    pub(super) fn input_area(&self) -> usize {
        self.input[0] * self.input[1]
    }

    pub(super) fn output_area(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// Planes that are worth a thread of their own.
    pub(super) fn grain(&self) -> usize {
        GRAIN.div_ceil((self.output_area() * self.kernel[0] * self.kernel[1]).max(1))
    }

    /// [`Self::grain`] where every number is seen by about one window.
    pub(super) fn adaptive_grain(&self) -> usize {
        GRAIN.div_ceil(self.input_area().max(self.output_area()).max(1))
    }

    /// The row of the input that row `ky` of the windows of output row `y` sees, if there is one.
    #[inline(always)]
    pub(super) fn row(&self, y: usize, ky: usize) -> Option<usize> {
        let row = (y * self.stride[0] + ky * self.dilation[0]).checked_sub(self.padding[0])?;
        (row < self.input[0]).then_some(row)
    }
}

/// How many windows there are along an axis. With `ceil_mode` a last window may reach beyond the padded input, if it
/// begins inside of the input or of the padding before it.
pub(crate) fn pooled_len(
    input: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
    ceil_mode: bool,
) -> usize {
    let Some(room) = (input + 2 * padding).checked_sub(dilation * (kernel - 1) + 1) else { return 0 };
    if !ceil_mode {
        return room / stride + 1;
    }
    let len = room.div_ceil(stride) + 1;
    if (len - 1) * stride >= input + padding { len - 1 } else { len }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_counted_as_torch_does() {
        assert_eq!(pooled_len(5, 2, 2, 0, 1, false), 2);
        assert_eq!(pooled_len(5, 2, 2, 0, 1, true), 3);
        assert_eq!(pooled_len(6, 3, 2, 1, 1, false), 3);
        assert_eq!(pooled_len(6, 3, 2, 1, 1, true), 4);
        assert_eq!(pooled_len(7, 3, 1, 0, 2, false), 3);
        assert_eq!(pooled_len(1, 2, 1, 0, 1, false), 0);
        // The fourth window would begin in the padding after the input.
        assert_eq!(pooled_len(5, 2, 2, 1, 1, true), 3);
        assert_eq!(pooled_len(2, 1, 4, 0, 1, true), 1);
    }
}
