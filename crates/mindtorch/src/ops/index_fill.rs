//! Indices of a dimension that are filled with one value.

use super::binary::both;
use super::index::Indexed;
use super::masked::value_on;
use super::update::{Form, check_fits};
use super::{clone, reshape, same_device, scalar_tensor, sum, to_dtype, r#where, zeros};
use crate::Tensor;
use crate::autograd::{Context, Saved};
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, bail, ensure};
use crate::kernels::plan::Operand;
use crate::kernels::update::Update;
use crate::shape::{Dims, wrap_dim};

fn fill(target: &Tensor, dim: i64, index: &Tensor, value: Operand<'_>) -> Result<()> {
    let place = wrap_dim(dim, target.ndim())?;
    same_device(&[target, index])?;
    ensure!(index.dtype() == DType::Int64, Index, "index_fill_(): Expected dtype int64 for index.");
    ensure!(index.ndim() <= 1, Runtime, "Index has to be a vector/scalar");
    let value = match value_on(target, "index_fill_", value)? {
        Operand::Scalar(value) => {
            check_fits(value, target.dtype())?;
            scalar_tensor(value, target.dtype(), target.device())?
        }
        Operand::Tensor(value) => to_dtype(value, target.dtype())?,
    };
    let indexed = Indexed::along(target, place, index, true)?;
    if let Some((bounds, index)) = indexed.first_outside() {
        bail!(Index, "{}", bounds.message(index));
    }
    indexed.write("index_fill", &value, Update::Replace)
}

fn fill_rule(
    shape: &[usize],
    dim: i64,
    index: &Tensor,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> + use<> {
    let (shape, index) = (Dims::from(shape), Saved::new(index));
    move |context, grad| {
        let index = index.get(context)?;
        let value = || {
            // An index that is in the list twice counts once.
            let place = wrap_dim(dim, shape.len())?;
            let mut lengths = vec![1; shape.len()];
            if let Some(length) = lengths.get_mut(place) {
                *length = -1;
            }
            let size = shape.get(place).copied().unwrap_or(1);
            let filled = index_fill(&zeros(&[size], DType::Bool, grad.device())?, 0, &index, Scalar::Bool(true))?;
            sum(&r#where(&reshape(&filled, &lengths)?, grad, Scalar::Int(0))?, &[], false, None)
        };
        both(context, || index_fill(grad, dim, &index, Scalar::Int(0)), value)
    }
}

fn fill_args<'a>(input: &'a Tensor, dim: i64, index: &'a Tensor, value: Operand<'a>) -> [Arg<'a>; 4] {
    [input.into(), Arg::Int(dim), index.into(), value.into()]
}

fn fill_name(value: Operand<'_>) -> &'static str {
    if value.tensor().is_some() { "IndexFillBackward1" } else { "IndexFillBackward0" }
}

/// A copy in which the indices of a dimension that are in the list have this value, a number or a tensor without
/// dimensions.
///
/// # Errors
/// If the index is no list of 64-bit integers, or if one does not exist.
pub fn index_fill<'a>(input: &'a Tensor, dim: i64, index: &'a Tensor, value: impl Into<Operand<'a>>) -> Result<Tensor> {
    static SCALAR: Op = Op::new("aten::index_fill", "int_Scalar");
    static TENSOR: Op = Op::new("aten::index_fill", "int_Tensor");
    let value = value.into();
    let op = if value.tensor().is_some() { &TENSOR } else { &SCALAR };
    let out = op.run(&fill_args(input, dim, index, value), || index_fill_(&clone(input)?, dim, index, value))?;
    Form::Copy.track(fill_name(value), [Some(input), value.tensor()], &out, || fill_rule(input.shape(), dim, index))?;
    Ok(out)
}

/// [`index_fill`] in place.
///
/// # Errors
/// As for [`index_fill`], and if the tensor may not be changed.
pub fn index_fill_<'a>(
    target: &'a Tensor,
    dim: i64,
    index: &'a Tensor,
    value: impl Into<Operand<'a>>,
) -> Result<Tensor> {
    static SCALAR: Op = Op::new("aten::index_fill_", "int_Scalar");
    static TENSOR: Op = Op::new("aten::index_fill_", "int_Tensor");
    let (form, value) = (Form::InPlace, value.into());
    let op = if value.tensor().is_some() { &TENSOR } else { &SCALAR };
    let out = form.run(op, &fill_args(target, dim, index, value), target, |target| fill(target, dim, index, value))?;
    form.track(fill_name(value), [Some(target), value.tensor()], &out, || fill_rule(target.shape(), dim, index))?;
    Ok(out)
}
