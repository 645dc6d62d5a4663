//! What every pooling shares: windows that slide over images.

use crate::Tensor;
use crate::error::{Result, bail, ensure};
use crate::kernels::pool::{PoolShape, pooled_len};
use crate::shape::{Dims, list};

/// The windows of a pooling, as the program gives them. One number is for both height and width; a stride of none is the
/// window's size.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    pub(super) kernel: Vec<i64>,
    pub(super) stride: Vec<i64>,
    pub(super) padding: Vec<i64>,
    pub(super) dilation: Vec<i64>,
    pub(super) ceil_mode: bool,
}

impl Windows {
    /// The sizes of the pooling of an input and the shape of the result, if it can be pooled.
    pub(super) fn over(&self, op: &str, input: &Tensor) -> Result<(PoolShape, Dims)> {
        let kernel = pair(op, "kernel_size", &self.kernel, "")?;
        let stride = if self.stride.is_empty() {
            kernel
        } else {
            pair(op, "stride", &self.stride, "be omitted, a single int, or ")?
        };
        let padding = pair(op, "padding", &self.padding, "")?;
        let dilation = pair(op, "dilation", &self.dilation, "")?;
        ensure!(stride.iter().all(|&step| step != 0), Runtime, "stride should not be zero");
        for (name, numbers) in [("kernel size", kernel), ("stride", stride), ("dilation", dilation)] {
            ensure!(
                numbers.iter().all(|&number| number > 0),
                Runtime,
                "{name} should be greater than zero, but got {name}H: {} {name}W: {}",
                numbers[0],
                numbers[1]
            );
        }
        for dim in 0..2 {
            ensure!(padding[dim] >= 0, Runtime, "pad must be non-negative, but got pad: {}", padding[dim]);
            ensure!(
                padding[dim] <= ((kernel[dim] - 1) * dilation[dim] + 1) / 2,
                Runtime,
                "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and dilation={}",
                padding[dim],
                kernel[dim],
                dilation[dim]
            );
        }
        let [kernel, stride, padding, dilation] =
            [kernel, stride, padding, dilation].map(|pair| pair.map(|number| number as usize));
        let (planes, image) = planes(input)?;
        let output = [0, 1]
            .map(|dim| pooled_len(image[dim], kernel[dim], stride[dim], padding[dim], dilation[dim], self.ceil_mode));
        let channels = input.shape()[input.ndim() - 3];
        ensure!(
            output.iter().all(|&size| size > 0),
            Runtime,
            "Given input size: ({channels}x{}x{}). Calculated output size: ({channels}x{}x{}). Output size is too small",
            image[0],
            image[1],
            output[0],
            output[1]
        );
        let shape = PoolShape { planes, input: image, output, kernel, stride, padding, dilation };
        Ok((shape, with_image(input, output)))
    }
}

/// The shape of images with another height and width.
pub(super) fn with_image(input: &Tensor, image: [usize; 2]) -> Dims {
    let mut shape = Dims::from(&input.shape()[..input.ndim() - 2]);
    shape.extend(image);
    shape
}

/// How many images there are, and their height and width.
fn planes(input: &Tensor) -> Result<(usize, [usize; 2])> {
    ensure!(matches!(input.ndim(), 3 | 4), Runtime, "non-empty 3D or 4D (batch mode) tensor expected for input");
    let (outer, image) = input.shape().split_at(input.ndim() - 2);
    ensure!(
        !input.shape()[input.ndim() - 3..].contains(&0),
        Runtime,
        "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{}",
        list(input.shape())
    );
    Ok((outer.iter().product(), [image[0], image[1]]))
}

fn pair(op: &str, name: &str, numbers: &[i64], instead: &str) -> Result<[i64; 2]> {
    match *numbers {
        [both] => Ok([both, both]),
        [height, width] => Ok([height, width]),
        _ if instead.is_empty() => bail!(Runtime, "{op}: {name} must either be a single int, or a tuple of two ints"),
        _ => bail!(Runtime, "{op}: {name} must either {instead}a tuple of two ints"),
    }
}
