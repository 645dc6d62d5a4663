"""Attention with several heads."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2 import _core
from mindtorch_v2.nn.functional.activation import softmax
from mindtorch_v2.nn.functional.padding import pad
from mindtorch_v2.nn.functional.regularization import dropout

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor

linear = _core.linear
scaled_dot_product_attention = _core.scaled_dot_product_attention


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return what the queries, of shape ``(L, N, E)`` or ``(L, E)``, get of the values, and the weights if needed."""
    if static_k is not None or static_v is not None:
        raise NotImplementedError("multi_head_attention_forward does not support static_k and static_v")
    is_batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    _check_widths(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
    # A mask that is known to be causal need not be read, unless something is added to it.
    is_causal = is_causal and key_padding_mask is None and not need_weights and bias_k is None and not add_zero_attn
    attn_mask = None if is_causal else canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)

    if use_separate_proj_weight:
        q, k, v = _project(query, key, value, (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        q, k, v = _project_packed(query, key, value, in_proj_weight, in_proj_bias)
    extra = 0
    if bias_k is not None and bias_v is not None:
        k, v = torch.cat([k, bias_k.expand(1, batch, width)]), torch.cat([v, bias_v.expand(1, batch, width)])
        extra += 1
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v must be given together")
    if add_zero_attn:
        k, v = (torch.cat([x, torch.zeros_like(x[:1])]) for x in (k, v))
        extra += 1
    mask = _merge_masks(attn_mask, key_padding_mask, (batch, num_heads, length, key.shape[0]), extra)

    q, k, v = (x.reshape(x.shape[0], batch, num_heads, width // num_heads).permute(1, 2, 0, 3) for x in (q, k, v))
    dropout_p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = (q * math.sqrt(num_heads / width)) @ k.transpose(-2, -1)
        weights = softmax(scores if mask is None else scores + mask, dim=-1)
        weights = dropout(weights, dropout_p) if dropout_p > 0 else weights
        mixed = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        mixed = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    output = linear(mixed.permute(2, 0, 1, 3).reshape(length, batch, width), out_proj_weight, out_proj_bias)
    if not is_batched:
        return output.squeeze(1), None if weights is None else weights.squeeze(0)
    return output, weights


def canonical_mask(
    mask: Tensor | None, mask_name: str, other: Tensor | None, other_name: str, target_type: torch.dtype
) -> Tensor | None:
    """Return a mask that is added to scores: one of truth values says with true what has no part in the attention."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if other is not None and other.dtype != mask.dtype:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill(mask, -math.inf)


def _project_packed(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if query is key and key is value:
        q, k, v = linear(query, weight, bias).chunk(3, -1)
        return q, k, v
    w_q, w_k, w_v = weight.chunk(3)
    return _project(query, key, value, (w_q, w_k, w_v), bias)


def _project(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor | None, ...], bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    biases = (None, None, None) if bias is None else bias.chunk(3)
    projected = []
    for name, x, weight, b in zip("qkv", (query, key, value), weights, biases, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        projected.append(linear(x, weight, b))
    q, k, v = projected
    return q, k, v


def _merge_masks(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, sizes: tuple[int, int, int, int], extra: int
) -> Tensor | None:
    """Return one mask of four dimensions, as wide as the keys with those that were added, which are never masked."""
    batch, heads, length, source = sizes
    mask = None
    if attn_mask is not None:
        expected = (length, source) if attn_mask.dim() == 2 else (batch * heads, length, source)
        if attn_mask.shape != expected:
            raise RuntimeError(
                f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {expected}."
            )
        mask = attn_mask if attn_mask.dim() == 2 else attn_mask.reshape(batch, heads, length, source)
    if key_padding_mask is not None:
        for place, size in enumerate((batch, source)):
            if key_padding_mask.shape[place] != size:
                raise AssertionError(
                    f"Expected key_padded_mask.shape[{place}] to be {size}, but got {key_padding_mask.shape[place]}"
                )
        padding = key_padding_mask.reshape(batch, 1, 1, source)
        mask = padding if mask is None else mask + padding
    return mask if mask is None or not extra else pad(mask, (0, extra))


def _check_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Return whether there is a dimension of batches."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    which = f"For {'batched (3-D)' if dims == 3 else 'unbatched (2-D)'} `query`, expected"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"{which} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"{which} `key_padding_mask` to be `None` or {dims - 1}-D "
            f"but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is None:
        return dims == 3
    if attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"{which} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        )
    heads_shape = (num_heads, query.shape[0], key.shape[0])
    if dims == 2 and attn_mask.dim() == 3 and attn_mask.shape != heads_shape:
        raise AssertionError(f"Expected `attn_mask` shape to be {heads_shape} but got {attn_mask.shape}")
    return dims == 3


def _check_widths(query: Tensor, key: Tensor, value: Tensor, width: int, num_heads: int, separate: bool) -> None:
    if query.shape[-1] != width:
        raise AssertionError(f"was expecting embedding dimension of {width}, but got {query.shape[-1]}")
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
