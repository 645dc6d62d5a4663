//! The same numbers in other places: reversed, rolled, cut to a triangle.

use super::{cat, narrow};
use crate::Tensor;
use crate::autograd::{Context, track};
use crate::dispatch::{Arg, Op, launch};
use crate::error::{Result, ensure};
use crate::kernels::arrange as kernel;
use crate::shape::{Dims, wrap_dim, wrap_dims};

/// The numbers backwards along dimensions.
///
/// # Errors
/// If a dimension does not exist.
pub fn flip(input: &Tensor, dims: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::flip", "");
    let places = if dims.is_empty() { Dims::new() } else { wrap_dims(dims, input.ndim())? };
    let out = OP.run(&[input.into(), Arg::Ints(dims)], || {
        let out = Tensor::allocate(input.shape(), input.dtype(), input.device())?;
        let places = if input.ndim() == 0 { Dims::new() } else { places.clone() };
        launch("flip", [&out, input], move |[out, input]| kernel::flip(out, input, &places))?;
        Ok(out)
    })?;
    track("FlipBackward0", [input], &out, || {
        let dims = dims.to_vec();
        move |_: &Context<'_>, grad: &Tensor| Ok([Some(flip(grad, &dims)?)])
    })?;
    Ok(out)
}

/// The numbers moved along dimensions; what leaves at one end comes in at the other. Without dimensions, along all as one.
///
/// # Errors
/// If a dimension does not exist, or if there is not one shift for each.
pub fn roll(input: &Tensor, shifts: &[i64], dims: &[i64]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::roll", "");
    ensure!(!shifts.is_empty(), Runtime, "`shifts` required");
    ensure!(
        dims.is_empty() && shifts.len() == 1 || dims.len() == shifts.len(),
        Runtime,
        "shifts and dimensions must align. shifts: {}, dims:{}",
        shifts.len(),
        dims.len()
    );
    let out = OP.run(&[input.into(), Arg::Ints(shifts), Arg::Ints(dims)], || {
        if dims.is_empty() {
            let sizes: Vec<i64> = input.shape().iter().map(|&size| size as i64).collect();
            return super::view(&rolled(&super::reshape(input, &[-1])?, shifts[0], 0)?, &sizes);
        }
        let mut out = input.clone();
        for (&shift, &dim) in shifts.iter().zip(dims) {
            out = rolled(&out, shift, wrap_dim(dim, input.ndim())?)?;
        }
        Ok(out)
    })?;
    track("RollBackward0", [input], &out, || {
        let (back, dims): (Vec<i64>, Vec<i64>) = (shifts.iter().map(|shift| -shift).collect(), dims.to_vec());
        move |_: &Context<'_>, grad: &Tensor| Ok([Some(roll(grad, &back, &dims)?)])
    })?;
    Ok(out)
}

fn rolled(input: &Tensor, shift: i64, dim: usize) -> Result<Tensor> {
    let size = input.shape().get(dim).copied().unwrap_or(1) as i64;
    if size == 0 || input.ndim() == 0 {
        return super::clone(input);
    }
    let cut = (size - shift.rem_euclid(size)) % size;
    let dim = dim as i64;
    cat(&[narrow(input, dim, cut, size - cut)?, narrow(input, dim, 0, cut)?], dim)
}

fn triangle(op: &'static Op, node: &'static str, input: &Tensor, diagonal: i64, lower: bool) -> Result<Tensor> {
    ensure!(
        input.ndim() >= 2,
        Runtime,
        "{}: input tensor must have at least 2 dimensions",
        if lower { "tril" } else { "triu" }
    );
    let out = op.run(&[input.into(), Arg::Int(diagonal)], || {
        let out = Tensor::allocate(input.shape(), input.dtype(), input.device())?;
        launch("triangle", [&out, input], move |[out, input]| kernel::triangle(out, input, diagonal, lower))?;
        Ok(out)
    })?;
    track(node, [input], &out, || {
        move |_: &Context<'_>, grad: &Tensor| {
            Ok([Some(if lower { tril(grad, diagonal)? } else { triu(grad, diagonal)? })])
        }
    })?;
    Ok(out)
}

/// Matrices with zeros above a diagonal.
///
/// # Errors
/// If it has fewer than two dimensions.
pub fn tril(input: &Tensor, diagonal: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::tril", "");
    triangle(&OP, "TrilBackward0", input, diagonal, true)
}

/// Matrices with zeros below a diagonal.
///
/// # Errors
/// If it has fewer than two dimensions.
pub fn triu(input: &Tensor, diagonal: i64) -> Result<Tensor> {
    static OP: Op = Op::new("aten::triu", "");
    triangle(&OP, "TriuBackward0", input, diagonal, false)
}
