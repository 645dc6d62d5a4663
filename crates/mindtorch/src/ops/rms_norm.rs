//! Division by the root of the mean square over the last dimensions.

use super::float::{as_kernel_dtype, check_float, for_kernel, with_float};
use super::layer_norm::{Forward, Rows, check_shapes};
use super::to_dtype;
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch_list};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::norm as kernel;
use crate::tensor::access::{read, write};

/// The numbers divided by the root of their mean square over the last dimensions, then times the weight. Without an `eps`
/// it is the smallest that makes a difference to 1.
///
/// # Errors
/// If shapes or types do not go together.
pub fn rms_norm(input: &Tensor, normalized_shape: &[i64], weight: Option<&Tensor>, eps: Option<f64>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::rms_norm", "");
    let args = [input.into(), Arg::Ints(normalized_shape), weight.into(), eps.map_or(Arg::None, Arg::Float)];
    OP.compose(&args, || {
        let epsilon = if input.dtype() == DType::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        fused_rms_norm(input, normalized_shape, weight, eps.unwrap_or(epsilon))
    })
}

fn fused_rms_norm(input: &Tensor, normalized_shape: &[i64], weight: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::_fused_rms_norm", "");
    check_shapes(input, normalized_shape, "*", &[("weight", weight)])?;
    check_float("rms_norm", input.dtype())?;
    let rows = Rows::of(input, normalized_shape.len());
    let args = [input.into(), Arg::Ints(normalized_shape), weight.into(), Arg::Float(eps)];
    let (out, rstd) = OP.run(&args, || {
        let x = for_kernel(input)?;
        let (out, rstd) = (
            Tensor::allocate(x.shape(), x.dtype(), x.device())?,
            Tensor::allocate(&rows.shape, x.dtype(), x.device())?,
        );
        let weight = weight.map(|weight| as_kernel_dtype(weight, x.dtype())).transpose()?;
        let width = rows.width;
        if out.numel() > 0 {
            launch_list("rms_norm", &[Some(&out), Some(&rstd), Some(&x), weight.as_ref()], move |tensors| {
                let &[Some(out), Some(rstd), Some(x), weight] = tensors else { return };
                with_float!(x.dtype(), T => {
                    kernel::rms_norm::<T>(write(out), write(rstd), read(x), weight.map(read), width, eps as T);
                });
            })?;
        }
        Ok((to_dtype(&out, input.dtype())?, rstd))
    })?;
    track("FusedRmsNormBackward0", [Some(input), weight], &out, || {
        let (input, weight) = (Saved::new(input), weight.map(Saved::new));
        let normalized_shape = normalized_shape.to_vec();
        move |context: &Context<'_>, grad: &Tensor| {
            let weight = weight.as_ref().map(|weight| weight.get(context)).transpose()?;
            let saved = Forward {
                input: &input.get(context)?,
                weight: weight.as_ref(),
                mean: None,
                rstd: &rstd,
                normalized_shape: &normalized_shape,
                eps,
            };
            let [input, weight, _] = saved.backward(grad, [context.needs(0), context.needs(1), false])?;
            Ok([input, weight])
        }
    })?;
    Ok(out)
}
