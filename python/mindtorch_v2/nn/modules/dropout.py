"""Dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.nn import functional
from mindtorch_v2.nn.modules.module import Module

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor

__all__ = ["Dropout", "Dropout1d", "Dropout2d"]


class _DropoutNd(Module):
    """What has a probability of dropping."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Say the probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Makes each element zero with probability ``p`` in training, and the others greater so that the mean stays."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, with some of it dropped in training."""
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Makes each whole channel of ``(N, C, L)`` or ``(C, L)`` zero with probability ``p`` in training."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, with some of its channels dropped in training."""
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Makes each whole channel of ``(N, C, H, W)`` zero with probability ``p`` in training."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, with some of its channels dropped in training."""
        return functional.dropout2d(input, self.p, self.training, self.inplace)
