"""Other looks at the memory of a tensor: which shape and strides they have, and when they are copies instead."""

from __future__ import annotations

from typing import Any

from tests.ops.op import Op, S, Sample
from tests.ops.spec import ALL, t


def view(name: str, *samples: Sample, **options: Any) -> Op:
    return Op(name, samples, ALL, view=True, **options)


RESHAPING = [
    view(
        "view",
        S(t(3, 4), 2, 6),
        S(t(3, 4), (4, 3)),
        S(t(3, 4), -1),
        S(t(3, 4), (2, -1, 2)),
        S(t(), 1, 1),
        S(t(1), ()),
        S(t(0, 3), 3, 0),
        S(t(0, 3), (-1, 3)),
        S(t(2, 3, 4, layout="offset"), 6, 4),
        S(t(4, 6, layout="strided"), 4, 2, 3),
        S(t(2, 3, 4, layout="expanded"), 2, 12),
        function=False,
    ),
    view(
        "reshape",
        S(t(3, 4), (2, 6)),
        S(t(3, 4), (-1,)),
        S(t(3, 4, layout="transposed"), (12,)),
        S(t(3, 4, layout="transposed"), (3, 2, 2)),
        S(t(4, 6, layout="strided"), (4, 2, 3)),
        S(t(4, 6, layout="strided"), (24,)),
        S(t(3, 4, layout="expanded"), (12,)),
        S(t(), (1, 1)),
        S(t(1), ()),
        S(t(0, 3), (0,)),
        S(t(0, 3), (5, 0)),
    ),
    view(
        "flatten",
        S(t(2, 3, 4)),
        S(t(2, 3, 4), 1),
        S(t(2, 3, 4), 0, 1),
        S(t(2, 3, 4), start_dim=-2, end_dim=-1),
        S(t(2, 3, 4, layout="transposed"), 1),
        S(t(3), 0, 0),
        S(t()),
        S(t(0, 3)),
    ),
    view(
        "unflatten",
        S(t(6, 2), 0, (2, 3)),
        S(t(2, 6), -1, (-1, 2)),
        S(t(2, 6), dim=1, sizes=(3, 2, 1)),
        S(t(0, 4), 1, (2, 2)),
    ),
    view(
        "squeeze",
        S(t(1, 3, 1, 2)),
        S(t(1, 3, 1), 0),
        S(t(1, 3, 1), 1),
        S(t(1, 3, 1), (0, -1)),
        S(t()),
        S(t(), 0),
        S(t(1, 0)),
        inplace=True,
    ),
    view(
        "unsqueeze",
        S(t(3, 4), 0),
        S(t(3, 4), 2),
        S(t(3, 4), -1),
        S(t(3, 4), -3),
        S(t(), 0),
        S(t(0, 3), 1),
        S(t(3, 4, layout="transposed"), 1),
        inplace=True,
    ),
    view(
        "expand",
        S(t(3, 1), 3, 4),
        S(t(3, 1), (2, 3, 4)),
        S(t(3, 1), -1, 2),
        S(t(), 2, 3),
        S(t(), ()),
        S(t(1, 3), 0, 3),
        function=False,
    ),
]

REORDERING = [
    view(
        "transpose",
        S(t(3, 4), 0, 1),
        S(t(2, 3, 4), -1, 0),
        S(t(2, 3, 4), 1, 1),
        S(t(), 0, -1),
        S(t(0, 3), 0, 1),
        S(t(4, 3, layout="strided"), dim0=0, dim1=1),
        inplace=True,
    ),
    view("t", S(t(3, 4)), S(t(3)), S(t()), S(t(0, 2)), S(t(3, 4, layout="transposed")), inplace=True),
    view("permute", S(t(2, 3, 4), (2, 0, 1)), S(t(2, 3, 4), (-1, 0, -2)), S(t(), ()), S(t(0, 3), (1, 0))),
    view("tensor.permute with numbers", S(t(2, 3, 4), 2, 0, 1), call=lambda _, x, *dims: x.permute(*dims)),
    view("tensor.T", S(t(3, 4)), S(t(3, 4, layout="strided")), call=lambda _, x: x.T),
    view("tensor.mT", S(t(2, 3, 4)), call=lambda _, x: x.mT),
    view("movedim", S(t(2, 3, 4), 0, 2), S(t(2, 3, 4), -1, 0), S(t(2, 3, 4), (0, 1), (2, 0)), S(t(3), 0, 0)),
]

TAKING_APART = [
    view("narrow", S(t(5, 3), 0, 1, 3), S(t(3, 5), -1, 2, 2), S(t(3, 5), 1, -3, 2), S(t(3), 0, 1, 0), S(t(3), 0, 3, 0)),
    view("select", S(t(3, 4), 0, 1), S(t(3, 4), 1, -1), S(t(2, 3, 4), -2, 2), S(t(3), 0, 0)),
    view(
        "split",
        S(t(7, 2), 3),
        S(t(6, 2), 2, 0),
        S(t(3, 5), [2, 0, 3], 1),
        S(t(3, 5), 2, dim=-1),
        S(t(0, 2), 3),
        S(t(4, 6, layout="transposed"), 4, 1),
    ),
    view("chunk", S(t(7, 2), 3), S(t(3, 5), 2, 1), S(t(3, 5), 9, dim=-1), S(t(0, 2), 3), S(t(4), 4)),
    view("unbind", S(t(3, 4)), S(t(3, 4), 1), S(t(3, 4), dim=-1), S(t(3)), S(t(0, 2)), S(t(2, 0))),
]

SAME_SHAPE = [
    view(
        "contiguous",
        S(t(3, 4)),
        S(t(3, 4, layout="transposed")),
        S(t(3, 4, layout="expanded")),
        S(t(4, 3, layout="offset")),
        S(t()),
        function=False,
    ),
    view("detach", S(t(3, 4)), S(t()), S(t(3, 4, layout="transposed")), differentiable=False),
]

OPS = RESHAPING + REORDERING + TAKING_APART + SAME_SHAPE
