//! Products of whatever two tensors are.

use super::{addmm, bmm, dot, expand, mm, mv, reshape, squeeze, t, unsafe_view, unsqueeze, view};
use crate::Tensor;
use crate::dispatch::Op;
use crate::error::{Result, bail, ensure};
use crate::shape::{Dims, broadcast};

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
                return unsafe_view(&mv(&tall, b)?, &shape);
            }
            shape.push(b.shape()[1] as i64);
            unsafe_view(&mm(&tall, b)?, &shape)
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
    unsafe_view(&product, &shape)
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
                unsafe_view(&out, &shape.iter().map(|&size| size as i64).collect::<Vec<_>>())
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
