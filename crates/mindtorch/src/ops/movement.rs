//! How a kernel moves over images.

use super::float::check_float;
use super::same_device;
use crate::Tensor;
use crate::error::{Result, ensure};
use crate::kernels::conv::ConvShape;
use crate::shape::{Dims, list};

/// How a kernel moves over an image: numbers for each of its dimensions, from the first on.
#[derive(Clone, Debug)]
pub(super) struct Movement {
    pub(super) stride: Vec<i64>,
    pub(super) padding: Vec<i64>,
    pub(super) dilation: Vec<i64>,
    pub(super) groups: i64,
}

impl Movement {
    /// The sizes, as kernels take them: a sequence is an image of height one.
    pub(super) fn over(&self, input: &Tensor, weight: &Tensor) -> ConvShape {
        let pair = |sizes: &[usize], missing: usize| match sizes {
            [width] => [missing, *width],
            sizes => [sizes[0], sizes[1]],
        };
        let moved = |numbers: &[i64], missing: usize| {
            pair(&numbers.iter().map(|&number| number as usize).collect::<Dims>(), missing)
        };
        ConvShape {
            batch: input.shape()[0],
            in_channels: input.shape()[1],
            out_channels: weight.shape()[0],
            groups: self.groups as usize,
            input: pair(&input.shape()[2..], 1),
            kernel: pair(&weight.shape()[2..], 1),
            stride: moved(&self.stride, 1),
            padding: moved(&self.padding, 0),
            dilation: moved(&self.dilation, 1),
        }
    }

    /// Fails unless input, weight and bias go together.
    pub(super) fn check(&self, input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<()> {
        let Self { stride, padding, dilation, groups } = self;
        let groups = *groups;
        ensure!(
            weight.ndim() == input.ndim(),
            Runtime,
            "Expected {}-dimensional input for {}-dimensional weight {}, but got {}-dimensional input of size {} instead",
            weight.ndim(),
            weight.ndim(),
            list(weight.shape()),
            input.ndim(),
            list(input.shape())
        );
        ensure!(padding.iter().all(|&amount| amount >= 0), Runtime, "negative padding is not supported");
        ensure!(stride.iter().all(|&step| step > 0), Runtime, "non-positive stride is not supported");
        ensure!(
            dilation.iter().all(|&step| step > 0),
            Runtime,
            "dilation should be greater than zero, but got {}",
            list(dilation)
        );
        ensure!(groups > 0, Runtime, "non-positive groups is not supported");
        let (sizes, filters) = (weight.shape(), weight.shape()[0] as i64);
        ensure!(
            filters >= groups,
            Runtime,
            "Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {} instead",
            list(sizes)
        );
        ensure!(
            filters % groups == 0,
            Runtime,
            "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{}] instead",
            list(sizes)
        );
        let channels = sizes[1] as i64 * groups;
        ensure!(
            input.shape()[1] as i64 == channels,
            Runtime,
            "Given groups={groups}, weight of size {}, expected input{} to have {channels} channels, but got {} channels instead",
            list(sizes),
            list(input.shape()),
            input.shape()[1]
        );
        ensure!(
            bias.is_none_or(|bias| bias.shape() == [sizes[0]]),
            Runtime,
            "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got bias of size {} instead",
            list(sizes),
            sizes[0],
            list(bias.map_or(&[], Tensor::shape))
        );
        self.check_sizes(input, weight)?;
        ensure!(
            weight.dtype() == input.dtype(),
            Runtime,
            "expected scalar type {} but found {}",
            input.dtype().scalar_type(),
            weight.dtype().scalar_type()
        );
        ensure!(
            bias.is_none_or(|bias| bias.dtype() == input.dtype()),
            Runtime,
            "Input type ({}) and bias type ({}) should be the same",
            input.dtype().profiler_name(),
            bias.map_or("", |bias| bias.dtype().profiler_name())
        );
        check_float("slow_conv2d_cpu", input.dtype())?;
        same_device(&[input, weight].into_iter().chain(bias).collect::<Vec<_>>())?;
        Ok(())
    }

    fn check_sizes(&self, input: &Tensor, weight: &Tensor) -> Result<()> {
        let (image, kernel) = (&input.shape()[2..], &weight.shape()[2..]);
        ensure!(
            !kernel.contains(&0),
            Runtime,
            "kernel size should be greater than zero, but got kernel size {}",
            list(kernel)
        );
        let padded: Vec<i64> =
            image.iter().zip(&self.padding).map(|(&size, padding)| size as i64 + 2 * padding).collect();
        let window: Vec<i64> =
            kernel.iter().zip(&self.dilation).map(|(&size, dilation)| dilation * (size as i64 - 1) + 1).collect();
        let by = |sizes: &[i64]| sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
        ensure!(
            padded.iter().zip(&window).all(|(padded, window)| padded >= window),
            Runtime,
            "Calculated padded input size per channel: ({}). Kernel size: ({}). Kernel size can't be greater than actual input size",
            by(&padded),
            by(&window)
        );
        ensure!(
            !image.contains(&0),
            Runtime,
            "Only zero batch or zero channel inputs are supported, but got input shape: {}",
            list(input.shape())
        );
        Ok(())
    }
}
