"""Nested containers of tensors and plain values as a JSON text, with names in the place of tensors, and back."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from collections.abc import Callable

_MAPPINGS: dict[str, Callable[..., Any]] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_CONTAINERS = (list, tuple, *_MAPPINGS.values())
_RESERVED = "__metadata__"


class Packer:
    """Takes an object apart into a text and named tensors."""

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self._names: dict[int, str] = {}
        self._open: set[int] = set()

    def pack(self, obj: Any) -> str:
        """Return the text for ``obj``, whose tensors are in ``tensors`` afterwards.

        The tensors of a dict with names have those names; deeper ones are named by the path to them.
        """
        return json.dumps(self._node(obj, ()), separators=(",", ":"), allow_nan=False)

    def _node(self, value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value, path)
        if type(value) in _CONTAINERS:
            return self._container(value, path)
        return _plain_node(value, path)

    def _container(self, value: Any, path: tuple[str, ...]) -> Any:
        if id(value) in self._open:
            raise ValueError(f"{_place(path)} contains itself")
        self._open.add(id(value))
        node: Any
        if isinstance(value, dict):
            pairs = [[self._node(key, path), self._node(item, (*path, str(key)))] for key, item in value.items()]
            node = {type(value).__name__: pairs}
        else:
            items = [self._node(item, (*path, str(position))) for position, item in enumerate(value)]
            node = {"tuple": items} if isinstance(value, tuple) else items
        self._open.discard(id(value))
        return node

    def _tensor(self, tensor: torch.Tensor, path: tuple[str, ...]) -> dict[str, Any]:
        first = self._names.get(id(tensor))
        # Under a name of its own also where it is there already, for those who look it up by name; but not deeper.
        if first is None or len(path) == 1:
            name = self._unused(".".join(path) or "tensor")
            self.tensors[name] = tensor
            first = self._names.setdefault(id(tensor), name)
        node: dict[str, Any] = {"tensor": first}
        if tensor.requires_grad:
            node["requires_grad"] = True
        if tensor.device.type != "cpu":
            node["device"] = str(tensor.device)
        return node

    def _unused(self, name: str) -> str:
        candidate, count = name, 1
        while candidate in self.tensors or candidate == _RESERVED:
            count += 1
            candidate = f"{name}#{count}"
        return candidate


class Unpacker:
    """Puts an object together again."""

    def __init__(self, tensors: dict[str, torch.Tensor], place: Callable[[torch.Tensor, str], torch.Tensor]) -> None:
        self._tensors = tensors
        self._place = place
        self._placed: dict[str, torch.Tensor] = {}

    def unpack(self, text: str) -> Any:
        """Return the object of a text; what is wrong with it is a ValueError."""
        return self._value(json.loads(text))

    def _value(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._value(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "tensor" in node:
            return self._tensor(node)
        ((tag, content),) = node.items()
        if tag in _MAPPINGS:
            return _MAPPINGS[tag]({self._value(key): self._value(item) for key, item in content})
        if tag == "tuple":
            return tuple(self._value(item) for item in content)
        return _plain_value(tag, content)

    def _tensor(self, node: dict[str, Any]) -> torch.Tensor:
        name = node["tensor"]
        if name not in self._placed:
            tensor = self._place(self._tensors[name], node.get("device", "cpu"))
            if node.get("requires_grad"):
                if not tensor.is_floating_point():
                    raise ValueError(f"tensor {name!r} is of {tensor.dtype} and cannot require a gradient")
                tensor.requires_grad_()
            self._placed[name] = tensor
        return self._placed[name]


def _plain_node(value: Any, path: tuple[str, ...]) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is torch.Size:
        return {"Size": list(value)}
    if kind is torch.dtype:
        return {"dtype": str(value).rpartition(".")[2]}
    if kind in (float, torch.device):
        return {kind.__name__: str(value)}
    raise TypeError(f"{_place(path)} is of type {kind.__module__}.{kind.__qualname__}")


def _plain_value(tag: str, content: Any) -> Any:
    if tag == "float":
        return float(content)
    if tag == "Size":
        return torch.Size(content)
    if tag == "device":
        return torch.device(content)
    if tag == "dtype" and isinstance(dtype := getattr(torch, content, None), torch.dtype):
        return dtype
    raise ValueError(f"unknown value {content!r} of kind {tag!r}")


def _place(path: tuple[str, ...]) -> str:
    return f"the value at {'.'.join(path)!r}" if path else "the object"
