"""Functions that make fewer numbers of many."""

from __future__ import annotations

from typing import Any

from tests.ops.op import Op, S, Sample
from tests.ops.spec import ALL, FLOATS, NUMBERS, Name, given, mask, t

NAN, INF = float("nan"), float("inf")
SPECIAL = given([[1.0, NAN, 2.0], [INF, 1.0, -INF], [3.0, 2.0, 1.0], [-INF, -INF, -INF]])
TIES = given([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0], [0.0, -1.0, 0.0]])


def over_one(**kwargs: Any) -> list[Sample]:
    """One dimension, or all of them where that is the default."""
    return [
        S(t(3, 4), 1, **kwargs),
        S(t(3, 4), -2, True, **kwargs),
        S(t(2, 3, 4), dim=1, **kwargs),
        S(t(2, 3, 4), dim=-1, keepdim=True, **kwargs),
        S(t(5), 0, **kwargs),
        S(t(), 0, **kwargs),
        S(t(), -1, True, **kwargs),
        S(t(0, 3), 1, **kwargs),
        S(t(4, 5, layout="transposed"), 0, **kwargs),
        S(t(4, 5, layout="strided"), 1, **kwargs),
        S(t(3, 4, layout="expanded"), 0, **kwargs),
        S(t(2, 37), 1, **kwargs),
        S(SPECIAL, 1, note="special values", smooth=False, **kwargs),
    ]


def over_all(**kwargs: Any) -> list[Sample]:
    return [
        S(t(3, 4), **kwargs),
        S(t(), **kwargs),
        S(t(2, 3, 4, layout="transposed"), **kwargs),
        S(t(3, 4, layout="expanded"), **kwargs),
        S(SPECIAL, note="special values", smooth=False, **kwargs),
    ]


def over_many(**kwargs: Any) -> list[Sample]:
    return [
        S(t(2, 3, 4), (0, 2), **kwargs),
        S(t(2, 3, 4), (-1, 0), True, **kwargs),
        S(t(2, 3, 4), dim=[1], **kwargs),
        S(t(2, 3, 4), dim=(1, 2), keepdim=True, **kwargs),
        S(t(2, 3, 4), dim=(0, 1, 2), **kwargs),
    ]


NOTHING = [S(t(0)), S(t(0, 3), 0), S(t(2, 0, 3), 1), S(t(0, 3), 0, True)]
EMPTY_DIMS = [S(t(2, 3), ()), S(t(2, 3), (), True), S(t(2, 3), None), S(t(2, 3), None, True)]
IN_ANOTHER = [S(t(2, 3), dtype=Name("float64")), S(t(2, 3), 1, dtype=Name("float64")), S(mask(2, 3), 1)]
INTEGERS = [S(t(2, 3, dtype=dtype), 1) for dtype in ("int64", "int32", "uint8")]

ZEROS = [
    S(given([2.0, 0.0, 3.0]), note="one zero"),
    S(given([[0.0, 0.0, 3.0], [1.0, 2.0, 0.0]]), 1, note="zeros"),
]
RUNNING = [
    S(t(3, 4), 1),
    S(t(2, 3, 4), -2),
    S(t(), 0),
    S(t(0), 0),
    S(t(0, 3), dim=1),
    S(t(4, 5, layout="transposed"), 0),
    S(t(3, 4, layout="expanded"), 0),
    S(t(2, 37), 1),
    S(t(2, 3), 1, dtype=Name("float64")),
    S(mask(2, 3), 1),
    S(SPECIAL, 1, note="special values", smooth=False),
    *INTEGERS,
]
LARGE = S(given([100.0, 100.0]), 0, note="large")

SUMS = [
    Op("sum", over_all() + over_one() + over_many() + NOTHING + EMPTY_DIMS + IN_ANOTHER + INTEGERS, ALL, double=True),
    Op("mean", over_all() + over_one() + over_many() + NOTHING + EMPTY_DIMS + IN_ANOTHER[:2], FLOATS, double=True),
    Op("prod", over_all() + over_one() + NOTHING + INTEGERS + IN_ANOTHER + ZEROS, ALL, double=True),
    Op("cumsum", RUNNING, NUMBERS, inplace=True, double=True),
    Op("logsumexp", [*over_one(), *over_many(), S(t(0, 3), 0), LARGE], FLOATS, double=True),
]

SPREAD = [
    *over_all(),
    *over_one(),
    *over_many(),
    S(t(3, 4), correction=0),
    S(t(3, 4), dim=1, correction=2),
    S(t(3, 4), dim=(0, 1), correction=0, keepdim=True),
    S(t(3, 4), unbiased=False),
    S(t(3, 4), 1, unbiased=False),
    S(t(3, 4), False),
    S(t(3, 4), 1, False, True),
    S(given([1e4, 1e4 + 1, 1e4 + 2]), note="far from zero"),
]

NORMS = [
    *over_all(),
    S(t(3, 4), 1),
    S(t(3, 4), 2, 1),
    S(t(3, 4), p=3, dim=0),
    S(t(3, 4), p=INF),
    S(t(3, 4), p=-INF, dim=1),
    S(t(3, 4), p="fro"),
    S(t(3, 4), p="fro", dim=(0, 1), keepdim=True),
    S(t(2, 3, 4), p=2, dim=(0, 2)),
    S(t(3, 4), p=0, dim=1),
    S(t(3, 4), p=0.5, dim=1),
    S(t(0)),
    S(given([0.0, 0.0]), note="zeros", smooth=False),
]

TIED = [S(TIES, 1, note="ties", smooth=False), S(TIES, note="ties of all", smooth=False)]
TWO = [S(t(3, 4), t(4)), S(t(3, 4), t(3, 4))]


def extremes(which: str) -> list[Op]:
    """The value alone, with its place, of two tensors; the values without places; the places alone."""
    return [
        Op(which, over_all() + over_one() + TIED + TWO, ALL, double=True),
        Op(f"a{which}", over_all() + over_one() + over_many() + EMPTY_DIMS[:2] + TIED[:1], ALL, double=True),
        Op(f"arg{which}", [*over_all(), *over_one(), *TIED, S(t(3, 4), keepdim=True)], NUMBERS, differentiable=False),
    ]


TRUTH = [
    *over_all(),
    *over_one(),
    *over_many(),
    *NOTHING,
    S(given([[1.0, 0.0], [0.0, 0.0], [1.0, 2.0]]), 1, note="zeros"),
]

OPS = [
    *SUMS,
    Op("var", SPREAD, FLOATS, double=True),
    Op("std", SPREAD, FLOATS, double=True),
    Op("norm", NORMS, FLOATS, double=True),
    *extremes("max"),
    *extremes("min"),
    *[Op(name, TRUTH, ALL, differentiable=False) for name in ("any", "all")],
]
