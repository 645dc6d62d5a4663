//! Numbers that are indexed one by one along a dimension.

use super::index::{first_outside, positions};
use super::update::{Form, apart_from, check_fits};
use super::{broadcast_to, new_zeros, remainder, reshape, same_device, scalar_tensor, slice};
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, bail, ensure};
use crate::kernels::bounds::Bounds;
use crate::kernels::gather as kernel;
use crate::kernels::plan::Operand;
use crate::kernels::update::Update;
use crate::shape::{Dims, broadcast, list, wrap_dim};
use crate::{Device, Tensor};

/// A tensor and an index into one of its dimensions. A number without dimensions has one here.
struct Lines {
    tensor: Tensor,
    index: Tensor,
    bounds: Bounds,
}

impl Lines {
    fn new(op: &str, tensor: &Tensor, dim: usize, index: &Tensor) -> Result<Self> {
        same_device(&[tensor, index])?;
        ensure!(
            matches!(index.dtype(), DType::Int64 | DType::Int32),
            Runtime,
            "{op}(): Expected dtype int32/int64 for index"
        );
        let line = |tensor: &Tensor| if tensor.ndim() == 0 { reshape(tensor, &[1]) } else { Ok(tensor.alias()) };
        let tensor = line(tensor)?;
        let bounds = Bounds { dim, size: tensor.shape()[dim], from_end: false };
        let index = positions(&line(index)?, tensor.device())?;
        Ok(Self { tensor, index, bounds })
    }

    /// The lines, if the dimension has all indices, as far as the host can see.
    fn checked(self) -> Result<Self> {
        match first_outside(self.bounds, &self.index) {
            Some(index) => bail!(Runtime, "{}", self.bounds.message(index)),
            None => Ok(self),
        }
    }
}

fn check_ndim(index: &Tensor, tensor: &Tensor, role: &str) -> Result<()> {
    ensure!(
        index.ndim().max(1) == tensor.ndim().max(1),
        Runtime,
        "Index tensor must have the same number of dimensions as {role} tensor"
    );
    Ok(())
}

/// A dimension, other than the indexed one, in which an index is larger than a tensor.
fn exceeding(index: &Tensor, tensor: &Tensor, but: Option<usize>) -> Option<usize> {
    let mut sizes = index.shape().iter().zip(tensor.shape()).enumerate();
    sizes.find(|&(dim, (index, own))| Some(dim) != but && index > own).map(|(dim, _)| dim)
}

/// For every index, the number at its position, but with this index in dimension `dim`.
///
/// # Errors
/// If the index does not fit the tensor, or if one does not exist.
pub fn gather(input: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::gather", "");
    let out = OP.run(&[input.into(), Arg::Int(dim), index.into(), Arg::Bool(false)], || {
        let out = Tensor::allocate(index.shape(), input.dtype(), input.device())?;
        let dim = wrap_dim(dim, input.ndim())?;
        if index.numel() == 0 {
            return Ok(out);
        }
        check_ndim(index, input, "input")?;
        if let Some(larger) = exceeding(index, input, Some(dim)) {
            bail!(
                Runtime,
                "Size does not match at dimension {larger} expected index {} to be no larger than self {} apart from \
                 dimension {dim}",
                list(index.shape()),
                list(input.shape())
            );
        }
        let lines = Lines::new("gather", input, dim, index)?;
        let bounds = lines.bounds;
        // The host is told of an index outside by the kernel itself: to look for it before takes as long as the rest.
        if out.device() == Device::Cpu {
            if let Err(index) = kernel::gather(&out, &lines.tensor, &lines.index, bounds) {
                bail!(Runtime, "{}", bounds.message(index));
            }
            return Ok(out);
        }
        launch("gather", [&out, &lines.tensor, &lines.index], move |[out, tensor, index]| {
            if let Err(index) = kernel::gather(out, tensor, index, bounds) {
                bounds.panic(index);
            }
        })?;
        Ok(out)
    })?;
    track("GatherBackward0", [input], &out, || {
        let (shape, index) = (Dims::from(input.shape()), Saved::new(index));
        move |context: &Context<'_>, grad: &Tensor| {
            Ok([Some(gather_backward(grad, &shape, dim, &index.get(context)?)?)])
        }
    })?;
    Ok(out)
}

fn gather_backward(grad: &Tensor, shape: &[usize], dim: i64, index: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::gather_backward", "");
    OP.compose(&[grad.into(), Arg::Sizes(shape), Arg::Int(dim), index.into(), Arg::Bool(false)], || {
        scatter_add_(&new_zeros(grad, shape)?, dim, index, grad)
    })
}

/// Writes values to where [`gather`] would read.
fn write(target: &Tensor, dim: i64, index: &Tensor, values: Operand<'_>, how: Update) -> Result<()> {
    if index.numel() == 0 {
        return Ok(());
    }
    let lines = Lines::new("scatter", target, wrap_dim(dim, target.ndim())?, index)?.checked()?;
    let values = match values {
        Operand::Scalar(value) => {
            check_fits(value, target.dtype())?;
            scalar_tensor(value, target.dtype(), target.device())?
        }
        Operand::Tensor(source) => {
            ensure!(
                source.dtype() == target.dtype(),
                Runtime,
                "scatter(): Expected self.dtype to be equal to src.dtype"
            );
            same_device(&[target, source])?;
            source.clone()
        }
    };
    let (values, index) = (apart_from(target, &values)?, apart_from(target, &lines.index)?);
    let bounds = lines.bounds;
    launch("scatter", [&lines.tensor, &values, &index], move |[target, values, index]| {
        kernel::scatter(target, values, index, bounds, how);
    })
}

/// Checks the shapes of a tensor that is scattered to and an index.
fn check_scatter(input: &Tensor, dim: i64, index: &Tensor, source: Option<&Tensor>) -> Result<()> {
    let dim = wrap_dim(dim, input.ndim())?;
    if index.numel() == 0 {
        return Ok(());
    }
    check_ndim(index, input, "self")?;
    let mut fits = exceeding(index, input, Some(dim)).is_none();
    let mut of_source = String::new();
    if let Some(source) = source {
        check_ndim(index, source, "src")?;
        fits &= exceeding(index, source, None).is_none();
        of_source = format!(" and to be no larger size than src {}", list(source.shape()));
    }
    ensure!(
        fits,
        Runtime,
        "Expected index {} to be no larger than self {} apart from dimension {dim}{of_source}",
        list(index.shape()),
        list(input.shape())
    );
    Ok(())
}

/// The part of a source that there is an index for.
fn part_with_index(source: &Tensor, index: &Tensor) -> Result<Tensor> {
    let mut part = source.clone();
    for (dim, (&size, &own)) in index.shape().iter().zip(source.shape()).enumerate() {
        if size < own {
            part = slice(&part, dim as i64, Some(0), Some(size as i64), 1)?;
        }
    }
    Ok(part)
}

fn scatter_as(form: Form, input: &Tensor, dim: i64, index: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    static SOURCE: Op = Op::new("aten::scatter", "src");
    static SOURCE_: Op = Op::new("aten::scatter_", "src");
    static VALUE: Op = Op::new("aten::scatter", "value");
    static VALUE_: Op = Op::new("aten::scatter_", "value");
    let (op, name) = match (form, value) {
        (Form::Copy, Operand::Tensor(_)) => (&SOURCE, "ScatterBackward0"),
        (Form::InPlace, Operand::Tensor(_)) => (&SOURCE_, "ScatterBackward0"),
        (Form::Copy, Operand::Scalar(_)) => (&VALUE, "ScatterBackward1"),
        (Form::InPlace, Operand::Scalar(_)) => (&VALUE_, "ScatterBackward1"),
    };
    check_scatter(input, dim, index, value.tensor())?;
    let part = value.tensor().map(|source| part_with_index(source, index)).transpose()?;
    let value = part.as_ref().map_or(value, Operand::Tensor);
    let out = form.run(op, &[input.into(), Arg::Int(dim), index.into(), value.into()], input, |target| {
        write(target, dim, index, value, Update::Replace)
    })?;
    form.track(name, [Some(input), part.as_ref()], &out, || {
        let index = Saved::new(index);
        move |context: &Context<'_>, grad: &Tensor| {
            let index = index.get(context)?;
            let own = if context.needs(0) { Some(scatter(grad, dim, &index, Scalar::Int(0))?) } else { None };
            Ok([own, if context.needs(1) { Some(gather(grad, dim, &index)?) } else { None }])
        }
    })?;
    Ok(out)
}

/// A copy in which, for every index, a number of `value`, or `value` itself, is at its position, but with this index in
/// dimension `dim`.
///
/// # Errors
/// If the index does not fit the tensor and the source, or if one does not exist.
pub fn scatter<'a>(input: &Tensor, dim: i64, index: &Tensor, value: impl Into<Operand<'a>>) -> Result<Tensor> {
    scatter_as(Form::Copy, input, dim, index, value.into())
}

/// [`scatter`] in place.
///
/// # Errors
/// As for [`scatter`], and if the tensor may not be changed.
pub fn scatter_<'a>(target: &Tensor, dim: i64, index: &Tensor, value: impl Into<Operand<'a>>) -> Result<Tensor> {
    scatter_as(Form::InPlace, target, dim, index, value.into())
}

fn scatter_add_as(
    form: Form,
    op: &'static Op,
    input: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
) -> Result<Tensor> {
    check_scatter(input, dim, index, Some(source))?;
    let source = part_with_index(source, index)?;
    let out = form.run(op, &[input.into(), Arg::Int(dim), index.into(), (&source).into()], input, |target| {
        write(target, dim, index, (&source).into(), Update::Add)
    })?;
    form.track("ScatterAddBackward0", [Some(input), Some(&source)], &out, || {
        let index = Saved::new(index);
        move |context: &Context<'_>, grad: &Tensor| {
            super::binary::both(context, || Ok(grad.clone()), || gather(grad, dim, &index.get(context)?))
        }
    })?;
    Ok(out)
}

/// A copy in which, for every index, a number of `source` is added at its position, but with this index in dimension
/// `dim`.
///
/// # Errors
/// If the index does not fit the tensor and the source, or if one does not exist.
pub fn scatter_add(input: &Tensor, dim: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::scatter_add", "");
    scatter_add_as(Form::Copy, &OP, input, dim, index, source)
}

/// [`scatter_add`] in place.
///
/// # Errors
/// As for [`scatter_add`], and if the tensor may not be changed.
pub fn scatter_add_(target: &Tensor, dim: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::scatter_add_", "");
    scatter_add_as(Form::InPlace, &OP, target, dim, index, source)
}

/// [`gather`] with input and indices expanded to each other's shape, and with indices that count around: one beyond the
/// end is one from the beginning. Without a dimension, both are seen as one.
///
/// # Errors
/// If they cannot be expanded, or if the indices are no 64-bit integers.
pub fn take_along_dim(input: &Tensor, indices: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::take_along_dim", "");
    OP.compose(&[input.into(), indices.into(), dim.into()], || {
        let Some(dim) = dim else { return gather(&reshape(input, &[-1])?, 0, &reshape(indices, &[-1])?) };
        ensure!(
            indices.dtype() == DType::Int64,
            Runtime,
            "torch.take_along_dim(): dtype of indices should be Long but got {}",
            indices.dtype().scalar_type()
        );
        ensure!(
            input.ndim() == indices.ndim(),
            Runtime,
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got {} \
             dimensions for input, and {} dimensions for indices",
            input.ndim(),
            indices.ndim()
        );
        ensure!(input.ndim() > 0, Index, "Dimension specified as {dim} but tensor has no dimensions");
        let dim = wrap_dim(dim, input.ndim())?;
        let expand_but = |tensor: &Tensor, other: &Tensor| -> Result<Tensor> {
            let mut shape = Dims::from(other.shape());
            shape[dim] = tensor.shape()[dim];
            let shape = broadcast(tensor.shape(), &shape)?;
            broadcast_to(tensor, &shape.iter().map(|&size| size as i64).collect::<Vec<_>>())
        };
        let (whole, positions) = (expand_but(input, indices)?, expand_but(indices, input)?);
        let size = input.shape()[dim] as i64;
        let positions = if size == 0 { positions } else { remainder(&positions, Scalar::Int(size))? };
        gather(&whole, dim as i64, &positions)
    })
}
