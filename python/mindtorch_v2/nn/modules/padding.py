"""Padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.nn import functional
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.utils import ntuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindtorch_v2 import Tensor

__all__ = ["ZeroPad2d"]


class ZeroPad2d(Module):
    """Puts zeros around the last two dimensions: on the left, the right, the top and the bottom."""

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = ntuple(padding, 4)

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with zeros around it."""
        return functional.pad(input, self.padding, "constant", 0.0)

    def extra_repr(self) -> str:
        """Say how many zeros."""
        return f"{self.padding}"
