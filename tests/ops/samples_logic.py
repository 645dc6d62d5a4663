"""Comparisons, logic, bits and choices, element by element; and the functions of three tensors."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tests.ops.op import Op, S
from tests.ops.samples_binary import BOOLS, NONZERO, pairs, with_numbers
from tests.ops.spec import ALL, FLOATS, INTS, NUMBERS, given, mask, t

if TYPE_CHECKING:
    from collections.abc import Callable

EQUAL = S(given([1.0, 2.0, 3.0]), given([3.0, 2.0, 1.0]), note="some are equal")
BITS = (*INTS, "bool")


def comparison(name: str) -> Op:
    samples = [*pairs(), *with_numbers(), *BOOLS, EQUAL, S(t(3, dtype="int64"), True)]
    return Op(name, samples, ALL, inplace=True, differentiable=False)


def logical(name: str) -> Op:
    return Op(name, [*pairs(), *BOOLS], ALL, inplace=True, differentiable=False)


def bitwise(name: str) -> Op:
    samples = [S(t(3, 4), t(4)), S(t(3), 5), S(t(), t(2, 3)), S(t(0, 3), t(3)), S(t(3, 5, layout="transposed"), t(5))]
    mixed = [S(t(3, dtype="uint8"), t(3, dtype="int32")), S(mask(3), t(3, dtype="int64"))]
    return Op(name, samples + mixed, BITS, inplace=True, differentiable=False)


def sign(text: str, function: Callable[[Any, Any], Any]) -> Op:
    samples = [S(t(3, 4), t(4)), S(t(3), 2), S(t(dtype="int64"), t(3))]
    return Op(f"tensor {text} other", samples, call=lambda _, x, other: function(x, other), differentiable=False)


def sign_of_bits(text: str, function: Callable[[Any, Any], Any]) -> Op:
    samples = [S(t(3, 4), t(4)), S(t(3), 1)]
    return Op(f"tensor {text} other", samples, BITS, call=lambda _, x, y: function(x, y), differentiable=False)


COMPARISONS = [
    *[comparison(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")],
    *[logical(f"logical_{name}") for name in ("and", "or", "xor")],
    *[bitwise(f"bitwise_{name}") for name in ("and", "or", "xor")],
    sign("==", operator.eq),
    sign("!=", operator.ne),
    sign("<", operator.lt),
    sign("<=", operator.le),
    sign(">", operator.gt),
    sign(">=", operator.ge),
    sign_of_bits("&", operator.and_),
    sign_of_bits("|", operator.or_),
    sign_of_bits("^", operator.xor),
    sign_of_bits("&=", lambda x, y: x.clone().__iand__(y)),
    sign_of_bits("|=", lambda x, y: x.clone().__ior__(y)),
    sign_of_bits("^=", lambda x, y: x.clone().__ixor__(y)),
    Op("~tensor", [S(t(3, 4))], BITS, call=lambda _, x: ~x, differentiable=False),
    Op("-tensor", [S(t(3, 4))], NUMBERS, call=lambda _, x: -x, double=True),
    Op("abs(tensor)", [S(t(3, 4))], NUMBERS, call=lambda _, x: abs(x), double=True),
]

CLAMP = [
    S(t(3, 4), -0.7, 0.9),
    S(t(3, 4), min=-0.7),
    S(t(3, 4), max=0.9),
    S(t(3, 4), -1, 1),
    S(t(3, 4), 1.3, -1.3, note="min over max"),
    S(t(3, 4), t(4, low=-1.0, high=0.0), t(3, 1, low=0.0, high=1.0)),
    S(t(3, 4), max=t(4)),
    S(t(), 0.1, 0.2),
    S(t(0, 2), 0, 1),
    S(t(3, dtype="int64"), -2, 2),
    S(t(3, dtype="int64"), 0.5),
    S(given([float("nan"), float("inf"), -float("inf"), -1.0, 1.0]), -1.0, 1.0, note="special values", smooth=False),
    S(t(3, 5, layout="transposed"), -1.0, 1.0),
]

WHERE = [
    S(mask(3, 4), t(3, 4), t(3, 4)),
    S(mask(3, 1), t(4), t(2, 1, 1)),
    S(mask(), t(2, 3), t()),
    S(mask(2, 3), t(2, 3), 1.5),
    S(mask(2, 3), 0, t(2, 3)),
    S(mask(2, 3), 1, 0),
    S(mask(2, 3), 1.0, 0),
    S(mask(2, 3), t(2, 3, dtype="int64"), t(3)),
    S(mask(2, 3), t(2, 3, dtype="int32"), t(dtype="int64")),
    S(mask(0, 3), t(3), t(3)),
    S(mask(3, 4), t(3, 4, layout="transposed"), t(3, 4, layout="expanded")),
    S(
        given([True, False], "bool"),
        given([1.0, float("nan")]),
        given([float("nan"), 2.0]),
        note="nan not chosen",
        smooth=False,
    ),
]


def three(last: dict[str, Any]) -> list[Any]:
    return [
        S(t(3, 4), t(3, 4), t(3, 4, **last)),
        S(t(3, 4), t(4), t(3, 1, **last), value=0.5),
        S(t(), t(2, 1), t(3, **last), value=-2),
        S(t(0, 3), t(3), t(3, **last)),
        S(t(3, 5, layout="transposed"), t(3, 5), t(3, 5, layout="strided", **last), value=2),
    ]


CHOICES = [
    Op("clamp", CLAMP, NUMBERS, inplace=True, double=True),
    Op("where", WHERE, ALL, method=False, double=True),
    Op("tensor.where", WHERE[:3], ALL, call=lambda _, condition, x, y: x.where(condition, y)),
    Op(
        "lerp",
        [S(t(3, 4), t(3, 4), 0.3), S(t(3, 4), t(4), t(3, 1)), S(t(2), t(2), 0.75), S(t(0, 2), t(2), 0.5)],
        FLOATS,
        inplace=True,
        double=True,
    ),
    Op("addcmul", three({}), NUMBERS, inplace=True, double=True),
    Op("addcdiv", three(NONZERO), FLOATS, inplace=True, double=True),
]

OPS = COMPARISONS + CHOICES
