//! Steps of optimizers: all of an update in one loop over the parameters.

use super::real::Real;
use super::rows::{self, RowsMut};
use super::simd::vectorized;

/// So many parameters are worth another thread.
const GRAIN: usize = 100_000;

/// What a step of Adam is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adam {
    pub(crate) lr: f64,
    pub(crate) beta1: f64,
    pub(crate) beta2: f64,
    pub(crate) eps: f64,
    pub(crate) weight_decay: f64,
    /// Whether the parameters decay by themselves, as in `AdamW`, and not through the gradient.
    pub(crate) decoupled: bool,
    pub(crate) maximize: bool,
    /// The number of this step, from one on.
    pub(crate) step: f64,
}

/// Parameters, and what Adam keeps for each of them.
#[derive(Debug)]
pub(crate) struct AdamState<'a, T> {
    pub(crate) parameters: &'a mut [T],
    pub(crate) average: &'a mut [T],
    pub(crate) average_square: &'a mut [T],
    /// For `amsgrad`, the largest of the averages of squares so far.
    pub(crate) largest_square: Option<&'a mut [T]>,
}

/// One step of Adam.
pub(crate) fn adam<T: Real>(state: AdamState<'_, T>, grad: &[T], adam: Adam) {
    let factors = AdamFactors::new(adam);
    let AdamState { parameters, average, average_square, largest_square } = state;
    let count = parameters.len();
    let slices = (RowsMut::new(parameters, 1), RowsMut::new(average, 1), RowsMut::new(average_square, 1));
    let largest_square = largest_square.map(|largest| RowsMut::new(largest, 1));
    rows::for_each((slices, largest_square), count, GRAIN, |first, count, ((parameters, average, square), largest)| {
        let grad = &grad[first..first + count];
        let (parameters, average, square) = (parameters.data, average.data, square.data);
        vectorized(
            #[inline(always)]
            || match largest {
                None => factors.step(parameters, grad, average, square),
                Some(largest) => factors.step_with_largest(parameters, grad, average, square, largest.data),
            },
        );
    });
}

/// The numbers that are the same for all parameters.
#[derive(Clone, Copy)]
struct AdamFactors<T> {
    sign: T,
    /// Of the parameter, in its gradient.
    decay: T,
    /// Of the parameter, in its new value.
    keep: T,
    share1: T,
    beta2: T,
    share2: T,
    step_size: T,
    inverse_correction: T,
    eps: T,
}

impl<T: Real> AdamFactors<T> {
    fn new(adam: Adam) -> Self {
        let correction1 = 1.0 - adam.beta1.powf(adam.step);
        let correction2 = 1.0 - adam.beta2.powf(adam.step);
        let (keep, decay) =
            if adam.decoupled { (1.0 - adam.lr * adam.weight_decay, 0.0) } else { (1.0, adam.weight_decay) };
        Self {
            sign: if adam.maximize { -T::ONE } else { T::ONE },
            decay: T::from_f64(decay),
            keep: T::from_f64(keep),
            share1: T::from_f64(1.0 - adam.beta1),
            beta2: T::from_f64(adam.beta2),
            share2: T::from_f64(1.0 - adam.beta2),
            step_size: T::from_f64(adam.lr / correction1),
            inverse_correction: T::from_f64(1.0 / correction2.sqrt()),
            eps: T::from_f64(adam.eps),
        }
    }

    /// The new averages of the gradient and of its square.
    #[inline(always)]
    fn averages(self, parameter: T, grad: T, average: T, square: T) -> (T, T) {
        let grad = grad * self.sign;
        let grad = if self.decay == T::ZERO { grad } else { self.decay.mul_add(parameter, grad) };
        (self.share1.mul_add(grad - average, average), (self.share2 * grad).mul_add(grad, self.beta2 * square))
    }

    #[inline(always)]
    fn parameter(self, parameter: T, average: T, square: T) -> T {
        let denominator = square.sqrt().mul_add(self.inverse_correction, self.eps);
        parameter * self.keep - self.step_size * average / denominator
    }

    #[inline(always)]
    fn step(self, parameters: &mut [T], grad: &[T], average: &mut [T], square: &mut [T]) {
        for (((parameter, &grad), average), square) in parameters.iter_mut().zip(grad).zip(average).zip(square) {
            let (new_average, new_square) = self.averages(*parameter, grad, *average, *square);
            *parameter = self.parameter(*parameter, new_average, new_square);
            (*average, *square) = (new_average, new_square);
        }
    }

    #[inline(always)]
    fn step_with_largest(
        self,
        parameters: &mut [T],
        grad: &[T],
        average: &mut [T],
        square: &mut [T],
        largest: &mut [T],
    ) {
        let numbers = parameters.iter_mut().zip(grad).zip(average).zip(square).zip(largest);
        for ((((parameter, &grad), average), square), largest) in numbers {
            let (new_average, new_square) = self.averages(*parameter, grad, *average, *square);
            let new_largest = largest.maximum(new_square);
            *parameter = self.parameter(*parameter, new_average, new_largest);
            (*average, *square, *largest) = (new_average, new_square, new_largest);
        }
    }
}

/// What a step of stochastic gradient descent is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sgd {
    pub(crate) lr: f64,
    pub(crate) momentum: f64,
    pub(crate) dampening: f64,
    pub(crate) weight_decay: f64,
    pub(crate) nesterov: bool,
    pub(crate) maximize: bool,
    /// Whether there is no momentum yet, so that the gradient becomes it undamped.
    pub(crate) is_first: bool,
}

/// One step of stochastic gradient descent. `momentum` is what is kept for each parameter, where there is momentum.
pub(crate) fn sgd<T: Real>(parameters: &mut [T], momentum: Option<&mut [T]>, grad: &[T], sgd: Sgd) {
    let factors = SgdFactors::new(sgd);
    let count = parameters.len();
    let slices = (RowsMut::new(parameters, 1), momentum.map(|momentum| RowsMut::new(momentum, 1)));
    rows::for_each(slices, count, GRAIN, |first, count, (parameters, momentum)| {
        let grad = &grad[first..first + count];
        vectorized(
            #[inline(always)]
            || match momentum {
                None => factors.step(parameters.data, grad),
                // What is there before the first step is not read: it may be NaN.
                Some(momentum) if sgd.is_first => factors.first_step(parameters.data, grad, momentum.data),
                Some(momentum) => factors.step_with_momentum(parameters.data, grad, momentum.data),
            },
        );
    });
}

/// The numbers that are the same for all parameters.
#[derive(Clone, Copy)]
struct SgdFactors<T> {
    sign: T,
    decay: T,
    lr: T,
    momentum: T,
    /// Of the gradient in the new momentum.
    share: T,
    nesterov: bool,
}

impl<T: Real> SgdFactors<T> {
    fn new(sgd: Sgd) -> Self {
        Self {
            sign: if sgd.maximize { -T::ONE } else { T::ONE },
            decay: T::from_f64(sgd.weight_decay),
            lr: T::from_f64(sgd.lr),
            momentum: T::from_f64(sgd.momentum),
            share: T::from_f64(1.0 - sgd.dampening),
            nesterov: sgd.nesterov,
        }
    }

    #[inline(always)]
    fn grad(self, parameter: T, grad: T) -> T {
        let grad = grad * self.sign;
        if self.decay == T::ZERO { grad } else { self.decay.mul_add(parameter, grad) }
    }

    #[inline(always)]
    fn parameter(self, parameter: T, grad: T, momentum: T) -> T {
        let direction = if self.nesterov { momentum.mul_add(self.momentum, grad) } else { momentum };
        direction.mul_add(-self.lr, parameter)
    }

    #[inline(always)]
    fn step(self, parameters: &mut [T], grad: &[T]) {
        for (parameter, &grad) in parameters.iter_mut().zip(grad) {
            *parameter = self.grad(*parameter, grad).mul_add(-self.lr, *parameter);
        }
    }

    #[inline(always)]
    fn first_step(self, parameters: &mut [T], grad: &[T], momentum: &mut [T]) {
        for ((parameter, &grad), momentum) in parameters.iter_mut().zip(grad).zip(momentum) {
            let grad = self.grad(*parameter, grad);
            *parameter = self.parameter(*parameter, grad, grad);
            *momentum = grad;
        }
    }

    #[inline(always)]
    fn step_with_momentum(self, parameters: &mut [T], grad: &[T], momentum: &mut [T]) {
        for ((parameter, &grad), momentum) in parameters.iter_mut().zip(grad).zip(momentum) {
            let grad = self.grad(*parameter, grad);
            let new_momentum = grad.mul_add(self.share, *momentum * self.momentum);
            *parameter = self.parameter(*parameter, grad, new_momentum);
            *momentum = new_momentum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|index| ((index * 7919 + seed) % 1009) as f64 / 101.0 - 5.0).collect()
    }

    fn assert_close(got: &[f64], wanted: &[f64]) {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
        assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(close), "{got:?}\n{wanted:?}");
    }

    #[test]
    fn adam_agrees_with_the_definition() {
        let base = Adam {
            lr: 0.01,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
            decoupled: false,
            maximize: false,
            step: 3.0,
        };
        let variants = [
            base,
            Adam { weight_decay: 0.1, ..base },
            Adam { weight_decay: 0.1, decoupled: true, ..base },
            Adam { maximize: true, weight_decay: 0.1, step: 1.0, ..base },
        ];
        for (adam, amsgrad) in variants.into_iter().flat_map(|adam| [(adam, false), (adam, true)]) {
            for count in [0, 1, 37, 250_000] {
                let (parameters, grad, average) = (numbers(count, 1), numbers(count, 2), numbers(count, 3));
                let square: Vec<f64> = numbers(count, 4).into_iter().map(f64::abs).collect();
                let largest: Vec<f64> = numbers(count, 5).into_iter().map(f64::abs).collect();
                let mut got = (parameters.clone(), average.clone(), square.clone(), largest.clone());
                let state = AdamState {
                    parameters: &mut got.0,
                    average: &mut got.1,
                    average_square: &mut got.2,
                    largest_square: amsgrad.then_some(&mut got.3),
                };
                super::adam(state, &grad, adam);
                let mut wanted = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
                for index in 0..count {
                    let mut p = parameters[index];
                    let mut g = if adam.maximize { -grad[index] } else { grad[index] };
                    if adam.decoupled {
                        p -= adam.lr * adam.weight_decay * p;
                    } else {
                        g += adam.weight_decay * p;
                    }
                    let m = adam.beta1 * average[index] + (1.0 - adam.beta1) * g;
                    let v = adam.beta2 * square[index] + (1.0 - adam.beta2) * g * g;
                    let most = if amsgrad { largest[index].max(v) } else { largest[index] };
                    let used = if amsgrad { most } else { v };
                    let m_hat = m / (1.0 - adam.beta1.powf(adam.step));
                    let v_hat = used / (1.0 - adam.beta2.powf(adam.step));
                    wanted.0.push(p - adam.lr * m_hat / (v_hat.sqrt() + adam.eps));
                    wanted.1.push(m);
                    wanted.2.push(v);
                    wanted.3.push(most);
                }
                assert_close(&got.0, &wanted.0);
                assert_close(&got.1, &wanted.1);
                assert_close(&got.2, &wanted.2);
                assert_close(&got.3, &wanted.3);
            }
        }
    }

    #[test]
    fn descent_agrees_with_the_definition() {
        let base = Sgd {
            lr: 0.01,
            momentum: 0.0,
            dampening: 0.0,
            weight_decay: 0.0,
            nesterov: false,
            maximize: false,
            is_first: false,
        };
        let variants = [
            base,
            Sgd { weight_decay: 0.1, maximize: true, ..base },
            Sgd { momentum: 0.9, dampening: 0.2, ..base },
            Sgd { momentum: 0.9, dampening: 0.2, is_first: true, ..base },
            Sgd { momentum: 0.9, nesterov: true, weight_decay: 0.1, ..base },
        ];
        for sgd in variants {
            for count in [0, 1, 37, 250_000] {
                let (parameters, grad) = (numbers(count, 1), numbers(count, 2));
                let momentum = if sgd.is_first { vec![f64::NAN; count] } else { numbers(count, 3) };
                let mut got = (parameters.clone(), momentum.clone());
                super::sgd(&mut got.0, (sgd.momentum != 0.0).then_some(&mut got.1), &grad, sgd);
                let mut wanted = (Vec::new(), Vec::new());
                for index in 0..count {
                    let g =
                        if sgd.maximize { -grad[index] } else { grad[index] } + sgd.weight_decay * parameters[index];
                    let (mut direction, mut kept) = (g, momentum[index]);
                    if sgd.momentum != 0.0 {
                        kept = if sgd.is_first { g } else { sgd.momentum * kept + (1.0 - sgd.dampening) * g };
                        direction = if sgd.nesterov { g + sgd.momentum * kept } else { kept };
                    }
                    wanted.0.push(parameters[index] - sgd.lr * direction);
                    wanted.1.push(kept);
                }
                assert_close(&got.0, &wanted.0);
                assert_close(&got.1, &wanted.1);
            }
        }
    }
}
