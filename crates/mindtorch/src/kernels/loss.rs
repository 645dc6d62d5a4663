//! The negative log likelihood loss. The axis of an [`Axis`] here is that of the classes; there is a target for each of the
//! other numbers.

use super::axis::Axis;
use super::parallel;
use super::real::Real;

/// So many numbers are worth another thread.
const GRAIN: usize = 200_000;

/// How the losses of all targets become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    None,
    Mean,
    Sum,
}

/// What a class counts, and which targets count nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes<'a, T> {
    /// The weight of each class; all are one where there is none.
    pub(crate) weight: Option<&'a [T]>,
    pub(crate) ignore_index: i64,
}

impl<T: Real> Classes<'_, T> {
    /// The class of a target and its weight, if it counts.
    #[inline(always)]
    fn get(&self, target: i64) -> Option<(usize, T)> {
        if target == self.ignore_index {
            return None;
        }
        let class = target as usize;
        Some((class, self.weight.map_or(T::ONE, |weight| weight[class])))
    }
}

/// A target that is no class and not ignored, if there is one.
pub(crate) fn check_targets(targets: &[i64], classes: usize, ignore_index: i64) -> Option<i64> {
    let is_bad = |&target: &i64| target != ignore_index && !(0..classes as i64).contains(&target);
    targets.iter().copied().find(is_bad)
}

/// The losses of all targets in `out`, or one number there that is made of them; gives the sum of the targets' weights.
pub(crate) fn nll_loss<T: Real>(
    out: &mut [T],
    log_probabilities: &[T],
    targets: &[i64],
    classes: Classes<'_, T>,
    axis: Axis,
    reduction: Reduction,
) -> T {
    debug_assert_eq!(targets.len(), axis.outer * axis.inner);
    let loss = |place: usize, target: i64| {
        let (class, weight) = classes.get(target)?;
        let index = (place / axis.inner * axis.length + class) * axis.inner + place % axis.inner;
        Some((-weight * log_probabilities[index], weight))
    };
    if reduction == Reduction::None {
        for (place, (out, &target)) in out.iter_mut().zip(targets).enumerate() {
            *out = loss(place, target).map_or(T::ZERO, |(loss, _)| loss);
        }
        return T::ZERO;
    }
    // In pieces, so that rounding errors stay small.
    let (mut total, mut total_weight) = (T::ZERO, T::ZERO);
    for (piece, targets) in targets.chunks(128).enumerate() {
        let (mut sum, mut sum_weight) = (T::ZERO, T::ZERO);
        for (index, &target) in targets.iter().enumerate() {
            let (loss, weight) = loss(piece * 128 + index, target).unwrap_or_default();
            sum += loss;
            sum_weight += weight;
        }
        total += sum;
        total_weight += sum_weight;
    }
    out[0] = if reduction == Reduction::Mean { total / total_weight } else { total };
    total_weight
}

/// The gradient of [`nll_loss`] with respect to the log probabilities; `grad` is one for each target or, reduced, one number.
pub(crate) fn nll_loss_backward<T: Real>(
    grad_input: &mut [T],
    grad: &[T],
    targets: &[i64],
    classes: Classes<'_, T>,
    axis: Axis,
    reduction: Reduction,
    total_weight: T,
) {
    let width = axis.length * axis.inner;
    let grad_of = |place: usize| match reduction {
        Reduction::None => grad[place],
        Reduction::Mean => grad[0] / total_weight,
        Reduction::Sum => grad[0],
    };
    parallel::for_rows(grad_input, width, GRAIN.div_ceil(width.max(1)), |first, rows| {
        rows.fill(T::ZERO);
        for (row, out) in rows.chunks_exact_mut(width).enumerate() {
            let start = (first + row) * axis.inner;
            for (index, &target) in targets[start..start + axis.inner].iter().enumerate() {
                if let Some((class, weight)) = classes.get(target) {
                    out[class * axis.inner + index] = -weight * grad_of(start + index);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: Axis = Axis { outer: 70, length: 5, inner: 3 };

    fn inputs() -> (Vec<f64>, Vec<i64>, Vec<f64>) {
        let numbers = (0..AXIS.numel()).map(|index| -((index * 7919 % 1009) as f64) / 101.0).collect();
        let targets = (0..AXIS.outer * AXIS.inner).map(|index| if index % 7 == 0 { -100 } else { (index % 5) as i64 });
        (numbers, targets.collect(), vec![0.5, 1.0, 2.0, 0.0, 3.0])
    }

    #[test]
    fn losses_agree_with_the_definition() {
        let (x, targets, weights) = inputs();
        for weight in [None, Some(&weights[..])] {
            let classes = Classes { weight, ignore_index: -100 };
            let w = |target: i64| weight.map_or(1.0, |weight| weight[target as usize]);
            let losses: Vec<f64> = (0..targets.len())
                .map(|place| match targets[place] {
                    -100 => 0.0,
                    target => -w(target) * x[(place / 3 * 5 + target as usize) * 3 + place % 3],
                })
                .collect();
            let wanted_weight: f64 = targets.iter().filter(|&&target| target != -100).map(|&target| w(target)).sum();
            let mut out = vec![f64::NAN; targets.len()];
            assert_eq!(nll_loss(&mut out, &x, &targets, classes, AXIS, Reduction::None), 0.0);
            assert_eq!(out, losses);
            let total_weight = nll_loss(&mut out[..1], &x, &targets, classes, AXIS, Reduction::Sum);
            assert!((out[0] - losses.iter().sum::<f64>()).abs() < 1e-9 && (total_weight - wanted_weight).abs() < 1e-9);
            nll_loss(&mut out[..1], &x, &targets, classes, AXIS, Reduction::Mean);
            assert!((out[0] - losses.iter().sum::<f64>() / wanted_weight).abs() < 1e-9);

            let grad: Vec<f64> = (0..targets.len()).map(|place| place as f64).collect();
            let mut grad_input = vec![f64::NAN; x.len()];
            nll_loss_backward(&mut grad_input, &grad, &targets, classes, AXIS, Reduction::None, total_weight);
            check_gradient(&grad_input, &targets, |place, target| -w(target) * grad[place]);
            nll_loss_backward(&mut grad_input, &[2.0], &targets, classes, AXIS, Reduction::Sum, total_weight);
            check_gradient(&grad_input, &targets, |_, target| -w(target) * 2.0);
            nll_loss_backward(&mut grad_input, &[2.0], &targets, classes, AXIS, Reduction::Mean, total_weight);
            check_gradient(&grad_input, &targets, |_, target| -w(target) * (2.0 / total_weight));
        }
    }

    fn check_gradient(grad: &[f64], targets: &[i64], wanted: impl Fn(usize, i64) -> f64) {
        for (index, &grad) in grad.iter().enumerate() {
            let (place, class) = (index / 15 * 3 + index % 3, (index / 3 % 5) as i64);
            assert_eq!(grad, if targets[place] == class { wanted(place, class) } else { 0.0 });
        }
    }

    #[test]
    fn a_mean_of_nothing_is_nan() {
        let axis = Axis { outer: 2, length: 3, inner: 1 };
        let classes = Classes { weight: None, ignore_index: 1 };
        let mut out = [0.0f32];
        assert_eq!(nll_loss(&mut out, &[1.0; 6], &[1, 1], classes, axis, Reduction::Mean), 0.0);
        assert!(out[0].is_nan());
        nll_loss(&mut out, &[1.0; 6], &[1, 1], classes, axis, Reduction::Sum);
        assert_eq!(out[0], 0.0);
    }

    #[test]
    fn targets_that_are_no_class_are_found() {
        assert_eq!(check_targets(&[0, 2, -100, 1], 3, -100), None);
        assert_eq!(check_targets(&[0, 3], 3, -100), Some(3));
        assert_eq!(check_targets(&[-1, 3], 3, -100), Some(-1));
    }
}
