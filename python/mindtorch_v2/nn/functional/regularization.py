"""Dropout."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2 import _core
from mindtorch_v2.nn.functional.activation import in_place

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Make each element zero with probability ``p`` in training, and the others greater so that the mean stays."""
    _check_probability(p)
    if inplace:
        return in_place(input, lambda x: _core.dropout(x, p, training))
    return _core.dropout(input, p, training)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Make each whole channel of ``(N, C, L)`` or ``(C, L)`` zero with probability ``p`` in training."""
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _channel_dropout(input, p, training, inplace, input.dim() - 1)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Make each whole channel of ``(N, C, H, W)`` zero with probability ``p`` in training."""
    _check_probability(p)
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and will result in an "
            "error in a future release. To retain the behavior and silence this warning, please use dropout instead. "
            "Note that dropout2d exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return _channel_dropout(input, p, training, inplace, 2)


def _channel_dropout(input: Tensor, p: float, training: bool, inplace: bool, kept_dims: int) -> Tensor:
    """Drop along the dimensions after the first ``kept_dims`` together."""
    if not training or p == 0:
        return input
    shape = [*input.shape[:kept_dims]] + [1] * (input.dim() - kept_dims)
    noise = _core.dropout(torch.ones(shape, dtype=input.dtype, device=input.device), p, True)
    return in_place(input, lambda x: x * noise) if inplace else input * noise


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
