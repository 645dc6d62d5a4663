//! Sequences of numbers.

use super::element::Compute;
use crate::Tensor;
use crate::dtype::{ComputeType, DType, Scalar};
use crate::tensor::access;

/// Calls `number` for every place of a contiguous tensor.
fn generate<C: Compute>(out: &Tensor, number: impl Fn(usize) -> C) {
    let numbers: Vec<C> = (0..out.numel()).map(number).collect();
    // SAFETY: the output is contiguous, with as many numbers as were made.
    #[expect(unsafe_code, reason = "numbers are written as the output's type")]
    unsafe {
        super::element::store(&numbers, out.dtype(), access::start(out), 1);
    }
}

/// `start`, `start + step`, and so on.
pub(crate) fn arange(out: &Tensor, start: Scalar, step: Scalar) {
    let exact = ![start, step].iter().any(|scalar| matches!(scalar, Scalar::Float(_)));
    if exact && out.dtype().compute() == ComputeType::I64 {
        let (start, step) = (start.to_i64(), step.to_i64());
        return generate(out, |index| start.wrapping_add(step.wrapping_mul(index as i64)));
    }
    let (start, step) = (start.to_f64(), step.to_f64());
    generate(out, |index| start + step * index as f64);
}

/// From `start` to `end`, computed from the nearer of both, so that both are met.
pub(crate) fn linspace(out: &Tensor, start: f64, end: f64) {
    let steps = out.numel();
    if steps < 2 {
        return generate(out, |_| start);
    }
    if out.dtype() == DType::Float32 {
        let (start, end) = (start as f32, end as f32);
        let step = (end - start) / (steps - 1) as f32;
        return generate(out, |index| {
            if index < steps / 2 { start + step * index as f32 } else { end - step * (steps - 1 - index) as f32 }
        });
    }
    let step = (end - start) / (steps - 1) as f64;
    generate(out, |index| {
        if index < steps / 2 { start + step * index as f64 } else { end - step * (steps - 1 - index) as f64 }
    });
}

/// The one number of a tensor.
pub(crate) fn item(tensor: &Tensor) -> Scalar {
    debug_assert_eq!(tensor.numel(), 1);
    let start = access::start(tensor);
    // SAFETY: there is one number there.
    #[expect(unsafe_code, reason = "a number is read as the tensor's type")]
    unsafe {
        match tensor.dtype() {
            DType::Bool => Scalar::Bool(*start != 0),
            dtype if dtype.is_float() => {
                let mut number = [0.0f64];
                super::element::load(dtype, start, 1, &mut number);
                Scalar::Float(number[0])
            }
            dtype => {
                let mut number = [0i64];
                super::element::load(dtype, start, 1, &mut number);
                Scalar::Int(number[0])
            }
        }
    }
}

/// All numbers of a contiguous tensor, as Python would have them.
pub(crate) fn items(tensor: &Tensor) -> Vec<Scalar> {
    let start = access::start(tensor);
    // SAFETY: the tensor is contiguous.
    #[expect(unsafe_code, reason = "numbers are read as the tensor's type")]
    unsafe {
        if tensor.dtype().is_float() {
            let mut numbers = vec![0.0f64; tensor.numel()];
            super::element::load(tensor.dtype(), start, 1, &mut numbers);
            return numbers.into_iter().map(Scalar::Float).collect();
        }
        let mut numbers = vec![0i64; tensor.numel()];
        super::element::load(tensor.dtype(), start, 1, &mut numbers);
        let is_bool = tensor.dtype() == DType::Bool;
        numbers
            .into_iter()
            .map(|number| if is_bool { Scalar::Bool(number != 0) } else { Scalar::Int(number) })
            .collect()
    }
}
