"""How a loss of many elements becomes one number."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor

_ENUM = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """Return the number that native losses have for a reduction."""
    if reduction not in _ENUM:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _ENUM[reduction]


def resolve(reduction: str, size_average: bool | None, reduce: bool | None, stacklevel: int = 3) -> str:
    """Return the reduction that is meant where the deprecated ``size_average`` and ``reduce`` may be given too."""
    if size_average is None and reduce is None:
        return reduction
    reduced = "sum" if size_average is False else "mean"
    reduction = "none" if reduce is False else reduced
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
        stacklevel=stacklevel,
    )
    return reduction


def reduce_loss(loss: Tensor, reduction: str) -> Tensor:
    """Reduce a loss that has been computed for each element."""
    number = get_enum(reduction)
    if number == _ENUM["none"]:
        return loss
    return loss.mean() if number == _ENUM["mean"] else loss.sum()
