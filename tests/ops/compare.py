"""Results as plain data, and what is different between two of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.ops.run import dtype_name
from tests.ops.spec import FLOATS

Tolerances: TypeAlias = "dict[str, tuple[float, float]]"

# Relative and absolute, as torch.testing has them; in half precision with some room for terms that cancel.
TOLERANCES: Tolerances = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-4),
    "bfloat16": (1.6e-2, 1e-3),
}
# Gradients in half precision are rounded after each step, and the steps may differ.
GRADIENT_TOLERANCES = TOLERANCES | {"float32": (1e-5, 1e-5), "float16": (5e-3, 5e-3), "bfloat16": (4e-2, 4e-2)}
DIGITS = {"float64": 10, "float32": 7, "float16": 6, "bfloat16": 6}


@dataclass(frozen=True)
class Plain:
    """A tensor as plain data."""

    dtype: str
    shape: list[int]
    values: list[Any]

    def __str__(self) -> str:
        return f"{self.dtype}{self.shape} {self.values}"


def plain(value: Any) -> Any:
    """The same result with each tensor as plain data."""
    if hasattr(value, "requires_grad"):
        flat = value.detach().cpu().reshape(-1).tolist()
        return Plain(dtype_name(value), list(value.shape), flat)
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return value


def check(actual: Any, expected: Any, tolerances: Tolerances | None = None, where: str = "result") -> None:
    """Fail with every difference between two pieces of plain data; no tolerances stands for equality."""
    __tracebackhide__ = True
    lines = differences(actual, expected, tolerances, where)
    assert not lines, "\n".join(lines)


def differences(actual: Any, expected: Any, tolerances: Tolerances | None, where: str) -> list[str]:
    if isinstance(actual, Plain) and isinstance(expected, Plain):
        return _differences_of_tensors(actual, expected, tolerances, where)
    if isinstance(actual, list) and isinstance(expected, list):
        if len(actual) != len(expected):
            return [f"{where}: {len(actual)} of them, expected {len(expected)}"]
        return [
            line
            for number, pair in enumerate(zip(actual, expected, strict=True))
            for line in differences(*pair, tolerances, f"{where} {number}")
        ]
    if type(actual) is type(expected) and close(actual, expected, 1e-6, 1e-6):
        return []
    return [f"{where}: {actual!s}, expected {expected!s}"]


def _differences_of_tensors(actual: Plain, expected: Plain, tolerances: Tolerances | None, where: str) -> list[str]:
    lines = []
    if actual.dtype != expected.dtype:
        lines.append(f"{where}: dtype {actual.dtype}, expected {expected.dtype}")
    if actual.shape != expected.shape:
        lines.append(f"{where}: shape {actual.shape}, expected {expected.shape}")
    if lines:
        return lines
    relative, absolute = (tolerances or {}).get(expected.dtype, (0.0, 0.0))
    return [
        f"{where}[{position}]: {got!r}, expected {wanted!r}"
        for position, (got, wanted) in enumerate(zip(actual.values, expected.values, strict=True))
        if not close(got, wanted, relative, absolute)
    ]


def close(actual: Any, expected: Any, relative: float, absolute: float) -> bool:
    if isinstance(actual, float) and isinstance(expected, float):
        if math.isnan(expected):
            return math.isnan(actual)
        if math.isinf(expected) or math.isinf(actual):
            return actual == expected
        return abs(actual - expected) <= absolute + relative * abs(expected)
    return bool(actual == expected)


def encode(value: Any) -> Any:
    """Plain data as JSON: a tensor is `{dtype: [shape, values]}`, where infinity and NaN are strings."""
    if isinstance(value, Plain):
        digits = DIGITS.get(value.dtype)
        values = value.values
        if digits is not None:
            values = [float(f"{x:.{digits}g}") if math.isfinite(x) else str(x) for x in values]
            values = [int(x) if isinstance(x, float) and x.is_integer() and abs(x) < 1e15 else x for x in values]
        return {value.dtype: [value.shape, values]}
    if isinstance(value, list):
        return [encode(element) for element in value]
    return value


def decode(value: Any) -> Any:
    if isinstance(value, dict):
        [(dtype, (shape, values))] = value.items()
        return Plain(dtype, shape, [float(x) for x in values] if dtype in FLOATS else values)
    if isinstance(value, list):
        return [decode(element) for element in value]
    return value
