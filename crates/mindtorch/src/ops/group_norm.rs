//! Normalisation of groups of channels, sample by sample.

use super::float::{as_kernel_dtype, check_float, for_kernel, is_differentiated, signed, with_float};
use super::layer_norm::check_parameter_dtype;
use super::normalized::{Normalized, Statistics, allocate_gradients};
use super::{reshape, same_device, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch_list};
use crate::error::{Result, ensure};
use crate::kernels::axis::Axis;
use crate::kernels::group_norm as kernel;
use crate::kernels::norm::{self, Affine, Gradients};
use crate::shape::{list, wrap_dim};
use crate::tensor::access::{read, write};

/// The numbers of each group of channels of each sample less their mean, divided by their standard deviation; then times
/// the weight, plus the bias, of which there is one for each channel.
///
/// # Errors
/// If shapes or types do not go together.
pub fn group_norm(
    input: &Tensor,
    groups: i64,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::group_norm", "");
    let args = [input.into(), Arg::Int(groups), weight.into(), bias.into(), Arg::Float(eps), Arg::Bool(true)];
    OP.compose(&args, || native_group_norm(input, groups, weight, bias, eps))
}

fn native_group_norm(
    input: &Tensor,
    groups: i64,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::native_group_norm", "");
    check(input, groups, weight, bias)?;
    let (axis, groups) = (Axis::new(input.shape(), 1), groups as usize);
    let [n, c, hw] = [axis.outer, axis.length, axis.inner].map(|size| Arg::Int(size as i64));
    let args = [input.into(), weight.into(), bias.into(), n, c, hw, Arg::Int(groups as i64), Arg::Float(eps)];
    let (out, mean, rstd) = OP.run(&args, || {
        let x = for_kernel(input)?;
        let statistic = || Tensor::allocate(&[axis.outer, groups], x.dtype(), x.device());
        let (out, mean, rstd) = (Tensor::allocate(x.shape(), x.dtype(), x.device())?, statistic()?, statistic()?);
        let parameter = |tensor: Option<&Tensor>| tensor.map(|tensor| as_kernel_dtype(tensor, x.dtype())).transpose();
        let (weight, bias) = (parameter(weight)?, parameter(bias)?);
        let tensors = [Some(&out), Some(&mean), Some(&rstd), Some(&x), weight.as_ref(), bias.as_ref()];
        if out.numel() > 0 {
            launch_list("group_norm", &tensors, move |tensors| {
                let &[Some(out), Some(mean), Some(rstd), Some(x), weight, bias] = tensors else { return };
                with_float!(x.dtype(), T => {
                    let affine = Affine { weight: weight.map(read), bias: bias.map(read) };
                    let statistics = (write(mean), write(rstd));
                    kernel::group_norm::<T>(write(out), statistics, read(x), affine, axis, groups, eps as T);
                });
            })?;
        }
        Ok((to_dtype(&out, input.dtype())?, mean, rstd))
    })?;
    track("NativeGroupNormBackward0", [Some(input), weight, bias], &out, || {
        let (input, weight) = (Saved::new(input), weight.map(Saved::new));
        move |context: &Context<'_>, grad: &Tensor| {
            let weight = weight.as_ref().map(|weight| weight.get(context)).transpose()?;
            let (input, weight) = (&input.get(context)?, weight.as_ref());
            let saved = Forward { input, weight, mean: &mean, rstd: &rstd, groups, eps };
            saved.backward(grad, [0, 1, 2].map(|input| context.needs(input)))
        }
    })?;
    Ok(out)
}

/// What was normalised, and by what.
struct Forward<'a> {
    input: &'a Tensor,
    weight: Option<&'a Tensor>,
    mean: &'a Tensor,
    rstd: &'a Tensor,
    groups: usize,
    eps: f64,
}

impl Forward<'_> {
    fn backward(&self, grad: &Tensor, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        static OP: Op = Op::new("aten::native_group_norm_backward", "");
        if is_differentiated([grad, self.input].into_iter().chain(self.weight)) {
            return self.formula(grad, wanted);
        }
        let axis = Axis::new(self.input.shape(), 1);
        let [n, c, hw] = [axis.outer, axis.length, axis.inner].map(|size| Arg::Int(size as i64));
        let (mean, rstd, weight) = (self.mean.into(), self.rstd.into(), self.weight.into());
        let args = [grad.into(), self.input.into(), mean, rstd, weight, n, c, hw, Arg::Int(self.groups as i64)];
        OP.run(&args, || self.launch(grad, axis, wanted))
    }

    fn launch(&self, grad: &Tensor, axis: Axis, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        let x = for_kernel(self.input)?;
        let (dtype, device) = (x.dtype(), x.device());
        let grad = as_kernel_dtype(grad, dtype)?;
        let weight = self.weight.map(|weight| as_kernel_dtype(weight, dtype)).transpose()?;
        let gradients = allocate_gradients(&x, &[axis.length], wanted)?;
        if x.numel() == 0 {
            return Ok(gradients);
        }
        let scratch = Tensor::allocate(&[kernel::scratch_len(axis)], dtype, device)?;
        let [of_input, of_weight, of_bias] = gradients.each_ref().map(Option::as_ref);
        let groups = self.groups;
        let tensors = [
            Some(&scratch),
            of_input,
            of_weight,
            of_bias,
            Some(&grad),
            Some(&x),
            Some(self.mean),
            Some(self.rstd),
            weight.as_ref(),
        ];
        launch_list("group_norm_backward", &tensors, move |tensors| {
            let &[Some(scratch), of_input, of_weight, of_bias, Some(grad), Some(x), Some(mean), Some(rstd), weight] =
                tensors
            else {
                return;
            };
            with_float!(x.dtype(), T => {
                let (input, of_weight, bias) = (of_input.map(write), of_weight.map(write), of_bias.map(write));
                let gradients = Gradients::<'_, T> { input, weight: of_weight, bias };
                let saved = norm::Saved { x: read(x), mean: read(mean), rstd: read(rstd), weight: weight.map(read) };
                kernel::group_norm_backward(gradients, read(grad), saved, axis, groups, write(scratch));
            });
        })?;
        Ok(gradients)
    }

    /// The gradients, made of operations that have gradients themselves.
    fn formula(&self, grad: &Tensor, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        let axis = Axis::new(self.input.shape(), 1);
        // The dimensions of a group lie together: [sample, group, channel of the group, place].
        let channels = axis.length / self.groups;
        let grouped = signed(&[axis.outer, self.groups, channels, axis.inner]);
        let (x, grad) = (reshape(self.input, &grouped)?, reshape(grad, &grouped)?);
        let parameters = [self.groups, channels, 1];
        let weight = self.weight.map(|weight| reshape(weight, &signed(&parameters))).transpose()?;
        let normalized = Normalized {
            x: &x,
            weight: weight.as_ref(),
            parameters: &parameters,
            statistics: Statistics::Own(&[2, 3]),
            eps: self.eps,
        };
        let [input, weight, bias] = normalized.gradients(&grad, wanted)?;
        let back = |gradient: Option<Tensor>, shape: &[i64]| gradient.map(|it| reshape(&it, shape)).transpose();
        Ok([back(input, &signed(self.input.shape()))?, back(weight, &[-1])?, back(bias, &[-1])?])
    }
}

fn check(input: &Tensor, groups: i64, weight: Option<&Tensor>, bias: Option<&Tensor>) -> Result<()> {
    wrap_dim(1, input.ndim())?;
    let channels = input.shape()[1];
    ensure!(groups > 0, Runtime, "Expected num groups to be greater than 0, got {groups}");
    ensure!(
        channels as i64 % groups == 0,
        Runtime,
        "Expected number of channels in input to be divisible by num_groups, but got input of shape {} and \
         num_groups={groups}",
        list(input.shape())
    );
    for (name, parameter) in [("weight", weight), ("bias", bias)] {
        ensure!(
            parameter.is_none_or(|parameter| parameter.shape() == [channels]),
            Runtime,
            "Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape {} and \
             input of shape {}",
            list(parameter.map_or(&[], Tensor::shape)),
            list(input.shape())
        );
    }
    check_float("GroupNormKernelImpl", input.dtype())?;
    check_parameter_dtype(input, &[weight, bias])?;
    same_device(&[input].into_iter().chain(weight).chain(bias).collect::<Vec<_>>())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, kernel_gradients, leaf, numbers};
    use super::*;

    #[test]
    fn each_group_of_each_sample_is_normalised() {
        let x = leaf(&[1.0, 3.0, 2.0, 2.0, 0.0, 10.0, -5.0, 5.0], &[2, 4]);
        let (weight, bias) = (leaf(&[1.0, 2.0, 1.0, 1.0], &[4]), leaf(&[0.0, 0.0, 7.0, 0.0], &[4]));
        let y = group_norm(&x, 2, Some(&weight), Some(&bias), 1e-300).unwrap();
        assert_eq!(numbers(&y), [-1.0, 2.0, 7.0, 0.0, -1.0, 2.0, 6.0, 1.0]);
    }

    #[test]
    fn kernel_and_formula_agree() {
        let x = leaf(&[0.3, -1.0, 2.0, 0.7, 0.1, -0.4, 0.9, 1.1], &[1, 4, 2]);
        let (weight, bias) = (leaf(&[2.0, 3.0, -1.0, 0.5], &[4]), leaf(&[0.0, 1.0, 0.0, 1.0], &[4]));
        let grad = [1.0, -2.0, 0.5, 0.25, 3.0, -1.0, 0.0, 2.0];
        let run = || group_norm(&x, 2, Some(&weight), Some(&bias), 1e-3).unwrap();
        let formula = gradients(&run(), &grad, &[&x, &weight, &bias]);
        let kernel = kernel_gradients(&run(), &grad, &[&x, &weight, &bias]);
        for (formula, kernel) in formula.iter().zip(&kernel) {
            assert_eq!(numbers(formula), numbers(kernel));
        }
    }
}
