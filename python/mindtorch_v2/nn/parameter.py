"""The tensors that a module owns: parameters, which are trained, and buffers, which are not."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._core import _note_parameter

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Buffer", "Parameter"]


class Parameter(torch.Tensor):
    """A tensor that a module trains: assigned as an attribute, it is among the module's parameters."""

    def __new__(cls, data: torch.Tensor | None = None, requires_grad: bool = True) -> Self:
        """Share the memory of ``data``, outside of any graph that made it."""
        if data is None:
            data = torch.empty(0)
        parameter = torch.Tensor._make_subclass(cls, data, requires_grad)
        _note_parameter(parameter)
        return parameter

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        copied: Self = memo[id(self)]
        return copied

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        no_hooks: OrderedDict[int, Any] = OrderedDict()
        arguments = (self.data, self.requires_grad, no_hooks)
        if self.__dict__:
            return _rebuild_parameter_with_state, (*arguments, dict(self.__dict__))
        return _rebuild_parameter, arguments


class Buffer(torch.Tensor):
    """A tensor that a module keeps and does not train: assigned as an attribute, it is among the module's buffers."""

    persistent: bool

    def __new__(cls, data: torch.Tensor | None = None, *, persistent: bool = True) -> Self:
        """Share the memory of ``data``; a buffer that is not persistent is left out of the state dict."""
        if data is None:
            data = torch.empty(0)
        buffer = torch.Tensor._make_subclass(cls, data, data.requires_grad)
        buffer.persistent = persistent
        return buffer

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) not in memo:
            memo[id(self)] = _rebuild_buffer(self.data.clone(), self.requires_grad, self.persistent)
        copied: Self = memo[id(self)]
        return copied

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_buffer, (self.data, self.requires_grad, self.persistent)


def _rebuild_parameter(data: torch.Tensor, requires_grad: bool, backward_hooks: OrderedDict[int, Any]) -> Parameter:
    """Make a parameter of what was pickled; hooks are never pickled, and their place is torch's."""
    if backward_hooks:
        raise ValueError("a pickled parameter has no backward hooks: register them again after loading")
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: torch.Tensor, requires_grad: bool, backward_hooks: OrderedDict[int, Any], state: dict[str, Any]
) -> Parameter:
    """Make a parameter of what was pickled, with the attributes that were set on it."""
    parameter = _rebuild_parameter(data, requires_grad, backward_hooks)
    parameter.__dict__.update(state)
    return parameter


def _rebuild_buffer(data: torch.Tensor, requires_grad: bool, persistent: bool) -> Buffer:
    """Make a buffer of what was pickled."""
    return Buffer(data.requires_grad_(requires_grad), persistent=persistent)
