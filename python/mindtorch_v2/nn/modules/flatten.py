"""Joining dimensions into one, and making several of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindtorch_v2 import Tensor

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dimensions from ``start_dim`` to ``end_dim`` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Return the input in its new shape."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Say which dimensions are joined."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes dimensions of ``unflattened_size`` of the one at ``dim``."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise NotImplementedError("Unflatten does not support a named dim: give its number")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for place, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} "
                    f"at pos {place}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """Return the input in its new shape, where one size of ``-1`` is what is left for it."""
        if not -input.dim() <= self.dim < input.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], "
                f"but got {self.dim})"
            )
        dim = self.dim % input.dim()
        return input.reshape([*input.shape[:dim], *self.unflattened_size, *input.shape[dim + 1 :]])

    def extra_repr(self) -> str:
        """Say which dimension becomes what."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
