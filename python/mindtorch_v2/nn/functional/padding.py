"""Padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2 import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindtorch_v2 import Tensor


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Return the input with more, or less, at the ends of its last dimensions.

    ``pad`` has two numbers for each dimension, from the last on: how much before it and how much after it.
    """
    if mode == "constant":
        return _core.pad(input, list(pad), "constant", value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    padded = len(pad) // 2
    if len(pad) % 2 or padded not in (1, 2, 3) or input.dim() not in (padded + 1, padded + 2):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    for number in range(padded):
        dim = input.dim() - 1 - number
        places = _places(input.shape[dim], pad[2 * number], pad[2 * number + 1], mode)
        input = input.index_select(dim, torch.tensor(places, device=input.device))
    return input


def _places(size: int, before: int, after: int, mode: str) -> list[int]:
    """Return where each value of a padded dimension is from."""
    positions = range(-before, size + after)
    if mode == "replicate":
        return [min(max(position, 0), size - 1) for position in positions]
    if mode == "circular":
        if max(before, after) > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        return [position % size for position in positions]
    if max(before, after) >= size:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, "
            f"but got: padding ({before}, {after}) at a dimension of size {size}"
        )
    last = size - 1
    return [last - abs(last - abs(position)) for position in positions]
