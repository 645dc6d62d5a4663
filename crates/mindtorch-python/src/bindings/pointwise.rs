//! Operations number by number.

use super::call::bindings;
use mindtorch::ops::{self, Rounding};
use mindtorch::{Error, ErrorKind, Result};

fn rounding(mode: Option<&str>) -> Result<Rounding> {
    match mode {
        None => Ok(Rounding::None),
        Some("trunc") => Ok(Rounding::Trunc),
        Some("floor") => Ok(Rounding::Floor),
        Some(other) => Err(Error::new(
            ErrorKind::Runtime,
            format!("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{other}'"),
        )),
    }
}

bindings! {
    add: "add(Operand input, Operand other, *, Scalar alpha=1)", Both => |a| ops::add(a.operand(0), a.operand(1), a.scalar(2));
    add_: "add_(Tensor input, Operand other, *, Scalar alpha=1)", Method => |a| ops::add_(a.tensor(0), a.operand(1), a.scalar(2));
    sub: "sub(Operand input, Operand other, *, Scalar alpha=1)", Both => |a| ops::sub(a.operand(0), a.operand(1), a.scalar(2));
    sub_: "sub_(Tensor input, Operand other, *, Scalar alpha=1)", Method => |a| ops::sub_(a.tensor(0), a.operand(1), a.scalar(2));
    subtract: "subtract(Operand input, Operand other, *, Scalar alpha=1)", Both => |a| ops::subtract(a.operand(0), a.operand(1), a.scalar(2));
    rsub: "rsub(Tensor input, Operand other, *, Scalar alpha=1)", Function => |a| ops::rsub(a.tensor(0), a.operand(1), a.scalar(2));
    mul: "mul(Operand input, Operand other)", Both => |a| ops::mul(a.operand(0), a.operand(1));
    mul_: "mul_(Tensor input, Operand other)", Method => |a| ops::mul_(a.tensor(0), a.operand(1));
    multiply: "multiply(Operand input, Operand other)", Both => |a| ops::multiply(a.operand(0), a.operand(1));
    div: "div(Operand input, Operand other, *, str? rounding_mode=None)", Both => |a| ops::div_with(a.operand(0), a.operand(1), rounding(a.opt_text(2))?);
    div_: "div_(Tensor input, Operand other, *, str? rounding_mode=None)", Method => |a| ops::div_(a.tensor(0), a.operand(1), rounding(a.opt_text(2))?);
    divide: "divide(Operand input, Operand other, *, str? rounding_mode=None)", Both => |a| ops::divide(a.operand(0), a.operand(1), rounding(a.opt_text(2))?);
    true_divide: "true_divide(Operand input, Operand other)", Both => |a| ops::true_divide(a.operand(0), a.operand(1));
    floor_divide: "floor_divide(Operand input, Operand other)", Both => |a| ops::floor_divide(a.operand(0), a.operand(1));
    floor_divide_: "floor_divide_(Tensor input, Operand other)", Method => |a| ops::floor_divide_(a.tensor(0), a.operand(1));
    remainder: "remainder(Operand input, Operand other)", Both => |a| ops::remainder(a.operand(0), a.operand(1));
    remainder_: "remainder_(Tensor input, Operand other)", Method => |a| ops::remainder_(a.tensor(0), a.operand(1));
    fmod: "fmod(Tensor input, Operand other)", Both => |a| ops::fmod(a.operand(0), a.operand(1));
    pow: "pow(Operand input, Operand exponent)", Both => |a| ops::pow(a.operand(0), a.operand(1));
    pow_: "pow_(Tensor input, Operand exponent)", Method => |a| ops::pow_(a.tensor(0), a.operand(1));
    maximum: "maximum(Tensor input, Tensor other)", Both => |a| ops::maximum(a.tensor(0), a.tensor(1));
    minimum: "minimum(Tensor input, Tensor other)", Both => |a| ops::minimum(a.tensor(0), a.tensor(1));
    atan2: "atan2(Tensor input, Operand other)", Both => |a| ops::atan2(a.tensor(0), a.operand(1));
    eq: "eq(Tensor input, Operand other)", Both => |a| ops::eq(a.tensor(0), a.operand(1));
    ne: "ne(Tensor input, Operand other)", Both => |a| ops::ne(a.tensor(0), a.operand(1));
    lt: "lt(Tensor input, Operand other)", Both => |a| ops::lt(a.tensor(0), a.operand(1));
    le: "le(Tensor input, Operand other)", Both => |a| ops::le(a.tensor(0), a.operand(1));
    gt: "gt(Tensor input, Operand other)", Both => |a| ops::gt(a.tensor(0), a.operand(1));
    ge: "ge(Tensor input, Operand other)", Both => |a| ops::ge(a.tensor(0), a.operand(1));
    logical_and: "logical_and(Tensor input, Operand other)", Both => |a| ops::logical_and(a.tensor(0), a.operand(1));
    logical_or: "logical_or(Tensor input, Operand other)", Both => |a| ops::logical_or(a.tensor(0), a.operand(1));
    logical_xor: "logical_xor(Tensor input, Operand other)", Both => |a| ops::logical_xor(a.tensor(0), a.operand(1));
    logical_not: "logical_not(Tensor input)", Both => |a| ops::logical_not(a.tensor(0));
    bitwise_and: "bitwise_and(Operand input, Operand other)", Both => |a| ops::bitwise_and(a.operand(0), a.operand(1));
    bitwise_or: "bitwise_or(Operand input, Operand other)", Both => |a| ops::bitwise_or(a.operand(0), a.operand(1));
    bitwise_xor: "bitwise_xor(Operand input, Operand other)", Both => |a| ops::bitwise_xor(a.operand(0), a.operand(1));
    bitwise_left_shift: "bitwise_left_shift(Tensor input, Operand other)", Both => |a| ops::shift_left(a.tensor(0), a.operand(1));
    bitwise_right_shift: "bitwise_right_shift(Tensor input, Operand other)", Both => |a| ops::shift_right(a.tensor(0), a.operand(1));
    bitwise_not: "bitwise_not(Tensor input)", Both => |a| ops::bitwise_not(a.tensor(0));
    eq_: "eq_(Tensor input, Operand other)", Method => |a| ops::eq_(a.tensor(0), a.operand(1));
    ne_: "ne_(Tensor input, Operand other)", Method => |a| ops::ne_(a.tensor(0), a.operand(1));
    lt_: "lt_(Tensor input, Operand other)", Method => |a| ops::lt_(a.tensor(0), a.operand(1));
    le_: "le_(Tensor input, Operand other)", Method => |a| ops::le_(a.tensor(0), a.operand(1));
    gt_: "gt_(Tensor input, Operand other)", Method => |a| ops::gt_(a.tensor(0), a.operand(1));
    ge_: "ge_(Tensor input, Operand other)", Method => |a| ops::ge_(a.tensor(0), a.operand(1));
    logical_and_: "logical_and_(Tensor input, Operand other)", Method => |a| ops::logical_and_(a.tensor(0), a.operand(1));
    logical_or_: "logical_or_(Tensor input, Operand other)", Method => |a| ops::logical_or_(a.tensor(0), a.operand(1));
    logical_xor_: "logical_xor_(Tensor input, Operand other)", Method => |a| ops::logical_xor_(a.tensor(0), a.operand(1));
    bitwise_and_: "bitwise_and_(Tensor input, Operand other)", Method => |a| ops::bitwise_and_(a.tensor(0), a.operand(1));
    bitwise_or_: "bitwise_or_(Tensor input, Operand other)", Method => |a| ops::bitwise_or_(a.tensor(0), a.operand(1));
    bitwise_xor_: "bitwise_xor_(Tensor input, Operand other)", Method => |a| ops::bitwise_xor_(a.tensor(0), a.operand(1));
    logical_not_: "logical_not_(Tensor input)", Method => |a| ops::logical_not_(a.tensor(0));
    bitwise_not_: "bitwise_not_(Tensor input)", Method => |a| ops::bitwise_not_(a.tensor(0));
    fmod_: "fmod_(Tensor input, Operand other)", Method => |a| ops::fmod_(a.tensor(0), a.operand(1));
    isnan: "isnan(Tensor input)", Both => |a| ops::isnan(a.tensor(0));
    isinf: "isinf(Tensor input)", Both => |a| ops::isinf(a.tensor(0));
    isfinite: "isfinite(Tensor input)", Both => |a| ops::isfinite(a.tensor(0));
    r#where: "where(Tensor condition, Operand input, Operand other)", Function => |a| ops::r#where(a.tensor(0), a.operand(1), a.operand(2));
    clamp: "clamp(Tensor input, Operand? min=None, Operand? max=None)", Both => |a| ops::clamp(a.tensor(0), a.opt_operand(1), a.opt_operand(2));
    clamp_: "clamp_(Tensor input, Operand? min=None, Operand? max=None)", Method => |a| ops::clamp_(a.tensor(0), a.opt_operand(1), a.opt_operand(2));
    clip: "clip(Tensor input, Operand? min=None, Operand? max=None)", Both => |a| ops::clip(a.tensor(0), a.opt_operand(1), a.opt_operand(2));
    clamp_min: "clamp_min(Tensor input, Operand min)", Both => |a| ops::clamp_min(a.tensor(0), a.opt_operand(1));
    clamp_min_: "clamp_min_(Tensor input, Operand min)", Method => |a| ops::clamp_(a.tensor(0), a.opt_operand(1), None);
    clamp_max: "clamp_max(Tensor input, Operand max)", Both => |a| ops::clamp_max(a.tensor(0), a.opt_operand(1));
    clamp_max_: "clamp_max_(Tensor input, Operand max)", Method => |a| ops::clamp_(a.tensor(0), None, a.opt_operand(1));
    lerp: "lerp(Tensor input, Tensor end, Operand weight)", Both => |a| ops::lerp(a.tensor(0), a.tensor(1), a.operand(2));
    lerp_: "lerp_(Tensor input, Tensor end, Operand weight)", Method => |a| ops::lerp_(a.tensor(0), a.tensor(1), a.operand(2));
    addcmul: "addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", Both => |a| ops::addcmul(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3));
    addcmul_: "addcmul_(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", Method => |a| ops::addcmul_(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3));
    addcdiv: "addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", Both => |a| ops::addcdiv(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3));
    addcdiv_: "addcdiv_(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", Method => |a| ops::addcdiv_(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3));
    gelu: "gelu(Tensor input, *, str approximate='none')", Function => |a| match a.text(1) {
        "none" => ops::gelu(a.tensor(0)),
        "tanh" => ops::gelu_tanh(a.tensor(0)),
        _ => Err(Error::new(ErrorKind::Runtime, "approximate argument must be either none or tanh.")),
    };
    silu: "silu(Tensor input)", Function => |a| ops::silu(a.tensor(0));
    silu_: "silu_(Tensor input)", Function => |a| ops::silu_(a.tensor(0));
}
