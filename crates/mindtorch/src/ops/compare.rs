//! Comparisons and logic: results that are truths, without gradients.

use super::binary::{Types, compute};
use super::operand::{Operand, result_type};
use super::unary::unary;
use super::update::change;
use crate::Tensor;
use crate::autograd::check_in_place;
use crate::dispatch::Op;
use crate::dtype::DType;
use crate::error::{Result, ensure};
use crate::kernels::pointwise as kernel;

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident, $in_place:ident: $aten:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// If the operands do not go together.
        pub fn $name<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
            static OP: Op = Op::new($aten, "Tensor");
            let (a, b) = (a.into(), b.into());
            OP.run(&[a.into(), b.into()], || compute(stringify!($name), [a, b], Types::Truth, None, kernel::$name))
        }

        /// The same in place.
        ///
        /// # Errors
        /// If the operands do not go together, or if the first may not be changed.
        pub fn $in_place<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>) -> Result<Tensor> {
            static OP: Op = Op::new(concat!($aten, "_"), "Tensor");
            let b = b.into();
            let out = (a.dtype() == DType::Bool).then_some(a);
            let into = || compute(stringify!($name), [a.into(), b], Types::Truth, out, kernel::$name);
            change(&OP, &[a.into(), b.into()], a, |x| $name(x, b), into)
        }
    )*};
}

comparisons! {
    /// Where they are equal.
    eq, eq_: "aten::eq";
    /// Where they differ.
    ne, ne_: "aten::ne";
    /// Where the first is less.
    lt, lt_: "aten::lt";
    /// Where the first is less or equal.
    le, le_: "aten::le";
    /// Where the first is greater.
    gt, gt_: "aten::gt";
    /// Where the first is greater or equal.
    ge, ge_: "aten::ge";
    /// Where both are true.
    logical_and, logical_and_: "aten::logical_and";
    /// Where one is true.
    logical_or, logical_or_: "aten::logical_or";
    /// Where exactly one is true.
    logical_xor, logical_xor_: "aten::logical_xor";
}

fn check_bits(name: &str, operands: [Operand<'_>; 2]) -> Result<()> {
    let common = result_type(&operands);
    ensure!(!common.is_float(), Runtime, "\"{name}_cpu\" not implemented for '{}'", common.scalar_type());
    Ok(())
}

macro_rules! bitwise {
    ($($(#[$doc:meta])* $name:ident, $in_place:ident: $aten:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// If the operands do not go together, or for floats.
        pub fn $name<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
            static OP: Op = Op::new($aten, "Tensor");
            let (a, b) = (a.into(), b.into());
            check_bits(stringify!($name), [a, b])?;
            OP.run(&[a.into(), b.into()], || compute(stringify!($name), [a, b], Types::Same, None, kernel::$name))
        }

        /// The same in place.
        ///
        /// # Errors
        /// If the operands do not go together, for floats, or if the first may not be changed.
        pub fn $in_place<'a>(a: &'a Tensor, b: impl Into<Operand<'a>>) -> Result<Tensor> {
            static OP: Op = Op::new(concat!($aten, "_"), "Tensor");
            let b = b.into();
            check_in_place(a)?;
            check_bits(stringify!($name), [a.into(), b])?;
            let into = || compute(stringify!($name), [a.into(), b], Types::Same, Some(a), kernel::$name);
            change(&OP, &[a.into(), b.into()], a, |x| $name(x, b), into)
        }
    )*};
}

bitwise! {
    /// The bits that both have.
    bitwise_and, bitwise_and_: "aten::bitwise_and";
    /// The bits that one has.
    bitwise_or, bitwise_or_: "aten::bitwise_or";
    /// The bits that exactly one has.
    bitwise_xor, bitwise_xor_: "aten::bitwise_xor";
    /// The bits, moved up.
    shift_left, shift_left_: "aten::bitwise_left_shift";
    /// The bits, moved down.
    shift_right, shift_right_: "aten::bitwise_right_shift";
}

/// [`bitwise_and`] and its like, by the names that they have as operators.
macro_rules! operators {
    ($($name:ident, $in_place:ident: $aten:literal, $aten_in_place:literal => $function:ident, $function_in_place:ident;)*) => {$(
        /// The operator.
        ///
        /// # Errors
        /// If the operands do not go together, or for floats.
        pub fn $name(a: Operand<'_>, b: Operand<'_>) -> Result<Tensor> {
            static OP: Op = Op::new($aten, "Tensor");
            OP.compose(&[a.into(), b.into()], || $function(a, b))
        }

        /// The operator in place.
        ///
        /// # Errors
        /// If the operands do not go together, for floats, or if the first may not be changed.
        pub fn $in_place(a: &Tensor, b: Operand<'_>) -> Result<Tensor> {
            static OP: Op = Op::new($aten_in_place, "Tensor");
            OP.compose(&[a.into(), b.into()], || $function_in_place(a, b))
        }
    )*};
}

operators! {
    operator_and, operator_and_: "aten::__and__", "aten::__iand__" => bitwise_and, bitwise_and_;
    operator_or, operator_or_: "aten::__or__", "aten::__ior__" => bitwise_or, bitwise_or_;
    operator_xor, operator_xor_: "aten::__xor__", "aten::__ixor__" => bitwise_xor, bitwise_xor_;
}

macro_rules! tests {
    ($($(#[$doc:meta])* $name:ident: $aten:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// If there is no memory.
        pub fn $name(x: &Tensor) -> Result<Tensor> {
            static OP: Op = Op::new($aten, "");
            OP.run(&[x.into()], || unary(stringify!($name), x, Types::Truth, None, kernel::$name))
        }
    )*};
}

tests! {
    /// Where it is not a number.
    isnan: "aten::isnan";
    /// Where it is infinite.
    isinf: "aten::isinf";
    /// Where it is a number and not infinite.
    isfinite: "aten::isfinite";
    /// Where it is zero.
    logical_not: "aten::logical_not";
}

/// The bits that it does not have; for truths, the opposite.
///
/// # Errors
/// For floats.
pub fn bitwise_not(x: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::bitwise_not", "");
    ensure!(!x.dtype().is_float(), Runtime, "\"bitwise_not_cpu\" not implemented for '{}'", x.dtype().scalar_type());
    OP.run(&[x.into()], || {
        let kernel = if x.dtype() == DType::Bool { kernel::logical_not } else { kernel::bitwise_not };
        unary("bitwise_not", x, Types::Same, None, kernel)
    })
}

/// [`bitwise_not`] in place.
///
/// # Errors
/// For floats, or if the tensor may not be changed.
pub fn bitwise_not_(x: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::bitwise_not_", "");
    check_in_place(x)?;
    ensure!(!x.dtype().is_float(), Runtime, "\"bitwise_not_cpu\" not implemented for '{}'", x.dtype().scalar_type());
    let kernel = if x.dtype() == DType::Bool { kernel::logical_not } else { kernel::bitwise_not };
    change(&OP, &[x.into()], x, bitwise_not, || unary("bitwise_not", x, Types::Same, Some(x), kernel))
}

/// [`logical_not`] in place.
///
/// # Errors
/// If the tensor may not be changed.
pub fn logical_not_(x: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::logical_not_", "");
    let out = (x.dtype() == DType::Bool).then_some(x);
    let into = || unary("logical_not", x, Types::Truth, out, kernel::logical_not);
    change(&OP, &[x.into()], x, logical_not, into)
}
