"""Tensors put together, rearranged, copied and converted."""

from __future__ import annotations

from tests.ops.op import Op, S
from tests.ops.spec import ALL, FLOATS, INTS, NUMBERS, Name, given, mask, t

JOINING = [
    Op(
        "cat",
        [
            S([t(2, 3), t(4, 3)]),
            S([t(2, 3), t(2, 1)], 1),
            S([t(2, 3), t(2, 3)], dim=-1),
            S((t(3),)),
            S([t(0, 3), t(2, 3)]),
            S([t(0), t(2, 3)], note="an empty vector is left out"),
            S([t(2), t(3, dtype="int64")]),
            S([t(2), t(2, dtype="float64")]),
            S([t(3, 2, layout="transposed"), t(3, 4, layout="strided")], 1),
            S([t(2, 0), t(2, 0)], 1),
        ],
        ALL,
        method=False,
    ),
    Op(
        "stack",
        [
            S([t(3), t(3)]),
            S([t(2, 3), t(2, 3)], 1),
            S([t(2, 3), t(2, 3), t(2, 3)], dim=-1),
            S([t(), t()]),
            S([t(0, 2), t(0, 2)]),
            S((t(3, 2, layout="transposed"), t(3, 2)), 2),
            S([t(2), t(2, dtype="int64")]),
        ],
        ALL,
        method=False,
    ),
]

TRIANGLES = [
    S(t(4, 4)),
    S(t(3, 5), 1),
    S(t(5, 3), -1),
    S(t(2, 3, 3), diagonal=0),
    S(t(3, 3), 7),
    S(t(0, 3)),
    S(t(3, 4, layout="transposed")),
    S(given([[float("nan"), float("inf")], [1.0, 2.0]]), note="special values", smooth=False),
]

REARRANGING = [
    Op(
        "repeat",
        [S(t(2, 3), 2, 2), S(t(2, 3), (3, 1, 2)), S(t(3), 0), S(t(), 3), S(t(), ()), S(t(0, 2), 2, 1)],
        ALL,
        function=False,
    ),
    Op(
        "flip",
        [
            S(t(3, 4), (0,)),
            S(t(3, 4), (0, 1)),
            S(t(2, 3, 4), (-1, 0)),
            S(t(3), ()),
            S(t(0, 3), (0,)),
            S(t(3, 4, layout="transposed"), [1]),
            S(t(), ()),
        ],
        ALL,
    ),
    Op(
        "roll",
        [
            S(t(3, 4), 1, 0),
            S(t(5), 2),
            S(t(3, 4), (1, -2), (0, 1)),
            S(t(3, 4), 5),
            S(t(3, 4), -1, dims=-1),
            S(t(3, 4), shifts=(1, 2), dims=(0, 0)),
            S(t(3, 4, layout="transposed"), 1),
            S(t(0, 3), 1, 0),
        ],
        ALL,
    ),
    Op("tril", TRIANGLES, ALL, inplace=True),
    Op("triu", TRIANGLES, ALL, inplace=True),
    Op(
        "clone",
        [S(t(3, 4)), S(t()), S(t(0, 3)), S(t(3, 4, layout="transposed")), S(t(3, 4, layout="expanded"))],
        ALL,
        double=True,
    ),
]

POSITIVE = t(3, 4, low=0.0, high=3.0)

CONVERTING = [
    Op(
        "to",
        [
            *[S(POSITIVE, Name(dtype), smooth=dtype == "float64") for dtype in ALL],
            S(t(3, 4), "cpu"),
            S(t(3, 4), dtype=Name("float64")),
            S(t(2, 3), "cpu", Name("float64")),
            S(t(2), Name("float64"), copy=True),
            S(t(2, 3), t(1, dtype="float16", grad=False), smooth=False),
            S(mask(2, 3), Name("float32")),
            S(given([-1.7, 1.7, 2.5]), Name("int64"), note="towards zero", smooth=False),
            S(given([float("nan"), float("inf"), 1e30]), Name("float16"), note="special values", smooth=False),
            S(given([0.0, 0.5, float("nan")]), Name("bool"), note="truth", smooth=False),
            S(given([300, -1, 128], "int64"), Name("uint8"), note="wrapping"),
            S(given([1.00390625, 1.01171875, 3.4e38]), Name("bfloat16"), note="rounding to even", smooth=False),
            S(t(3, 4, layout="transposed"), Name("float64")),
        ],
        ALL,
        function=False,
    ),
    *[Op(name, [S(POSITIVE, smooth=False)], ALL, function=False) for name in ("float", "double", "half", "bfloat16")],
    *[
        Op(name, [S(POSITIVE)], ALL, function=False, differentiable=False)
        for name in ("long", "int", "short", "char", "byte", "bool")
    ],
    Op("tensor.item", [S(t()), S(t(1)), S(t(1, 1))], ALL, call=lambda _, x: x.item(), differentiable=False),
    Op(
        "tensor.tolist",
        [S(t(2, 3)), S(t()), S(t(0, 3)), S(t(2, 0))],
        ALL,
        call=lambda _, x: x.tolist(),
        differentiable=False,
    ),
]

# Changing a tensor of zeros in place: what `copy_` and its like leave there.
COPY = [
    S(t(3, 4), t(3, 4)),
    S(t(3, 4), t(4)),
    S(t(3, 4), t()),
    S(t(3, 4), t(3, 4, layout="transposed")),
    S(t(3, 4, layout="transposed"), t(3, 4)),
    S(t(4, 3, layout="strided"), t(4, 3, layout="strided")),
    S(t(3, 4), t(3, 4, dtype="float64")),
    S(t(3, dtype="int64"), t(3, low=0.0)),
    S(t(0, 3), t(3)),
]

FILLING = [
    Op("copy", COPY, NUMBERS, call=lambda _, x, source: x.clone().copy_(source)),
    Op(
        "fill",
        [S(t(3, 4), 2), S(t(), 1.5), S(t(0, 2), 1), S(t(3), t())],
        FLOATS,
        call=lambda _, x, v: x.clone().fill_(v),
    ),
    Op("fill integers", [S(t(3, 4), 2), S(t(3), True)], (*INTS, "bool"), call=lambda _, x, v: x.clone().fill_(v)),
    Op("zero", [S(t(3, 4)), S(t()), S(t(0, 2))], ALL, call=lambda _, x: x.clone().zero_()),
]

OPS = JOINING + REARRANGING + CONVERTING + FILLING
