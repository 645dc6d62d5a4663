//! Steps of optimisers: one operation for all parameters.

use super::float::{as_kernel_dtype, for_kernel, with_float};
use super::{copy_, item, same_device};
use crate::Tensor;
use crate::autograd::check_in_place;
use crate::dispatch::{Arg, Op, launch_list};
use crate::error::{Result, ensure};
use crate::kernels::{optimizer as kernel, sequence};
use crate::shape::list;
use crate::tensor::access::{read, write};

/// Parameters, their gradients, and what Adam keeps for each of them.
#[derive(Clone, Copy)]
pub struct AdamTensors<'a> {
    /// The parameters.
    pub parameters: &'a [Tensor],
    /// Their gradients.
    pub grads: &'a [Tensor],
    /// The averages of the gradients.
    pub exp_avgs: &'a [Tensor],
    /// The averages of their squares.
    pub exp_avg_sqs: &'a [Tensor],
    /// The largest of these averages so far; none without `amsgrad`.
    pub max_exp_avg_sqs: &'a [Tensor],
    /// The number of this step, from one on: a number without dimensions for each parameter.
    pub steps: &'a [Tensor],
}

/// How Adam steps.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are torch's")]
pub struct Adam {
    pub lr: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub weight_decay: f64,
    pub eps: f64,
    pub amsgrad: bool,
    pub maximize: bool,
}

/// How stochastic gradient descent steps.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are torch's")]
pub struct Sgd {
    pub weight_decay: f64,
    pub momentum: f64,
    pub lr: f64,
    pub dampening: f64,
    pub nesterov: bool,
    pub maximize: bool,
    /// Whether there is no momentum yet.
    pub is_first_step: bool,
}

/// A step of Adam, with weight decay as a part of the gradient.
///
/// # Errors
/// If the tensors do not go together, or if one may not be changed.
pub fn fused_adam_(tensors: AdamTensors<'_>, adam: Adam) -> Result<()> {
    static OP: Op = Op::new("aten::_fused_adam_", "");
    step_adam(&OP, tensors, adam, false)
}

/// A step of `AdamW`: Adam with weight decay by itself.
///
/// # Errors
/// As for [`fused_adam_`].
pub fn fused_adamw_(tensors: AdamTensors<'_>, adam: Adam) -> Result<()> {
    static OP: Op = Op::new("aten::_fused_adamw_", "");
    step_adam(&OP, tensors, adam, true)
}

fn step_adam(op: &'static Op, tensors: AdamTensors<'_>, adam: Adam, decoupled: bool) -> Result<()> {
    let AdamTensors { parameters, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps } = tensors;
    let Adam { lr, beta1, beta2, weight_decay, eps, amsgrad, maximize } = adam;
    let kept: &[&[Tensor]] = if amsgrad { &[exp_avgs, exp_avg_sqs, max_exp_avg_sqs] } else { &[exp_avgs, exp_avg_sqs] };
    check(parameters, grads, kept)?;
    ensure!(
        steps.len() == parameters.len() && steps.iter().all(|step| step.numel() == 1),
        Runtime,
        "expected a number of steps for each of {} parameters, but got {}",
        parameters.len(),
        steps.len()
    );
    let lists = [parameters, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps].map(Arg::Tensors);
    let numbers = [lr, beta1, beta2, weight_decay, eps].map(Arg::Float);
    let args: Vec<Arg<'_>> =
        lists.into_iter().chain(numbers).chain([Arg::Bool(amsgrad), Arg::Bool(maximize)]).collect();
    op.run(&args, || {
        let work = Work::new(parameters, grads, kept)?;
        let steps = step_numbers(parameters, steps)?;
        let inputs: Vec<Option<&Tensor>> = work.tensors().chain(steps.iter().map(|(tensor, _)| *tensor)).collect();
        let known: Vec<f64> = steps.iter().map(|&(_, number)| number).collect();
        let (count, per_parameter) = (parameters.len(), 2 + kept.len());
        launch_list("fused_adam", &inputs, move |tensors| {
            let (lists, steps) = tensors.split_at(count * per_parameter);
            for ((tensors, step), known) in lists.chunks_exact(per_parameter).zip(steps).zip(&known) {
                let &[Some(grad), Some(parameter), Some(average), Some(square), ref largest @ ..] = tensors else {
                    return;
                };
                with_float!(parameter.dtype(), T => {
                    let step = step.map_or(*known, |step| sequence::item(step).to_f64());
                    let adam = kernel::Adam { lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step };
                    let state = kernel::AdamState {
                        parameters: write::<T>(parameter),
                        average: write(average),
                        average_square: write(square),
                        largest_square: largest.first().copied().flatten().map(write),
                    };
                    kernel::adam(state, read(grad), adam);
                });
            }
        })?;
        work.finish(parameters, kept)
    })
}

/// A step of stochastic gradient descent. There is a momentum buffer for each parameter, or none at all.
///
/// # Errors
/// If the tensors do not go together, or if one may not be changed.
pub fn fused_sgd_(parameters: &[Tensor], grads: &[Tensor], buffers: &[Tensor], sgd: Sgd) -> Result<()> {
    static OP: Op = Op::new("aten::_fused_sgd_", "");
    let Sgd { weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step } = sgd;
    let kept: &[&[Tensor]] = if buffers.is_empty() { &[] } else { &[buffers] };
    check(parameters, grads, kept)?;
    let lists = [parameters, grads, buffers].map(Arg::Tensors);
    let numbers = [weight_decay, momentum, lr, dampening].map(Arg::Float);
    let choices = [nesterov, maximize, is_first_step].map(Arg::Bool);
    OP.run(&lists.into_iter().chain(numbers).chain(choices).collect::<Vec<_>>(), || {
        let work = Work::new(parameters, grads, kept)?;
        let per_parameter = 2 + kept.len();
        let sgd = kernel::Sgd { lr, momentum, dampening, weight_decay, nesterov, maximize, is_first: is_first_step };
        launch_list("fused_sgd", &work.tensors().collect::<Vec<_>>(), move |tensors| {
            for tensors in tensors.chunks_exact(per_parameter) {
                let &[Some(grad), Some(parameter), ref buffer @ ..] = tensors else { return };
                with_float!(parameter.dtype(), T => {
                    let buffer = buffer.first().copied().flatten().map(write);
                    kernel::sgd::<T>(write(parameter), buffer, read(grad), sgd);
                });
            }
        })?;
        work.finish(parameters, kept)
    })
}

/// The tensors of a step as kernels take them: for each parameter its gradient, itself, and what is kept for it.
struct Work {
    tensors: Vec<Tensor>,
    /// Tensors that the kernel changes in a copy, and the copy.
    copies: Vec<(Tensor, Tensor)>,
}

impl Work {
    fn new(parameters: &[Tensor], grads: &[Tensor], kept: &[&[Tensor]]) -> Result<Self> {
        let mut tensors = Vec::with_capacity(parameters.len() * (2 + kept.len()));
        let mut copies = Vec::new();
        for (index, parameter) in parameters.iter().enumerate() {
            tensors.push(as_kernel_dtype(&grads[index], parameter.dtype())?);
            for target in changed(parameters, kept, index) {
                let tensor = for_kernel(target)?;
                if !tensor.is_same(target) {
                    copies.push((target.clone(), tensor.clone()));
                }
                tensors.push(tensor);
            }
        }
        Ok(Self { tensors, copies })
    }

    fn tensors(&self) -> impl Iterator<Item = Option<&Tensor>> {
        self.tensors.iter().map(Some)
    }

    /// Puts what was changed in a copy where it belongs, and says what was changed.
    fn finish(self, parameters: &[Tensor], kept: &[&[Tensor]]) -> Result<()> {
        for (target, copy) in &self.copies {
            copy_(target, copy)?;
        }
        for index in 0..parameters.len() {
            for tensor in changed(parameters, kept, index) {
                tensor.storage().bump_version();
            }
        }
        Ok(())
    }
}

/// What a step changes of a parameter.
fn changed<'a>(parameters: &'a [Tensor], kept: &'a [&'a [Tensor]], index: usize) -> impl Iterator<Item = &'a Tensor> {
    [&parameters[index]].into_iter().chain(kept.iter().map(move |list| &list[index]))
}

/// The numbers of steps: as tensors where the parameters' device has them, else as numbers.
fn step_numbers<'a>(parameters: &[Tensor], steps: &'a [Tensor]) -> Result<Vec<(Option<&'a Tensor>, f64)>> {
    let number = |(parameter, step): (&Tensor, &'a Tensor)| {
        if step.device() == parameter.device() { Ok((Some(step), 0.0)) } else { Ok((None, item(step)?.to_f64())) }
    };
    parameters.iter().zip(steps).map(number).collect()
}

fn check(parameters: &[Tensor], grads: &[Tensor], kept: &[&[Tensor]]) -> Result<()> {
    for list in kept.iter().copied().chain([grads]) {
        ensure!(
            list.len() == parameters.len(),
            Runtime,
            "Tensor lists must have the same number of tensors, got {} and {}",
            parameters.len(),
            list.len()
        );
    }
    for (index, parameter) in parameters.iter().enumerate() {
        ensure!(
            parameter.dtype().is_float(),
            NotImplemented,
            "fused optimizer steps are not implemented for '{}'",
            parameter.dtype().scalar_type()
        );
        for tensor in changed(parameters, kept, index).chain([&grads[index]]) {
            ensure!(
                tensor.shape() == parameter.shape() && tensor.dtype().is_float(),
                Runtime,
                "expected what belongs to a parameter of shape {} to be floats of its shape, but got a {} of shape {}",
                list(parameter.shape()),
                tensor.type_name(),
                list(tensor.shape())
            );
            same_device(&[&parameters[0], tensor])?;
        }
        for target in changed(parameters, kept, index) {
            check_in_place(target)?;
            super::check_overlap(target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{numbers, tensor};
    use super::super::t;
    use super::*;

    #[test]
    fn the_first_step_of_adam_is_as_long_as_the_learning_rate() {
        let parameters = [tensor(&[1.0, -1.0], &[2]), tensor(&[5.0], &[]), tensor(&[], &[0])];
        let grads = [tensor(&[3.0, -4.0], &[2]), tensor(&[-2.0], &[]), tensor(&[], &[0])];
        let zeros = || parameters.iter().map(|it| super::super::zeros_like(it).unwrap()).collect::<Vec<_>>();
        let (averages, squares, largest) = (zeros(), zeros(), zeros());
        let steps = vec![Tensor::from_slice(&[1.0f32], &[]).unwrap(); 3];
        let tensors = AdamTensors {
            parameters: &parameters,
            grads: &grads,
            exp_avgs: &averages,
            exp_avg_sqs: &squares,
            max_exp_avg_sqs: &largest,
            steps: &steps,
        };
        let adam =
            Adam { lr: 0.1, beta1: 0.9, beta2: 0.999, weight_decay: 0.0, eps: 0.0, amsgrad: true, maximize: false };
        fused_adam_(tensors, adam).unwrap();
        assert_eq!(numbers(&parameters[0]), [0.9, -0.9]);
        assert_eq!(numbers(&parameters[1]), [5.1]);
        assert_eq!(numbers(&averages[0]), [0.3, -0.4]);
        assert_eq!(numbers(&largest[1]), numbers(&squares[1]));
        assert_eq!(parameters[0].storage().version(), 1);
        assert!(fused_adam_(AdamTensors { grads: &grads[..1], ..tensors }, adam).is_err());
    }

    #[test]
    fn momentum_is_kept_wherever_the_numbers_lie() {
        let sgd = Sgd {
            weight_decay: 0.0,
            momentum: 0.5,
            lr: 1.0,
            dampening: 0.0,
            nesterov: false,
            maximize: false,
            is_first_step: true,
        };
        let parameters = [t(&tensor(&[1.0, 2.0, 3.0, 4.0], &[2, 2])).unwrap()];
        let grads = [tensor(&[1.0, 0.0, 0.0, 1.0], &[2, 2])];
        let buffers = [t(&tensor(&[9.0; 4], &[2, 2])).unwrap()];
        let step = |sgd| fused_sgd_(&parameters, &grads, &buffers, sgd).unwrap();
        step(sgd);
        assert_eq!(numbers(&parameters[0]), [0.0, 3.0, 2.0, 3.0]);
        step(Sgd { is_first_step: false, ..sgd });
        assert_eq!(numbers(&parameters[0]), [-1.5, 3.0, 2.0, 1.5]);
        assert_eq!(numbers(&buffers[0]), [1.5, 0.0, 0.0, 1.5]);
    }
}
