//! Normalisation of channels over a batch.

use super::float::{as_kernel_dtype, check_float, for_kernel, is_differentiated, signed, with_float};
use super::layer_norm::check_parameter_dtype;
use super::normalized::{Normalized, Statistics, allocate_gradients};
use super::{copy_, reshape, same_device, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch_list};
use crate::error::{Result, bail, ensure};
use crate::kernels::axis::Axis;
use crate::kernels::batch_norm::{self as kernel, Running};
use crate::kernels::norm::{self, Affine, Gradients};
use crate::shape::{Dims, wrap_dim};
use crate::tensor::access::{read, write};

/// What a batch is normalised with.
#[derive(Clone, Copy)]
pub struct BatchNorm<'a> {
    /// What the normalised numbers of each channel are multiplied with.
    pub weight: Option<&'a Tensor>,
    /// What is added to them.
    pub bias: Option<&'a Tensor>,
    /// The mean of each channel over the batches so far.
    pub running_mean: Option<&'a Tensor>,
    /// The variance of each channel over the batches so far.
    pub running_var: Option<&'a Tensor>,
    /// Whether the batch's own statistics are used, and added to the running ones.
    pub training: bool,
    /// The share of a batch in the running statistics.
    pub momentum: f64,
    /// What is added to the variance.
    pub eps: f64,
}

/// The numbers of each channel less their mean, divided by their standard deviation; then times the weight, plus the bias.
///
/// # Errors
/// If shapes or types do not go together, or if there are no running statistics and it is not training.
pub fn batch_norm(input: &Tensor, norm: BatchNorm<'_>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::batch_norm", "");
    static INDEX: Op = Op::new("aten::_batch_norm_impl_index", "");
    let BatchNorm { weight, bias, running_mean, running_var, training, momentum, eps } = norm;
    let args = [
        input.into(),
        weight.into(),
        bias.into(),
        running_mean.into(),
        running_var.into(),
        Arg::Bool(training),
        Arg::Float(momentum),
        Arg::Float(eps),
        Arg::Bool(true),
    ];
    OP.compose(&args, || INDEX.compose(&args, || native_batch_norm(input, norm, &args[..8])))
}

fn native_batch_norm(input: &Tensor, norm: BatchNorm<'_>, args: &[Arg<'_>]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::native_batch_norm", "");
    check(input, norm)?;
    let (out, mean, rstd) = OP.run(args, || forward(input, norm))?;
    if let (true, Some(mean), Some(variance)) = (norm.training, norm.running_mean, norm.running_var) {
        mean.storage().bump_version();
        variance.storage().bump_version();
    }
    track("NativeBatchNormBackward0", [Some(input), norm.weight, norm.bias], &out, || {
        let (input, weight) = (Saved::new(input), norm.weight.map(Saved::new));
        let given = match (norm.training, norm.running_mean, norm.running_var) {
            (false, Some(mean), Some(variance)) => Some((Saved::new(mean), Saved::new(variance))),
            _ => None,
        };
        let eps = norm.eps;
        move |context: &Context<'_>, grad: &Tensor| {
            let weight = weight.as_ref().map(|weight| weight.get(context)).transpose()?;
            let given = match &given {
                Some((mean, variance)) => Some((mean.get(context)?, variance.get(context)?)),
                None => None,
            };
            let saved = Forward {
                input: &input.get(context)?,
                weight: weight.as_ref(),
                mean: &mean,
                rstd: &rstd,
                given: given.as_ref(),
                eps,
            };
            saved.backward(grad, [0, 1, 2].map(|input| context.needs(input)))
        }
    })?;
    Ok(out)
}

/// The result, with the mean of each channel and the inverse of its deviation.
fn forward(input: &Tensor, norm: BatchNorm<'_>) -> Result<(Tensor, Tensor, Tensor)> {
    let x = for_kernel(input)?;
    let (dtype, device) = (x.dtype(), x.device());
    let axis = Axis::new(x.shape(), 1);
    let parameter = |tensor: Option<&Tensor>| tensor.map(|tensor| as_kernel_dtype(tensor, dtype)).transpose();
    let (weight, bias) = (parameter(norm.weight)?, parameter(norm.bias)?);
    let (running_mean, running_var) = (parameter(norm.running_mean)?, parameter(norm.running_var)?);
    let rstd = Tensor::allocate(&[axis.length], dtype, device)?;
    let mean = match &running_mean {
        Some(mean) if !norm.training => mean.clone(),
        _ => Tensor::allocate(&[axis.length], dtype, device)?,
    };
    let out = Tensor::allocate(x.shape(), dtype, device)?;
    if x.numel() == 0 {
        return Ok((to_dtype(&out, input.dtype())?, mean, rstd));
    }
    let BatchNorm { training, momentum, eps, .. } = norm;
    let tensors = [Some(&rstd), Some(&mean), Some(&x), running_mean.as_ref(), running_var.as_ref()];
    launch_list("batch_norm_statistics", &tensors, move |tensors| {
        let &[Some(rstd), Some(mean), Some(x), running_mean, running_var] = tensors else { return };
        with_float!(x.dtype(), T => {
            if !training {
                kernel::inverse_deviations::<T>(write(rstd), running_var.map_or(&[], read), eps as T);
                return;
            }
            let running = running_mean.zip(running_var).map(|(mean, variance)| Running {
                mean: write(mean),
                variance: write(variance),
                momentum: momentum as T,
            });
            kernel::statistics::<T>((write(mean), write(rstd)), read(x), axis, eps as T, running);
        });
    })?;
    let tensors = [Some(&out), Some(&x), Some(&mean), Some(&rstd), weight.as_ref(), bias.as_ref()];
    launch_list("batch_norm", &tensors, move |tensors| {
        let &[Some(out), Some(x), Some(mean), Some(rstd), weight, bias] = tensors else { return };
        with_float!(x.dtype(), T => {
            let affine = Affine { weight: weight.map(read), bias: bias.map(read) };
            kernel::normalize::<T>(write(out), read(x), (read(mean), read(rstd)), affine, axis);
        });
    })?;
    if training {
        // What was converted or copied for the kernel has the new averages.
        for (target, changed) in [(norm.running_mean, &running_mean), (norm.running_var, &running_var)] {
            if let (Some(target), Some(changed)) = (target, changed)
                && !changed.is_same(target)
            {
                copy_(target, changed)?;
            }
        }
    }
    Ok((to_dtype(&out, input.dtype())?, mean, rstd))
}

/// What was normalised, and by what.
struct Forward<'a> {
    input: &'a Tensor,
    weight: Option<&'a Tensor>,
    mean: &'a Tensor,
    rstd: &'a Tensor,
    /// Mean and variance, where they were not the batch's own.
    given: Option<&'a (Tensor, Tensor)>,
    eps: f64,
}

impl Forward<'_> {
    fn backward(&self, grad: &Tensor, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        static OP: Op = Op::new("aten::native_batch_norm_backward", "");
        if is_differentiated([grad, self.input].into_iter().chain(self.weight)) {
            return self.formula(grad, wanted);
        }
        let (mean, variance) = self.given.map_or((Arg::None, Arg::None), |(mean, var)| (mean.into(), var.into()));
        let saved = [self.mean.into(), self.rstd.into(), Arg::Bool(self.given.is_none()), Arg::Float(self.eps)];
        let [a, b, c, d] = saved;
        let args = [grad.into(), self.input.into(), self.weight.into(), mean, variance, a, b, c, d];
        OP.run(&args, || self.launch(grad, wanted))
    }

    fn launch(&self, grad: &Tensor, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        let x = for_kernel(self.input)?;
        let (dtype, device) = (x.dtype(), x.device());
        let grad = as_kernel_dtype(grad, dtype)?;
        let weight = self.weight.map(|weight| as_kernel_dtype(weight, dtype)).transpose()?;
        let axis = Axis::new(x.shape(), 1);
        let gradients = allocate_gradients(&x, &[axis.length], wanted)?;
        if x.numel() == 0 {
            return Ok(gradients);
        }
        let scratch = Tensor::allocate(&[kernel::scratch_len(axis.length)], dtype, device)?;
        let [of_input, of_weight, of_bias] = gradients.each_ref().map(Option::as_ref);
        let training = self.given.is_none();
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
        launch_list("batch_norm_backward", &tensors, move |tensors| {
            let &[Some(scratch), of_input, of_weight, of_bias, Some(grad), Some(x), Some(mean), Some(rstd), weight] =
                tensors
            else {
                return;
            };
            with_float!(x.dtype(), T => {
                let (input, of_weight, bias) = (of_input.map(write), of_weight.map(write), of_bias.map(write));
                let gradients = Gradients::<'_, T> { input, weight: of_weight, bias };
                let saved = norm::Saved { x: read(x), mean: read(mean), rstd: read(rstd), weight: weight.map(read) };
                kernel::backward(gradients, read(grad), saved, axis, training, write(scratch));
            });
        })?;
        Ok(gradients)
    }

    /// The gradients, made of operations that have gradients themselves.
    fn formula(&self, grad: &Tensor, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        let x = self.input;
        // One number for each channel, as `x` has its channels.
        let mut parameters = Dims::from_elem(1, x.ndim() - 1);
        parameters[0] = x.shape()[1];
        let by_channel = |tensor: &Tensor| reshape(tensor, &signed(&parameters));
        let dims: Vec<i64> = (0..x.ndim() as i64).filter(|&dim| dim != 1).collect();
        let given = match self.given {
            Some((mean, variance)) => Some((by_channel(mean)?, by_channel(variance)?)),
            None => None,
        };
        let statistics = match &given {
            Some((mean, variance)) => Statistics::Given(mean, variance),
            None => Statistics::Own(&dims),
        };
        let weight = self.weight.map(by_channel).transpose()?;
        let normalized = Normalized { x, weight: weight.as_ref(), parameters: &parameters, statistics, eps: self.eps };
        let [input, weight, bias] = normalized.gradients(grad, wanted)?;
        let flat = |gradient: Option<Tensor>| gradient.map(|gradient| reshape(&gradient, &[-1])).transpose();
        Ok([input, flat(weight)?, flat(bias)?])
    }
}

fn check(input: &Tensor, norm: BatchNorm<'_>) -> Result<()> {
    wrap_dim(1, input.ndim())?;
    let channels = input.shape()[1];
    let BatchNorm { weight, bias, running_mean, running_var, training, .. } = norm;
    if !training && running_mean.is_none() {
        bail!(Runtime, "running_mean must be defined in evaluation mode");
    }
    ensure!(
        running_mean.is_some() == running_var.is_some(),
        Value,
        "running_mean and running_var must either both be None or neither be None"
    );
    let tensors = [("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)];
    for (name, tensor) in tensors {
        let count = tensor.map_or(channels, Tensor::numel);
        ensure!(count == channels, Runtime, "{name} should contain {channels} elements not {count}");
    }
    check_float("batch_norm", input.dtype())?;
    check_parameter_dtype(input, &[weight, bias, running_mean, running_var])?;
    same_device(&[input].into_iter().chain(tensors.into_iter().filter_map(|(_, it)| it)).collect::<Vec<_>>())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, kernel_gradients, leaf, numbers, tensor};
    use super::*;

    fn training<'a>(weight: Option<&'a Tensor>, running: Option<(&'a Tensor, &'a Tensor)>) -> BatchNorm<'a> {
        let (running_mean, running_var) = running.unzip();
        BatchNorm { weight, bias: None, running_mean, running_var, training: true, momentum: 0.5, eps: 0.0 }
    }

    #[test]
    fn a_batch_is_normalised_and_remembered() {
        let x = leaf(&[1.0, 10.0, 3.0, 30.0], &[2, 2]);
        let (mean, variance) = (tensor(&[0.0, 0.0], &[2]), tensor(&[1.0, 1.0], &[2]));
        let y = batch_norm(&x, training(None, Some((&mean, &variance)))).unwrap();
        assert_eq!(numbers(&y), [-1.0, -1.0, 1.0, 1.0]);
        assert_eq!(numbers(&mean), [1.0, 10.0]);
        assert_eq!(numbers(&variance), [1.5, 100.5]);
    }

    #[test]
    fn running_statistics_are_used_and_left_alone_outside_of_training() {
        let (mean, variance) = (tensor(&[1.0], &[1]), tensor(&[4.0], &[1]));
        let (x, weight) = (leaf(&[3.0, 5.0], &[2, 1]), leaf(&[3.0], &[1]));
        let norm = BatchNorm { training: false, ..training(Some(&weight), Some((&mean, &variance))) };
        let y = batch_norm(&x, norm).unwrap();
        assert_eq!(numbers(&y), [3.0, 6.0]);
        let found = gradients(&y, &[1.0, 10.0], &[&x, &weight]);
        assert_eq!(numbers(&found[0]), [1.5, 15.0]);
        assert_eq!(numbers(&found[1]), [21.0]);
        assert_eq!(numbers(&mean), [1.0]);
    }

    #[test]
    fn kernel_and_formula_agree() {
        let x = leaf(&[0.3, -1.0, 2.0, 0.7, 0.1, -0.4, 0.9, 1.1], &[2, 2, 2]);
        let weight = leaf(&[2.0, -3.0], &[2]);
        let grad = [1.0, -2.0, 0.5, 0.25, 3.0, -1.0, 0.0, 2.0];
        let run = || batch_norm(&x, training(Some(&weight), None)).unwrap();
        let formula = gradients(&run(), &grad, &[&x, &weight]);
        let kernel = kernel_gradients(&run(), &grad, &[&x, &weight]);
        for (formula, kernel) in formula.iter().zip(&kernel) {
            assert_eq!(numbers(formula), numbers(kernel));
        }
    }
}
