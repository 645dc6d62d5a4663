"""What operations with several results return: tuples whose items have names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

    from mindtorch_v2._core import Tensor

__all__ = ["max", "min", "sort", "topk"]


class _ValuesAndIndices(tuple["Tensor", "Tensor"]):
    """Values, and where they were found."""

    __slots__ = ()

    def __new__(cls, results: Iterable[Tensor]) -> Self:
        return super().__new__(cls, tuple(results))

    @property
    def values(self) -> Tensor:
        """The values."""
        return self[0]

    @property
    def indices(self) -> Tensor:
        """Where they were found."""
        return self[1]

    def __repr__(self) -> str:
        return f"torch.return_types.{type(self).__name__}(\nvalues={self[0]!r},\nindices={self[1]!r})"


class max(_ValuesAndIndices):  # noqa: A001 (torch's name)
    """The largest values along a dimension, and where they were found."""


class min(_ValuesAndIndices):  # noqa: A001 (torch's name)
    """The smallest values along a dimension, and where they were found."""


class sort(_ValuesAndIndices):
    """Values in order, and where they were found."""


class topk(_ValuesAndIndices):
    """The largest or smallest values, and where they were found."""
