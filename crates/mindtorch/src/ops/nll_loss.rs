//! The negative log likelihood: the loss of the classes that targets name.

use super::float::{as_kernel_dtype, for_kernel, with_float};
use super::loss::LossReduction;
use super::targets::{check_images, check_rows, check_types};
use super::{contiguous, reshape, to_dtype, view};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch_list};
use crate::dtype::DType;
use crate::error::{Result, bail, ensure};
use crate::kernels::axis::Axis;
use crate::kernels::loss::{self as kernel, Classes, Reduction};
use crate::shape::{Dims, list};
use crate::tensor::access::{read, write};
use mindtorch_profiler::Device;

impl From<LossReduction> for Reduction {
    fn from(reduction: LossReduction) -> Self {
        match reduction {
            LossReduction::None => Self::None,
            LossReduction::Mean => Self::Mean,
            LossReduction::Sum => Self::Sum,
        }
    }
}

/// The negative of the log probabilities at the classes that the targets name. The classes are the second dimension, or the
/// only one; there is a target for each of the other places. Targets that are `ignore_index` count nothing.
///
/// # Errors
/// If shapes or types do not go together, or if a target is no class.
pub fn nll_loss(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: LossReduction,
    ignore_index: i64,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::nll_loss_nd", "");
    let args = [input.into(), target.into(), weight.into(), reduction.arg(), Arg::Int(ignore_index)];
    OP.compose(&args, || {
        ensure!(input.ndim() > 0, Value, "Expected 1 or more dimensions (got {})", input.ndim());
        let batch = (input.shape()[0], target.shape().first().copied().unwrap_or(1));
        ensure!(
            input.ndim() == 1 || batch.0 == batch.1,
            Value,
            "Expected input batch_size ({}) to match target batch_size ({}).",
            batch.0,
            batch.1
        );
        match input.ndim() {
            1 | 2 => ROWS.run(input, target, weight, reduction, ignore_index),
            4 => IMAGES.run(input, target, weight, reduction, ignore_index),
            _ => as_images(input, target, weight, reduction, ignore_index),
        }
    })
}

/// Any number of dimensions behind that of the classes, as those of an image.
fn as_images(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: LossReduction,
    ignore_index: i64,
) -> Result<Tensor> {
    let (batch, classes) = (input.shape()[0], input.shape()[1]);
    let mut expected = Dims::from_slice(&[batch]);
    expected.extend_from_slice(&input.shape()[2..]);
    ensure!(
        *target.shape() == expected[..],
        Runtime,
        "Expected target size {}, got {}",
        list(&expected),
        list(target.shape())
    );
    let places: usize = expected[1..].iter().product();
    let [batch, classes, places] = [batch, classes, places].map(|size| size as i64);
    let flat = |tensor: &Tensor, shape: &[i64]| {
        if tensor.is_contiguous() { view(tensor, shape) } else { reshape(tensor, shape) }
    };
    let (input, target) = (flat(input, &[batch, classes, 1, places])?, flat(target, &[batch, 1, places])?);
    let out = IMAGES.run(&input, &target, weight, reduction, ignore_index)?;
    if reduction != LossReduction::None {
        return Ok(out);
    }
    view(&out, &expected.iter().map(|&size| size as i64).collect::<Vec<_>>())
}

/// A form of the loss, with torch's names for it.
struct Form {
    op: Op,
    forward: Op,
    backward: Op,
    node: &'static str,
    second: &'static str,
    check: fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<()>,
}

static ROWS: Form = Form {
    op: Op::new("aten::nll_loss", ""),
    forward: Op::new("aten::nll_loss_forward", ""),
    backward: Op::new("aten::nll_loss_backward", ""),
    node: "NllLossBackward0",
    second: "NllLossBackwardBackward0",
    check: check_rows,
};

static IMAGES: Form = Form {
    op: Op::new("aten::nll_loss2d", ""),
    forward: Op::new("aten::nll_loss2d_forward", ""),
    backward: Op::new("aten::nll_loss2d_backward", ""),
    node: "NllLoss2DBackward0",
    second: "NllLoss2DBackwardBackward0",
    check: check_images,
};

impl Form {
    fn run(
        &'static self,
        input: &Tensor,
        target: &Tensor,
        weight: Option<&Tensor>,
        reduction: LossReduction,
        ignore_index: i64,
    ) -> Result<Tensor> {
        let args = [input.into(), target.into(), weight.into(), reduction.arg(), Arg::Int(ignore_index)];
        self.op.compose(&args, || {
            (self.check)(input, target, weight)?;
            check_types(input, target, weight)?;
            let (out, total) =
                self.forward.run(&args, || launch_forward(input, target, weight, reduction, ignore_index))?;
            track(self.node, [input], &out, || {
                let (input, target) = (Saved::new(input), Saved::new(target));
                let (weight, total) = (weight.map(Saved::new), total.clone());
                move |context: &Context<'_>, grad: &Tensor| {
                    let weight = weight.as_ref().map(|weight| weight.get(context)).transpose()?;
                    let (input, target) = (input.get(context)?, target.get(context)?);
                    let (input, target, weight, total) = (&input, &target, weight.as_ref(), &total);
                    let loss = Loss { input, target, weight, total, reduction, ignore_index };
                    Ok([Some(self.backward(grad, &loss)?)])
                }
            })?;
            Ok(out)
        })
    }

    fn backward(&'static self, grad: &Tensor, loss: &Loss<'_>) -> Result<Tensor> {
        let Loss { input, target, weight, total, reduction, ignore_index } = *loss;
        let ignored = Arg::Int(ignore_index);
        let args = [grad.into(), input.into(), target.into(), weight.into(), reduction.arg(), ignored, total.into()];
        let out = self.backward.run(&args, || launch_backward(grad, loss))?;
        // The gradient is a sum over the same places as the loss: so is the gradient of that.
        track(self.second, [grad], &out, || {
            let (target, weight) = (Saved::new(target), weight.map(Saved::new));
            move |context: &Context<'_>, grad: &Tensor| {
                let weight = weight.as_ref().map(|weight| weight.get(context)).transpose()?;
                Ok([Some(self.run(grad, &target.get(context)?, weight.as_ref(), reduction, ignore_index)?)])
            }
        })?;
        Ok(out)
    }
}

/// What a loss was made of.
#[derive(Clone, Copy)]
struct Loss<'a> {
    input: &'a Tensor,
    target: &'a Tensor,
    weight: Option<&'a Tensor>,
    /// The sum of the targets' weights.
    total: &'a Tensor,
    reduction: LossReduction,
    ignore_index: i64,
}

/// The dimension of the classes.
fn axis(input: &Tensor) -> Axis {
    if input.ndim() == 1 { Axis { outer: 1, length: input.shape()[0], inner: 1 } } else { Axis::new(input.shape(), 1) }
}

/// The losses or what they are reduced to, and the sum of the targets' weights.
fn launch_forward(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: LossReduction,
    ignore_index: i64,
) -> Result<(Tensor, Tensor)> {
    let axis = axis(input);
    let targets = contiguous(&to_dtype(target, DType::Int64)?)?;
    let wrong = move |targets: &Tensor| kernel::check_targets(read(targets), axis.length, ignore_index);
    // Those on a device are looked at when it gets there.
    let is_checked = targets.device() == Device::Cpu;
    if is_checked && let Some(target) = wrong(&targets) {
        bail!(Index, "Target {target} is out of bounds.");
    }
    let x = for_kernel(input)?;
    let weight = weight.map(|weight| as_kernel_dtype(weight, x.dtype())).transpose()?;
    let each = reduction == LossReduction::None && input.ndim() > 1;
    let out = Tensor::allocate(if each { target.shape() } else { &[] }, x.dtype(), x.device())?;
    let total = Tensor::allocate(&[], x.dtype(), x.device())?;
    let tensors = [Some(&out), Some(&total), Some(&x), Some(&targets), weight.as_ref()];
    launch_list("nll_loss", &tensors, move |tensors| {
        let &[Some(out), Some(total), Some(x), Some(targets), weight] = tensors else { return };
        if !is_checked && let Some(target) = wrong(targets) {
            panic!("Target {target} is out of bounds.");
        }
        with_float!(x.dtype(), T => {
            let classes = Classes::<'_, T> { weight: weight.map(read), ignore_index };
            let sum = kernel::nll_loss(write(out), read(x), read(targets), classes, axis, reduction.into());
            write::<T>(total)[0] = sum;
        });
    })?;
    Ok((to_dtype(&out, input.dtype())?, total))
}

fn launch_backward(grad: &Tensor, loss: &Loss<'_>) -> Result<Tensor> {
    let Loss { input, target, weight, total, reduction, ignore_index } = *loss;
    let axis = axis(input);
    let targets = contiguous(&to_dtype(target, DType::Int64)?)?;
    let grad = as_kernel_dtype(grad, input.dtype())?;
    let weight = weight.map(|weight| as_kernel_dtype(weight, input.dtype())).transpose()?;
    let out = Tensor::allocate(input.shape(), grad.dtype(), grad.device())?;
    if out.numel() == 0 {
        return to_dtype(&out, input.dtype());
    }
    let tensors = [Some(&out), Some(&grad), Some(&targets), Some(total), weight.as_ref()];
    launch_list("nll_loss_backward", &tensors, move |tensors| {
        let &[Some(out), Some(grad), Some(targets), Some(total), weight] = tensors else { return };
        with_float!(grad.dtype(), T => {
            let classes = Classes::<'_, T> { weight: weight.map(read), ignore_index };
            let total = read::<T>(total)[0];
            kernel::nll_loss_backward(write(out), read(grad), read(targets), classes, axis, reduction.into(), total);
        });
    })?;
    to_dtype(&out, input.dtype())
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, leaf, numbers, tensor};
    use super::*;

    fn classes(targets: &[i64], shape: &[usize]) -> Tensor {
        Tensor::from_slice(targets, shape).unwrap()
    }

    #[test]
    fn targets_name_what_counts() {
        let x = leaf(&[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0], &[3, 2]);
        let (target, weight) = (classes(&[0, 1, -100], &[3]), tensor(&[1.0, 3.0], &[2]));
        let loss = |reduction| nll_loss(&x, &target, Some(&weight), reduction, -100).unwrap();
        assert_eq!(numbers(&loss(LossReduction::None)), [1.0, 12.0, 0.0]);
        assert_eq!(numbers(&loss(LossReduction::Sum)), [13.0]);
        let mean = loss(LossReduction::Mean);
        assert_eq!(numbers(&mean), [3.25]);
        let first = gradients(&mean, &[4.0], &[&x]);
        assert_eq!(numbers(&first[0]), [-1.0, 0.0, 0.0, -3.0, 0.0, 0.0]);
    }

    #[test]
    fn classes_may_have_dimensions_behind_them() {
        let x = leaf(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 2, 3]);
        let target = classes(&[0, 1, 1], &[1, 3]);
        let y = nll_loss(&x, &target, None, LossReduction::None, -100).unwrap();
        assert_eq!(y.shape(), [1, 3]);
        assert_eq!(numbers(&y), [-1.0, -5.0, -6.0]);
        let first = gradients(&y, &[1.0, 2.0, 3.0], &[&x]);
        assert_eq!(numbers(&first[0]), [-1.0, 0.0, 0.0, 0.0, -2.0, -3.0]);
    }

    #[test]
    fn a_target_that_is_no_class_is_found() {
        let x = leaf(&[0.0; 6], &[2, 3]);
        let error = nll_loss(&x, &classes(&[0, 5], &[2]), None, LossReduction::Mean, -100).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (crate::ErrorKind::Index, "Target 5 is out of bounds."));
        let error = nll_loss(&x, &tensor(&[0.0, 0.0], &[2]), None, LossReduction::Mean, -100).unwrap_err();
        assert_eq!(error.to_string(), "expected target dtype to be Long or Byte, but got Double");
    }
}
