//! Dimensions in another order.

use super::view::{tracked, window};
use crate::Tensor;
use crate::dispatch::{Arg, Op};
use crate::error::{Result, ensure};
use crate::shape::{Dims, list, wrap_dim, wrap_dims};

/// Two dimensions exchanged.
///
/// # Errors
/// If they do not exist.
pub fn transpose(tensor: &Tensor, first: i64, second: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::transpose", "int");
    let view = OP.run(&[tensor.into(), Arg::Int(first), Arg::Int(second)], || {
        let (first, second) = (wrap_dim(first, tensor.ndim())?, wrap_dim(second, tensor.ndim())?);
        let (mut shape, mut strides): (Dims, Dims) = (tensor.shape().into(), tensor.strides().into());
        if tensor.ndim() > 0 {
            shape.swap(first, second);
            strides.swap(first, second);
        }
        window(tensor, shape, strides, tensor.offset())
    })?;
    tracked("TransposeBackward0", tensor, view, || move |grad: &Tensor| transpose(grad, first, second))
}

/// A matrix with its dimensions exchanged.
///
/// # Errors
/// If it has more than two.
pub fn t(tensor: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::t", "");
    ensure!(tensor.ndim() <= 2, Runtime, "t() expects a tensor with <= 2 dimensions, but self is {}D", tensor.ndim());
    let view = OP.run(&[tensor.into()], || transpose(tensor, 0, if tensor.ndim() < 2 { 0 } else { 1 }))?;
    tracked("TBackward0", tensor, view, || |grad: &Tensor| t(grad))
}

/// The dimensions in another order.
///
/// # Errors
/// If `dims` is no order of them.
pub fn permute(tensor: &Tensor, dims: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::permute", "");
    let mut inverse = vec![0i64; tensor.ndim()];
    let view = OP.run(&[tensor.into(), Arg::Ints(dims)], || {
        ensure!(
            dims.len() == tensor.ndim(),
            Runtime,
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering \
             of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
            tensor.ndim(),
            dims.len()
        );
        let order: Dims = dims.iter().map(|&dim| wrap_dim(dim, tensor.ndim())).collect::<Result<_>>()?;
        let is_double = |(index, dim): (usize, &usize)| order[..index].contains(dim);
        ensure!(!order.iter().enumerate().any(is_double), Runtime, "permute(): duplicate dims are not allowed.");
        for (to, &from) in order.iter().enumerate() {
            inverse[from] = to as i64;
        }
        let pick = |of: &[usize]| order.iter().map(|&dim| of[dim]).collect::<Dims>();
        window(tensor, pick(tensor.shape()), pick(tensor.strides()), tensor.offset())
    })?;
    tracked("PermuteBackward0", tensor, view, || move |grad: &Tensor| permute(grad, &inverse))
}

/// Dimensions moved to other places.
///
/// # Errors
/// If they do not exist.
pub fn movedim(tensor: &Tensor, source: &[i64], destination: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::movedim", "intlist");
    OP.compose(&[tensor.into(), Arg::Ints(source), Arg::Ints(destination)], || {
        ensure!(
            source.len() == destination.len(),
            Runtime,
            "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as \
             destination ({} dims)",
            list(source),
            list(destination)
        );
        let (source, destination) = (wrap_dims(source, tensor.ndim())?, wrap_dims(destination, tensor.ndim())?);
        let mut order = vec![None; tensor.ndim()];
        for (&from, &to) in source.iter().zip(&destination) {
            order[to] = Some(from as i64);
        }
        let mut rest = (0..tensor.ndim()).filter(|dim| !source.contains(dim)).map(|dim| dim as i64);
        let order: Vec<i64> = order.into_iter().filter_map(|place| place.or_else(|| rest.next())).collect();
        permute(tensor, &order)
    })
}

/// The dimensions in the opposite order, as the `T` of arrays.
///
/// # Errors
/// None; it is an operation like others.
pub fn numpy_t(tensor: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::numpy_T", "");
    let dims: Vec<i64> = (0..tensor.ndim() as i64).rev().collect();
    OP.compose(&[tensor.into()], || permute(tensor, &dims))
}

/// Matrices, each with its dimensions exchanged.
///
/// # Errors
/// If there are fewer than two dimensions.
pub fn matrix_t(tensor: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::mT", "");
    OP.compose(&[tensor.into()], || transpose(tensor, -2, -1))
}
