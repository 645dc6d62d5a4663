//! Dimensions of size 1 that repeat.

use super::view;
use super::view::{tracked, window};
use crate::Tensor;
use crate::dispatch::{Arg, Op};
use crate::error::{Result, bail, ensure};
use crate::shape::{Dims, expanded_strides, list};

/// The tensor as if it had a larger shape, in which dimensions of size 1 repeat. A size of -1 stays.
///
/// # Errors
/// If it cannot have that shape.
pub fn expand(tensor: &Tensor, shape: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::expand", "");
    let view = OP.run(&[tensor.into(), Arg::Ints(shape), Arg::Bool(false)], || {
        ensure!(
            shape.len() >= tensor.ndim(),
            Runtime,
            "expand({}{{{}}}, size={}): the number of sizes provided ({}) must be greater or equal to the number of dimensions \
             in the tensor ({})",
            tensor.type_name(),
            list(tensor.shape()),
            list(shape),
            shape.len(),
            tensor.ndim()
        );
        let added = shape.len() - tensor.ndim();
        let mut target = Dims::new();
        for (dim, &size) in shape.iter().enumerate() {
            let own = dim.checked_sub(added).map(|dim| tensor.shape()[dim]);
            match (own, size) {
                (Some(own), -1) => target.push(own),
                (None, -1) => bail!(
                    Runtime,
                    "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {dim}"
                ),
                (own, size) if size >= 0 && own.is_none_or(|own| own == 1 || own as i64 == size) => target.push(size as usize),
                (own, size) => bail!(
                    Runtime,
                    "The expanded size of the tensor ({size}) must match the existing size ({}) at non-singleton dimension \
                     {dim}.  Target sizes: {}.  Tensor sizes: {}",
                    own.unwrap_or(0),
                    list(shape),
                    list(tensor.shape())
                ),
            }
        }
        let strides = expanded_strides(tensor.shape(), tensor.strides(), &target);
        window(tensor, target, strides, tensor.offset())
    })?;
    tracked("ExpandBackward0", tensor, view, || {
        let shape: Dims = tensor.shape().into();
        move |grad: &Tensor| sum_to(grad, &shape)
    })
}

/// Whether a tensor of this shape can be expanded to the other.
pub fn is_expandable_to(shape: &[usize], target: &[usize]) -> bool {
    shape.len() <= target.len()
        && shape.iter().rev().zip(target.iter().rev()).all(|(&own, &size)| own == size || own == 1)
}

/// The sum over what an expansion from `shape` repeated.
///
/// # Errors
/// If there is no memory.
pub fn sum_to(tensor: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if tensor.shape() == shape {
        return Ok(tensor.clone());
    }
    if shape.is_empty() {
        return super::sum(tensor, &[], false, None);
    }
    let added = tensor.ndim() - shape.len();
    let repeated = |dim: usize| dim < added || (shape[dim - added] == 1 && tensor.shape()[dim] != 1);
    let dims: Vec<i64> = (0..tensor.ndim()).filter(|&dim| repeated(dim)).map(|dim| dim as i64).collect();
    let sum = super::sum(tensor, &dims, true, None)?;
    if added == 0 { Ok(sum) } else { view(&sum, &shape.iter().map(|&size| size as i64).collect::<Vec<_>>()) }
}

/// Tensors expanded to the shape that they have in common.
///
/// # Errors
/// If they have none.
pub fn broadcast_tensors(tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    static OP: Op = Op::new("aten::broadcast_tensors", "");
    OP.compose(&[Arg::Tensors(tensors)], || {
        let operands: Vec<super::Operand<'_>> = tensors.iter().map(super::Operand::Tensor).collect();
        let shape: Vec<i64> = super::common_shape(&operands)?.iter().map(|&size| size as i64).collect();
        tensors.iter().map(|tensor| expand(tensor, &shape)).collect()
    })
}
