//! Attention in one kernel, which never holds all weights at once.

use super::float::{as_kernel_dtype, end_of_graph, for_kernel, with_float};
use super::{contiguous, expand, to_dtype, zeros};
use crate::Tensor;
use crate::autograd::{Context, Saved, track};
use crate::dispatch::{Arg, Op, launch_list};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::attention::{Attention, Gradients, Mask, Shape};
use crate::shape::{broadcast, numel};
use crate::tensor::access::{read, write};

/// What a kernel is told, beside the numbers.
#[derive(Clone, Copy)]
struct Plan {
    shape: Shape,
    /// For how many heads in turn each matrix of the mask is.
    repeat: usize,
    causal: bool,
    scale: f64,
}

/// `softmax(query @ key^T * scale + mask) @ value`, of `[batch, heads, length, features]`.
pub(super) fn flash_attention(
    [query, key, value]: [&Tensor; 3],
    mask: Option<&Tensor>,
    causal: bool,
    scale: f64,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::_scaled_dot_product_flash_attention_for_cpu", "");
    let args =
        [query.into(), key.into(), value.into(), Arg::Float(0.0), Arg::Bool(causal), mask.into(), Arg::Float(scale)];
    let (batch, heads, queries) = (query.shape()[0], query.shape()[1], query.shape()[2]);
    let shape = Shape {
        heads: batch * heads,
        queries,
        keys: key.shape()[2],
        features: query.shape()[3],
        values: value.shape()[3],
    };
    let (out, log_sums, mask, plan) = OP.run(&args, || {
        let (mask, repeat) = mask_for_kernel(query, key, mask)?;
        let plan = Plan { shape, repeat, causal, scale };
        let x = [for_kernel(query)?, for_kernel(key)?, for_kernel(value)?];
        let (dtype, device) = (x[0].dtype(), x[0].device());
        let sizes = [batch, heads, queries, shape.values];
        let log_sums = Tensor::allocate(&sizes[..3], dtype, device)?;
        if numel(&sizes) == 0 || shape.keys == 0 {
            return Ok((zeros(&sizes, query.dtype(), device)?, log_sums, mask, plan));
        }
        let out = Tensor::allocate(&sizes, dtype, device)?;
        let scratch = Tensor::allocate(&[shape.forward_scratch_len()], dtype, device)?;
        let [query_data, key, value] = x.each_ref().map(Some);
        let tensors = [Some(&out), Some(&log_sums), Some(&scratch), query_data, key, value, mask.as_ref()];
        launch_list("flash_attention", &tensors, move |tensors| {
            let &[Some(out), Some(log_sums), Some(scratch), Some(query), Some(key), Some(value), mask] = tensors else {
                return;
            };
            with_float!(out.dtype(), T => {
                let attention: Attention<'_, T> = plan.attention([query, key, value], mask);
                attention.forward(write(out), write(log_sums), write(scratch));
            });
        })?;
        Ok((to_dtype(&out, query.dtype())?, log_sums, mask, plan))
    })?;
    track("ScaledDotProductFlashAttentionForCpuBackward0", [query, key, value], &out, || {
        let (inputs, result) = ([query, key, value].map(Saved::new), Saved::output(&out));
        move |context: &Context<'_>, grad: &Tensor| {
            let inputs = [inputs[0].get(context)?, inputs[1].get(context)?, inputs[2].get(context)?];
            let gradients = backward(grad, inputs.each_ref(), &result.get(context)?, &log_sums, mask.as_ref(), plan)?;
            Ok(gradients.map(Some))
        }
    })?;
    Ok(out)
}

fn backward(
    grad: &Tensor,
    inputs: [&Tensor; 3],
    out: &Tensor,
    log_sums: &Tensor,
    mask: Option<&Tensor>,
    plan: Plan,
) -> Result<[Tensor; 3]> {
    const NAME: &str = "aten::_scaled_dot_product_flash_attention_for_cpu_backward";
    static OP: Op = Op::new(NAME, "");
    let [query, key, value] = inputs;
    let args = [
        grad.into(),
        query.into(),
        key.into(),
        value.into(),
        out.into(),
        log_sums.into(),
        Arg::Float(0.0),
        Arg::Bool(plan.causal),
        mask.into(),
        Arg::Float(plan.scale),
    ];
    let gradients = OP.run(&args, || {
        let dtype = log_sums.dtype();
        if out.numel() == 0 || plan.shape.keys == 0 {
            let none = |of: &Tensor| zeros(of.shape(), dtype, of.device());
            return Ok([none(query)?, none(key)?, none(value)?]);
        }
        let x = [for_kernel(query)?, for_kernel(key)?, for_kernel(value)?];
        let (grad, out) = (as_kernel_dtype(grad, dtype)?, as_kernel_dtype(out, dtype)?);
        let like = |of: &Tensor| Tensor::allocate(of.shape(), dtype, of.device());
        let gradients = [like(query)?, like(key)?, like(value)?];
        let scratch = Tensor::allocate(&[plan.shape.backward_scratch_len()], dtype, grad.device())?;
        let outputs = gradients.iter().chain([&scratch]);
        let tensors: Vec<Option<&Tensor>> =
            outputs.chain(&x).chain([&grad, &out, log_sums]).map(Some).chain([mask]).collect();
        launch_list("flash_attention_backward", &tensors, move |tensors| {
            let (&[Some(of_query), Some(of_key), Some(of_value), Some(scratch)], inputs) = tensors.split_at(4) else {
                return;
            };
            let &[Some(query), Some(key), Some(value), Some(grad), Some(out), Some(log_sums), mask] = inputs else {
                return;
            };
            with_float!(out.dtype(), T => {
                let attention: Attention<'_, T> = plan.attention([query, key, value], mask);
                let gradients = Gradients { query: write(of_query), key: write(of_key), value: write(of_value) };
                attention.backward(gradients, read(grad), read(out), read(log_sums), write(scratch));
            });
        })?;
        Ok(gradients)
    })?;
    let inputs = [Some(grad), Some(query), Some(key), Some(value)];
    end_of_graph(NAME, &inputs, &gradients.clone().map(Some))?;
    Ok(gradients)
}

impl Plan {
    fn attention<'a, T: crate::Element + crate::kernels::real::Real>(
        self,
        [query, key, value]: [&'a Tensor; 3],
        mask: Option<&'a Tensor>,
    ) -> Attention<'a, T> {
        Attention {
            query: read(query),
            key: read(key),
            value: read(value),
            mask: mask.map(|mask| Mask { data: read(mask), repeat: self.repeat }),
            shape: self.shape,
            scale: T::from_f64(self.scale),
            causal: self.causal,
        }
    }
}

/// A mask as matrices of all scores, and for how many heads in turn each is.
fn mask_for_kernel(query: &Tensor, key: &Tensor, mask: Option<&Tensor>) -> Result<(Option<Tensor>, usize)> {
    let Some(mask) = mask else { return Ok((None, 1)) };
    let scores = [query.shape()[0], query.shape()[1], query.shape()[2], key.shape()[2]];
    // It can be broadcast to the scores, or the error says that it cannot.
    let common = broadcast(&scores, mask.shape())?;
    crate::error::ensure!(
        common[..] == scores,
        Runtime,
        "attn_mask of shape {} cannot be broadcast to the scores, which have shape {}",
        crate::shape::list(mask.shape()),
        crate::shape::list(&scores)
    );
    let outer = |dim: usize| mask.ndim().checked_sub(4 - dim).map_or(1, |own| mask.shape()[own]);
    let (batch, heads) = (outer(0), outer(1));
    let matrices = [batch, heads, scores[2], scores[3]].map(|size| size as i64);
    let repeat = if heads == 1 && batch > 1 { scores[1] } else { 1 };
    let dtype = if query.dtype() == DType::Float64 { DType::Float64 } else { DType::Float32 };
    Ok((Some(contiguous(&to_dtype(&expand(mask, &matrices)?, dtype)?)?), repeat))
}
