"""Functions of two tensors, element by element, with broadcasting and Python's numbers on both sides."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.ops.op import Op, S
from tests.ops.spec import ALL, FLOATS, NUMBERS, given, mask, t

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.ops.op import Sample

POSITIVE: dict[str, Any] = {"low": 0.3, "high": 3.0}
NONZERO: dict[str, Any] = {"low": 2.1, "high": 4.9}


def pairs(left: dict[str, Any] | None = None, right: dict[str, Any] | None = None, **kwargs: Any) -> list[Sample]:
    """Two tensors: shapes that broadcast, layouts, dtypes that differ, nothing, and special values."""
    a, b = left or {}, right or {}
    nan, inf = float("nan"), float("inf")
    return [
        S(t(3, 4, **a), t(3, 4, **b), **kwargs),
        S(t(3, 4, **a), t(4, **b), **kwargs),
        S(t(3, 1, **a), t(2, 1, 4, **b), **kwargs),
        S(t(**a), t(2, 3, **b), **kwargs),
        S(t(2, 3, **a), t(**b), **kwargs),
        S(t(**a), t(**b), **kwargs),
        S(t(0, 3, **a), t(1, 3, **b), **kwargs),
        S(t(3, 5, layout="transposed", **a), t(3, 5, **b), **kwargs),
        S(t(4, 3, layout="strided", **a), t(4, 3, layout="expanded", **b), **kwargs),
        S(t(35, **a), t(35, layout="offset", **b), **kwargs),
        S(t(2, 3, **a), t(2, 3, dtype="float64", **b), **kwargs),
        S(t(2, 3, dtype="int64", **a), t(3, **b), **kwargs),
        S(t(2, 3, **a), t(dtype="float64", **b), **kwargs),
        S(
            given([nan, inf, -inf, 0.0, 1.0, nan, inf, 2.0, -0.0, inf], grad=a.get("grad", True)),
            given([1.0, inf, inf, -0.0, nan, nan, 0.0, 2.0, 3.0, -inf], grad=b.get("grad", True)),
            note="special values",
            smooth=False,
            **kwargs,
        ),
    ]


def with_numbers(options: dict[str, Any] | None = None) -> list[Sample]:
    """A tensor and one of Python's numbers."""
    tensor = options or {}
    return [
        S(t(2, 3, **tensor), 2),
        S(t(2, 3, **tensor), 1.5),
        S(t(2, 3, dtype="int32", **tensor), 2),
        S(t(2, 3, dtype="int32", **tensor), 1.5),
        S(t(dtype="int64", **tensor), 2.5),
        S(t(2, 3, dtype="float16", **tensor), 3),
    ]


BOOLS = [S(mask(3, 4), mask(4)), S(mask(2, 3), t(2, 3, dtype="int64")), S(mask(2, 3), t(3))]
MODES: list[str | None] = [None, "floor", "trunc"]
SIGNS = given([7.5, -7.5, 7.5, -7.5, 6.0]), given([2.0, 2.0, -2.0, -2.0, -3.0])
INTEGER_SIGNS = given([7, -7, 7, -7, 6], "int32"), given([2, 2, -2, -2, -3], "int32")


def divided(**both: Any) -> list[Sample]:
    """Divisions of all signs by what is not zero."""
    return [
        *pairs(both, NONZERO | both),
        *with_numbers(both),
        S(*[replace(tensor, **both) for tensor in SIGNS], note="signs", smooth=False),
        S(*INTEGER_SIGNS, note="signs of integers"),
    ]


def powers() -> list[Sample]:
    return [
        *pairs(POSITIVE),
        *with_numbers(POSITIVE),
        S(2, t(3, 4)),
        S(1.5, t(2)),
        S(2, t(3, dtype="int64", **POSITIVE)),
        *[S(t(2, 3), exponent) for exponent in (0, 1, 2, 3, -1, -2, 2.0)],
        *[S(given([-2.0, 0.0, 3.0]), power, note=f"signs to {power}", smooth=False) for power in (0.5, 2, -1, 0)],
        S(given([0.0, 2.0, 0.0]), given([0.0, 0.0, 2.0]), note="zero to zero", smooth=False),
    ]


def rounded_divisions() -> list[Sample]:
    samples = []
    for mode in MODES:
        samples += pairs(None, NONZERO, rounding_mode=mode)[:6]
        samples.append(S(t(2, 3), 1.5, rounding_mode=mode))
        samples.append(S(*SIGNS, rounding_mode=mode, note="signs", smooth=False))
        samples.append(S(*INTEGER_SIGNS, rounding_mode=mode, note="signs of integers"))
    return samples


def arithmetic(name: str, samples: list[Sample], dtypes: Sequence[str] = NUMBERS) -> Op:
    return Op(name, samples, dtypes, inplace=True, double=True)


SCALED = [S(t(3, 4), t(4), alpha=2), S(t(3), 2, alpha=0.5), S(t(3, dtype="int64"), t(3, dtype="int64"), alpha=-3)]

ARITHMETIC = [
    arithmetic("add", [*pairs(), *with_numbers(), *BOOLS, *SCALED, S(t(3), True), S(input=t(2, 3), other=t(3))], ALL),
    arithmetic("sub", [*pairs(), *with_numbers(), *SCALED]),
    arithmetic("mul", [*pairs(), *with_numbers(), *BOOLS, S(t(3), True)], ALL),
    arithmetic("div", [*divided(), S(t(3), 0.0, smooth=False), *rounded_divisions()]),
    arithmetic("pow", powers()),
    arithmetic("remainder", [*divided(), S(5, t(3, grad=False, **NONZERO))]),
    arithmetic("floor_divide", divided(grad=False)),
    Op("maximum", [*pairs(), *BOOLS], ALL, double=True),
    Op("minimum", [*pairs(), *BOOLS], ALL, double=True),
]


def symbol(sign: str, function: Callable[[Any, Any], Any], dtypes: Sequence[str] = NUMBERS) -> list[Op]:
    """A sign of the language between tensors, then with a number on the left, then as an assignment."""
    in_place = getattr(operator, f"i{function.__name__}")
    options = NONZERO | {"grad": sign not in ("//", "%")}
    mixed = with_numbers(options)
    pair = S(t(3, 4, **options), t(4, **options))
    return [
        Op(f"tensor {sign} other", [pair, *mixed], dtypes, call=lambda _, x, other: function(x, other), double=True),
        Op(f"number {sign} tensor", mixed, call=lambda _, x, number: function(number, x), double=True),
        Op(f"tensor {sign}= other", [pair, *mixed[:2]], FLOATS, call=lambda _, x, other: in_place(x.clone(), other)),
    ]


SIGNS_OF_THE_LANGUAGE = [
    *symbol("+", operator.add),
    *symbol("-", operator.sub),
    *symbol("*", operator.mul),
    *symbol("/", operator.truediv),
    *symbol("//", operator.floordiv),
    *symbol("%", operator.mod),
    *symbol("**", operator.pow, FLOATS),
]

OPS = ARITHMETIC + SIGNS_OF_THE_LANGUAGE
