//! Scaled dot product attention.

use super::flash_attention::flash_attention;
use super::float::signed;
use super::softmax::safe_softmax;
use super::{
    add, dropout, expand, matmul, mul, ones, reshape, same_device, scalar_tensor, squeeze, transpose, tril, unsqueeze,
    r#where,
};
use crate::Tensor;
use crate::autograd::mode;
use crate::dispatch::{Arg, Op};
use crate::dtype::{DType, Scalar};
use crate::error::{Result, ensure};

/// What queries see of keys and values.
#[derive(Clone, Copy)]
pub struct Attention<'a> {
    /// What is added to the scores, or truths that say which of them count.
    pub mask: Option<&'a Tensor>,
    /// The probability with which a weight is dropped.
    pub dropout_p: f64,
    /// Whether a query sees only the keys up to its own number.
    pub is_causal: bool,
    /// What scores are multiplied with; none is one over the root of the number of features.
    pub scale: Option<f64>,
    /// Whether several heads of queries share one of keys and values.
    pub enable_gqa: bool,
}

/// `softmax(query @ key^T * scale + mask) @ value`, of `[..., heads, length, features]`.
///
/// # Errors
/// If shapes or types do not go together.
pub fn scaled_dot_product_attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    attention: Attention<'_>,
) -> Result<Tensor> {
    static OP: Op = Op::new("aten::scaled_dot_product_attention", "");
    let Attention { mask, dropout_p, is_causal, scale, enable_gqa } = attention;
    let args = [
        query.into(),
        key.into(),
        value.into(),
        mask.into(),
        Arg::Float(dropout_p),
        Arg::Bool(is_causal),
        scale.map_or(Arg::None, Arg::Float),
        Arg::Bool(enable_gqa),
    ];
    OP.compose(&args, || {
        check(query, key, value, attention)?;
        let mask = mask.map(|mask| summand(mask, query.dtype())).transpose()?;
        let features = query.shape()[query.ndim() - 1];
        let scale = scale.unwrap_or(1.0 / (features as f64).sqrt());
        let (key, value) = if enable_gqa {
            (shared_heads(key, query)?, shared_heads(value, query)?)
        } else {
            (key.clone(), value.clone())
        };
        let parts = Parts { query, key: &key, value: &value, mask: mask.as_ref(), is_causal, scale };
        if dropout_p == 0.0 && parts.can_be_fused() { parts.fused() } else { parts.composed(dropout_p) }
    })
}

/// What an attention is computed of.
struct Parts<'a> {
    query: &'a Tensor,
    key: &'a Tensor,
    value: &'a Tensor,
    mask: Option<&'a Tensor>,
    is_causal: bool,
    scale: f64,
}

impl Parts<'_> {
    /// Whether one kernel can do it: it has no gradient of the mask, and broadcasts nothing else.
    fn can_be_fused(&self) -> bool {
        let (query, key, value) = (self.query.shape(), self.key.shape(), self.value.shape());
        let dims = query.len();
        let wants_mask_gradient = self.mask.is_some_and(Tensor::requires_grad) && mode::is_recording();
        matches!(dims, 3 | 4)
            && self.query.dtype().is_float()
            && !wants_mask_gradient
            && self.mask.is_none_or(|mask| mask.ndim() <= dims)
            && query[..dims - 2] == key[..key.len() - 2]
            && key[..key.len() - 1] == value[..value.len() - 1]
            && query[dims - 1] == key[key.len() - 1]
    }

    fn fused(&self) -> Result<Tensor> {
        let Self { query, key, value, mask, is_causal, scale } = *self;
        if query.ndim() == 4 {
            return flash_attention([query, key, value], mask, is_causal, scale);
        }
        let batch = |tensor: &Tensor| unsqueeze(tensor, 0);
        let mask = match mask {
            Some(mask) if mask.ndim() == 3 => Some(batch(mask)?),
            mask => mask.cloned(),
        };
        let tensors = [&batch(query)?, &batch(key)?, &batch(value)?];
        squeeze(&flash_attention(tensors, mask.as_ref(), is_causal, scale)?, Some(&[0]))
    }

    /// The same, made of other operations.
    fn composed(&self, dropout_p: f64) -> Result<Tensor> {
        static OP: Op = Op::new("aten::_scaled_dot_product_attention_math", "");
        let Self { query, key, value, mask, is_causal, scale } = *self;
        let args = [
            query.into(),
            key.into(),
            value.into(),
            mask.into(),
            Arg::Float(dropout_p),
            Arg::Bool(is_causal),
            Arg::None,
            Arg::Float(scale),
            Arg::Bool(false),
        ];
        OP.compose(&args, || {
            // Half of the factor on each side, so that small types do not overflow.
            let half = scale.abs().sqrt();
            let query = mul(query, Scalar::Float(half.copysign(scale)))?;
            let key = mul(&transpose(key, -2, -1)?, Scalar::Float(half))?;
            let mut scores = matmul(&query, &key)?;
            if is_causal {
                let (length, keys) = (scores.shape()[scores.ndim() - 2], scores.shape()[scores.ndim() - 1]);
                let seen = tril(&ones(&[length, keys], DType::Bool, scores.device())?, 0)?;
                scores = add(&scores, &summand(&seen, scores.dtype())?, 1.into())?;
            }
            if let Some(mask) = mask {
                scores = add(&scores, mask, 1.into())?;
            }
            let mut weights = safe_softmax(&scores)?;
            if dropout_p > 0.0 {
                weights = dropout(&weights, dropout_p, true)?;
            }
            matmul(&weights, value)
        })
    }
}

/// A mask as what is added to scores.
fn summand(mask: &Tensor, dtype: DType) -> Result<Tensor> {
    if mask.dtype() != DType::Bool {
        return Ok(mask.clone());
    }
    let hidden = scalar_tensor(Scalar::Float(f64::NEG_INFINITY), dtype, mask.device())?;
    r#where(mask, Scalar::Float(0.0), &hidden)
}

/// Keys or values, as often as there are heads of queries for each of theirs.
fn shared_heads(tensor: &Tensor, query: &Tensor) -> Result<Tensor> {
    let heads = |tensor: &Tensor| tensor.shape()[tensor.ndim() - 3];
    let times = heads(query) / heads(tensor);
    if times == 1 {
        return Ok(tensor.clone());
    }
    let mut shape = signed(tensor.shape());
    shape.insert(tensor.ndim() - 2, times as i64);
    let repeated = expand(&unsqueeze(tensor, -3)?, &shape)?;
    shape.remove(tensor.ndim() - 2);
    shape[tensor.ndim() - 3] = heads(query) as i64;
    reshape(&repeated, &shape)
}

fn check(query: &Tensor, key: &Tensor, value: &Tensor, attention: Attention<'_>) -> Result<()> {
    let Attention { mask, is_causal, enable_gqa, .. } = attention;
    ensure!(
        query.ndim() >= 2 && key.ndim() >= 2 && value.ndim() >= 2,
        Runtime,
        "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {} key.dim: {} and value.dim: {} \
         instead.",
        query.ndim(),
        key.ndim(),
        value.ndim()
    );
    let dtype = query.dtype();
    ensure!(
        key.dtype() == dtype && value.dtype() == dtype,
        Runtime,
        "Expected query, key, and value to have the same dtype, but got query.dtype: {} key.dtype: {} and value.dtype: {} \
         instead.",
        dtype.profiler_name(),
        key.dtype().profiler_name(),
        value.dtype().profiler_name()
    );
    ensure!(dtype.is_float(), Runtime, "expected scalar type Float but found {}", dtype.scalar_type());
    if let Some(mask) = mask {
        ensure!(
            !is_causal,
            Runtime,
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        );
        ensure!(
            mask.dtype() == DType::Bool || mask.dtype() == DType::Float32 || mask.dtype() == dtype,
            Runtime,
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {} and  query.dtype: \
             {} instead.",
            mask.dtype().profiler_name(),
            dtype.profiler_name()
        );
    }
    if enable_gqa {
        let heads = |tensor: &Tensor| tensor.ndim().checked_sub(3).map_or(0, |dim| tensor.shape()[dim]);
        let divides = |tensor: &Tensor| heads(tensor) > 0 && heads(query) % heads(tensor) == 0;
        ensure!(
            divides(key) && divides(value),
            Runtime,
            "Number of heads in key and value must divide the number of heads in query"
        );
    }
    same_device(&[query, key, value].into_iter().chain(mask).collect::<Vec<_>>())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{gradients, leaf, numbers, tensor};
    use super::*;

    const PLAIN: Attention<'_> =
        Attention { mask: None, dropout_p: 0.0, is_causal: false, scale: None, enable_gqa: false };

    fn some(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|index| ((index * 37 + seed * 11) % 19) as f64 / 7.0 - 1.0).collect()
    }

    #[test]
    fn one_kernel_and_many_operations_agree() {
        let leaves =
            [leaf(&some(24, 1), &[1, 2, 3, 4]), leaf(&some(40, 2), &[1, 2, 5, 4]), leaf(&some(20, 3), &[1, 2, 5, 2])];
        let [query, key, value] = leaves.each_ref();
        let grad = some(12, 4);
        let mask = tensor(&some(30, 5), &[2, 3, 5]);
        for (mask, is_causal) in [(None, false), (None, true), (Some(&mask), false)] {
            let parts = Parts { query, key, value, mask, is_causal, scale: 0.5 };
            assert!(parts.can_be_fused());
            let (fused, composed) = (parts.fused().unwrap(), parts.composed(0.0).unwrap());
            assert_eq!(numbers(&fused), numbers(&composed));
            let fused = gradients(&fused, &grad, &[query, key, value]);
            let composed = gradients(&composed, &grad, &[query, key, value]);
            for (fused, composed) in fused.iter().zip(&composed) {
                assert_eq!(numbers(fused), numbers(composed));
            }
        }
    }

    #[test]
    fn heads_may_share_keys() {
        let query = tensor(&some(8, 1), &[1, 4, 1, 2]);
        let (key, value) = (leaf(&some(8, 2), &[1, 2, 2, 2]), tensor(&some(8, 3), &[1, 2, 2, 2]));
        let shared = Attention { enable_gqa: true, ..PLAIN };
        let out = scaled_dot_product_attention(&query, &key, &value, shared).unwrap();
        assert_eq!(out.shape(), [1, 4, 1, 2]);
        let first = |tensor: &Tensor, heads: i64| super::super::narrow(tensor, 1, 0, heads).unwrap();
        let alone = scaled_dot_product_attention(&first(&query, 1), &first(&key, 1), &first(&value, 1), PLAIN).unwrap();
        assert_eq!(numbers(&first(&out, 1)), numbers(&alone));
    }

    #[test]
    fn who_sees_nothing_gets_nothing() {
        let (query, key) = (leaf(&[1.0, 1.0], &[1, 1, 1, 2]), tensor(&[1.0; 4], &[1, 1, 2, 2]));
        let mask = super::super::zeros(&[1, 2], DType::Bool, crate::Device::Cpu).unwrap();
        for dropout_p in [0.0, 0.5] {
            let hidden = Attention { mask: Some(&mask), dropout_p, ..PLAIN };
            let out = scaled_dot_product_attention(&query, &key, &key, hidden).unwrap();
            assert_eq!(numbers(&out), [0.0, 0.0]);
            assert_eq!(numbers(&gradients(&out, &[1.0, 1.0], &[&query])[0]), [0.0, 0.0]);
        }
    }
}
