//! The rectifier, which torch makes of a bound.

use super::binary::Types;
use super::unary::{backward_kernel, is_differentiated, unary};
use crate::Tensor;
use crate::autograd::{Context, Saved, check_in_place, track, track_in_place};
use crate::dispatch::{Arg, Op};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::kernels::pointwise as kernel;

fn rule(out: &Tensor) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 1]> + use<> {
    let out = Saved::output(out);
    move |context, grad| Ok([Some(relu_backward(grad, &out.get(context)?)?)])
}

/// Zero where it is negative.
///
/// # Errors
/// If there is no memory.
pub fn relu(x: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::relu", "");
    static BOUND: Op = Op::new("aten::clamp_min", "");
    let out = OP.run(&[x.into()], || {
        BOUND.run(&[x.into(), Arg::Int(0)], || unary("relu", x, Types::Same, None, kernel::relu))
    })?;
    track("ReluBackward0", [x], &out, || rule(&out))?;
    Ok(out)
}

/// The same in place.
///
/// # Errors
/// If the tensor may not be changed.
pub fn relu_(x: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::relu_", "");
    static BOUND: Op = Op::new("aten::clamp_min_", "");
    check_in_place(x)?;
    OP.run(&[x.into()], || {
        BOUND.run(&[x.into(), Arg::Int(0)], || unary("relu", x, Types::Same, Some(x), kernel::relu))
    })?;
    track_in_place("ReluBackward0", [x], x, || rule(x))?;
    Ok(x.clone())
}

fn relu_backward(grad: &Tensor, y: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::threshold_backward", "");
    if is_differentiated(grad, y) {
        return super::r#where(&super::gt(y, Scalar::Int(0))?, grad, Scalar::Int(0));
    }
    backward_kernel(&OP, "threshold_backward", grad, y, kernel::relu_backward)
}
