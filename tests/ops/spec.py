"""Tensors described in plain Python, so that every library with torch's API can be given the same ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

Scalar: TypeAlias = "bool | int | float"
Layout: TypeAlias = Literal["contiguous", "transposed", "strided", "offset", "expanded"]

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
NUMBERS = FLOATS + INTS
ALL = (*NUMBERS, "bool")


@dataclass(frozen=True)
class T:
    """A tensor to be. Without `values` it gets random ones between `low` and `high`; `dtype` None is the case's."""

    shape: tuple[int, ...]
    dtype: str | None = None
    low: float = -2.0
    high: float = 2.0
    values: tuple[Scalar, ...] | None = None
    layout: Layout = "contiguous"
    grad: bool = True

    @property
    def base_shape(self) -> tuple[int, ...]:
        """The shape of the tensor that owns the memory, of which `view_of` gives this one."""
        shape = self.shape
        if self.layout == "transposed":
            return (*shape[:-2], shape[-1], shape[-2])
        if self.layout == "strided":
            return (*shape[:-1], shape[-1] * 2)
        if self.layout == "offset":
            return (shape[0] + 1, *shape[1:])
        if self.layout == "expanded":
            return (1, *shape[1:])
        return shape

    def view_of(self, base: Any) -> Any:
        if self.layout == "transposed":
            return base.transpose(-1, -2)
        if self.layout == "strided":
            return base[..., ::2]
        if self.layout == "offset":
            return base[1:]
        if self.layout == "expanded":
            return base.expand(self.shape)
        return base

    def data(self, dtype: str, rng: random.Random) -> Data:
        dtype = self.dtype or dtype
        count = math.prod(self.base_shape)
        values = list(self.values) if self.values is not None else self._random(dtype, count, rng)
        return Data(self, dtype, values)

    def _random(self, dtype: str, count: int, rng: random.Random) -> list[Scalar]:
        if dtype == "bool":
            return [rng.random() < 0.5 for _ in range(count)]
        if dtype in INTS:
            low, high = self._integer_range(dtype)
            return [low + int(rng.random() * (high - low)) for _ in range(count)]
        # Odd multiples of 1/64: exact in every dtype up to 4, never at a whole number or halfway between two, where
        # functions have kinks, and distinct as long as there are enough of them.
        grid = [number / 64 for number in range(math.ceil(self.low * 64) | 1, math.floor(self.high * 64), 2)]
        values: list[Scalar] = []
        while len(values) < count:
            values += sorted(grid, key=lambda _: rng.random())
        return values[:count]

    def _integer_range(self, dtype: str) -> tuple[int, int]:
        if (self.low, self.high) != (-2.0, 2.0):
            return math.ceil(self.low), math.ceil(self.high)
        return (0, 12) if dtype == "uint8" else (-6, 7)

    def __str__(self) -> str:
        text = "x".join(map(str, self.shape)) or "0d"
        if self.dtype:
            text += f":{self.dtype}"
        return text if self.layout == "contiguous" else f"{text}.{self.layout}"


@dataclass(frozen=True)
class Data:
    """What a `T` has become in one case."""

    spec: T
    dtype: str
    values: list[Scalar]

    @property
    def differentiable(self) -> bool:
        return self.spec.grad and self.dtype in FLOATS

    def tensor(self, lib: Any, device: str = "cpu") -> Any:
        """The tensor that owns the memory; `spec.view_of` it is the input."""
        base = lib.tensor(self.values, dtype=getattr(lib, self.dtype)).reshape(self.spec.base_shape)
        return base if device == "cpu" else base.to(device)

    def shifted(self, position: int, step: float) -> Data:
        """The same with one value moved by a step."""
        values = list(self.values)
        values[position] += step
        return replace(self, values=values)


@dataclass(frozen=True)
class Name:
    """An attribute of the library's module, such as a dtype."""

    name: str

    def __str__(self) -> str:
        return self.name


def t(*shape: int, **options: Any) -> T:
    """A tensor of random values."""
    return T(shape, **options)


def given(values: Sequence[Any] | Scalar, dtype: str | None = None, **options: Any) -> T:
    """A tensor of these values, in nested lists."""
    shape: list[int] = []
    flat: list[Any] = [values]
    while flat and isinstance(flat[0], (list, tuple)):
        shape.append(len(flat[0]))
        flat = [element for part in flat for element in part]
    if shape and 0 in shape:
        flat = []
    return T(tuple(shape), dtype, values=tuple(flat), **options)


def ints(*shape: int, below: int, dtype: str = "int64", low: int = 0) -> T:
    """A tensor of random integers, such as indices."""
    return T(shape, dtype, low=low, high=below)


def mask(*shape: int) -> T:
    """A tensor of random truth values."""
    return T(shape, "bool")
