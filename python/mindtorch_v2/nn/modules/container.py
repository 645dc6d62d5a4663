"""Modules that hold other modules: one after another, in a list, or by name."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, cast, overload

from mindtorch_v2.nn.modules.module import Module, indent

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, ValuesView

    from typing_extensions import Self

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class _Indexed(Module):
    """What a list of modules is, whether or not it can be called."""

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, _key(self, idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [_key(self, idx)]
        for key in keys:
            delattr(self, key)
        _number(self, list(self))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int) -> Module:
        """Take a module out and return it."""
        module = list(self)[operator.index(key)]
        del self[key]
        return module


# Functions, not methods: a module's methods are for its subclasses to name.


def _key(modules: _Indexed, idx: int) -> str:
    position = operator.index(idx)
    if not -len(modules) <= position < len(modules):
        raise IndexError(f"index {position} is out of range")
    return list(modules._modules)[position]


def _number(holder: _Indexed, modules: list[Module]) -> None:
    """Hold these modules, under their positions."""
    holder.__dict__["_modules"] = {str(position): module for position, module in enumerate(modules)}


class Sequential(_Indexed):
    """Modules that are called one after another, each with the result of the one before."""

    @overload
    def __init__(self, *args: Module) -> None: ...

    @overload
    def __init__(self, arg: OrderedDict[str, Module], /) -> None: ...

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    @overload
    def __getitem__(self, idx: slice) -> Self: ...

    @overload
    def __getitem__(self, idx: int) -> Module: ...

    def __getitem__(self, idx: int | slice) -> Self | Module:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[_key(self, idx)]

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *_sequential(other))

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(_sequential(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*_repeated(self, other))

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        return self.extend(_repeated(self, other)[len(self) :])

    def forward(self, input: Any) -> Any:
        """Return what the last module makes of what those before it made of the input."""
        for module in self:
            input = module(input)
        return input

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at an index."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        _number(self, modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self


def _repeated(sequence: Sequential, times: int) -> list[Module]:
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(sequence)} and {type(times)}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for {type(sequence)}")
    return list(sequence) * times


def _sequential(other: object) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
    return other


class ModuleList(_Indexed):
    """A list of modules, whose parameters are among those of the module that holds it."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, idx: slice) -> Self: ...

    @overload
    def __getitem__(self, idx: int) -> Module: ...

    def __getitem__(self, idx: int | slice) -> Self | Module:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._modules[_key(self, idx)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at an index."""
        modules = list(self)
        modules.insert(index, module)
        _number(self, modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        texts = [repr(module) for module in self]
        lines = []
        start = 0
        while start < len(texts):
            end = start
            while end + 1 < len(texts) and texts[end + 1] == texts[start]:
                end += 1
            times = f"({start}-{end}): {end - start + 1} x" if end > start else f"({start}):"
            lines.append(f"  {times} {indent(texts[start])}\n")
            start = end + 1
        return f"{self._get_name()}(" + ("\n" if lines else "") + "".join(lines) + ")"


class ModuleDict(Module):
    """Modules by name, whose parameters are among those of the module that holds it."""

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove every module."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out and return it."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Return names and modules."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules, in place of those that have the same names."""
        for name, module in pairs(modules, "ModuleDict.update", "ModuleDict"):
            self[name] = module


def pairs(items: Any, method: str, kind: str) -> list[tuple[str, Any]]:
    """Return the pairs of a name and a value that a mapping has, or an iterable of pairs."""
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{method} should be called with an iterable of key/value pairs, but got {type(items).__name__}"
        )
    if isinstance(items, Mapping) or hasattr(items, "items"):
        return list(cast("Mapping[str, Any]", items).items())
    result = list(items)
    for number, pair in enumerate(result):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{kind} update sequence element #{number} should be Iterable; is {type(pair).__name__}")
        if len(cast("Any", pair)) != 2:
            raise ValueError(
                f"{kind} update sequence element #{number} has length {len(cast('Any', pair))}; 2 is required"
            )
    return result
