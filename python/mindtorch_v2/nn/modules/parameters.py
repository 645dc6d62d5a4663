"""Modules that hold parameters: in a list, or by name."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

import mindtorch_v2 as torch
from mindtorch_v2.nn._typename import typename
from mindtorch_v2.nn.modules.container import pairs
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView

    from typing_extensions import Self

__all__ = ["ParameterDict", "ParameterList"]


class ParameterList(Module):
    """A list of parameters; tensors that are put into it become parameters, and other things stay what they are."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    @overload
    def __getitem__(self, idx: slice) -> Self: ...

    @overload
    def __getitem__(self, idx: int) -> Any: ...

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[position] for position in range(*idx.indices(len(self))))
        return getattr(self, _key(self, idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, _key(self, idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add one at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several at the end."""
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """Say what each item is."""
        return "\n".join(f"  ({position}): {_describe(item, dtype=True)}" for position, item in enumerate(self))

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Raise: a list computes nothing."""
        raise RuntimeError("ParameterList should not be called.")


def _key(parameters: ParameterList, idx: int) -> str:
    position = operator.index(idx)
    if not -len(parameters) <= position < len(parameters):
        raise IndexError(f"index {position} is out of range")
    return str(position % len(parameters))


class ParameterDict(Module):
    """Parameters by name; tensors that are put into it become parameters, and other things stay what they are."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _checked(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, _checked(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, _checked(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, which is the default if it had none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything."""
        for key in [*self._keys]:
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a value out and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last value out, and return its key and it."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        return self[key] if self.__contains__(key) else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a dictionary that has the default for each of the keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values, in place of those that have the same names; a plain mapping's in the order of the names."""
        items = pairs(parameters, "ParametersDict.update", "ParameterDict")
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            items = sorted(items, key=lambda item: item[0])
        for key, value in items:
            self[key] = value

    def extra_repr(self) -> str:
        """Say what each value is."""
        return "\n".join(f"  ({key}): {_describe(value, dtype=False)}" for key, value in self.items())

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Raise: a dictionary computes nothing."""
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self


def _checked(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string "
            f"(type is '{type(key).__name__}')."
        )
    return key


def _as_parameter(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _describe(item: Any, dtype: bool) -> str:
    if not isinstance(item, torch.Tensor):
        return f"Object of type: {type(item).__name__}"
    kind = "Parameter" if isinstance(item, Parameter) else "Tensor"
    name = str(item.dtype) if dtype else typename(item)
    size = "x".join(map(str, item.shape))
    device = "" if item.device.type == "cpu" else f" ({item.device})"
    return f"{kind} containing: [{name} of size {size}{device}]"
