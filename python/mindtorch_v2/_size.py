"""The sizes of a tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Size"]


class Size(tuple[int, ...]):
    """The sizes of a tensor's dimensions: a tuple that prints as torch's."""

    __slots__ = ()

    def numel(self) -> int:
        """How many numbers a tensor of these sizes has."""
        return math.prod(self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        return type(self)(item) if isinstance(index, slice) else item

    def __add__(self, other: tuple[int, ...]) -> Self:  # type: ignore[override]
        return type(self)(super().__add__(tuple(other)))

    def __radd__(self, other: tuple[int, ...]) -> Self:
        return type(self)(tuple(other) + tuple(self))

    def __mul__(self, times: SupportsIndex) -> Self:
        return type(self)(super().__mul__(times))

    def __rmul__(self, times: SupportsIndex) -> Self:
        return type(self)(super().__mul__(times))

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return type(self), (tuple(self),)
