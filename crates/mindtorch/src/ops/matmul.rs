//! Products of matrices.

use super::reduce::kernel_dtype;
use super::{copy_, expand, mul, reshape, same_device, squeeze, sum, t, to_dtype, transpose, unsqueeze, view};
use crate::Element;
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Op, launch};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, bail, ensure};
use crate::kernels::matmul::{self as kernel, Mat, MatMut};
use crate::kernels::real::Real;
use crate::shape::{Dims, broadcast, list};
use crate::tensor::access::{read_window, write};

fn same_dtype(a: &Tensor, b: &Tensor) -> Result<DType> {
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

fn c_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Int64 => "long long",
        dtype => dtype.profiler_name(),
    }
}

/// A matrix of the last two dimensions, as kernels see it.
fn matrix<T: Element>(tensor: &Tensor) -> Mat<'_, T> {
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
fn product(out: &Tensor, a: &Tensor, b: &Tensor, alpha: Scalar, beta: Scalar) -> Result<()> {
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
fn product_rule(
    a: &Tensor,
    b: &Tensor,
    alpha: Scalar,
) -> impl Fn(&Context<'_>, &Tensor) -> Result<[Option<Tensor>; 2]> + use<> {
    // Each is kept only for the gradient of the other.
    let saved = (b.requires_grad().then(|| Saved::new(a)), a.requires_grad().then(|| Saved::new(b)));
    move |context, grad| {
        let first = match &saved.1 {
            Some(b) if context.needs(0) => Some(scaled(mm(grad, &t(&b.get(context)?)?)?, alpha)?),
            _ => None,
        };
        let second = match &saved.0 {
            Some(a) if context.needs(1) => Some(scaled(mm(&t(&a.get(context)?)?, grad)?, alpha)?),
            _ => None,
        };
        Ok([first, second])
    }
}

fn scaled(grad: Tensor, factor: Scalar) -> Result<Tensor> {
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
        let shape = [a.shape()[0] as i64, b.shape()[1] as i64];
        let expanded = expand(bias, &shape)?;
        if compute == DType::Int64 {
            let product = mul(&mm(&to_dtype(a, compute)?, &to_dtype(b, compute)?)?, alpha)?;
            return to_dtype(&super::add(&product, &mul(&expanded, beta)?, 1.into())?, dtype);
        }
        let out = Tensor::allocate(&[a.shape()[0], b.shape()[1]], compute, a.device())?;
        if beta.to_f64() != 0.0 {
            copy_(&out, &expanded)?;
        }
        product(&out, &to_dtype(a, compute)?, &to_dtype(b, compute)?, alpha, beta)?;
        to_dtype(&out, dtype)
    })?;
    track("AddmmBackward0", [bias, a, b], &out, || {
        let rule = product_rule(a, b, alpha);
        move |context: &Context<'_>, grad: &Tensor| {
            let needed = [context.needs(1), context.needs(2)];
            let [first, second] = rule(&Context::new(context.node, &needed), grad)?;
            let bias = if context.needs(0) { Some(scaled(grad.clone(), beta)?) } else { None };
            Ok([bias, first, second])
        }
    })?;
    Ok(out)
}

/// Products of as many matrices as there are in each.
///
/// # Errors
/// If they do not go together.
pub fn bmm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::bmm", "");
    ensure!(a.ndim() == 3, Runtime, "batch1 must be a 3D tensor");
    ensure!(b.ndim() == 3, Runtime, "batch2 must be a 3D tensor");
    let (x, y) = (a.shape(), b.shape());
    ensure!(
        x[0] == y[0] && x[2] == y[1],
        Runtime,
        "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].",
        x[0],
        x[2],
        y[0],
        y[1]
    );
    same_device(&[a, b])?;
    let dtype = same_dtype(a, b)?;
    let out = OP.run(&[a.into(), b.into()], || {
        let compute = kernel_dtype(dtype);
        let out = Tensor::allocate(&[x[0], x[1], y[2]], compute, a.device())?;
        if a.numel() == 0 || b.numel() == 0 {
            return to_dtype(&super::zero_(&out)?, dtype);
        }
        let (a, b) = (to_dtype(a, compute)?, to_dtype(b, compute)?);
        launch("batched_gemm", [&out, &a, &b], |[out, a, b]| match out.dtype() {
            DType::Float32 => batched::<f32>(out, a, b),
            DType::Float64 => batched::<f64>(out, a, b),
            _ => {
                let (rows, cols) = (out.shape()[1], out.shape()[2]);
                for (index, part) in write::<i64>(out).chunks_exact_mut((rows * cols).max(1)).enumerate() {
                    let (a, b) = (nth(a, index), nth(b, index));
                    kernel::matmul_i64(MatMut::row_major(part, rows, cols), matrix(&a), matrix(&b));
                }
            }
        })?;
        to_dtype(&out, dtype)
    })?;
    track("BmmBackward0", [a, b], &out, || {
        let saved = (b.requires_grad().then(|| Saved::new(a)), a.requires_grad().then(|| Saved::new(b)));
        move |context: &Context<'_>, grad: &Tensor| {
            let first = match &saved.1 {
                Some(b) if context.needs(0) => Some(bmm(grad, &transpose(&b.get(context)?, 1, 2)?)?),
                _ => None,
            };
            let second = match &saved.0 {
                Some(a) if context.needs(1) => Some(bmm(&transpose(&a.get(context)?, 1, 2)?, grad)?),
                _ => None,
            };
            Ok([first, second])
        }
    })?;
    Ok(out)
}

fn nth(tensor: &Tensor, index: usize) -> Tensor {
    let offset = tensor.offset() + index * tensor.strides()[0];
    tensor.window(tensor.shape()[1..].into(), tensor.strides()[1..].into(), offset)
}

fn batched<T: Real + Element>(out: &Tensor, a: &Tensor, b: &Tensor) {
    let (batch, rows, cols) = (out.shape()[0], out.shape()[1], out.shape()[2]);
    let c = MatMut::row_major(write::<T>(out), rows, cols);
    let strides = (a.strides()[0], b.strides()[0]);
    kernel::matmul_batched(batch, c, T::ONE, matrix(a), matrix(b), T::ZERO, |index| {
        (index * strides.0, index * strides.1)
    });
}

/// The sum of the products of two lists of numbers.
///
/// # Errors
/// If they differ in length or type.
pub fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::dot", "");
    ensure!(
        a.ndim() == 1 && b.ndim() == 1,
        Runtime,
        "1D tensors expected, but got {}D and {}D tensors",
        a.ndim(),
        b.ndim()
    );
    ensure!(
        a.dtype() == b.dtype(),
        Runtime,
        "dot : expected both vectors to have same dtype, but found {} and {}",
        a.dtype().scalar_type(),
        b.dtype().scalar_type()
    );
    ensure!(
        a.shape() == b.shape(),
        Runtime,
        "inconsistent tensor size, expected tensor {} and src {} to have the same number of elements, but got {} and {} \
         elements respectively",
        list(a.shape()),
        list(b.shape()),
        a.numel(),
        b.numel()
    );
    let out = OP.run(&[a.into(), b.into()], || sum(&mul(a, b)?, &[], false, Some(a.dtype())))?;
    track("DotBackward0", [a, b], &out, || {
        let saved = (Saved::new(a), Saved::new(b));
        move |context: &Context<'_>, grad: &Tensor| {
            let first = if context.needs(0) { Some(mul(&saved.1.get(context)?, grad)?) } else { None };
            let second = if context.needs(1) { Some(mul(&saved.0.get(context)?, grad)?) } else { None };
            Ok([first, second])
        }
    })?;
    Ok(out)
}

/// The product of a matrix and a list of numbers.
///
/// # Errors
/// If they do not go together.
pub fn mv(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::mv", "");
    ensure!(
        a.ndim() == 2 && b.ndim() == 1,
        Runtime,
        "vector + matrix @ vector expected, got 1, {}, {}",
        a.ndim(),
        b.ndim()
    );
    ensure!(
        a.shape()[1] == b.shape()[0],
        Runtime,
        "size mismatch, got input ({}), mat ({}x{}), vec ({})",
        a.shape()[0],
        a.shape()[0],
        a.shape()[1],
        b.shape()[0]
    );
    OP.compose(&[a.into(), b.into()], || squeeze(&mm(a, &unsqueeze(b, 1)?)?, Some(&[1])))
}

/// The product of whatever two tensors are: numbers, matrices, or many of them.
///
/// # Errors
/// If they do not go together.
pub fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::matmul", "");
    ensure!(
        a.ndim() > 0 && b.ndim() > 0,
        Runtime,
        "both arguments to matmul need to be at least 1D, but they are {}D and {}D",
        a.ndim(),
        b.ndim()
    );
    OP.compose(&[a.into(), b.into()], || match (a.ndim(), b.ndim()) {
        (1, 1) => dot(a, b),
        (2, 2) => mm(a, b),
        (2, 1) => mv(a, b),
        (1, 2) => squeeze(&mm(&unsqueeze(a, 0)?, b)?, Some(&[0])),
        // Many matrices times one are one tall matrix.
        (3.., 1 | 2) => {
            let last = a.shape()[a.ndim() - 1] as i64;
            let rows: usize = a.shape()[..a.ndim() - 1].iter().product();
            let tall = reshape(a, &[rows as i64, last])?;
            let mut shape: Vec<i64> = a.shape()[..a.ndim() - 1].iter().map(|&size| size as i64).collect();
            if b.ndim() == 1 {
                return view(&mv(&tall, b)?, &shape);
            }
            shape.push(b.shape()[1] as i64);
            view(&mm(&tall, b)?, &shape)
        }
        _ => matmul_batches(a, b),
    })
}

fn matmul_batches(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (wide_a, wide_b) = (a.ndim() == 1, b.ndim() == 1);
    let a = if wide_a { unsqueeze(a, 0)? } else { a.clone() };
    let b = if wide_b { unsqueeze(b, 1)? } else { b.clone() };
    let (rows, inner) = (a.shape()[a.ndim() - 2], a.shape()[a.ndim() - 1]);
    let columns = b.shape()[b.ndim() - 1];
    let batch = broadcast(&a.shape()[..a.ndim() - 2], &b.shape()[..b.ndim() - 2])?;
    let count: usize = batch.iter().product();
    let flat = |tensor: &Tensor, height: usize, width: usize| -> Result<Tensor> {
        let mut shape: Vec<i64> = batch.iter().map(|&size| size as i64).collect();
        shape.extend([height as i64, width as i64]);
        reshape(&expand(tensor, &shape)?, &[count as i64, height as i64, width as i64])
    };
    let other = b.shape()[b.ndim() - 2];
    ensure!(
        inner == other,
        Runtime,
        "Expected size for first two dimensions of batch2 tensor to be: [{count}, {inner}] but got: [{count}, {other}]."
    );
    let product = bmm(&flat(&a, rows, inner)?, &flat(&b, inner, columns)?)?;
    let mut shape: Vec<i64> = batch.iter().map(|&size| size as i64).collect();
    if !wide_a {
        shape.push(rows as i64);
    }
    if !wide_b {
        shape.push(columns as i64);
    }
    view(&product, &shape)
}

/// `input @ weight.t() + bias`.
///
/// # Errors
/// If they do not go together.
pub fn linear(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    static OP: Op = Op::new("aten::linear", "");
    OP.compose(&[input.into(), weight.into(), bias.into()], || {
        if weight.ndim() > 2 || weight.ndim() == 0 {
            bail!(Runtime, "linear(): expected a weight of 1 or 2 dimensions, but got {}", weight.ndim());
        }
        match bias {
            Some(bias) if input.ndim() == 2 && weight.ndim() == 2 => {
                addmm(bias, input, &t(weight)?, 1.into(), 1.into())
            }
            Some(bias) if input.ndim() > 2 && weight.ndim() == 2 && input.is_contiguous() => {
                let last = input.shape()[input.ndim() - 1] as i64;
                let rows: usize = input.shape()[..input.ndim() - 1].iter().product();
                let flat = view(input, &[rows as i64, last])?;
                let out = addmm(bias, &flat, &t(weight)?, 1.into(), 1.into())?;
                let mut shape: Dims = input.shape().into();
                let end = shape.len() - 1;
                shape[end] = weight.shape()[0];
                view(&out, &shape.iter().map(|&size| size as i64).collect::<Vec<_>>())
            }
            _ => {
                let out = matmul(input, &t(weight)?)?;
                match bias {
                    Some(bias) => super::add(&out, bias, 1.into()),
                    None => Ok(out),
                }
            }
        }
    })
}
