"""What layers of networks compute: normalisation, losses, attention, padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.ops.op import Op, S
from tests.ops.spec import FLOATS, NUMBERS, Name, given, ints, mask, t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.ops.op import Sample

INF = float("inf")


def network(name: str, samples: Sequence[Sample], dtypes: Sequence[str] = FLOATS, **options: Any) -> Op:
    return Op(f"nn.functional.{name}", samples, dtypes, method=False, **options)


SOFTMAX = [
    S(t(3, 4), 1),
    S(t(2, 3, 4), dim=-2),
    S(t(3, 4), 0),
    S(t(), 0),
    S(t(0, 3), 1),
    S(t(3, 0), 1),
    S(t(3, 4, layout="transposed"), dim=-1),
    S(t(2, 37), -1),
    S(t(2, 3), dim=1, dtype=Name("float64")),
    S(given([[1000.0, 1001.0], [-1000.0, 0.0]]), 1, note="large"),
    S(given([[-INF, 0.0, 1.0], [-INF, -INF, -INF]]), 1, note="masked", smooth=False),
]

SOFTMAXES = [
    network("softmax", SOFTMAX, double=True),
    network("log_softmax", SOFTMAX, double=True),
    Op("softmax", SOFTMAX[:3], double=True),
    Op("log_softmax", SOFTMAX[:3], double=True),
]

CLASSES = ints(4, below=3)
WEIGHT = t(3, low=0.5, high=1.5, grad=False)
CLASS_LOSS = [
    S(t(4, 3), CLASSES),
    *[S(t(4, 3), CLASSES, reduction=reduction) for reduction in ("none", "sum", "mean")],
    *[S(t(4, 3), CLASSES, weight=WEIGHT, reduction=reduction) for reduction in ("none", "sum", "mean")],
    S(t(4, 3), given([0, -100, 2, -100], "int64"), note="ignored"),
    S(t(4, 3), given([0, 1, 2, 1], "int64"), ignore_index=1),
    S(t(4, 3), given([1, 1, 1, 1], "int64"), ignore_index=1, reduction="sum"),
    S(t(2, 3, 5), ints(2, 5, below=3)),
    S(t(2, 3, 2, 2), ints(2, 2, 2, below=3), weight=WEIGHT),
    S(t(2, 3, 2, 2), ints(2, 2, 2, below=3), reduction="none"),
    S(t(3), ints(below=3)),
    S(t(0, 3), given([], "int64"), reduction="sum"),
]
SMOOTHED = [
    S(t(4, 3), CLASSES, label_smoothing=0.2),
    S(t(4, 3), CLASSES, weight=WEIGHT, label_smoothing=0.2, reduction="none"),
    S(t(4, 3), given([0, -100, 2, 1], "int64"), label_smoothing=0.1, note="ignored and smoothed"),
    S(t(4, 3), t(4, 3, low=0.0, high=1.0)),
    S(t(4, 3), t(4, 3, low=0.0, high=1.0, grad=False), label_smoothing=0.1, reduction="sum"),
]

DISTANCES = [
    S(t(3, 4), t(3, 4)),
    *[S(t(3, 4), t(3, 4), reduction=reduction) for reduction in ("none", "sum", "mean")],
    S(t(), t()),
    S(t(3, 5, layout="transposed"), t(3, 5)),
    S(t(0), t(0), reduction="sum"),
]
PROBABILITIES = t(3, 4, low=0.0, high=1.0)
LOGITS = [
    S(t(3, 4), PROBABILITIES),
    *[S(t(3, 4), PROBABILITIES, reduction=reduction) for reduction in ("none", "sum", "mean")],
    S(t(3, 4), PROBABILITIES, weight=t(4, low=0.5, high=1.5, grad=False)),
    S(t(3, 4), PROBABILITIES, pos_weight=t(4, low=0.5, high=1.5, grad=False)),
    S(given([-200.0, 200.0, 50.0]), given([0.0, 1.0, 0.0]), note="large", smooth=False),
]

LOSSES = [
    network("nll_loss", CLASS_LOSS, double=True),
    network("cross_entropy", [*CLASS_LOSS, *SMOOTHED], double=True),
    network("mse_loss", DISTANCES, double=True),
    network("l1_loss", DISTANCES, double=True),
    network("binary_cross_entropy_with_logits", LOGITS, double=True),
]

LAYER_NORM = [
    S(t(3, 4), (4,), t(4), t(4)),
    S(t(3, 4), (4,)),
    S(t(2, 3, 4), (3, 4), t(3, 4), t(3, 4)),
    S(t(2, 3, 4), [4], weight=t(4)),
    S(t(3, 4, layout="transposed"), (4,), t(4), t(4), 0.1),
    S(t(0, 4), (4,), t(4), t(4)),
    S(t(4), (4,), eps=1e-3),
]
RMS_NORM = [
    S(t(3, 4), (4,), t(4)),
    S(t(3, 4), (4,)),
    S(t(2, 3, 4), (3, 4), weight=t(3, 4), eps=0.1),
    S(t(3, 4, layout="transposed"), [4], t(4), 1e-5),
]
GROUP_NORM = [
    S(t(2, 4, 3), 2, t(4), t(4)),
    S(t(2, 4), 2),
    S(t(2, 4, 2, 2), 4, t(4), t(4), 0.1),
    S(t(2, 4, 3), 1, weight=t(4)),
]
MEAN, VARIANCE = t(3, grad=False), t(3, low=0.5, high=2.0, grad=False)
BATCH_NORM = [
    S(t(4, 3), MEAN, VARIANCE, t(3), t(3)),
    S(t(4, 3), MEAN, VARIANCE),
    S(t(4, 3), MEAN, VARIANCE, t(3), t(3), True),
    S(t(4, 3), None, None, t(3), t(3), training=True),
    S(t(2, 3, 5), MEAN, VARIANCE, t(3), t(3), True, 0.3, 0.1),
    S(t(2, 3, 2, 2), MEAN, VARIANCE, weight=t(3), bias=t(3), training=True),
    S(t(2, 3, 2, 2), MEAN, VARIANCE, weight=t(3), bias=t(3)),
]

NORMALISATIONS = [
    network("layer_norm", LAYER_NORM, double=True),
    network("rms_norm", RMS_NORM),
    network("group_norm", GROUP_NORM),
    network("batch_norm", BATCH_NORM, changes_inputs=True),
    Op(
        "running averages of batch_norm",
        [S(t(4, 3), MEAN, VARIANCE), S(t(2, 3, 5), MEAN, VARIANCE, momentum=0.5)],
        changes_inputs=True,
        call=lambda lib, x, mean, var, **kw: (
            lib.nn.functional.batch_norm(x, mean, var, training=True, **kw),
            mean,
            var,
        ),
    ),
]

QKV = t(2, 2, 3, 4), t(2, 2, 5, 4), t(2, 2, 5, 4)
ATTENTION = [
    S(*QKV),
    S(*QKV, attn_mask=mask(3, 5), smooth=False),
    S(*QKV, attn_mask=t(3, 5)),
    S(*QKV, attn_mask=t(2, 1, 3, 5, grad=False)),
    S(*QKV, is_causal=True),
    S(*QKV, scale=0.3),
    S(t(2, 3, 4), t(2, 5, 4), t(2, 5, 6)),
    S(t(1, 4, 3, 4), t(1, 2, 5, 4), t(1, 2, 5, 4), enable_gqa=True),
]

PAD = [
    S(t(2, 3), (1, 2)),
    S(t(2, 3), (1, 0, 0, 2)),
    S(t(2, 3), (1, 1), "constant", 1.5),
    S(t(2, 3), (1, 1), value=-1.0),
    S(t(2, 4), (-1, 1)),
    S(t(2, 4), (-1, -2)),
    S(t(2, 3), ()),
    S(t(1, 2, 4), (2, 1), mode="reflect"),
    S(t(1, 2, 4), (2, 1), mode="replicate"),
    S(t(1, 2, 4), (2, 1), mode="circular"),
    S(t(1, 1, 3, 4), (1, 2, 2, 1), mode="reflect"),
    S(t(3, 4, layout="transposed"), (1, 1, 1, 1)),
]

OPS = [
    *SOFTMAXES,
    *LOSSES,
    *NORMALISATIONS,
    network("scaled_dot_product_attention", ATTENTION),
    network("pad", PAD, NUMBERS, double=True),
]
