//! Dropout: numbers that become zero by chance.

use super::{Rounding, bernoulli_, div_, empty_like, mul, mul_};
use crate::Tensor;
use crate::dispatch::{Arg, Op};
use crate::dtype::Scalar;
use crate::error::{Result, ensure};

/// Each number zero with probability `p`, else divided by the probability that it is not, if it is training.
///
/// # Errors
/// If `p` is no probability, or for integers.
pub fn dropout(input: &Tensor, p: f64, train: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::dropout", "");
    OP.compose(&[input.into(), Arg::Float(p), Arg::Bool(train)], || match factors(input, p, train)? {
        Some(factors) => mul(input, &factors),
        None => Ok(input.clone()),
    })
}

/// [`dropout`] in place.
///
/// # Errors
/// As for [`dropout`], and if the tensor may not be changed.
pub fn dropout_(input: &Tensor, p: f64, train: bool) -> Result<Tensor> {
    static OP: Op = Op::new("aten::dropout_", "");
    OP.compose(&[input.into(), Arg::Float(p), Arg::Bool(train)], || match factors(input, p, train)? {
        Some(factors) => mul_(input, &factors),
        None => Ok(input.clone()),
    })
}

/// What the numbers are multiplied with, if not with 1.
fn factors(input: &Tensor, p: f64, train: bool) -> Result<Option<Tensor>> {
    ensure!((0.0..=1.0).contains(&p), Runtime, "dropout probability has to be between 0 and 1, but got {p}");
    if !train || p == 0.0 || input.numel() == 0 {
        return Ok(None);
    }
    let kept = 1.0 - p;
    let factors = bernoulli_(&empty_like(input, None, None)?, kept, None)?;
    // Where nothing is kept there is nothing to make up for.
    if p < 1.0 {
        div_(&factors, Scalar::Float(kept), Rounding::None)?;
    }
    Ok(Some(factors))
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, leaf, numbers, tensor};
    use super::*;
    use crate::ops;

    #[test]
    fn what_is_left_makes_up_for_what_is_not() {
        let x = leaf(&[1.0; 1000], &[1000]);
        let y = dropout(&x, 0.5, true).unwrap();
        let numbers_of_y = numbers(&y);
        assert!(numbers_of_y.iter().all(|&number| number == 0.0 || number == 2.0));
        let kept = numbers_of_y.iter().filter(|&&number| number > 0.0).count();
        assert!((400..600).contains(&kept));
        assert_eq!(numbers(&gradients(&y, &[1.0; 1000], &[&x])[0]), numbers_of_y);
    }

    #[test]
    fn nothing_happens_outside_of_training() {
        let x = tensor(&[1.0, 2.0], &[2]);
        assert!(dropout(&x, 0.5, false).unwrap().is_same(&x));
        assert!(dropout_(&x, 0.0, true).unwrap().is_same(&x));
        assert_eq!(numbers(&dropout_(&x, 1.0, true).unwrap()), [0.0, 0.0]);
        assert!(dropout(&x, 1.5, true).is_err());
        assert!(dropout(&ops::to_dtype(&x, crate::DType::Int64).unwrap(), 0.5, true).is_err());
    }
}
