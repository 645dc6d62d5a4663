//! The mean of every window.

use super::float::{as_kernel_dtype, check_float, for_kernel, with_float};
use super::pool::{Windows, with_image};
use super::{mean, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch};
use crate::error::{Result, ensure};
use crate::kernels::avg_pool::{self as kernel, Divisor};
use crate::kernels::pool::PoolShape;
use crate::shape::list;
use crate::tensor::access::{read, write};

/// The windows of an average, and what it divides by.
#[derive(Clone)]
struct Averages {
    windows: Windows,
    count_include_pad: bool,
    divisor_override: Option<i64>,
}

/// The mean of every window of images: `[batch, channels, height, width]`, or without a batch. One number is for both height
/// and width; a stride of none is the window's size.
///
/// # Errors
/// If the windows do not fit the images.
pub fn avg_pool2d(
    input: &Tensor,
    kernel_size: &[i64],
    stride: &[i64],
    padding: &[i64],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> Result<Tensor> {
    let [kernel, stride, padding, dilation] = [kernel_size, stride, padding, &[1]].map(<[i64]>::to_vec);
    let windows = Windows { kernel, stride, padding, dilation, ceil_mode };
    Averages { windows, count_include_pad, divisor_override }.of(input)
}

impl Averages {
    fn of(&self, input: &Tensor) -> Result<Tensor> {
        static OP: Op = Op::new("aten::avg_pool2d", "");
        ensure!(self.divisor_override != Some(0), Runtime, "divisor must be not zero");
        let (shape, sizes) = self.windows.over("avg_pool2d", input)?;
        check_float("avg_pool2d", input.dtype())?;
        let divisor = self.divisor();
        let out = OP.run(&self.args([input.into()]), || {
            let x = for_kernel(input)?;
            let out = Tensor::allocate(&sizes, x.dtype(), x.device())?;
            launch("avg_pool2d", [&out, &x], move |[out, x]| {
                with_float!(x.dtype(), T => kernel::avg_pool2d::<T>(write(out), read(x), &shape, divisor));
            })?;
            to_dtype(&out, input.dtype())
        })?;
        track("AvgPool2DBackward0", [input], &out, || {
            let (averages, input) = (self.clone(), Saved::new(input));
            move |context: &Context<'_>, grad: &Tensor| {
                Ok([Some(averages.backward(grad, &input.get(context)?, shape)?)])
            }
        })?;
        Ok(out)
    }

    fn backward(&self, grad: &Tensor, input: &Tensor, shape: PoolShape) -> Result<Tensor> {
        static OP: Op = Op::new("aten::avg_pool2d_backward", "");
        let divisor = self.divisor();
        let out = OP.run(&self.args([grad.into(), input.into()]), || {
            let grad = as_kernel_dtype(grad, input.dtype())?;
            let out = Tensor::allocate(input.shape(), grad.dtype(), grad.device())?;
            launch("avg_pool2d_grad", [&out, &grad], move |[out, grad]| {
                with_float!(grad.dtype(), T => kernel::avg_pool2d_grad::<T>(write(out), read(grad), &shape, divisor));
            })?;
            to_dtype(&out, input.dtype())
        })?;
        track("AvgPool2DBackwardBackward0", [grad], &out, || {
            let averages = self.clone();
            move |_: &Context<'_>, grad: &Tensor| Ok([Some(averages.of(grad)?)])
        })?;
        Ok(out)
    }

    fn divisor(&self) -> Divisor {
        match self.divisor_override {
            Some(divisor) => Divisor::Given(divisor as f64),
            None if self.count_include_pad => Divisor::Padded,
            None => Divisor::Inside,
        }
    }

    fn args<'a>(&'a self, tensors: impl IntoIterator<Item = Arg<'a>>) -> Vec<Arg<'a>> {
        let Windows { kernel, stride, padding, ceil_mode, .. } = &self.windows;
        let windows = [Arg::Ints(kernel), Arg::Ints(stride), Arg::Ints(padding), Arg::Bool(*ceil_mode)];
        let divisor = [Arg::Bool(self.count_include_pad), self.divisor_override.into()];
        tensors.into_iter().chain(windows).chain(divisor).collect()
    }
}

/// The means of as many windows as the result is to have, which divide images as evenly as they can.
///
/// # Errors
/// If the input is not of images.
pub fn adaptive_avg_pool2d(input: &Tensor, output_size: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::adaptive_avg_pool2d", "");
    let size = match *output_size {
        [both] => [both, both],
        [height, width] => [height, width],
        _ => {
            return Err(crate::Error::new(crate::ErrorKind::Runtime, "adaptive_avg_pool2d: output_size must be 2"));
        }
    };
    ensure!(
        size.iter().all(|&size| size >= 0),
        Runtime,
        "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but received {{{}, {}}}",
        size[0],
        size[1]
    );
    OP.compose(&[input.into(), Arg::Ints(output_size)], || {
        check_adaptive(input)?;
        if size == [1, 1] {
            return mean(input, &[-1, -2], true, None);
        }
        divided(input, size.map(|size| size as usize))
    })
}

fn check_adaptive(input: &Tensor) -> Result<()> {
    ensure!(
        matches!(input.ndim(), 3 | 4),
        Runtime,
        "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {}",
        list(input.shape())
    );
    if let Some(dim) = (input.ndim() - 2..input.ndim()).find(|&dim| input.shape()[dim] == 0) {
        crate::error::bail!(
            Runtime,
            "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {} with \
             dimension {dim} being empty",
            list(input.shape())
        );
    }
    check_float("adaptive_avg_pool2d", input.dtype())
}

fn divided(input: &Tensor, output: [usize; 2]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::_adaptive_avg_pool2d", "");
    let (outer, image) = input.shape().split_at(input.ndim() - 2);
    let planes = outer.iter().product();
    let one = [1, 1];
    let image = [image[0], image[1]];
    let shape = PoolShape { planes, input: image, output, kernel: one, stride: one, padding: [0, 0], dilation: one };
    let out = OP.run(&[input.into(), Arg::Sizes(&output)], || {
        let x = for_kernel(input)?;
        let out = Tensor::allocate(&with_image(input, output), x.dtype(), x.device())?;
        launch("adaptive_avg_pool2d", [&out, &x], move |[out, x]| {
            with_float!(x.dtype(), T => kernel::adaptive_avg_pool2d::<T>(write(out), read(x), &shape));
        })?;
        to_dtype(&out, input.dtype())
    })?;
    track("AdaptiveAvgPool2DBackward0", [input], &out, || {
        let input = Saved::new(input);
        move |context: &Context<'_>, grad: &Tensor| Ok([Some(divided_backward(grad, &input.get(context)?, shape)?)])
    })?;
    Ok(out)
}

fn divided_backward(grad: &Tensor, input: &Tensor, shape: PoolShape) -> Result<Tensor> {
    static OP: Op = Op::new("aten::_adaptive_avg_pool2d_backward", "");
    let out = OP.run(&[grad.into(), input.into()], || {
        let grad = as_kernel_dtype(grad, input.dtype())?;
        let out = Tensor::allocate(input.shape(), grad.dtype(), grad.device())?;
        launch("adaptive_avg_pool2d_grad", [&out, &grad], move |[out, grad]| {
            with_float!(grad.dtype(), T => kernel::adaptive_avg_pool2d_grad::<T>(write(out), read(grad), &shape));
        })?;
        to_dtype(&out, input.dtype())
    })?;
    track("AdaptiveAvgPool2DBackwardBackward0", [grad], &out, || {
        move |_: &Context<'_>, grad: &Tensor| Ok([Some(divided(grad, shape.output)?)])
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, leaf, numbers};
    use super::*;

    #[test]
    fn padding_counts_unless_it_is_not_to() {
        let x = leaf(&[1.0, 2.0, 3.0, 4.0], &[1, 2, 2]);
        let y = avg_pool2d(&x, &[2], &[], &[1], false, true, None).unwrap();
        assert_eq!(numbers(&y), [0.25, 0.5, 0.75, 1.0]);
        let y = avg_pool2d(&x, &[2], &[], &[1], false, false, None).unwrap();
        assert_eq!(numbers(&y), [1.0, 2.0, 3.0, 4.0]);
        let y = avg_pool2d(&x, &[2], &[], &[0], false, true, Some(2)).unwrap();
        assert_eq!(numbers(&y), [5.0]);
        assert_eq!(numbers(&gradients(&y, &[1.0], &[&x])[0]), [0.5; 4]);
    }

    #[test]
    fn images_are_divided_evenly() {
        let x = leaf(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 2, 3]);
        let y = adaptive_avg_pool2d(&x, &[1, 2]).unwrap();
        assert_eq!(numbers(&y), [3.0, 4.0]);
        assert_eq!(numbers(&gradients(&y, &[4.0, 0.0], &[&x])[0]), [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
        assert_eq!(numbers(&adaptive_avg_pool2d(&x, &[1]).unwrap()), [3.5]);
    }
}
