//! What operations on floats share: kernels compute in `f32` and `f64`, and other types are converted.

use super::reduce::kernel_dtype;
use super::{contiguous, to_dtype};
use crate::Tensor;
use crate::autograd::{Context, Grads, mode, track_list};
use crate::dtype::DType;
use crate::error::{Result, bail, ensure};

/// Evaluates code in which `$number` is the type that kernels have for a dtype.
macro_rules! with_float {
    ($dtype:expr, $number:ident => $code:expr) => {
        match $dtype {
            $crate::DType::Float64 => {
                type $number = f64;
                $code
            }
            _ => {
                type $number = f32;
                $code
            }
        }
    };
}

pub(super) use with_float;

/// A tensor as kernels take it: its numbers one after another, in the type that kernels have for its own.
pub(super) fn for_kernel(tensor: &Tensor) -> Result<Tensor> {
    as_kernel_dtype(tensor, tensor.dtype())
}

/// [`for_kernel`] of a tensor that goes with one of another dtype.
pub(super) fn as_kernel_dtype(tensor: &Tensor, dtype: DType) -> Result<Tensor> {
    contiguous(&to_dtype(tensor, kernel_dtype(dtype))?)
}

/// Fails unless the tensor is of floats; `kernel` is torch's name for what does not exist for others.
pub(super) fn check_float(kernel: &str, dtype: DType) -> Result<()> {
    ensure!(dtype.is_float(), NotImplemented, "\"{kernel}\" not implemented for '{}'", dtype.scalar_type());
    Ok(())
}

/// Whether the gradient of a gradient may be asked for. Then a formula is made of operations that have gradients
/// themselves; else one kernel does it all.
pub(super) fn is_differentiated<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> bool {
    mode::is_recording() && tensors.into_iter().any(Tensor::requires_grad)
}

/// Says that the gradients which a kernel computed have none themselves: whoever asks for one learns it.
pub(super) fn end_of_graph(op: &'static str, inputs: &[Option<&Tensor>], gradients: &[Option<Tensor>]) -> Result<()> {
    let gradients: Vec<&Tensor> = gradients.iter().flatten().collect();
    track_list("NotImplemented", inputs, &gradients, || {
        move |_: &Context<'_>, _: &Grads| bail!(NotImplemented, "derivative for {op} is not implemented")
    })
}

/// Sizes as arguments of operations.
pub(super) fn signed(sizes: &[usize]) -> Vec<i64> {
    sizes.iter().map(|&size| size as i64).collect()
}

#[cfg(test)]
pub(super) mod testing {
    //! Small tensors, and their gradients.

    use crate::autograd::{Request, grad};
    use crate::{Device, Tensor, ops};

    /// A tensor that wants a gradient.
    pub(in crate::ops) fn leaf(numbers: &[f64], shape: &[usize]) -> Tensor {
        let leaf = tensor(numbers, shape);
        leaf.set_requires_grad(true).unwrap();
        leaf
    }

    pub(in crate::ops) fn tensor(numbers: &[f64], shape: &[usize]) -> Tensor {
        Tensor::from_slice(numbers, shape).unwrap()
    }

    /// The numbers of a tensor, without the last digits, in which rounding shows.
    pub(in crate::ops) fn numbers(tensor: &Tensor) -> Vec<f64> {
        let numbers = ops::to(tensor, Some(crate::DType::Float64), Some(Device::Cpu), false).unwrap();
        numbers.to_vec::<f64>().unwrap().iter().map(|x| (x * 1e9).round() / 1e9 + 0.0).collect()
    }

    /// The gradients of a weighted sum of `out`, as parts of a graph themselves.
    pub(in crate::ops) fn gradients(out: &Tensor, weights: &[f64], inputs: &[&Tensor]) -> Vec<Tensor> {
        compute(out, weights, inputs, Request { create_graph: true, retain_graph: true })
    }

    /// The gradients as kernels compute them, without a graph.
    pub(in crate::ops) fn kernel_gradients(out: &Tensor, weights: &[f64], inputs: &[&Tensor]) -> Vec<Tensor> {
        compute(out, weights, inputs, Request::default())
    }

    fn compute(out: &Tensor, weights: &[f64], inputs: &[&Tensor], request: Request) -> Vec<Tensor> {
        let inputs: Vec<Tensor> = inputs.iter().map(|&input| input.clone()).collect();
        let weights = [Some(tensor(weights, out.shape()))];
        let gradients = grad(std::slice::from_ref(out), &weights, &inputs, request).unwrap();
        gradients.into_iter().map(Option::unwrap).collect()
    }
}
