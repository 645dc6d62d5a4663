//! Indexing with tensors.

use super::update::apart_from;
use super::{contiguous, device_name, expand, nonzero, reshape, select, to, unbind, zeros};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch_list};
use crate::dtype::DType;
use crate::error::{Result, bail, ensure};
use crate::kernels::bounds::Bounds;
use crate::kernels::index::{self as kernel, BoundsList};
use crate::kernels::update::Update;
use crate::shape::{Dims, broadcast, list, numel, view_strides};
use crate::tensor::access::read;
use mindtorch_profiler::Device;

/// A tensor and indices into it, as kernels see them.
pub(super) struct Indexed {
    /// The dimensions that are indexed lie together, from `first` on.
    tensor: Tensor,
    first: usize,
    bounds: BoundsList,
    /// Contiguous 64-bit integers of one shape, one tensor for each dimension.
    indices: Vec<Tensor>,
    /// The shape of what the indices select.
    pub(super) shape: Dims,
}

impl Indexed {
    /// `tensor[indices]`, where no index is everything, and truths select where they are true. Where the dimensions
    /// that are indexed do not lie together, they come first.
    pub(super) fn new(tensor: &Tensor, indices: &[Option<Tensor>]) -> Result<Self> {
        let (mut tensor, indices) = without_masks(tensor, indices)?;
        let mut order: Vec<usize> = (0..tensor.ndim()).collect();
        let is_indexed = |dim: &usize| indices.get(*dim).is_some_and(Option::is_some);
        let dims: Vec<usize> = order.iter().copied().filter(is_indexed).collect();
        ensure!(!dims.is_empty(), Index, "at least one index must be provided");
        let mut first = dims[0];
        if dims[dims.len() - 1] - first >= dims.len() {
            order.sort_by_key(|dim| !is_indexed(dim));
            let pick = |of: &[usize]| order.iter().map(|&dim| of[dim]).collect::<Dims>();
            tensor = tensor.window(pick(tensor.shape()), pick(tensor.strides()), tensor.offset());
            first = 0;
        }
        let (names, indices): (Vec<usize>, Vec<Tensor>) = indices.into_iter().flatten().unzip();
        let common = common_shape(&indices)?;
        let sizes = &tensor.shape()[first..first + names.len()];
        ensure!(!sizes.contains(&0) || numel(&common) == 0, Index, "index is out of bounds for dimension with size 0");
        let bounds: BoundsList =
            names.iter().zip(sizes).map(|(&dim, &size)| Bounds { dim, size, from_end: true }).collect();
        let expanded: Vec<i64> = common.iter().map(|&size| size as i64).collect();
        let indices: Result<Vec<Tensor>> =
            indices.iter().map(|index| positions(&expand(index, &expanded)?, tensor.device())).collect();
        let indexed = Self {
            shape: result_shape(&tensor, first, names.len(), &common),
            tensor,
            first,
            bounds,
            indices: indices?,
        };
        if let Some((bounds, index)) = indexed.first_outside() {
            bail!(Index, "{}", bounds.message(index));
        }
        Ok(indexed)
    }

    /// One dimension, indexed with a list. Whether the indices exist is left to the caller to check.
    pub(super) fn along(tensor: &Tensor, dim: usize, index: &Tensor, from_end: bool) -> Result<Self> {
        let tensor = if tensor.ndim() == 0 { reshape(tensor, &[1])? } else { tensor.alias() };
        let indices = vec![positions(&reshape(index, &[-1])?, tensor.device())?];
        let bounds = BoundsList::from_iter([Bounds { dim, size: tensor.shape()[dim], from_end }]);
        let shape = result_shape(&tensor, dim, 1, indices[0].shape());
        Ok(Self { tensor, first: dim, bounds, indices, shape })
    }

    /// An index that its dimension does not have, if the host can see it. A device finds out when it gets there.
    pub(super) fn first_outside(&self) -> Option<(Bounds, i64)> {
        self.bounds.iter().zip(&self.indices).find_map(|(&bounds, index)| Some((bounds, first_outside(bounds, index)?)))
    }

    /// What the indices select.
    pub(super) fn pick(&self, name: &'static str) -> Result<Tensor> {
        let out = Tensor::allocate(&self.shape, self.tensor.dtype(), self.tensor.device())?;
        let (first, bounds) = (self.first, self.bounds.clone());
        let mut tensors = vec![Some(&out), Some(&self.tensor)];
        tensors.extend(self.indices.iter().map(Some));
        launch_list(name, &tensors, move |tensors| {
            let tensors: Vec<&Tensor> = tensors.iter().copied().flatten().collect();
            kernel::pick(tensors[0], tensors[1], first, &bounds, &tensors[2..]);
        })?;
        Ok(out)
    }

    /// Writes to what the indices select: one number, or values that can be expanded to the selection's shape.
    pub(super) fn write(&self, name: &'static str, values: &Tensor, how: Update) -> Result<()> {
        let expanded = if values.numel() == 1 {
            values.alias()
        } else {
            expand(values, &self.shape.iter().map(|&size| size as i64).collect::<Vec<_>>())?
        };
        let values = apart_from(&self.tensor, &expanded)?;
        let indices: Result<Vec<Tensor>> = self.indices.iter().map(|index| apart_from(&self.tensor, index)).collect();
        let indices = indices?;
        let (first, bounds) = (self.first, self.bounds.clone());
        let mut tensors = vec![Some(&self.tensor), Some(&values)];
        tensors.extend(indices.iter().map(Some));
        launch_list(name, &tensors, move |tensors| {
            let tensors: Vec<&Tensor> = tensors.iter().copied().flatten().collect();
            kernel::write(tensors[0], tensors[1], first, &bounds, &tensors[2..], how);
        })
    }
}

/// An index that a dimension does not have, if the host can see it.
pub(super) fn first_outside(bounds: Bounds, index: &Tensor) -> Option<i64> {
    if index.device() == Device::Cpu { bounds.first_outside(read(index)) } else { None }
}

/// Indices as kernels read them.
pub(super) fn positions(index: &Tensor, device: Device) -> Result<Tensor> {
    contiguous(&to(index, Some(DType::Int64), Some(device), false)?)
}

fn result_shape(tensor: &Tensor, first: usize, count: usize, indices: &[usize]) -> Dims {
    let (before, behind) = (&tensor.shape()[..first], &tensor.shape()[first + count..]);
    before.iter().chain(indices).chain(behind).copied().collect()
}

fn common_shape(indices: &[Tensor]) -> Result<Dims> {
    let mut common = Dims::new();
    for index in indices {
        let Ok(shape) = broadcast(&common, index.shape()) else {
            let shapes: Vec<String> = indices.iter().map(|index| list(index.shape())).collect();
            bail!(
                Index,
                "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
                shapes.join(", ")
            )
        };
        common = shape;
    }
    Ok(common)
}

/// For each dimension the one that it was, for messages, and its index.
type IndexList = Vec<Option<(usize, Tensor)>>;

/// The tensor, and integers that select what the indices do. The dimensions of a mask become one, if strides allow it.
fn without_masks(tensor: &Tensor, indices: &[Option<Tensor>]) -> Result<(Tensor, IndexList)> {
    let is_mask = |index: &Tensor| matches!(index.dtype(), DType::Bool | DType::UInt8);
    let dims_of = |index: &Option<Tensor>| index.as_ref().filter(|index| is_mask(index)).map_or(1, Tensor::ndim);
    let count: usize = indices.iter().map(dims_of).sum();
    ensure!(count <= tensor.ndim(), Index, "too many indices for tensor of dimension {} (got {count})", tensor.ndim());
    let (mut view, mut result, mut dim) = (tensor.alias(), IndexList::new(), 0);
    for index in indices {
        let dims = dims_of(index);
        match index {
            None => result.push(None),
            Some(index) => {
                check_index(tensor, index)?;
                if is_mask(index) {
                    check_mask(tensor, dim, index)?;
                    match joined(&view, result.len(), dims) {
                        Some(joined) => {
                            view = joined;
                            let coordinates = nonzero(&reshape(index, &[-1])?)?;
                            result.push(Some((dim, select(&coordinates, 1, 0)?)));
                        }
                        None => {
                            let coordinates = unbind(&nonzero(index)?, 1)?;
                            result.extend((dim..).zip(coordinates).map(Some));
                        }
                    }
                } else {
                    result.push(Some((dim, index.clone())));
                }
            }
        }
        dim += dims;
    }
    Ok((view, result))
}

fn check_index(tensor: &Tensor, index: &Tensor) -> Result<()> {
    ensure!(
        matches!(index.dtype(), DType::Int64 | DType::Int32 | DType::Bool | DType::UInt8),
        Index,
        "tensors used as indices must be long, int, byte or bool tensors"
    );
    ensure!(
        index.device() == Device::Cpu || index.device() == tensor.device(),
        Runtime,
        "indices should be either on cpu or on the same device as the indexed tensor ({})",
        device_name(tensor.device())
    );
    Ok(())
}

fn check_mask(tensor: &Tensor, first: usize, mask: &Tensor) -> Result<()> {
    for (dim, &size) in mask.shape().iter().enumerate() {
        ensure!(
            size == tensor.shape()[first + dim],
            Index,
            "The shape of the mask {} at index {dim} does not match the shape of the indexed tensor {} at index {}",
            list(mask.shape()),
            list(tensor.shape()),
            first + dim
        );
    }
    Ok(())
}

/// The tensor with `count` dimensions from `first` on as one: a dimension of size 1 if there are none.
fn joined(tensor: &Tensor, first: usize, count: usize) -> Option<Tensor> {
    let shape = result_shape(tensor, first, count, &[numel(&tensor.shape()[first..first + count])]);
    let strides = view_strides(tensor.shape(), tensor.strides(), &shape)?;
    Some(tensor.window(shape, strides, tensor.offset()))
}

/// Indices, as the backward pass needs them.
pub(super) struct SavedIndices(Vec<Option<Saved>>);

impl SavedIndices {
    pub(super) fn new(indices: &[Option<Tensor>]) -> Self {
        Self(indices.iter().map(|index| index.as_ref().map(Saved::new)).collect())
    }

    pub(super) fn get(&self, context: &Context<'_>) -> Result<Vec<Option<Tensor>>> {
        self.0.iter().map(|index| index.as_ref().map(|index| index.get(context)).transpose()).collect()
    }
}

/// `input[indices]`: for each dimension an index of integers, or a mask of truths for one or several; none is
/// everything. Indices are expanded to one shape, which takes the place of the dimensions that they index, or comes
/// first if these do not lie together.
///
/// # Errors
/// If the indices do not fit the tensor or each other, or if one does not exist. On a device, that is found out when it
/// gets there.
pub fn index(input: &Tensor, indices: &[Option<Tensor>]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::index", "Tensor");
    let out = OP.run(&[input.into(), Arg::None], || Indexed::new(input, indices)?.pick("index"))?;
    track("IndexBackward0", [input], &out, || {
        let (shape, indices) = (Dims::from(input.shape()), SavedIndices::new(indices));
        move |context: &Context<'_>, grad: &Tensor| {
            let whole = zeros(&shape, grad.dtype(), grad.device())?;
            Ok([Some(super::index_put_impl_(&whole, &indices.get(context)?, grad, true)?)])
        }
    })?;
    Ok(out)
}
