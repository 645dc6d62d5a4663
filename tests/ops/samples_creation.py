"""Tensors out of nothing."""

from __future__ import annotations

from tests.ops.op import Op, S
from tests.ops.spec import ALL, INTS, NUMBERS, Name, t

NAN, INF = float("nan"), float("inf")

SHAPES = [
    S(2, 3),
    S((2, 3)),
    S([3]),
    S(()),
    S(0, 3),
    S(4),
    *[S(2, 2, dtype=Name(dtype)) for dtype in ALL],
    S(size=(2, 1)),
    S(2, device="cpu", requires_grad=True),
]

LIKE = [
    S(t(2, 3)),
    S(t()),
    S(t(0, 3)),
    S(t(2, 3), dtype=Name("int64")),
    S(t(2, 3, layout="transposed")),
]

TENSOR = [
    S(1),
    S(1.5),
    S(True),
    S([]),
    S([[], []]),
    S([1, 2, 3]),
    S([1, 2.5]),
    S([True, False]),
    S([True, 2]),
    S([[1.0, 2.0], [3.0, 4.0]]),
    S([[[1], [2]], [[3], [4]]]),
    S(((1, 2), (3, 4))),
    S([NAN, INF, -INF, -0.0]),
    S([2**40, -(2**40)]),
    *[S([0, 1, 2], dtype=Name(dtype)) for dtype in ALL],
    *[S([0.0, 1.75, 2.5], dtype=Name(dtype)) for dtype in NUMBERS],
    S([1.0], requires_grad=True),
    S(range(3)),
]

ARANGE = [
    S(5),
    S(5.0),
    S(2, 7),
    S(1, 10, 3),
    S(5, 0, -2),
    S(0, 1, 0.25),
    S(0.5, 3),
    S(3, 3),
    S(1, 2, 0.3),
    S(end=4),
    S(start=1, end=4),
    *[S(5, dtype=Name(dtype)) for dtype in NUMBERS],
]

LINSPACE = [
    S(0, 1, 5),
    S(-2.0, 3.0, 11),
    S(1, 0, 4),
    S(3, 3, 2),
    S(0, 1, 1),
    S(0, 1, 0),
    S(0, 10, steps=6),
    *[S(0, 10, 6, dtype=Name(dtype)) for dtype in ("float64", "float16", "bfloat16", *INTS[:2])],
]

FULL = [
    S((2, 3), 1.5),
    S((2, 3), 7),
    S((2,), True),
    S((), 3.0),
    S((0, 2), 1),
    S((2,), NAN),
    *[S((2, 2), 1, dtype=Name(dtype)) for dtype in ALL],
    S(size=(2, 2), fill_value=-1),
]

OPS = [
    Op("tensor", TENSOR, method=False),
    Op("zeros", SHAPES, method=False),
    Op("ones", SHAPES, method=False),
    Op("full", FULL, method=False),
    Op("arange", ARANGE, method=False),
    Op("linspace", LINSPACE, method=False),
    Op("eye", [S(3), S(2, 4), S(4, 2), S(0), *[S(2, dtype=Name(dtype)) for dtype in ALL]], method=False),
    Op("zeros_like", LIKE, ALL, method=False, differentiable=False),
    Op("ones_like", LIKE, ALL, method=False, differentiable=False),
    Op(
        "full_like",
        [S(t(2, 3), 2), S(t(2), 1, dtype=Name("int64")), S(t(0, 3), 1)],
        ALL,
        method=False,
        differentiable=False,
    ),
]
