//! `+`, `<`, `[...]` and what else is written without a name.

use super::{PyTensor, unwrap, wrap};
use crate::bindings::args::scalar;
use crate::error::raise;
use crate::profiler::without_lock;
use mindtorch::ops::{self, Operand, Rounding};
use mindtorch::{Result, Scalar, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;

/// The other side of an operator.
enum Other {
    Tensor(Tensor),
    Scalar(Scalar),
}

impl Other {
    /// None if it is nothing that operators know, so that Python asks the other side.
    #[inline]
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(tensor) = value.cast::<PyTensor>() {
            return Ok(Some(Self::Tensor(unwrap(tensor))));
        }
        Ok(scalar(value)?.map(Self::Scalar))
    }

    fn operand(&self) -> Operand<'_> {
        match self {
            Self::Tensor(tensor) => Operand::Tensor(tensor),
            Self::Scalar(scalar) => Operand::Scalar(*scalar),
        }
    }
}

/// Numbers from which on other threads of Python's may run meanwhile.
const LARGE: usize = 4096;

#[inline]
fn binary<'py>(
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
    operation: impl Fn(Operand<'_>, Operand<'_>) -> Result<Tensor> + Send + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let Some(other) = Other::of(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
    let this = unwrap(slf);
    let result = if this.numel() >= LARGE {
        without_lock(py, || operation(Operand::Tensor(&this), other.operand()))
    } else {
        operation(Operand::Tensor(&this), other.operand())
    };
    wrap(py, result.map_err(raise)?)
}

fn check_single(tensor: &Tensor) -> PyResult<()> {
    if tensor.numel() == 1 {
        return Ok(());
    }
    Err(pyo3::exceptions::PyValueError::new_err("only one element tensors can be converted to Python scalars"))
}

fn in_place<'py>(
    slf: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
    operation: impl Fn(&Tensor, Operand<'_>) -> Result<Tensor> + Send + Sync,
) -> PyResult<()> {
    let Some(other) = Other::of(other)? else {
        return Err(PyTypeError::new_err(format!(
            "unsupported operand type for an in-place operator: '{}'",
            other.get_type().name()?
        )));
    };
    let this = unwrap(slf);
    without_lock(slf.py(), || operation(&this, other.operand())).map(drop).map_err(raise)
}

#[pymethods]
impl PyTensor {
    fn __add__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::add(a, b, 1.into()))
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::add(a, b, 1.into()))
    }

    fn __sub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::sub(a, b, 1.into()))
    }

    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| match b {
            Operand::Tensor(b) => ops::rsub(b, a, 1.into()),
            b => ops::sub(a, b, 1.into()),
        })
    }

    fn __mul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::mul(a, b))
    }

    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::mul(a, b))
    }

    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::div(a, b))
    }

    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::div(a, b))
    }

    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::floor_divide(a, b))
    }

    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::floor_divide(a, b))
    }

    fn __mod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::remainder(a, b))
    }

    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::remainder(a, b))
    }

    fn __and__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, ops::operator_and)
    }

    fn __rand__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::bitwise_and(a, b))
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, ops::operator_or)
    }

    fn __ror__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::bitwise_or(a, b))
    }

    fn __xor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, ops::operator_xor)
    }

    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::bitwise_xor(a, b))
    }

    fn __lshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::shift_left(a, b))
    }

    fn __rlshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::shift_left(a, b))
    }

    fn __rshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::shift_right(a, b))
    }

    fn __rrshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |b, a| ops::shift_right(a, b))
    }

    fn __pow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        _modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::pow(a, b))
    }

    fn __rpow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        _modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| ops::pow(b, a))
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let Ok(other) = other.cast::<PyTensor>() else { return Ok(py.NotImplemented().into_bound(py)) };
        let (this, other) = (unwrap(slf), unwrap(other));
        wrap(py, without_lock(py, || ops::matmul(&this, &other)).map_err(raise)?)
    }

    fn __iadd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        in_place(slf, other, |a, b| ops::add_(a, b, 1.into()))
    }

    fn __isub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        in_place(slf, other, |a, b| ops::sub_(a, b, 1.into()))
    }

    fn __imul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        in_place(slf, other, |a, b| ops::mul_(a, b))
    }

    fn __itruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        in_place(slf, other, |a, b| ops::div_(a, b, Rounding::None))
    }

    fn __ifloordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        in_place(slf, other, |a, b| ops::floor_divide_(a, b))
    }

    fn __imod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        in_place(slf, other, |a, b| ops::remainder_(a, b))
    }

    fn __ipow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        _modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        in_place(slf, other, |a, b| ops::pow_(a, b))
    }

    fn __iand__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        in_place(slf, other, ops::operator_and_)
    }

    fn __ior__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        in_place(slf, other, ops::operator_or_)
    }

    fn __ixor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        in_place(slf, other, ops::operator_xor_)
    }

    fn __neg__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        wrap(slf.py(), ops::neg(&unwrap(slf)).map_err(raise)?)
    }

    fn __pos__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __abs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        wrap(slf.py(), ops::abs(&unwrap(slf)).map_err(raise)?)
    }

    fn __invert__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        wrap(slf.py(), ops::bitwise_not(&unwrap(slf)).map_err(raise)?)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, move |a, b| match op {
            CompareOp::Eq => ops::eq(a, b),
            CompareOp::Ne => ops::ne(a, b),
            CompareOp::Lt => ops::lt(a, b),
            CompareOp::Le => ops::le(a, b),
            CompareOp::Gt => ops::gt(a, b),
            CompareOp::Ge => ops::ge(a, b),
        })
    }

    /// A tensor is itself, whatever is in it.
    fn __hash__(slf: &Bound<'_, Self>) -> usize {
        slf.as_ptr().addr() >> 4
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let tensor = unwrap(slf);
        match tensor.numel() {
            0 => Err(PyRuntimeError::new_err("Boolean value of Tensor with no values is ambiguous")),
            1 => Ok(without_lock(slf.py(), || ops::item(&tensor)).map_err(raise)?.to_f64() != 0.0),
            _ => Err(PyRuntimeError::new_err("Boolean value of Tensor with more than one value is ambiguous")),
        }
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        let tensor = unwrap(slf);
        check_single(&tensor)?;
        Ok(without_lock(slf.py(), || ops::item(&tensor)).map_err(raise)?.to_f64())
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let tensor = unwrap(slf);
        check_single(&tensor)?;
        match without_lock(py, || ops::item(&tensor)).map_err(raise)? {
            Scalar::Float(value) => py.get_type::<pyo3::types::PyInt>().call1((value,)),
            scalar => Ok(scalar.to_i64().into_pyobject(py)?.into_any()),
        }
    }

    fn __index__(slf: &Bound<'_, Self>) -> PyResult<i64> {
        let tensor = unwrap(slf);
        if tensor.dtype().is_float() || tensor.numel() != 1 {
            return Err(PyTypeError::new_err("only integer tensors of a single element can be converted to an index"));
        }
        Ok(without_lock(slf.py(), || ops::item(&tensor)).map_err(raise)?.to_i64())
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        unwrap(slf).shape().first().copied().ok_or_else(|| PyTypeError::new_err("len() of a 0-d tensor"))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = unwrap(slf);
        if tensor.ndim() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor"));
        }
        let parts = super::wrap_all(slf.py(), ops::unbind(&tensor, 0).map_err(raise)?)?;
        Ok(parts.try_iter()?.into_any())
    }

    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let tensor = unwrap(slf);
        let Some(other) = Other::of(value)? else {
            return Err(PyRuntimeError::new_err(format!(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a {}.",
                value.get_type()
            )));
        };
        let found = ops::eq(&tensor, other.operand()).and_then(|equal| ops::any(&equal, &[], false)).map_err(raise)?;
        Ok(ops::item(&found).map_err(raise)?.to_i64() != 0)
    }
}
