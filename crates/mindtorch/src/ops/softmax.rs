//! Softmax and its logarithm.

use super::float::{check_float, for_kernel, is_differentiated, with_float};
use super::{all, eq, exp, masked_fill, mul, sub, sum, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::kernels::axis::Axis;
use crate::kernels::softmax as kernel;
use crate::shape::wrap_dim;
use crate::tensor::access::{read, write};

#[derive(Clone, Copy)]
enum Form {
    Plain,
    Logarithm,
}

/// A form of softmax, with torch's names for it.
struct Softmax {
    form: Form,
    op: Op,
    inner: Op,
    backward: Op,
    node: &'static str,
    kernel: &'static str,
    backward_kernel: &'static str,
    /// What does not exist for integers.
    missing: &'static str,
}

static SOFTMAX: Softmax = Softmax {
    form: Form::Plain,
    op: Op::new("aten::softmax", "int"),
    inner: Op::new("aten::_softmax", ""),
    backward: Op::new("aten::_softmax_backward_data", ""),
    node: "SoftmaxBackward0",
    kernel: "softmax",
    backward_kernel: "softmax_backward",
    missing: "softmax_lastdim_kernel_impl",
};

static LOG_SOFTMAX: Softmax = Softmax {
    form: Form::Logarithm,
    op: Op::new("aten::log_softmax", "int"),
    inner: Op::new("aten::_log_softmax", ""),
    backward: Op::new("aten::_log_softmax_backward_data", ""),
    node: "LogSoftmaxBackward0",
    kernel: "log_softmax",
    backward_kernel: "log_softmax_backward",
    missing: "log_softmax_lastdim_kernel_impl",
};

/// The exponentials along a dimension, divided by their sum.
///
/// # Errors
/// If the dimension does not exist, or for integers.
pub fn softmax(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    SOFTMAX.run(input, dim, dtype)
}

/// The logarithm of [`softmax`].
///
/// # Errors
/// If the dimension does not exist, or for integers.
pub fn log_softmax(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    LOG_SOFTMAX.run(input, dim, dtype)
}

/// [`softmax`] along the last dimension, of which numbers that are all minus infinity become zero.
pub(super) fn safe_softmax(input: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::_safe_softmax", "");
    let out = OP.run(&[input.into(), Arg::Int(-1), Arg::None], || {
        let hidden = all(&eq(input, Scalar::Float(f64::NEG_INFINITY))?, &[-1], true)?;
        masked_fill(&softmax(input, -1, None)?, &hidden, Scalar::Float(0.0))
    })?;
    track("SafeSoftmaxBackward0", [input], &out, || {
        let result = Saved::output(&out);
        move |context: &Context<'_>, grad: &Tensor| Ok([Some(SOFTMAX.backward(grad, &result.get(context)?, -1)?)])
    })?;
    Ok(out)
}

impl Softmax {
    fn run(&'static self, input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
        self.op.compose(&[input.into(), Arg::Int(dim), dtype.into()], || match dtype {
            Some(dtype) => self.forward(&to_dtype(input, dtype)?, dim),
            None => self.forward(input, dim),
        })
    }

    fn forward(&'static self, input: &Tensor, dim: i64) -> Result<Tensor> {
        let axis = axis(input, dim)?;
        check_float(self.missing, input.dtype())?;
        let form = self.form;
        let out = self.inner.run(&[input.into(), Arg::Int(dim), Arg::Bool(false)], || {
            let x = for_kernel(input)?;
            let out = Tensor::allocate(x.shape(), x.dtype(), x.device())?;
            if out.numel() > 0 {
                launch(self.kernel, [&out, &x], move |[out, x]| {
                    with_float!(x.dtype(), T => match form {
                        Form::Plain => kernel::softmax::<T>(write(out), read(x), axis),
                        Form::Logarithm => kernel::log_softmax::<T>(write(out), read(x), axis),
                    });
                })?;
            }
            to_dtype(&out, input.dtype())
        })?;
        track(self.node, [input], &out, || {
            let result = Saved::output(&out);
            move |context: &Context<'_>, grad: &Tensor| Ok([Some(self.backward(grad, &result.get(context)?, dim)?)])
        })?;
        Ok(out)
    }

    fn backward(&'static self, grad: &Tensor, y: &Tensor, dim: i64) -> Result<Tensor> {
        if is_differentiated([grad, y]) {
            return self.formula(grad, y, dim);
        }
        let (axis, form) = (axis(y, dim)?, self.form);
        let args = [grad.into(), y.into(), Arg::Int(dim), Arg::DType(y.dtype())];
        self.backward.run(&args, || {
            let (grad, y) = (for_kernel(grad)?, for_kernel(y)?);
            let out = Tensor::allocate(y.shape(), y.dtype(), y.device())?;
            if out.numel() > 0 {
                launch(self.backward_kernel, [&out, &grad, &y], move |[out, grad, y]| {
                    with_float!(y.dtype(), T => match form {
                        Form::Plain => kernel::softmax_backward::<T>(write(out), read(grad), read(y), axis),
                        Form::Logarithm => kernel::log_softmax_backward::<T>(write(out), read(grad), read(y), axis),
                    });
                })?;
            }
            Ok(out)
        })
    }

    /// The gradient, made of operations that have gradients themselves.
    fn formula(&self, grad: &Tensor, y: &Tensor, dim: i64) -> Result<Tensor> {
        match self.form {
            Form::Plain => mul(y, &sub(grad, &sum(&mul(grad, y)?, &[dim], true, None)?, 1.into())?),
            Form::Logarithm => sub(grad, &mul(&exp(y)?, &sum(grad, &[dim], true, None)?)?, 1.into()),
        }
    }
}

/// The dimension that a kernel works along. A number without dimensions has one for this purpose.
fn axis(tensor: &Tensor, dim: i64) -> Result<Axis> {
    let place = wrap_dim(dim, tensor.ndim())?;
    Ok(Axis::new(if tensor.ndim() == 0 { &[1] } else { tensor.shape() }, place))
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, leaf, numbers};
    use super::*;

    #[test]
    fn rows_add_up_to_one_and_their_gradients_to_zero() {
        let x = leaf(&[0.0, 3.0f64.ln(), 0.0, 0.0], &[2, 2]);
        let y = softmax(&x, -1, None).unwrap();
        assert_eq!(numbers(&y), [0.25, 0.75, 0.5, 0.5]);
        let gradient = &gradients(&y, &[1.0, 0.0, 0.0, 2.0], &[&x])[0];
        assert_eq!(numbers(gradient), [0.1875, -0.1875, -0.5, 0.5]);
        let columns = softmax(&x, 0, Some(DType::Float32)).unwrap();
        assert_eq!(columns.dtype(), DType::Float32);
        assert_eq!(numbers(&sum(&columns, &[0], false, None).unwrap()), [1.0, 1.0]);
    }

    #[test]
    fn the_logarithm_has_a_second_derivative() {
        let x = leaf(&[0.0, 0.0], &[2]);
        let y = log_softmax(&x, 0, None).unwrap();
        assert_eq!(numbers(&exp(&y).unwrap()), [0.5, 0.5]);
        let first = &gradients(&y, &[1.0, 0.0], &[&x])[0];
        assert_eq!(numbers(first), [0.5, -0.5]);
        assert_eq!(numbers(&gradients(first, &[1.0, 0.0], &[&x])[0]), [-0.25, 0.25]);
    }

    #[test]
    fn nothing_and_a_number_without_dimensions_are_fine() {
        assert_eq!(softmax(&leaf(&[], &[3, 0]), 1, None).unwrap().shape(), [3, 0]);
        assert_eq!(numbers(&softmax(&leaf(&[7.0], &[]), -1, None).unwrap()), [1.0]);
        let error = softmax(&Tensor::from_slice(&[1i64], &[1]).unwrap(), 0, None).unwrap_err();
        assert_eq!(error.to_string(), "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'");
    }
}
