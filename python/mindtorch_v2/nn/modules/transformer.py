"""The encoder of a transformer."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional
from mindtorch_v2.nn.functional.attention import canonical_mask
from mindtorch_v2.nn.modules.attention import MultiheadAttention
from mindtorch_v2.nn.modules.container import ModuleList
from mindtorch_v2.nn.modules.dropout import Dropout
from mindtorch_v2.nn.modules.linear import Linear
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.normalization import LayerNorm

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch_v2 import Tensor

__all__ = ["TransformerEncoder", "TransformerEncoderLayer"]

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": functional.relu, "gelu": functional.gelu}


class TransformerEncoderLayer(Module):
    """Self-attention and then a network of two linear layers, each of them added to what it got and normalised."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if isinstance(activation, str) and activation not in _ACTIVATIONS:
            raise RuntimeError(f"activation should be relu/gelu, not {activation}")
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, device=device, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, device=device, dtype=dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _ACTIVATIONS[activation] if isinstance(activation, str) else activation

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the encoded sequence; ``is_causal`` says that the mask is causal, which must be true then."""
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src.dtype)
        mask = canonical_mask(src_mask, "src_mask", None, "", src.dtype)
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        normalised: Tensor = self.norm2(src + self._ff_block(src))
        return normalised

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        dropped: Tensor = self.dropout1(attended)
        return dropped

    def _ff_block(self, x: Tensor) -> Tensor:
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        dropped: Tensor = self.dropout2(x)
        return dropped


class TransformerEncoder(Module):
    """Copies of one layer, one after another, and a norm if one is given.

    ``enable_nested_tensor`` and ``mask_check`` choose between ways of torch's to compute the same, of which there is
    one here: what is padding is computed too.
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Return the encoded sequence; whether the mask is causal is found out unless it is said."""
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src.dtype)
        mask = canonical_mask(mask, "mask", None, "", src.dtype)
        if is_causal is None:
            is_causal = _is_causal(mask)
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if self.norm is not None:
            src = self.norm(src)
        return src


def _is_causal(mask: Tensor | None) -> bool:
    if mask is None or mask.dim() != 2 or mask.shape[0] != mask.shape[1]:
        return False
    causal = torch.full(tuple(mask.shape), -math.inf, dtype=mask.dtype, device=mask.device).triu(1)
    return bool((mask == causal).all())
