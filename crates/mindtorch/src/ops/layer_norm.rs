//! Normalisation over the last dimensions.

use super::float::{as_kernel_dtype, check_float, for_kernel, is_differentiated, with_float};
use super::normalized::{Normalized, Statistics, allocate_gradients};
use super::reduce::kernel_dtype;
use super::{same_device, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch_list};
use crate::error::{Result, ensure};
use crate::kernels::norm::{self as kernel, Affine, Gradients};
use crate::shape::{Dims, list, numel};
use crate::tensor::access::{read, write};

/// The numbers less their mean, divided by their standard deviation, over the dimensions of `normalized_shape`, which are
/// the last; then times the weight, plus the bias.
///
/// # Errors
/// If shapes or types do not go together.
pub fn layer_norm(
    input: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::layer_norm", "");
    let args =
        [input.into(), Arg::Ints(normalized_shape), weight.into(), bias.into(), Arg::Float(eps), Arg::Bool(true)];
    OP.compose(&args, || native_layer_norm(input, normalized_shape, weight, bias, eps))
}

fn native_layer_norm(
    input: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::native_layer_norm", "");
    check_shapes(input, normalized_shape, "*, ", &[("weight", weight), ("bias", bias)])?;
    check_float("LayerNormKernelImpl", input.dtype())?;
    check_parameter_dtype(input, &[weight, bias])?;
    let rows = Rows::of(input, normalized_shape.len());
    let args = [input.into(), Arg::Ints(normalized_shape), weight.into(), bias.into(), Arg::Float(eps)];
    let (out, mean, rstd) = OP.run(&args, || {
        let x = for_kernel(input)?;
        let dtype = x.dtype();
        let (out, mean, rstd) = (
            Tensor::allocate(x.shape(), dtype, x.device())?,
            Tensor::allocate(&rows.shape, dtype, x.device())?,
            Tensor::allocate(&rows.shape, dtype, x.device())?,
        );
        let parameter = |tensor: Option<&Tensor>| tensor.map(|tensor| as_kernel_dtype(tensor, dtype)).transpose();
        let (weight, bias) = (parameter(weight)?, parameter(bias)?);
        let tensors = [Some(&out), Some(&mean), Some(&rstd), Some(&x), weight.as_ref(), bias.as_ref()];
        let width = rows.width;
        if out.numel() > 0 {
            launch_list("layer_norm", &tensors, move |tensors| {
                let &[Some(out), Some(mean), Some(rstd), Some(x), weight, bias] = tensors else { return };
                with_float!(x.dtype(), T => {
                    let affine = Affine { weight: weight.map(read), bias: bias.map(read) };
                    kernel::layer_norm::<T>(write(out), (write(mean), write(rstd)), read(x), affine, width, eps as T);
                });
            })?;
        }
        Ok((to_dtype(&out, input.dtype())?, mean, rstd))
    })?;
    track("NativeLayerNormBackward0", [Some(input), weight, bias], &out, || {
        let (input, weight) = (Saved::new(input), weight.map(Saved::new));
        let normalized_shape = normalized_shape.to_vec();
        move |context: &Context<'_>, grad: &Tensor| {
            let weight = weight.as_ref().map(|weight| weight.get(context)).transpose()?;
            let saved = Forward {
                input: &input.get(context)?,
                weight: weight.as_ref(),
                mean: Some(&mean),
                rstd: &rstd,
                normalized_shape: &normalized_shape,
                eps,
            };
            saved.backward(grad, [0, 1, 2].map(|input| context.needs(input)))
        }
    })?;
    Ok(out)
}

/// What was normalised, and by what.
pub(super) struct Forward<'a> {
    pub(super) input: &'a Tensor,
    pub(super) weight: Option<&'a Tensor>,
    /// None where it was not subtracted.
    pub(super) mean: Option<&'a Tensor>,
    pub(super) rstd: &'a Tensor,
    pub(super) normalized_shape: &'a [i64],
    pub(super) eps: f64,
}

impl Forward<'_> {
    /// The gradients of input, weight and bias, of those that are wanted.
    pub(super) fn backward(&self, grad: &Tensor, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        static LAYER: Op = Op::new("aten::native_layer_norm_backward", "");
        static RMS: Op = Op::new("aten::_fused_rms_norm_backward", "");
        let first = self.input.ndim() - self.normalized_shape.len();
        if is_differentiated([grad, self.input].into_iter().chain(self.weight)) {
            let dims: Vec<i64> = (first as i64..self.input.ndim() as i64).collect();
            let statistics = if self.mean.is_some() { Statistics::Own(&dims) } else { Statistics::MeanSquare(&dims) };
            let parameters = &self.input.shape()[first..];
            let normalized = Normalized { x: self.input, weight: self.weight, parameters, statistics, eps: self.eps };
            return normalized.gradients(grad, wanted);
        }
        let shape = Arg::Ints(self.normalized_shape);
        let (input, rstd, weight) = (self.input.into(), self.rstd.into(), self.weight.into());
        match self.mean {
            Some(mean) => {
                let args = [grad.into(), input, shape, mean.into(), rstd, weight];
                LAYER.run(&args, || self.launch(grad, wanted))
            }
            None => RMS.run(&[grad.into(), input, shape, rstd, weight], || self.launch(grad, wanted)),
        }
    }

    fn launch(&self, grad: &Tensor, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        let x = for_kernel(self.input)?;
        let grad = as_kernel_dtype(grad, x.dtype())?;
        let weight = self.weight.map(|weight| as_kernel_dtype(weight, x.dtype())).transpose()?;
        let parameters = &x.shape()[x.ndim() - self.normalized_shape.len()..];
        let gradients = allocate_gradients(&x, parameters, wanted)?;
        if x.numel() == 0 {
            return Ok(gradients);
        }
        let [of_input, of_weight, of_bias] = gradients.each_ref().map(Option::as_ref);
        let width = numel(parameters);
        let tensors =
            [of_input, of_weight, of_bias, Some(&grad), Some(&x), self.mean, Some(self.rstd), weight.as_ref()];
        launch_list("layer_norm_backward", &tensors, move |tensors| {
            let &[of_input, of_weight, of_bias, Some(grad), Some(x), mean, Some(rstd), weight] = tensors else {
                return;
            };
            with_float!(x.dtype(), T => {
                let (input, of_weight) = (of_input.map(write), of_weight.map(write));
                let (grad, x, rstd, weight) = (read::<T>(grad), read(x), read(rstd), weight.map(read));
                match mean {
                    Some(mean) => {
                        let gradients = Gradients { input, weight: of_weight, bias: of_bias.map(write) };
                        let saved = kernel::Saved { x, mean: read(mean), rstd, weight };
                        kernel::layer_norm_backward(gradients, grad, saved, width);
                    }
                    None => kernel::rms_norm_backward((input, of_weight), grad, x, rstd, weight, width),
                }
            });
        })?;
        Ok(gradients)
    }
}

/// A tensor as rows, each of which is normalised.
pub(super) struct Rows {
    pub(super) width: usize,
    /// The shape of what there is one of for each row.
    pub(super) shape: Dims,
}

impl Rows {
    /// Rows of the last `count` dimensions.
    pub(super) fn of(input: &Tensor, count: usize) -> Self {
        let (outer, inner) = input.shape().split_at(input.ndim() - count);
        let mut shape = Dims::from(outer);
        shape.resize(input.ndim(), 1);
        Self { width: numel(inner), shape }
    }
}

/// Fails unless input and parameters have the shape that is normalised; `before` is how a message shows what may be before it.
pub(super) fn check_shapes(
    input: &Tensor,
    normalized_shape: &[i64],
    before: &str,
    parameters: &[(&str, Option<&Tensor>)],
) -> Result<()> {
    ensure!(
        !normalized_shape.is_empty(),
        Runtime,
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got \
         normalized_shape = []"
    );
    let fits = |shape: &[usize]| shape.iter().map(|&size| size as i64).eq(normalized_shape.iter().copied());
    for &(name, parameter) in parameters {
        ensure!(
            parameter.is_none_or(|parameter| fits(parameter.shape())),
            Runtime,
            "Expected {name} to be of same shape as normalized_shape, but got {name} of shape {} and normalized_shape = {}",
            list(parameter.map_or(&[], Tensor::shape)),
            list(normalized_shape)
        );
    }
    let last = input.ndim().checked_sub(normalized_shape.len()).map(|first| &input.shape()[first..]);
    let sizes = normalized_shape.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    ensure!(
        last.is_some_and(fits),
        Runtime,
        "Given normalized_shape={}, expected input with shape [{before}{sizes}], but got input of size{}",
        list(normalized_shape),
        list(input.shape())
    );
    let tensors: Vec<&Tensor> =
        [input].into_iter().chain(parameters.iter().filter_map(|&(_, tensor)| tensor)).collect();
    same_device(&tensors)?;
    Ok(())
}

/// Fails unless weights are of the input's type; those of an input of 16 bits may be of 32.
pub(super) fn check_parameter_dtype(input: &Tensor, parameters: &[Option<&Tensor>]) -> Result<()> {
    for parameter in parameters.iter().flatten() {
        ensure!(
            parameter.dtype() == input.dtype() || parameter.dtype() == kernel_dtype(input.dtype()),
            Runtime,
            "mixed dtype (CPU): expect parameter to have scalar type of Float"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, kernel_gradients, leaf, numbers};
    use super::*;

    #[test]
    fn rows_get_mean_zero_and_deviation_one() {
        let (x, weight, bias) =
            (leaf(&[1.0, 3.0, -2.0, 2.0], &[2, 2]), leaf(&[2.0, 3.0], &[2]), leaf(&[0.5, 0.0], &[2]));
        let y = layer_norm(&x, &[2], Some(&weight), Some(&bias), 0.0).unwrap();
        assert_eq!(numbers(&y), [-1.5, 3.0, -1.5, 3.0]);
        let found = gradients(&y, &[1.0, 0.0, 0.0, 1.0], &[&x, &weight, &bias]);
        // Two numbers are always -1 and 1 then: moving one changes nothing.
        assert_eq!(numbers(&found[0]), [0.0; 4]);
        assert_eq!(numbers(&found[1]), [-1.0, 1.0]);
        assert_eq!(numbers(&found[2]), [1.0, 1.0]);
    }

    #[test]
    fn kernel_and_formula_agree() {
        let numbers_of_x = [0.3, -1.0, 2.0, 0.7, 0.1, -0.4];
        let grad = [1.0, -2.0, 0.5, 0.25, 3.0, -1.0];
        let (x, weight) = (leaf(&numbers_of_x, &[2, 3]), leaf(&[2.0, 3.0, -1.0], &[3]));
        for centred in [true, false] {
            let run = || match centred {
                true => layer_norm(&x, &[3], Some(&weight), None, 1e-3).unwrap(),
                false => super::super::rms_norm(&x, &[3], Some(&weight), Some(1e-3)).unwrap(),
            };
            let formula = gradients(&run(), &grad, &[&x, &weight]);
            let kernel = kernel_gradients(&run(), &grad, &[&x, &weight]);
            for (formula, kernel) in formula.iter().zip(&kernel) {
                assert_eq!(numbers(formula), numbers(kernel));
            }
        }
    }

    #[test]
    fn no_rows_give_parameters_no_gradient() {
        let (x, weight) = (leaf(&[], &[0, 2]), leaf(&[1.0, 1.0], &[2]));
        let y = layer_norm(&x, &[2], Some(&weight), None, 1e-5).unwrap();
        assert_eq!(numbers(&kernel_gradients(&y, &[], &[&weight])[0]), [0.0, 0.0]);
    }

    #[test]
    fn shapes_must_fit() {
        let error = layer_norm(&leaf(&[0.0; 6], &[2, 3]), &[4], None, None, 1e-5).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Given normalized_shape=[4], expected input with shape [*, 4], but got input of size[2, 3]"
        );
    }
}
