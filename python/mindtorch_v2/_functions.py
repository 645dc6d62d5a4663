"""Functions of the package that are made of operations."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _core
from mindtorch_v2._core import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindtorch_v2._core import Generator, dtype

__all__ = [
    "allclose",
    "argwhere",
    "can_cast",
    "einsum",
    "equal",
    "finfo",
    "get_default_dtype",
    "get_rng_state",
    "iinfo",
    "initial_seed",
    "is_floating_point",
    "is_tensor",
    "isclose",
    "logspace",
    "manual_seed",
    "meshgrid",
    "norm",
    "normal",
    "numel",
    "outer",
    "randint",
    "randint_like",
    "seed",
    "set_rng_state",
    "std_mean",
    "where",
]


def is_tensor(value: object) -> bool:
    """Whether ``value`` is a tensor."""
    return isinstance(value, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether its numbers can have fractions."""
    return input.is_floating_point()


def numel(input: Tensor) -> int:
    """How many numbers it has."""
    return input.numel()


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and the same numbers."""
    return input.shape == other.shape and bool(_core.all(_core.eq(input, other)).item())


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where both are nearly equal: within ``atol`` plus ``rtol`` times the other."""
    near = _core.le(_core.abs(input - other), atol + rtol * _core.abs(other))
    close = _core.logical_or(_core.eq(input, other), _core.logical_and(near, _core.isfinite(other)))
    if equal_nan:
        close = _core.logical_or(close, _core.logical_and(_core.isnan(input), _core.isnan(other)))
    return close


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all numbers are nearly equal."""
    return bool(_core.all(isclose(input, other, rtol, atol, equal_nan)).item())


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """``input`` where the condition holds, else ``other``; with a condition alone, where it holds."""
    if input is None and other is None:
        return _core.nonzero(condition, as_tuple=True)
    return _core.where(condition, input, other)


def argwhere(input: Tensor) -> Tensor:
    """Return the indices of numbers that are not zero, one in a row."""
    found: Tensor = _core.nonzero(input)
    return found


def einsum(equation: str, *operands: Any) -> Tensor:
    """Return the sum of products that an equation such as ``"bij,bjk->bik"`` says."""
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return _core._einsum(equation, list(tensors))


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Every number of one with every number of the other."""
    if input.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(f"outer: Expected 1-D arguments, but got {input.dim()}-D and {vec2.dim()}-D")
    return input.unsqueeze(1) * vec2


def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Tensor:
    """Return the norm of all numbers, or over dimensions."""
    order = 2.0 if p is None or p == "fro" else p
    if isinstance(order, str):
        raise ValueError(f"norm: p must be a number, 'fro' or None, but got {p!r}; use a number such as 1, 2 or inf")
    return _core._norm(input, order, dim, keepdim, dtype)


def std_mean(
    input: Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean."""
    deviation = _core.std(input, dim, unbiased, keepdim, correction=correction)
    return deviation, _core.mean(input, dim, keepdim)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinates of all combinations."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    axes = [axis.reshape(-1) for axis in given]
    if indexing not in {"ij", "xy"}:
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swapped = indexing == "xy" and len(axes) > 1
    if swapped:
        axes[0], axes[1] = axes[1], axes[0]
    sizes = [axis.numel() for axis in axes]
    grids = [
        axis.view([-1 if place == dim else 1 for place in range(len(axes))]).expand(sizes)
        for dim, axis in enumerate(axes)
    ]
    if swapped:
        grids = [grid.transpose(0, 1) for grid in grids]
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def logspace(start: float, end: float, steps: int, base: float = 10.0, **options: Any) -> Tensor:
    """Return ``steps`` powers of ``base``, from ``base ** start`` to ``base ** end``."""
    return _core.pow(base, _core.linspace(start, end, steps, **options))


def randint(low: int, high: Any = None, size: Any = None, **options: Any) -> Tensor:
    """Integers from ``low`` up to, not including, ``high``: ``randint(high, size)`` or ``randint(low, high, size)``."""
    if size is None and not isinstance(high, int):
        low, high, size = 0, low, high
    if "high" in options or size is None:
        raise TypeError("randint() missing the argument 'size': randint(high, size) or randint(low, high, size)")
    return _core._randint(low, high, size, **options)


def randint_like(input: Tensor, low: int, high: int | None = None, **options: Any) -> Tensor:
    """Integers of the shape, type and device of ``input``."""
    if high is None:
        low, high = 0, low
    options.setdefault("dtype", input.dtype)
    options.setdefault("device", input.device)
    return _core._randint(low, high, input.shape, **options)


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, **options: Any
) -> Tensor:
    """Draw normal numbers: of one mean and deviation and a size, or of those in tensors."""
    if size is not None:
        return _core.empty(size, **options).normal_(mean, std, generator=generator)
    shape = _core.broadcast_tensors([value for value in (mean, std) if isinstance(value, Tensor)])[0]
    drawn: Tensor = _core.randn_like(shape, generator=generator) * std + mean
    return drawn


def manual_seed(seed: int) -> Generator:
    """Start the random numbers again, with those that a seed stands for."""
    return _core.default_generator.manual_seed(builtins.int(seed))


def seed() -> int:
    """Start the random numbers again with a seed that cannot be foretold, and give it."""
    return _core.default_generator.seed()


def initial_seed() -> int:
    """Return the seed that the random numbers were last started with."""
    return _core.default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the random numbers, for ``set_rng_state``."""
    return _core.default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Make the random numbers go on from a state."""
    _core.default_generator.set_state(new_state)


def get_default_dtype() -> dtype:
    """Return the type of floats that nobody gave a type."""
    return _core.get_default_dtype()


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether numbers of one type can become numbers of the other by the rules of promotion."""

    def category(kind: dtype) -> int:
        return 2 if kind.is_floating_point else 0 if kind is _core.bool else 1

    return category(from_) <= category(to)


class finfo:
    """What a type of floats can hold."""

    def __init__(self, type: dtype | None = None) -> None:  # noqa: A002 (torch's name)
        kind = _core.get_default_dtype() if type is None else type
        if not kind.is_floating_point:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{kind}'")
        bits, mantissa, exponent = {
            _core.float16: (16, 10, 15),
            _core.bfloat16: (16, 7, 127),
            _core.float32: (32, 23, 127),
            _core.float64: (64, 52, 1023),
        }[kind]
        self.bits = bits
        self.dtype = str(kind).removeprefix("torch.")
        self.eps = 2.0**-mantissa
        self.max = math.ldexp(2.0 - self.eps, exponent)
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)
        self.resolution = 10.0 ** -math.floor(mantissa * math.log10(2))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """What a type of integers can hold."""

    def __init__(self, type: dtype) -> None:  # noqa: A002 (torch's name)
        if type.is_floating_point or type is _core.bool:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        self.bits = 8 * type.itemsize
        self.dtype = str(type).removeprefix("torch.")
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - 1) - 1 if type.is_signed else 2**self.bits - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
