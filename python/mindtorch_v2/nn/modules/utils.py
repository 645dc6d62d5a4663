"""What the constructors of layers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence


def ntuple(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Return a size for each dimension, where one number may have been given for all."""
    return (value,) * count if isinstance(value, int) else tuple(value)


def empty_parameter(
    shape: Sequence[int] | None, device: torch.device | str | None, dtype: torch.dtype | None
) -> Parameter | None:
    """Return a parameter that is still to be filled, or none where there is no shape."""
    return None if shape is None else Parameter(torch.empty(shape, device=device, dtype=dtype))
