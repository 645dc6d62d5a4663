"""Convolutions and pooling."""

from __future__ import annotations

from tests.ops.op import Op, S
from tests.ops.spec import FLOATS, given, t

CONV1D = [
    S(t(2, 3, 7), t(4, 3, 3), t(4)),
    S(t(2, 3, 7), t(4, 3, 3)),
    S(t(3, 7), t(4, 3, 3), t(4)),
    S(t(2, 3, 8), t(4, 3, 3), stride=2),
    S(t(2, 3, 8), t(4, 3, 3), padding=2),
    S(t(2, 3, 9), t(4, 3, 3), dilation=2),
    S(t(2, 4, 7), t(6, 2, 3), t(6), groups=2),
    S(t(2, 4, 7), t(4, 1, 3), groups=4, padding=1),
    S(t(2, 3, 8), t(4, 3, 4), padding="same"),
    S(t(2, 3, 8), t(4, 3, 3), padding="valid"),
    S(t(2, 3, 9), t(4, 3, 3), t(4), 2, 1, 2),
    S(t(2, 3, 7, layout="transposed"), t(4, 3, 3)),
    S(t(2, 3, 7), t(4, 3, 1)),
    S(t(0, 3, 7), t(4, 3, 3), t(4)),
]

CONV2D = [
    S(t(2, 3, 5, 6), t(4, 3, 3, 2), t(4)),
    S(t(2, 3, 5, 6), t(4, 3, 3, 2)),
    S(t(3, 5, 6), t(4, 3, 3, 2), t(4)),
    S(t(1, 2, 6, 6), t(3, 2, 3, 3), stride=2),
    S(t(1, 2, 6, 5), t(3, 2, 3, 3), stride=(2, 1), padding=(1, 0)),
    S(t(1, 2, 4, 4), t(3, 2, 3, 3), padding=1),
    S(t(1, 2, 4, 4), t(3, 2, 3, 3), padding="same"),
    S(t(1, 2, 7, 6), t(3, 2, 3, 2), dilation=(2, 1)),
    S(t(1, 4, 4, 4), t(6, 2, 3, 3), t(6), groups=2),
    S(t(1, 4, 4, 4), t(8, 1, 3, 3), groups=4, padding=1),
    S(t(1, 2, 5, 5), t(3, 2, 2, 2), t(3), 2, 1, 2, 1),
    S(t(1, 2, 4, 5, layout="transposed"), t(3, 2, 3, 3)),
    S(t(2, 3, 4, 4), t(4, 3, 1, 1)),
    S(t(2, 2, 4, 4, layout="expanded"), t(3, 2, 2, 2)),
]

NAN, INF = float("nan"), float("inf")
IMAGE = given([[[[1.0, NAN, 3.0, -INF], [2.0, 5.0, 5.0, -INF], [0.0, 0.0, 4.0, -INF]]]])

MAX_POOL2D = [
    S(t(2, 3, 4, 6), 2),
    S(t(1, 2, 5, 6), (2, 3)),
    S(t(2, 4, 5), 2),
    S(t(1, 2, 6, 6), 3, stride=2),
    S(t(1, 2, 6, 6), 3, 2, 1),
    S(t(1, 2, 7, 7), 2, stride=1, dilation=2),
    S(t(1, 2, 5, 5), 2, ceil_mode=True),
    S(t(1, 2, 5, 5), 3, 2, 1, ceil_mode=True),
    S(t(1, 2, 4, 4), 2, return_indices=True),
    S(t(1, 2, 4, 6, layout="transposed"), 2),
    S(IMAGE, (2, 2), stride=1, note="special values", smooth=False),
]

AVG_POOL2D = [
    S(t(2, 3, 4, 6), 2),
    S(t(1, 2, 5, 6), (2, 3)),
    S(t(2, 4, 5), 2),
    S(t(1, 2, 6, 6), 3, stride=2),
    S(t(1, 2, 6, 6), 3, 2, 1),
    S(t(1, 2, 6, 6), 3, 2, 1, count_include_pad=False),
    S(t(1, 2, 5, 5), 2, ceil_mode=True),
    S(t(1, 2, 5, 5), 3, 2, 1, True, False),
    S(t(1, 2, 4, 4), 2, divisor_override=3),
    S(t(1, 2, 4, 6, layout="transposed"), 2),
]

ADAPTIVE = [
    S(t(2, 3, 4, 6), 2),
    S(t(1, 2, 5, 7), (2, 3)),
    S(t(1, 2, 5, 7), 1),
    S(t(1, 2, 5, 7), (None, 2)),
    S(t(2, 4, 5), (3, 2)),
    S(t(1, 2, 2, 3), (4, 5)),
    S(t(1, 2, 4, 6, layout="transposed"), 3),
]

OPS = [
    Op("nn.functional.conv1d", CONV1D, FLOATS, method=False, double=True),
    Op("nn.functional.conv2d", CONV2D, FLOATS, method=False, double=True),
    Op("nn.functional.max_pool2d", MAX_POOL2D, FLOATS, method=False),
    Op("nn.functional.avg_pool2d", AVG_POOL2D, FLOATS, method=False),
    Op("nn.functional.adaptive_avg_pool2d", ADAPTIVE, FLOATS, method=False),
]
