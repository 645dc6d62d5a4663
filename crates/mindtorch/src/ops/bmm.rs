//! Products of many matrices at once.

use super::mm::{c_name, matrix, same_dtype, scaled};
use super::reduce::kernel_dtype;
use super::{copy_, expand, mul, same_device, to_dtype, transpose};
use crate::Element;
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Op, launch};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::matmul::{self as kernel, MatMut};
use crate::kernels::pointwise::fill;
use crate::kernels::real::Real;
use crate::tensor::access::write;

/// Products of as many matrices as there are in each.
///
/// # Errors
/// If they do not go together.
pub fn bmm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::bmm", "");
    ensure!(a.ndim() == 3, Runtime, "batch1 must be a 3D tensor");
    ensure!(b.ndim() == 3, Runtime, "batch2 must be a 3D tensor");
    let (x, y) = (a.shape(), b.shape());
    check_inner(x, y)?;
    same_device(&[a, b])?;
    let dtype = same_dtype(a, b)?;
    let out = OP.run(&[a.into(), b.into()], || {
        let compute = kernel_dtype(dtype);
        let out = Tensor::allocate(&[x[0], x[1], y[2]], compute, a.device())?;
        if a.numel() == 0 || b.numel() == 0 {
            launch("fill", [&out], |[out]| fill(out, Scalar::Int(0)))?;
            return to_dtype(&out, dtype);
        }
        let (a, b) = (to_dtype(a, compute)?, to_dtype(b, compute)?);
        products(&out, &a, &b, 1.into(), 0.into())?;
        to_dtype(&out, dtype)
    })?;
    track("BmmBackward0", [a, b], &out, || product_rule(a, b, 1.into()))?;
    Ok(out)
}

fn check_inner(a: &[usize], b: &[usize]) -> Result<()> {
    ensure!(
        a[0] == b[0] && a[2] == b[1],
        Runtime,
        "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].",
        a[0],
        a[2],
        b[0],
        b[1]
    );
    Ok(())
}

/// The gradients of both factors.
fn product_rule(
    a: &Tensor,
    b: &Tensor,
    alpha: Scalar,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> + use<> {
    // Each is kept only for the gradient of the other.
    let saved = (b.requires_grad().then(|| Saved::new(a)), a.requires_grad().then(|| Saved::new(b)));
    move |context, grad| {
        let second = match &saved.0 {
            Some(a) if context.needs(1) => Some(scaled(bmm(&transpose(&a.get(context)?, 1, 2)?, grad)?, alpha)?),
            _ => None,
        };
        let first = match &saved.1 {
            Some(b) if context.needs(0) => Some(scaled(bmm(grad, &transpose(&b.get(context)?, 1, 2)?)?, alpha)?),
            _ => None,
        };
        Ok([first, second])
    }
}

/// `beta * bias + alpha * a @ b`, for as many matrices as there are in each.
///
/// # Errors
/// If they do not go together.
pub fn baddbmm(bias: &Tensor, a: &Tensor, b: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::baddbmm", "");
    ensure!(a.ndim() == 3, Runtime, "batch1 must be a 3D tensor");
    ensure!(b.ndim() == 3, Runtime, "batch2 must be a 3D tensor");
    check_inner(a.shape(), b.shape())?;
    same_device(&[bias, a, b])?;
    let dtype = a.dtype();
    ensure!(
        bias.dtype() == dtype && b.dtype() == dtype,
        Runtime,
        "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}",
        c_name(bias.dtype()),
        c_name(dtype),
        c_name(b.dtype())
    );
    ensure!(dtype != DType::Bool, Runtime, "\"baddbmm\" not implemented for 'Bool'");
    let out = OP.run(&[bias.into(), a.into(), b.into(), beta.into(), alpha.into()], || {
        let compute = kernel_dtype(dtype);
        let shape = [a.shape()[0], a.shape()[1], b.shape()[2]];
        let expanded =
            if *bias.shape() == shape { bias.clone() } else { expand(bias, &shape.map(|size| size as i64))? };
        if compute == DType::Int64 {
            let product = mul(&bmm(&to_dtype(a, compute)?, &to_dtype(b, compute)?)?, alpha)?;
            return to_dtype(&super::add(&product, &mul(&expanded, beta)?, 1.into())?, dtype);
        }
        let out = Tensor::allocate(&shape, compute, a.device())?;
        let is_empty = a.numel() == 0 || b.numel() == 0;
        if beta.to_f64() != 0.0 {
            copy_(&out, &expanded)?;
        } else if is_empty {
            launch("fill", [&out], |[out]| fill(out, Scalar::Int(0)))?;
        }
        if !is_empty {
            products(&out, &to_dtype(a, compute)?, &to_dtype(b, compute)?, alpha, beta)?;
        } else if out.numel() > 0 {
            super::mul_(&out, beta)?;
        }
        to_dtype(&out, dtype)
    })?;
    track("BaddbmmBackward0", [bias, a, b], &out, || {
        let rule = product_rule(a, b, alpha);
        move |context: &Context<'_>, grad: &Tensor| {
            // One after the other, in the order of torch's names: `batch1`, `batch2`, `self`.
            let [first, _] = rule(&Context::new(context.node, &[context.needs(1), false]), grad)?;
            let [_, second] = rule(&Context::new(context.node, &[false, context.needs(2)]), grad)?;
            let bias = if context.needs(0) { Some(scaled(grad.clone(), beta)?) } else { None };
            Ok([bias, first, second])
        }
    })?;
    Ok(out)
}

/// `out = alpha * a @ b + beta * out` for every matrix; without the factors for integers.
fn products(out: &Tensor, a: &Tensor, b: &Tensor, alpha: Scalar, beta: Scalar) -> Result<()> {
    launch("batched_gemm", [out, a, b], move |[out, a, b]| match out.dtype() {
        DType::Float32 => batched::<f32>(out, a, b, alpha, beta),
        DType::Float64 => batched::<f64>(out, a, b, alpha, beta),
        _ => {
            let (rows, cols) = (out.shape()[1], out.shape()[2]);
            for (index, part) in write::<i64>(out).chunks_exact_mut((rows * cols).max(1)).enumerate() {
                let (a, b) = (nth(a, index), nth(b, index));
                kernel::matmul_i64(MatMut::row_major(part, rows, cols), matrix(&a), matrix(&b));
            }
        }
    })
}

fn nth(tensor: &Tensor, index: usize) -> Tensor {
    let offset = tensor.offset() + index * tensor.strides()[0];
    tensor.window(tensor.shape()[1..].into(), tensor.strides()[1..].into(), offset)
}

fn batched<T: Real + Element>(out: &Tensor, a: &Tensor, b: &Tensor, alpha: Scalar, beta: Scalar) {
    let (batch, rows, cols) = (out.shape()[0], out.shape()[1], out.shape()[2]);
    let c = MatMut::row_major(write::<T>(out), rows, cols);
    let strides = (a.strides()[0], b.strides()[0]);
    let factors = (T::from_f64(alpha.to_f64()), T::from_f64(beta.to_f64()));
    kernel::matmul_batched(batch, c, factors.0, matrix(a), matrix(b), factors.1, |index| {
        (index * strides.0, index * strides.1)
    });
}
