//! Comparisons and logic: results that are truths, without gradients.

use super::binary::{Types, compute};
use super::operand::{Operand, result_type};
use super::unary::unary;
use crate::Tensor;
use crate::dispatch::Op;
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::pointwise as kernel;

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident: $aten:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// If the operands do not go together.
        pub fn $name<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
            static OP: Op = Op::new($aten, "Tensor");
            let (a, b) = (a.into(), b.into());
            OP.run(&[a.into(), b.into()], || compute(stringify!($name), [a, b], Types::Truth, None, kernel::$name))
        }
    )*};
}

comparisons! {
    /// Where they are equal.
    eq: "aten::eq";
    /// Where they differ.
    ne: "aten::ne";
    /// Where the first is less.
    lt: "aten::lt";
    /// Where the first is less or equal.
    le: "aten::le";
    /// Where the first is greater.
    gt: "aten::gt";
    /// Where the first is greater or equal.
    ge: "aten::ge";
    /// Where both are true.
    logical_and: "aten::logical_and";
    /// Where one is true.
    logical_or: "aten::logical_or";
    /// Where exactly one is true.
    logical_xor: "aten::logical_xor";
}

/// [`ge`] of an operand and a number.
pub(super) fn ge_of(a: Operand<'_>, b: Scalar) -> Result<Tensor> {
    ge(a, b)
}

macro_rules! bitwise {
    ($($(#[$doc:meta])* $name:ident: $aten:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// If the operands do not go together, or for floats.
        pub fn $name<'a>(a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> Result<Tensor> {
            static OP: Op = Op::new($aten, "Tensor");
            let (a, b) = (a.into(), b.into());
            let common = result_type(&[a, b]);
            ensure!(
                !common.is_float(),
                Runtime,
                "\"{}_cpu\" not implemented for '{}'",
                stringify!($name),
                common.scalar_type()
            );
            OP.run(&[a.into(), b.into()], || compute(stringify!($name), [a, b], Types::Same, None, kernel::$name))
        }
    )*};
}

bitwise! {
    /// The bits that both have.
    bitwise_and: "aten::bitwise_and";
    /// The bits that one has.
    bitwise_or: "aten::bitwise_or";
    /// The bits that exactly one has.
    bitwise_xor: "aten::bitwise_xor";
    /// The bits, moved up.
    shift_left: "aten::bitwise_left_shift";
    /// The bits, moved down.
    shift_right: "aten::bitwise_right_shift";
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
