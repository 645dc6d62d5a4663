"""Functions of one tensor, element by element."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.ops.op import Op, S
from tests.ops.spec import ALL, FLOATS, INTS, NUMBERS, given, t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.ops.op import Sample

SPECIAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 30.0, -30.0, 1e-6]


def samples(low: float = -2.0, high: float = 2.0) -> list[Sample]:
    """Layouts, a scalar, nothing, and the values where functions are not smooth."""
    span: dict[str, Any] = {"low": low, "high": high}
    return [
        S(t(3, 4, **span)),
        S(t(**span)),
        S(t(0, 3, **span)),
        S(t(2, 3, 5, layout="transposed", **span)),
        S(t(4, 3, layout="strided", **span)),
        S(t(3, 4, layout="expanded", **span)),
        S(t(35, **span)),
        S(given(SPECIAL), note="special values", smooth=False),
    ]


def unary(
    name: str,
    low: float = -2.0,
    high: float = 2.0,
    *more: Sample,
    dtypes: Sequence[str] = ALL,
    method: bool = True,
    inplace: bool = True,
) -> Op:
    return Op(name, [*samples(low, high), *more], dtypes, method=method, inplace=inplace, double=True)


def predicate(name: str, dtypes: Sequence[str] = ALL) -> Op:
    return Op(name, samples(), dtypes, differentiable=False)


HALVES = given([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.4999, 1e10])

MATHS = [
    unary("exp"),
    unary("log", 0.1, 2.0),
    unary("log1p", -0.9, 2.0, dtypes=FLOATS),
    unary("sqrt", 0.1, 2.0),
    unary("rsqrt", 0.1, 2.0),
    unary("reciprocal", 0.3, 2.0),
    unary("sin", -2.0, 2.0, S(given([100.0, -250.5, 3.14159265, 1000.25]), note="large angles")),
    unary("cos", -2.0, 2.0, S(given([100.0, -250.5, 3.14159265, 1000.25]), note="large angles")),
    unary("tanh", -2.0, 2.0, S(given([-90.0, -9.5, 9.5, 90.0]), note="saturated")),
    unary("sigmoid", -2.0, 2.0, S(given([-90.0, -20.5, 20.5, 90.0]), note="saturated")),
    unary("erf", -2.0, 2.0, S(given([-6.0, -3.5, 3.5, 6.0]), note="saturated")),
    unary("neg", dtypes=NUMBERS),
    unary("abs", dtypes=NUMBERS),
    unary("sign"),
]

ROUNDING = [
    unary("floor", -2.0, 2.0, S(HALVES, note="halves", smooth=False), dtypes=NUMBERS),
    unary("ceil", -2.0, 2.0, S(HALVES, note="halves", smooth=False), dtypes=NUMBERS),
    unary("trunc", -2.0, 2.0, S(HALVES, note="halves", smooth=False), dtypes=NUMBERS),
    unary(
        "round",
        -2.0,
        2.0,
        S(HALVES, note="halves", smooth=False),
        S(given([1.2345, -2.3456, 12.3456]), decimals=2, smooth=False),
        S(given([123.45, -234.56]), decimals=-1, smooth=False),
        dtypes=NUMBERS,
    ),
]

PREDICATES = [
    predicate("isnan"),
    predicate("isinf"),
    predicate("isfinite"),
    Op("logical_not", samples(), ALL, inplace=True, differentiable=False),
    Op(
        "bitwise_not",
        [S(t(3, 4)), S(t()), S(t(0, 3)), S(t(2, 5, layout="transposed"))],
        (*INTS, "bool"),
        inplace=True,
        differentiable=False,
    ),
]

# Not at infinity, where torch's gelu is NaN in float32 and infinity in float64.
GELU = [*samples()[:-1], S(given(SPECIAL[3:]), note="special values", smooth=False)]
GELU_TANH = [replace(sample, kwargs={"approximate": "tanh"}) for sample in GELU]

ACTIVATIONS = [
    unary("relu", dtypes=NUMBERS),
    Op("nn.functional.relu", samples(), FLOATS, method=False, double=True),
    Op("relu of a copy in place", samples(), call=lambda lib, x: lib.nn.functional.relu(x.clone(), inplace=True)),
    Op("nn.functional.gelu", GELU + GELU_TANH, FLOATS, method=False, double=True),
    Op("nn.functional.silu", samples(), FLOATS, method=False, double=True),
    Op("silu of a copy in place", samples(), call=lambda lib, x: lib.nn.functional.silu(x.clone(), inplace=True)),
]

OPS = MATHS + ROUNDING + PREDICATES + ACTIVATIONS
