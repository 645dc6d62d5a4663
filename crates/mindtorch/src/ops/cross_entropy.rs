//! The cross entropy between logits and what they should say.

use super::float::signed;
use super::nll_loss::nll_loss;
use super::{
    LossReduction, add, bitwise_not, div, eq, flatten, gather, log_softmax, masked_fill, masked_fill_, mul, neg,
    reshape, sum,
};
use crate::Tensor;
use crate::dispatch::{Arg, Op};
use crate::dtype::Scalar;
use crate::error::{Result, bail, ensure};
use crate::shape::list;

/// The cross entropy between logits and targets, which are classes, or probabilities of classes where they have the logits'
/// shape. The classes are the second dimension, or the only one. With label smoothing, a part of a target is shared by all
/// classes.
///
/// # Errors
/// If shapes or types do not go together, or if a target is no class.
pub fn cross_entropy_loss(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: LossReduction,
    ignore_index: i64,
    label_smoothing: f64,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::cross_entropy_loss", "");
    let (ignored, smoothing) = (Arg::Int(ignore_index), Arg::Float(label_smoothing));
    OP.compose(&[input.into(), target.into(), weight.into(), reduction.arg(), ignored, smoothing], || {
        let dim = if input.ndim() == 1 { 0 } else { 1 };
        let log_probabilities = || log_softmax(input, dim, Some(input.dtype()));
        if input.shape() == target.shape() {
            check_probabilities(input, target, weight, dim, ignore_index)?;
            let loss = Loss { log_probabilities: log_probabilities()?, target, weight, dim, reduction };
            return loss.of_probabilities(label_smoothing);
        }
        let loss = Loss { log_probabilities: log_probabilities()?, target, weight, dim, reduction };
        let of_classes = nll_loss(&loss.log_probabilities, target, weight, reduction, ignore_index)?;
        if label_smoothing <= 0.0 {
            return Ok(of_classes);
        }
        if label_smoothing > 1.0 {
            bail!(Runtime, "label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}");
        }
        let share = label_smoothing / loss.classes() as f64;
        let of_all = mul(&loss.of_all_classes(ignore_index)?, Scalar::Float(share))?;
        add(&mul(&of_classes, Scalar::Float(1.0 - label_smoothing))?, &of_all, 1.into())
    })
}

/// What a loss is made of.
struct Loss<'a> {
    log_probabilities: Tensor,
    target: &'a Tensor,
    weight: Option<&'a Tensor>,
    /// The dimension of the classes.
    dim: i64,
    reduction: LossReduction,
}

impl Loss<'_> {
    fn classes(&self) -> usize {
        self.log_probabilities.shape()[self.dim as usize]
    }

    /// Numbers for all classes, each times the weight of its class.
    fn weighted(&self, numbers: &Tensor) -> Result<Tensor> {
        let Some(weight) = self.weight else { return Ok(numbers.clone()) };
        let mut shape = vec![1; numbers.ndim()];
        shape[self.dim as usize] = -1;
        mul(numbers, &reshape(weight, &shape)?)
    }

    /// The loss where targets are probabilities.
    fn of_probabilities(&self, label_smoothing: f64) -> Result<Tensor> {
        let mut target = self.target.clone();
        if label_smoothing > 0.0 {
            let share = Scalar::Float(label_smoothing / self.classes() as f64);
            target = add(&mul(&target, Scalar::Float(1.0 - label_smoothing))?, share, 1.into())?;
        }
        let products = self.weighted(&mul(&self.log_probabilities, &target)?)?;
        match self.reduction {
            LossReduction::None => neg(&sum(&products, &[self.dim], false, None)?),
            LossReduction::Sum => neg(&sum(&products, &[], false, None)?),
            LossReduction::Mean => {
                let count = products.numel() / self.classes().max(1);
                div(&neg(&sum(&products, &[], false, None)?)?, Scalar::Int(count as i64))
            }
        }
    }

    /// The loss of all classes together, where targets are classes.
    fn of_all_classes(&self, ignore_index: i64) -> Result<Tensor> {
        let losses = neg(&sum(&self.weighted(&self.log_probabilities)?, &[self.dim], false, None)?)?;
        let target = reshape(self.target, &signed(losses.shape()))?;
        let ignored = eq(&target, Scalar::Int(ignore_index))?;
        let losses = masked_fill_(&losses, &ignored, Scalar::Float(0.0))?;
        match self.reduction {
            LossReduction::None => Ok(losses),
            LossReduction::Sum => sum(&losses, &[], false, None),
            LossReduction::Mean => {
                let total = match self.weight {
                    Some(weight) => self.total_weight(weight, &target, &ignored)?,
                    None => sum(&bitwise_not(&ignored)?, &[], false, None)?,
                };
                div(&sum(&losses, &[], false, None)?, &total)
            }
        }
    }

    /// The sum of the weights of the targets that count.
    fn total_weight(&self, weight: &Tensor, target: &Tensor, ignored: &Tensor) -> Result<Tensor> {
        let classes = flatten(&masked_fill(target, ignored, Scalar::Int(0))?, 0, -1)?;
        let weights = gather(weight, 0, &super::to_dtype(&classes, crate::DType::Int64)?)?;
        sum(&masked_fill_(&weights, &flatten(ignored, 0, -1)?, Scalar::Float(0.0))?, &[], false, None)
    }
}

fn check_probabilities(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    dim: i64,
    ignore_index: i64,
) -> Result<()> {
    ensure!(
        target.dtype().is_float(),
        Runtime,
        "Expected floating point type for target with class probabilities, got {}",
        target.dtype().scalar_type()
    );
    ensure!(ignore_index < 0, Runtime, "ignore_index is not supported for floating point target");
    let classes = input.shape().get(dim as usize).copied().unwrap_or(1);
    ensure!(
        weight.is_none_or(|weight| weight.shape() == [classes]),
        Runtime,
        "cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of \
         shape: {}",
        list(weight.map_or(&[], Tensor::shape))
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, leaf, numbers, tensor};
    use super::*;

    #[test]
    fn classes_and_certain_probabilities_are_the_same() {
        let x = leaf(&[0.0, 1.0, -1.0, 2.0, 0.5, 0.0], &[2, 3]);
        let certain = tensor(&[0.0, 1.0, 0.0, 1.0, 0.0, 0.0], &[2, 3]);
        let classes = Tensor::from_slice(&[1i64, 0], &[2]).unwrap();
        let weight = tensor(&[2.0, 3.0, 1.0], &[3]);
        for smoothing in [0.0, 0.3] {
            for reduction in [LossReduction::None, LossReduction::Sum] {
                let loss = |target: &Tensor| {
                    cross_entropy_loss(&x, target, Some(&weight), reduction, -100, smoothing).unwrap()
                };
                assert_eq!(numbers(&loss(&classes)), numbers(&loss(&certain)));
            }
        }
    }

    #[test]
    fn the_gradient_is_the_difference_of_probabilities() {
        let x = leaf(&[0.0, 0.0, 0.0, 0.0], &[1, 4]);
        let target = Tensor::from_slice(&[2i64], &[1]).unwrap();
        let y = cross_entropy_loss(&x, &target, None, LossReduction::Mean, -100, 0.0).unwrap();
        assert_eq!(numbers(&y), [(4f64.ln() * 1e9).round() / 1e9]);
        assert_eq!(numbers(&gradients(&y, &[1.0], &[&x])[0]), [0.25, 0.25, -0.75, 0.25]);
    }

    #[test]
    fn ignored_targets_are_not_smoothed_either() {
        let x = leaf(&[0.0, 1.0, 5.0, 2.0], &[2, 2]);
        let loss = |targets: &[i64], rows: &Tensor| {
            let target = Tensor::from_slice(targets, &[targets.len()]).unwrap();
            numbers(&cross_entropy_loss(rows, &target, None, LossReduction::Mean, -100, 0.2).unwrap())
        };
        assert_eq!(loss(&[1, -100], &x), loss(&[1], &super::super::narrow(&x, 0, 0, 1).unwrap()));
    }
}
