//! Products of two matrices.

use super::reduce::kernel_dtype;
use super::{copy_, expand, mul, same_device, t, to_dtype};
use crate::Element;
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Op, launch};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};
use crate::kernels::matmul::{self as kernel, Mat, MatMut};
use crate::kernels::real::Real;
use crate::tensor::access::{read_window, write};

pub(super) fn same_dtype(a: &Tensor, b: &Tensor) -> Result<DType> {
    ensure!(
        a.dtype() == b.dtype(),
        Runtime,
        "expected m1 and m2 to have the same dtype, but got: {} != {}",
        c_name(a.dtype()),
        c_name(b.dtype())
    );
    ensure!(a.dtype() != DType::Bool, Runtime, "\"addmm_impl_cpu_\" not implemented for 'Bool'");
    Ok(a.dtype())
}

pub(super) fn c_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Int64 => "long long",
        dtype => dtype.profiler_name(),
    }
}

/// A matrix of the last two dimensions, as kernels see it.
pub(super) fn matrix<T: Element>(tensor: &Tensor) -> Mat<'_, T> {
    let dims = tensor.ndim();
    let (shape, strides) = (tensor.shape(), tensor.strides());
    Mat {
        data: read_window(tensor),
        rows: shape[dims - 2],
        cols: shape[dims - 1],
        row_stride: strides[dims - 2],
        col_stride: strides[dims - 1],
    }
}

/// `out = alpha * a @ b + beta * out`, where `out` is contiguous.
pub(super) fn product(out: &Tensor, a: &Tensor, b: &Tensor, alpha: Scalar, beta: Scalar) -> Result<()> {
    fn real<T: Real + Element>(out: &Tensor, a: &Tensor, b: &Tensor, alpha: Scalar, beta: Scalar) {
        let c = MatMut::row_major(write::<T>(out), out.shape()[0], out.shape()[1]);
        kernel::matmul(c, T::from_f64(alpha.to_f64()), matrix(a), matrix(b), T::from_f64(beta.to_f64()));
    }
    launch("gemm", [out, a, b], move |[out, a, b]| match out.dtype() {
        DType::Float32 => real::<f32>(out, a, b, alpha, beta),
        DType::Float64 => real::<f64>(out, a, b, alpha, beta),
        _ => kernel::matmul_i64(MatMut::row_major(write(out), out.shape()[0], out.shape()[1]), matrix(a), matrix(b)),
    })
}

/// The product of two matrices.
///
/// # Errors
/// If they do not go together.
pub fn mm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::mm", "");
    ensure!(a.ndim() == 2, Runtime, "self must be a matrix");
    ensure!(b.ndim() == 2, Runtime, "mat2 must be a matrix");
    check_inner(a, b)?;
    same_device(&[a, b])?;
    let dtype = same_dtype(a, b)?;
    let out = OP.run(&[a.into(), b.into()], || {
        let compute = kernel_dtype(dtype);
        let out = Tensor::allocate(&[a.shape()[0], b.shape()[1]], compute, a.device())?;
        product(&out, &to_dtype(a, compute)?, &to_dtype(b, compute)?, 1.into(), 0.into())?;
        to_dtype(&out, dtype)
    })?;
    track("MmBackward0", [a, b], &out, || product_rule(a, b, 1.into()))?;
    Ok(out)
}

fn check_inner(a: &Tensor, b: &Tensor) -> Result<()> {
    let ((rows, inner), (other, cols)) = ((a.shape()[0], a.shape()[1]), (b.shape()[0], b.shape()[1]));
    ensure!(inner == other, Runtime, "mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other}x{cols})");
    Ok(())
}

/// The gradients of both factors.
pub(super) fn product_rule(
    a: &Tensor,
    b: &Tensor,
    alpha: Scalar,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> + use<> {
    // Each is kept only for the gradient of the other.
    let saved = (b.requires_grad().then(|| Saved::new(a)), a.requires_grad().then(|| Saved::new(b)));
    let by_columns = (is_by_columns(a), is_by_columns(b));
    move |context, grad| {
        let second = match &saved.0 {
            Some(a) if context.needs(1) => {
                let a = a.get(context)?;
                let product = if by_columns.1 { t(&mm(&t(grad)?, &a)?)? } else { mm(&t(&a)?, grad)? };
                Some(scaled(product, alpha)?)
            }
            _ => None,
        };
        let first = match &saved.1 {
            Some(b) if context.needs(0) => {
                let b = b.get(context)?;
                let product = if by_columns.0 { t(&mm(&b, &t(grad)?)?)? } else { mm(grad, &t(&b)?)? };
                Some(scaled(product, alpha)?)
            }
            _ => None,
        };
        Ok([first, second])
    }
}

/// Whether a matrix lies in memory column by column, as one that was transposed: its gradient shall too, so that it is
/// contiguous once it is transposed back.
fn is_by_columns(matrix: &Tensor) -> bool {
    matrix.strides()[0] == 1 && matrix.strides()[1] == matrix.shape()[0]
}

pub(super) fn scaled(grad: Tensor, factor: Scalar) -> Result<Tensor> {
    if factor.to_f64() == 1.0 { Ok(grad) } else { mul(&grad, factor) }
}

/// `beta * bias + alpha * a @ b`.
///
/// # Errors
/// If they do not go together.
pub fn addmm(bias: &Tensor, a: &Tensor, b: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    static OP: Op = Op::new("aten::addmm", "");
    ensure!(a.ndim() == 2, Runtime, "mat1 must be a matrix, got {}-D tensor", a.ndim());
    ensure!(b.ndim() == 2, Runtime, "mat2 must be a matrix, got {}-D tensor", b.ndim());
    check_inner(a, b)?;
    same_device(&[bias, a, b])?;
    let dtype = same_dtype(a, b)?;
    ensure!(
        bias.dtype() == dtype,
        Runtime,
        "self and mat2 must have the same dtype, but got {} and {}",
        bias.dtype().scalar_type(),
        dtype.scalar_type()
    );
    let out = OP.run(&[bias.into(), a.into(), b.into(), beta.into(), alpha.into()], || {
        let compute = kernel_dtype(dtype);
        let shape = [a.shape()[0], b.shape()[1]];
        let expanded =
            if *bias.shape() == shape { bias.clone() } else { expand(bias, &shape.map(|size| size as i64))? };
        if compute == DType::Int64 {
            let product = mul(&mm(&to_dtype(a, compute)?, &to_dtype(b, compute)?)?, alpha)?;
            return to_dtype(&super::add(&product, &mul(&expanded, beta)?, 1.into())?, dtype);
        }
        let out = Tensor::allocate(&shape, compute, a.device())?;
        if beta.to_f64() != 0.0 {
            copy_(&out, &expanded)?;
        }
        product(&out, &to_dtype(a, compute)?, &to_dtype(b, compute)?, alpha, beta)?;
        to_dtype(&out, dtype)
    })?;
    track("AddmmBackward0", [bias, a, b], &out, || {
        let rule = product_rule(a, b, alpha);
        move |context: &Context<'_>, grad: &Tensor| {
            // One after the other, in the order of torch's names: `mat1`, `mat2`, `self`.
            let [first, _] = rule(&Context::new(context.node, &[context.needs(1), false]), grad)?;
            let [_, second] = rule(&Context::new(context.node, &[false, context.needs(2)]), grad)?;
            let bias = if context.needs(0) { Some(scaled(grad.clone(), beta)?) } else { None };
            Ok([bias, first, second])
        }
    })?;
    Ok(out)
}
