//! Numbers that a mask selects.

use super::index::Indexed;
use super::update::{Form, apart_from, check_fits};
use super::{cat, clone_contiguous, expand, flatten, item, same_device, slice, sum, view, r#where, zeros};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::plan::Operand;
use crate::kernels::pointwise as kernel;
use crate::kernels::update::Update;
use crate::shape::{Dims, broadcast, list, numel};
use mindtorch_profiler::Device;

/// A value that `target` is filled with: a tensor must be a single number. One on the host is looked at here.
pub(super) fn value_on<'a>(target: &Tensor, op: &str, value: Operand<'a>) -> Result<Operand<'a>> {
    let Operand::Tensor(tensor) = value else { return Ok(value) };
    ensure!(
        tensor.ndim() == 0,
        Runtime,
        "{op} only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
        tensor.ndim()
    );
    if tensor.device() == Device::Cpu {
        return Ok(Operand::Scalar(item(tensor)?));
    }
    same_device(&[target, tensor])?;
    Ok(value)
}

fn expanded(tensor: &Tensor, shape: &[usize]) -> Result<Tensor> {
    expand(tensor, &shape.iter().map(|&size| size as i64).collect::<Vec<_>>())
}

fn fill(target: &Tensor, mask: &Tensor, value: Operand<'_>) -> Result<()> {
    ensure!(
        mask.dtype() == DType::Bool,
        Runtime,
        "masked_fill_ only supports boolean masks, but got mask with dtype {}",
        mask.dtype().profiler_name()
    );
    same_device(&[target, mask])?;
    let common = broadcast(mask.shape(), target.shape())?;
    ensure!(
        common[..] == *target.shape(),
        Runtime,
        "output with shape {} doesn't match the broadcast shape {}",
        list(target.shape()),
        list(&common)
    );
    let (mask, compute) = (apart_from(target, mask)?, target.dtype().compute());
    match value_on(target, "masked_fill_", value)? {
        Operand::Scalar(value) => {
            check_fits(value, target.dtype())?;
            launch("masked_fill", [target, &mask], move |[target, mask]| {
                kernel::r#where(compute, target, [mask.into(), value.into(), target.into()]);
            })
        }
        Operand::Tensor(value) => launch("masked_fill", [target, &mask, value], move |[target, mask, value]| {
            kernel::r#where(compute, target, [mask.into(), value.into(), target.into()]);
        }),
    }
}

fn fill_rule(mask: &Tensor) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> + use<> {
    let mask = Saved::new(mask);
    move |context, grad| {
        let mask = mask.get(context)?;
        super::binary::both(
            context,
            || masked_fill(grad, &mask, Scalar::Int(0)),
            || sum(&r#where(&mask, grad, Scalar::Int(0))?, &[], false, None),
        )
    }
}

fn fill_name(value: Operand<'_>) -> &'static str {
    if value.tensor().is_some() { "MaskedFillBackward1" } else { "MaskedFillBackward0" }
}

/// A copy in which numbers are this value where the mask is true. Tensor and mask are expanded to one shape; the value
/// is a number or a tensor without dimensions.
///
/// # Errors
/// If the mask is not of truths, if it cannot be expanded, or if the value is too large.
pub fn masked_fill<'a>(input: &'a Tensor, mask: &'a Tensor, value: impl Into<Operand<'a>>) -> Result<Tensor> {
    static SCALAR: Op = Op::new("aten::masked_fill", "Scalar");
    static TENSOR: Op = Op::new("aten::masked_fill", "Tensor");
    let value = value.into();
    let op = if value.tensor().is_some() { &TENSOR } else { &SCALAR };
    let out = op.run(&[input.into(), mask.into(), value.into()], || {
        let shape = broadcast(mask.shape(), input.shape())?;
        let whole = if shape[..] == *input.shape() { input.alias() } else { expanded(input, &shape)? };
        masked_fill_(&clone_contiguous(&whole)?, mask, value)
    })?;
    track(fill_name(value), [Some(input), value.tensor()], &out, || fill_rule(mask))?;
    Ok(out)
}

/// [`masked_fill`] in place.
///
/// # Errors
/// As for [`masked_fill`], and if the mask has a larger shape or the tensor may not be changed.
pub fn masked_fill_<'a>(target: &'a Tensor, mask: &'a Tensor, value: impl Into<Operand<'a>>) -> Result<Tensor> {
    static SCALAR: Op = Op::new("aten::masked_fill_", "Scalar");
    static TENSOR: Op = Op::new("aten::masked_fill_", "Tensor");
    let (form, value) = (Form::InPlace, value.into());
    let op = if value.tensor().is_some() { &TENSOR } else { &SCALAR };
    let args = [target.into(), mask.into(), value.into()];
    let out = form.run(op, &args, target, |target| fill(target, mask, value))?;
    form.track(fill_name(value), [Some(target), value.tensor()], &out, || fill_rule(mask))?;
    Ok(out)
}

/// The numbers where the mask is true, one after another. Waits for the device.
///
/// # Errors
/// If the mask is not of truths, or if it and the tensor cannot be expanded to one shape.
pub fn masked_select(input: &Tensor, mask: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::masked_select", "");
    let out = OP.run(&[input.into(), mask.into()], || {
        ensure!(mask.dtype() == DType::Bool, Runtime, "masked_select: expected BoolTensor for mask");
        same_device(&[input, mask])?;
        let shape = broadcast(mask.shape(), input.shape())?;
        Indexed::new(&expanded(input, &shape)?, &[Some(expanded(mask, &shape)?)])?.pick("masked_select")
    })?;
    track("MaskedSelectBackward0", [input], &out, || {
        let (shape, mask) = (Dims::from(input.shape()), Saved::new(mask));
        move |context: &Context<'_>, grad: &Tensor| {
            static OP: Op = Op::new("aten::masked_select_backward", "");
            let mask = mask.get(context)?;
            let whole = OP.compose(&[grad.into(), (&mask).into()], || {
                let whole = zeros(&broadcast(mask.shape(), &shape)?, grad.dtype(), grad.device())?;
                masked_scatter_(&whole, &mask, grad)
            })?;
            Ok([Some(whole)])
        }
    })?;
    Ok(out)
}

fn scatter(target: &Tensor, mask: &Tensor, source: &Tensor) -> Result<()> {
    ensure!(
        target.dtype() == source.dtype(),
        Runtime,
        "masked_scatter: expected self and source to have same dtypes but got{} and {}",
        target.dtype().scalar_type(),
        source.dtype().scalar_type()
    );
    ensure!(
        mask.dtype() == DType::Bool,
        Runtime,
        "masked_scatter_ only supports boolean masks, but got mask with dtype {}",
        mask.dtype().scalar_type()
    );
    same_device(&[target, mask, source])?;
    let indexed = Indexed::new(target, &[Some(expanded(mask, target.shape())?)])?;
    let count = numel(&indexed.shape);
    ensure!(count <= source.numel(), Runtime, "Number of elements of source < number of ones in mask");
    let values = slice(&flatten(source, 0, -1)?, 0, None, Some(count as i64), 1)?;
    indexed.write("masked_scatter", &values, Update::Replace)
}

fn scatter_rule(
    mask: &Tensor,
    source: &Tensor,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> + use<> {
    let (mask, shape) = (Saved::new(mask), Dims::from(source.shape()));
    move |context, grad| {
        let mask = mask.get(context)?;
        super::binary::both(
            context,
            || masked_fill(grad, &mask, Scalar::Int(0)),
            || masked_scatter_backward(grad, &mask, &shape),
        )
    }
}

/// The gradient of the numbers that were used, and zeros for the others.
fn masked_scatter_backward(grad: &Tensor, mask: &Tensor, shape: &[usize]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::masked_scatter_backward", "");
    OP.compose(&[grad.into(), mask.into(), Arg::Sizes(shape)], || {
        let used = masked_select(grad, mask)?;
        let unused = zeros(&[numel(shape) - used.numel()], grad.dtype(), grad.device())?;
        view(&cat(&[used, unused], 0)?, &shape.iter().map(|&size| size as i64).collect::<Vec<_>>())
    })
}

/// A copy in which numbers are replaced, where the mask is true, by those of `source`, one after another. Tensor and
/// mask are expanded to one shape. Waits for the device.
///
/// # Errors
/// If the mask is not of truths, if it cannot be expanded, or if `source` has not enough numbers.
pub fn masked_scatter(input: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::masked_scatter", "");
    let out = OP.run(&[input.into(), mask.into(), source.into()], || {
        let shape = broadcast(mask.shape(), input.shape())?;
        masked_scatter_(&clone_contiguous(&expanded(input, &shape)?)?, mask, source)
    })?;
    track("MaskedScatterBackward0", [input, source], &out, || scatter_rule(mask, source))?;
    Ok(out)
}

/// [`masked_scatter`] in place.
///
/// # Errors
/// As for [`masked_scatter`], and if the mask has a larger shape or the tensor may not be changed.
pub fn masked_scatter_(target: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::masked_scatter_", "");
    let form = Form::InPlace;
    let args = [target.into(), mask.into(), source.into()];
    let out = form.run(&OP, &args, target, |target| scatter(target, mask, source))?;
    form.track("MaskedScatterBackward0", [Some(target), Some(source)], &out, || scatter_rule(mask, source))?;
    Ok(out)
}
