//! The gradients of normalisations. A kernel computes them, or, for those who ask for the gradient of a gradient, operations
//! that have gradients themselves.

use super::reduce::kernel_dtype;
use super::{add, mean, mul, rsqrt, sub, sum_to, to_dtype, zeros};
use crate::Tensor;
use crate::dtype::Scalar;
use crate::error::Result;

/// Where a kernel puts the gradients of `x`, weight and bias, of those that are wanted. Of no numbers they are zero.
pub(super) fn allocate_gradients(x: &Tensor, parameters: &[usize], wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
    let make = if x.numel() == 0 { zeros } else { Tensor::allocate };
    let gradient = |wanted: bool, shape: &[usize]| wanted.then(|| make(shape, x.dtype(), x.device())).transpose();
    Ok([gradient(wanted[0], x.shape())?, gradient(wanted[1], parameters)?, gradient(wanted[2], parameters)?])
}

/// What numbers are normalised by.
pub(super) enum Statistics<'a> {
    /// Their mean and variance over these dimensions.
    Own(&'a [i64]),
    /// Their mean square over these dimensions.
    MeanSquare(&'a [i64]),
    /// A mean and a variance that do not depend on them.
    Given(&'a Tensor, &'a Tensor),
}

/// `(x - mean) / sqrt(variance + eps) * weight + bias`. All can be broadcast to `x`.
pub(super) struct Normalized<'a> {
    pub(super) x: &'a Tensor,
    pub(super) weight: Option<&'a Tensor>,
    /// The shape of weight and bias.
    pub(super) parameters: &'a [usize],
    pub(super) statistics: Statistics<'a>,
    pub(super) eps: f64,
}

impl Normalized<'_> {
    /// The gradients of `x`, weight and bias, of those that are wanted.
    pub(super) fn gradients(&self, grad: &Tensor, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        let dtype = kernel_dtype(self.x.dtype());
        let grad = to_dtype(grad, dtype)?;
        let (centred, rstd) = self.centred(&to_dtype(self.x, dtype)?)?;
        let normal = mul(&centred, &rstd)?;
        let of_input = || -> Result<Tensor> {
            let slope = match self.weight {
                Some(weight) => mul(&grad, &to_dtype(weight, dtype)?)?,
                None => grad.clone(),
            };
            let along = |dims: &[i64]| mul(&normal, &mean(&mul(&slope, &normal)?, dims, true, None)?);
            let rest = match self.statistics {
                Statistics::Own(dims) => {
                    sub(&sub(&slope, &mean(&slope, dims, true, None)?, 1.into())?, &along(dims)?, 1.into())?
                }
                Statistics::MeanSquare(dims) => sub(&slope, &along(dims)?, 1.into())?,
                Statistics::Given(..) => slope,
            };
            mul(&rest, &rstd)
        };
        Ok([
            wanted[0].then(of_input).transpose()?,
            wanted[1].then(|| sum_to(&mul(&grad, &normal)?, self.parameters)).transpose()?,
            wanted[2].then(|| sum_to(&grad, self.parameters)).transpose()?,
        ])
    }

    /// The numbers without their mean, and what they are multiplied with.
    fn centred(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let inverse = |variance: &Tensor| rsqrt(&add(variance, Scalar::Float(self.eps), 1.into())?);
        match self.statistics {
            Statistics::Own(dims) => {
                let centred = sub(x, &mean(x, dims, true, None)?, 1.into())?;
                let rstd = inverse(&mean(&mul(&centred, &centred)?, dims, true, None)?)?;
                Ok((centred, rstd))
            }
            Statistics::MeanSquare(dims) => Ok((x.clone(), inverse(&mean(&mul(x, x)?, dims, true, None)?)?)),
            Statistics::Given(mean, variance) => Ok((sub(x, mean, 1.into())?, inverse(variance)?)),
        }
    }
}
