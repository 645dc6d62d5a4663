"""Methods of tensors that are made of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _core, _functions
from mindtorch_v2._core import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return the tensor where the condition holds, else ``other``."""
    return _core.where(condition, self, other)


def _new_tensor(self: Tensor, data: Any, **options: Any) -> Tensor:
    """Return a copy of ``data`` with this tensor's type and device, unless others are given."""
    options.setdefault("dtype", self.dtype)
    options.setdefault("device", self.device)
    return _core.tensor(data, **options)


def _index_put_(self: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """Put values at indices; add them up if ``accumulate``."""
    return _core._index_put_(self, list(indices), values, accumulate)


def _index_put(self: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """Return a copy with values at indices."""
    return _core._index_put_(self.clone(), list(indices), values, accumulate)


def _reshaping(view: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Make an in-place form of a view: the tensor takes the view's place."""

    def in_place(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self._become(view(self, *args, **kwargs))

    in_place.__doc__ = f"The in-place form of ``{view.__name__}``."
    return in_place


_METHODS: dict[str, Callable[..., Any]] = {
    "allclose": _functions.allclose,
    "equal": _functions.equal,
    "index_put": _index_put,
    "index_put_": _index_put_,
    "isclose": _functions.isclose,
    "new_tensor": _new_tensor,
    "norm": _functions.norm,
    "outer": _functions.outer,
    "squeeze_": _reshaping(Tensor.squeeze),
    "t_": _reshaping(Tensor.t),
    "transpose_": _reshaping(Tensor.transpose),
    "unsqueeze_": _reshaping(Tensor.unsqueeze),
    "where": _where,
}

for _name, _method in _METHODS.items():
    setattr(Tensor, _name, _method)
