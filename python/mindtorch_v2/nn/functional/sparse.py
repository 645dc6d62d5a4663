"""Functions of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2 import _core

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor

one_hot = _core.one_hot


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of a table that the input names; the one at ``padding_idx`` gets no gradient.

    With ``max_norm``, those of them whose norm is greater are first scaled to it, in the table.
    """
    if sparse:
        raise NotImplementedError("embedding does not support sparse: gradients are dense")
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    else:
        padding_idx %= rows
    if max_norm is not None:
        _limit_norms(weight, input, max_norm, norm_type)
    return _core.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _limit_norms(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    with torch.no_grad():
        table = weight.detach()
        places = indices.reshape(-1)
        ones = torch.ones(places.shape, dtype=table.dtype, device=table.device)
        uses = torch.zeros(table.shape[:1], dtype=table.dtype, device=table.device).index_add(0, places, ones)
        norms = table.norm(norm_type, 1, keepdim=True)
        too_long = (uses > 0).unsqueeze(1) & (norms > max_norm)
        table.mul_(torch.where(too_long, max_norm / (norms + 1e-7), torch.ones_like(norms)))
