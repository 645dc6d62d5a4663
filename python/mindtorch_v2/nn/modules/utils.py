"""Sizes that may be given as one number for all dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def ntuple(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Return a size for each dimension."""
    return (value,) * count if isinstance(value, int) else tuple(value)
