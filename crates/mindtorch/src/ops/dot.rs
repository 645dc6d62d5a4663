//! Products with lists of numbers.

use super::mm::{product, same_dtype};
use super::reduce::kernel_dtype;
use super::{contiguous, mul, reshape, same_device, t, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Op, launch};
use crate::dtype::DType;
use crate::error::{Result, ensure};
use crate::kernels::real::Real;
use crate::kernels::simd::vectorized;
use crate::kernels::{lanes, parallel};
use crate::shape::{Dims, list};
use crate::tensor::access::{read, write};

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
    let dtype = a.dtype();
    let out = OP.run(&[a.into(), b.into()], || {
        let compute = kernel_dtype(dtype);
        let out = Tensor::allocate(&[], compute, a.device())?;
        let (a, b) = (contiguous(&to_dtype(a, compute)?)?, contiguous(&to_dtype(b, compute)?)?);
        launch("dot", [&out, &a, &b], |[out, a, b]| match out.dtype() {
            DType::Float32 => write(out)[0] = sum_of_products::<f32>(read(a), read(b)),
            DType::Float64 => write(out)[0] = sum_of_products::<f64>(read(a), read(b)),
            _ => {
                let products = read::<i64>(a).iter().zip(read::<i64>(b)).map(|(x, y)| x.wrapping_mul(*y));
                write::<i64>(out)[0] = products.fold(0, i64::wrapping_add);
            }
        })?;
        to_dtype(&out, dtype)
    })?;
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

/// So many numbers of a list are summed by one thread, and then the sums.
const PART: usize = 1 << 14;

fn sum_of_products<T: Real>(a: &[T], b: &[T]) -> T {
    if a.len() <= PART {
        return vectorized(
            #[inline(always)]
            || lanes::dot(a, b),
        );
    }
    let mut sums = vec![T::ZERO; a.len().div_ceil(PART)];
    parallel::for_rows(&mut sums, 1, 4, |first, sums| {
        for (index, sum) in sums.iter_mut().enumerate() {
            let part = (first + index) * PART..a.len().min((first + index + 1) * PART);
            let (a, b) = (&a[part.clone()], &b[part]);
            *sum = vectorized(
                #[inline(always)]
                || lanes::dot(a, b),
            );
        }
    });
    lanes::sum(&sums)
}

/// The product of a matrix and a list of numbers.
///
/// # Errors
/// If they do not go together.
pub fn mv(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::mv", "");
    static ADD: Op = Op::new("aten::addmv_", "");
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
    same_device(&[a, b])?;
    let dtype = same_dtype(a, b)?;
    let out = OP.run(&[a.into(), b.into()], || {
        let compute = kernel_dtype(dtype);
        let out = Tensor::allocate(&[a.shape()[0]], compute, a.device())?;
        ADD.run(&[(&out).into(), a.into(), b.into()], || {
            let (a, b) = (to_dtype(a, compute)?, to_dtype(b, compute)?);
            product(&column(&out), &a, &column(&b), 1.into(), 0.into())
        })?;
        to_dtype(&out, dtype)
    })?;
    track("MvBackward0", [a, b], &out, || {
        let saved = (b.requires_grad().then(|| Saved::new(a)), a.requires_grad().then(|| Saved::new(b)));
        move |context: &Context<'_>, grad: &Tensor| {
            let first = match &saved.1 {
                Some(b) if context.needs(0) => Some(ger(grad, &b.get(context)?)?),
                _ => None,
            };
            let second = match &saved.0 {
                Some(a) if context.needs(1) => Some(mv(&t(&a.get(context)?)?, grad)?),
                _ => None,
            };
            Ok([first, second])
        }
    })?;
    Ok(out)
}

/// A list of numbers as a matrix of one column.
fn column(list: &Tensor) -> Tensor {
    let mut strides = Dims::from(list.strides());
    strides.push(1);
    list.window(Dims::from_slice(&[list.shape()[0], 1]), strides, list.offset())
}

/// Every number of one list times every number of the other, under torch's two names for it.
fn ger(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static OP: Op = Op::new("aten::ger", "");
    static OUTER: Op = Op::new("aten::outer", "");
    let args = [a.into(), b.into()];
    OP.compose(&args, || OUTER.compose(&args, || mul(&reshape(a, &[a.shape()[0] as i64, 1])?, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_summed_in_parts() {
        for length in [0, 1, PART, PART + 1, 5 * PART + 7] {
            let numbers: Vec<f64> = (0..length).map(|index| (index % 7) as f64).collect();
            let expected: f64 = numbers.iter().map(|number| number * number).sum();
            assert_eq!(sum_of_products(&numbers, &numbers), expected, "{length}");
        }
    }
}
