//! Tensors put together.

use super::{copy_, narrow, select, unsqueeze, view};
use crate::Tensor;
use crate::autograd::{Context, Grads, track_list};
use crate::dispatch::{Arg, Op, launch_list};
use crate::dtype::DType;
use crate::error::{Result, ensure};
use crate::kernels::copy as kernel;
use crate::shape::{Dims, list, wrap_dim};

/// Tensors one after another along a dimension.
///
/// # Errors
/// If there are none, or if they differ in another dimension.
pub fn cat(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::cat", "");
    ensure!(!tensors.is_empty(), Runtime, "torch.cat(): expected a non-empty list of Tensors");
    // An empty list of numbers goes with everything, for the sake of old programs.
    let is_nothing = |tensor: &&Tensor| tensor.ndim() == 1 && tensor.numel() == 0;
    let parts: Vec<&Tensor> = tensors.iter().filter(|tensor| !is_nothing(tensor)).collect();
    let Some(&first) = parts.first() else { return Ok(tensors[0].clone()) };
    for (index, tensor) in tensors.iter().enumerate() {
        ensure!(tensor.ndim() > 0, Runtime, "zero-dimensional tensor (at position {index}) cannot be concatenated");
    }
    let place = wrap_dim(dim, first.ndim())?;
    super::same_device(&parts)?;
    let mut shape: Dims = first.shape().into();
    shape[place] = 0;
    for (index, part) in parts.iter().enumerate() {
        ensure!(
            part.ndim() == first.ndim(),
            Runtime,
            "Tensors must have same number of dimensions: got {} and {}",
            first.ndim(),
            part.ndim()
        );
        for other in (0..shape.len()).filter(|&other| other != place) {
            ensure!(
                part.shape()[other] == shape[other],
                Runtime,
                "Sizes of tensors must match except in dimension {place}. Expected size {} but got size {} for tensor number \
                 {index} in the list.",
                shape[other],
                part.shape()[other]
            );
        }
        shape[place] += part.shape()[place];
    }
    let dtype = parts.iter().map(|part| part.dtype()).reduce(DType::promote).unwrap_or(first.dtype());
    let out = OP.run(&[Arg::Tensors(tensors), Arg::Int(dim)], || {
        let out = Tensor::allocate(&shape, dtype, first.device())?;
        let mut all = vec![Some(&out)];
        all.extend(parts.iter().copied().map(Some));
        launch_list("cat", &all, move |tensors| {
            let mut tensors = tensors.iter().copied().flatten();
            let Some(out) = tensors.next() else { return };
            let mut start = 0;
            for part in tensors {
                let offset = out.offset() + start * out.strides()[place];
                kernel::copy(&out.window(part.shape().into(), out.strides().into(), offset), part);
                start += part.shape()[place];
            }
        })?;
        Ok(out)
    })?;
    let inputs: Vec<Option<&Tensor>> = tensors.iter().map(Some).collect();
    track_list("CatBackward0", &inputs, &[&out], || {
        // None for those that were left out.
        let size = |tensor: &Tensor| (!is_nothing(&tensor)).then(|| tensor.shape()[place] as i64);
        let sizes: Vec<Option<i64>> = tensors.iter().map(size).collect();
        move |context: &Context<'_>, grads: &Grads| {
            let Some(grad) = &grads[0] else { return Ok(Grads::from_elem(None, sizes.len())) };
            let mut start = 0;
            let part = |(index, &size): (usize, &Option<i64>)| {
                let Some(size) = size else { return super::zeros(&[0], grad.dtype(), grad.device()).map(Some) };
                start += size;
                if context.needs(index) { narrow(grad, place as i64, start - size, size).map(Some) } else { Ok(None) }
            };
            sizes.iter().enumerate().map(part).collect()
        }
    })?;
    Ok(out)
}

/// Tensors of one shape along a new dimension.
///
/// # Errors
/// If there are none, or if they differ in shape.
pub fn stack(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::stack", "");
    ensure!(!tensors.is_empty(), Runtime, "stack expects a non-empty TensorList");
    let first = &tensors[0];
    for (index, tensor) in tensors.iter().enumerate() {
        ensure!(
            tensor.shape() == first.shape(),
            Runtime,
            "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {index}",
            list(first.shape()),
            list(tensor.shape())
        );
    }
    let place = wrap_dim(dim, first.ndim() + 1)? as i64;
    let out = OP.run(&[Arg::Tensors(tensors), Arg::Int(dim)], || {
        // Behind a dimension that is there already, the new one comes from dividing it.
        if (place as usize) < first.ndim() && first.numel() > 0 {
            let mut shape: Vec<i64> = first.shape().iter().map(|&size| size as i64).collect();
            shape.insert(place as usize, tensors.len() as i64);
            return view(&cat(tensors, place)?, &shape);
        }
        let parts: Result<Vec<Tensor>> = tensors.iter().map(|tensor| unsqueeze(tensor, place)).collect();
        cat(&parts?, place)
    })?;
    let inputs: Vec<Option<&Tensor>> = tensors.iter().map(Some).collect();
    track_list("StackBackward0", &inputs, &[&out], || {
        let count = tensors.len();
        move |context: &Context<'_>, grads: &Grads| {
            let Some(grad) = &grads[0] else { return Ok(Grads::from_elem(None, count)) };
            let part =
                |index| if context.needs(index) { select(grad, place, index as i64).map(Some) } else { Ok(None) };
            (0..count).map(part).collect()
        }
    })?;
    Ok(out)
}

/// The tensor as often along each dimension as asked for, which may be more dimensions than it has.
///
/// # Errors
/// If fewer are given than it has.
pub fn repeat(tensor: &Tensor, times: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::repeat", "");
    ensure!(
        times.len() >= tensor.ndim(),
        Runtime,
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
    );
    ensure!(
        times.iter().all(|&times| times >= 0),
        Runtime,
        "Trying to create tensor with negative dimension: {}",
        list(times)
    );
    let added = times.len() - tensor.ndim();
    // Each dimension is seen as two: how often, and what.
    let sizes = |dim: usize| dim.checked_sub(added).map_or(1, |own| tensor.shape()[own]);
    let out = OP.run(&[tensor.into(), Arg::Ints(times)], || {
        let shape: Dims = times.iter().enumerate().map(|(dim, &times)| times as usize * sizes(dim)).collect();
        let out = Tensor::allocate(&shape, tensor.dtype(), tensor.device())?;
        let (mut pairs, mut strides) = (Dims::new(), Dims::new());
        for (dim, &times) in times.iter().enumerate() {
            pairs.extend([times as usize, sizes(dim)]);
            strides.extend([out.strides()[dim] * sizes(dim), out.strides()[dim]]);
        }
        let own = tensor.ndim();
        let mut source = (Dims::new(), Dims::new());
        for dim in 0..own {
            source.0.extend([1, tensor.shape()[dim]]);
            source.1.extend([0, tensor.strides()[dim]]);
        }
        copy_(&out.window(pairs, strides, 0), &tensor.window(source.0, source.1, tensor.offset()))?;
        Ok(out)
    })?;
    let pairs: Vec<i64> = times.iter().enumerate().flat_map(|(dim, &times)| [times, sizes(dim) as i64]).collect();
    let shape: Dims = tensor.shape().into();
    crate::autograd::track("RepeatBackward0", [tensor], &out, || {
        let repeated: Vec<i64> = (0..pairs.len() as i64).step_by(2).collect();
        move |_: &Context<'_>, grad: &Tensor| {
            if repeated.is_empty() {
                return Ok([Some(grad.clone())]);
            }
            let sum = super::sum(&super::reshape(grad, &pairs)?, &repeated, false, None)?;
            Ok([Some(super::sum_to(&sum, &shape)?)])
        }
    })?;
    Ok(out)
}
