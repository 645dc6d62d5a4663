//! Steps of optimisers, each for all parameters at once.

use super::args::Args;
use super::call::bindings;
use mindtorch::ops::{self, Adam, AdamTensors, Sgd};
use mindtorch::{Error, ErrorKind, Result};

/// Fails if a gradient scaler's tensors are given.
fn check_unscaled(a: &Args, name: &str, grad_scale: usize) -> Result<()> {
    for (index, argument) in [(grad_scale, "grad_scale"), (grad_scale + 1, "found_inf")] {
        if !a.is_none(index) {
            let message = format!("{name}() does not support {argument}: unscale the gradients before the step");
            return Err(Error::new(ErrorKind::NotImplemented, message));
        }
    }
    Ok(())
}

fn adam<'a>(a: &'a Args, name: &str) -> Result<(AdamTensors<'a>, Adam)> {
    check_unscaled(a, name, 13)?;
    let tensors = AdamTensors {
        parameters: a.tensors(0),
        grads: a.tensors(1),
        exp_avgs: a.tensors(2),
        exp_avg_sqs: a.tensors(3),
        max_exp_avg_sqs: a.tensors(4),
        steps: a.tensors(5),
    };
    let adam = Adam {
        lr: a.float(6),
        beta1: a.float(7),
        beta2: a.float(8),
        weight_decay: a.float(9),
        eps: a.float(10),
        amsgrad: a.bool(11),
        maximize: a.bool(12),
    };
    Ok((tensors, adam))
}

fn sgd(a: &Args) -> Result<()> {
    check_unscaled(a, "_fused_sgd_", 10)?;
    let sgd = Sgd {
        weight_decay: a.float(3),
        momentum: a.float(4),
        lr: a.float(5),
        dampening: a.float(6),
        nesterov: a.bool(7),
        maximize: a.bool(8),
        is_first_step: a.bool(9),
    };
    ops::fused_sgd_(a.tensors(0), a.tensors(1), a.tensors(2), sgd)
}

bindings! {
    _fused_adam_: "_fused_adam_(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None)", Function => |a| {
        let (tensors, adam) = adam(a, "_fused_adam_")?;
        ops::fused_adam_(tensors, adam)
    };
    _fused_adamw_: "_fused_adamw_(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None)", Function => |a| {
        let (tensors, adam) = adam(a, "_fused_adamw_")?;
        ops::fused_adamw_(tensors, adam)
    };
    _fused_sgd_: "_fused_sgd_(Tensor[] self, Tensor[] grads, Tensor[] momentum_buffer_list, *, float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None)", Function => sgd;
}
