"""Elements chosen by tensors of indices or truth values, and the order of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.ops.op import Op, S
from tests.ops.spec import ALL, FLOATS, NUMBERS, given, ints, mask, t

if TYPE_CHECKING:
    from tests.ops.op import Sample
    from tests.ops.spec import T

ROWS = given([[0, 2, 1, 0], [1, 1, 0, 2]], "int64")
REPEATED_ROWS = given([[0, 2, 1, 0], [0, 2, 0, 0]], "int64")
COLUMNS = given([[3, 0], [1, 2], [0, 3]], "int64")
TIES = given([[3.0, 1.0, 3.0, 2.0], [0.0, 0.0, -1.0, 0.0]])
SPECIAL = given([1.0, float("nan"), float("-inf"), float("inf"), -1.0])

GATHER = [
    S(t(3, 4), 0, ROWS),
    S(t(3, 4), 1, ints(3, 2, below=4)),
    S(t(2, 3, 4), -1, ints(2, 1, 6, below=4)),
    S(t(5), 0, ints(7, below=5)),
    S(t(), 0, given(0, "int64")),
    S(t(3, 4), 0, ints(0, 4, below=3)),
    S(t(3, 4, layout="transposed"), 1, ints(3, 4, below=4)),
    S(t(3, 4), 1, ints(2, 2, below=4)),
]


def scattered(rows: T) -> list[Sample]:
    return [
        S(t(3, 4), 0, rows, t(2, 4)),
        S(t(3, 4), 1, COLUMNS, t(3, 2)),
        S(t(3, 4), -1, COLUMNS, t(3, 3, grad=False)),
        S(t(5), 0, given([4, 0, 2], "int64"), t(3)),
        S(t(3, 4), 0, ints(0, 4, below=3), t(0, 4)),
        S(t(3, 4, layout="transposed"), 1, COLUMNS, t(3, 2)),
    ]


SCATTERED_NUMBERS = [S(*sample.args[:3], 1.5) for sample in scattered(ROWS)]

INDEX_SELECT = [
    S(t(3, 4), 0, given([2, 0, 2], "int64")),
    S(t(3, 4), 1, given([1, 3], "int32")),
    S(t(2, 3, 4), -2, given([1], "int64")),
    S(t(3, 4), 0, given([], "int64")),
    S(t(4), 0, given(2, "int64")),
    S(t(3, 4, layout="transposed"), 1, given([3, 0], "int64")),
]

INDEX_ADD = [
    S(t(3, 4), 0, given([2, 0, 2], "int64"), t(3, 4)),
    S(t(3, 4), 1, given([1, 3], "int64"), t(3, 2)),
    S(t(3, 4), 1, given([1, 1], "int32"), t(3, 2), alpha=2),
    S(t(5), 0, given([4, 4, 0], "int64"), t(3), alpha=-1),
    S(t(3, 4), -1, given([], "int64"), t(3, 0)),
]

MASKED_FILL = [
    S(t(3, 4), mask(3, 4), 1.5),
    S(t(3, 4), mask(4), 0),
    S(t(3, 4), mask(3, 1), t()),
    S(t(3, 4), mask(3, 4), float("-inf"), smooth=False),
    S(t(0, 4), mask(4), 1.0),
    S(t(3, 4, layout="transposed"), mask(3, 4), 2.0),
    S(t(2, 3, dtype="int64"), mask(2, 3), 7),
    S(mask(2, 3), mask(2, 3), True),
]

MASKED_SELECT = [
    S(t(3, 4), mask(3, 4)),
    S(t(3, 4), mask(4)),
    S(t(4), mask(3, 4)),
    S(t(2, 3), given([[False] * 3] * 2, "bool")),
    S(t(3, 4, layout="transposed"), mask(3, 4)),
    S(t(), given(True, "bool")),
]

TAKE_ALONG_DIM = [
    S(t(3, 4), ints(3, 2, below=4), 1),
    S(t(3, 4), ints(1, 4, below=3), dim=0),
    S(t(3, 4), ints(5, below=12)),
    S(t(1, 4), ints(3, 1, below=4), -1),
]

NONZERO = [
    S(mask(3, 4)),
    S(t(2, 3, dtype="int64")),
    S(given([0.0, 1.0, float("nan"), -0.0])),
    S(t(0, 3)),
    S(t()),
    S(given(0.0)),
    S(t(3, 4, layout="transposed")),
    S(mask(3, 4), as_tuple=True),
]

EMBEDDING = [
    S(ints(2, 3, below=5), t(5, 4)),
    S(ints(below=5), t(5, 4)),
    S(ints(0, below=5), t(5, 4)),
    S(ints(4, below=5), t(5, 4, layout="transposed")),
    # The row of padding has no gradient, whatever its values do to the result.
    S(given([1, 1, 0, 1], "int64"), t(5, 2), padding_idx=1, smooth=False),
    S(given([4, 3], "int32"), t(5, 2), padding_idx=-1, smooth=False),
]

ONE_HOT = [
    S(ints(4, below=3)),
    S(ints(2, 3, below=3), 5),
    S(ints(below=3), num_classes=4),
    S(given([], "int64"), 3),
]

ORDER = [
    S(given([3, 1, 5, 2, 4])),
    S(t(3, 4), 0),
    S(t(3, 4), -1, True),
    S(t(3, 4), dim=1, descending=True),
    S(t()),
    S(t(0)),
    S(t(2, 0)),
    S(t(3, 4, layout="transposed")),
    S(t(3, 40)),
    S(SPECIAL, note="special values", smooth=False),
    S(TIES, stable=True, smooth=False),
    S(TIES, dim=1, descending=True, stable=True, smooth=False),
]

TOPK = [
    S(given([3, 1, 5, 2, 4]), 2),
    S(t(3, 4), 3, 0),
    S(t(3, 4), k=2, dim=-1, largest=False),
    S(t(3, 4), 4),
    S(t(3, 4), 0),
    S(t(), 1),
    S(t(3, 4, layout="transposed"), 2),
    S(t(2, 50), 7),
]

OPS = [
    Op("gather", GATHER, ALL, double=True),
    Op("scatter", scattered(ROWS) + SCATTERED_NUMBERS, FLOATS, inplace=True),
    Op("scatter_add", scattered(REPEATED_ROWS), NUMBERS, inplace=True),
    Op("index_select", INDEX_SELECT, ALL),
    Op("index_add", INDEX_ADD, NUMBERS, inplace=True),
    Op("masked_fill", MASKED_FILL, FLOATS, inplace=True),
    Op("masked_select", MASKED_SELECT, ALL),
    Op("take_along_dim", TAKE_ALONG_DIM, ALL),
    Op("nonzero", NONZERO, ALL, differentiable=False),
    Op("nn.functional.embedding", EMBEDDING, FLOATS, method=False),
    Op("nn.functional.one_hot", ONE_HOT, ("int64",), method=False),
    Op("sort", ORDER, NUMBERS, double=True),
    Op("argsort", ORDER, FLOATS, differentiable=False),
    Op("topk", TOPK, FLOATS, double=True),
]
