"""Losses are those of torch, and so are their gradients."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from tests.torch.nn_compare import check_same, integers, numbers, ours, to_ours

LOGITS, CLASSES = numbers(5, 6), torch.tensor([0, 5, 2, -100, 2])
MAPS, MAP_CLASSES = numbers(2, 6, 3, 4), integers(6, 2, 3, 4)
TARGETS, WEIGHTS = numbers(5, 6, seed=1), numbers(5, 6, seed=2).abs()
CHANCES, YES = torch.sigmoid(LOGITS), (TARGETS > 0).float()
SIX = torch.linspace(0.5, 2, 6)
REDUCTIONS = ("mean", "sum", "none")
LOSSES: dict[str, tuple[Any, list[torch.Tensor]]] = {
    "MSELoss": (lambda nn, r: nn.MSELoss(reduction=r), [LOGITS, TARGETS]),
    "L1Loss": (lambda nn, r: nn.L1Loss(reduction=r), [LOGITS, TARGETS.round()]),
    "SmoothL1Loss": (lambda nn, r: nn.SmoothL1Loss(reduction=r), [LOGITS, TARGETS]),
    "SmoothL1Loss of a half": (lambda nn, r: nn.SmoothL1Loss(reduction=r, beta=0.5), [LOGITS, TARGETS]),
    "SmoothL1Loss of nothing": (lambda nn, r: nn.SmoothL1Loss(reduction=r, beta=0.0), [LOGITS, TARGETS]),
    "HuberLoss": (lambda nn, r: nn.HuberLoss(reduction=r, delta=0.7), [LOGITS, TARGETS]),
    "CrossEntropyLoss": (lambda nn, r: nn.CrossEntropyLoss(reduction=r), [LOGITS, CLASSES]),
    "CrossEntropyLoss smoothed": (
        lambda nn, r: nn.CrossEntropyLoss(WEIGHT[nn], reduction=r, label_smoothing=0.1, ignore_index=2),
        [LOGITS, CLASSES.clamp(0)],
    ),
    "CrossEntropyLoss of maps": (lambda nn, r: nn.CrossEntropyLoss(WEIGHT[nn], reduction=r), [MAPS, MAP_CLASSES]),
    "CrossEntropyLoss of chances": (
        lambda nn, r: nn.CrossEntropyLoss(reduction=r, label_smoothing=0.2),
        [LOGITS, torch.softmax(TARGETS, 1)],
    ),
    "CrossEntropyLoss of one": (lambda nn, r: nn.CrossEntropyLoss(reduction=r), [LOGITS[0], CLASSES[1]]),
    "NLLLoss": (lambda nn, r: nn.NLLLoss(reduction=r), [LOGITS, CLASSES]),
    "NLLLoss weighted": (lambda nn, r: nn.NLLLoss(WEIGHT[nn], ignore_index=2, reduction=r), [LOGITS, CLASSES.clamp(0)]),
    "NLLLoss of maps": (lambda nn, r: nn.NLLLoss(WEIGHT[nn], reduction=r), [MAPS, MAP_CLASSES]),
    "BCELoss": (lambda nn, r: nn.BCELoss(reduction=r), [CHANCES, CHANCES.flip(0)]),
    "BCELoss weighted": (lambda nn, r: nn.BCELoss(WEIGHT[nn], reduction=r), [CHANCES, YES]),
    "BCEWithLogitsLoss": (lambda nn, r: nn.BCEWithLogitsLoss(reduction=r), [LOGITS * 50, YES]),
    "BCEWithLogitsLoss weighted": (
        lambda nn, r: nn.BCEWithLogitsLoss(WEIGHT[nn], pos_weight=WEIGHT[nn], reduction=r),
        [LOGITS, YES],
    ),
    "KLDivLoss": (lambda nn, r: nn.KLDivLoss(reduction=r), [torch.log_softmax(LOGITS, 1), torch.softmax(TARGETS, 1)]),
    "KLDivLoss of zeros": (lambda nn, r: nn.KLDivLoss(reduction=r), [torch.log_softmax(LOGITS, 1), YES]),
    "KLDivLoss of logarithms": (
        lambda nn, r: nn.KLDivLoss(reduction=r, log_target=True),
        [torch.log_softmax(LOGITS, 1), torch.log_softmax(TARGETS, 1)],
    ),
}
CASES = [*itertools.product(LOSSES, REDUCTIONS), ("KLDivLoss", "batchmean"), ("KLDivLoss of zeros", "batchmean")]
WEIGHT = {torch.nn: SIX, ours.nn: to_ours(SIX)}


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize(("name", "reduction"), CASES)
def test_losses(name: str, reduction: str) -> None:
    build, (input, target) = LOSSES[name]
    assert repr(build(ours.nn, reduction)) == repr(build(torch.nn, reduction))

    def loss(lib: Any, args: list[Any]) -> Any:
        # The target is no variable here, and its zeros have no derivative in a divergence.
        return build(lib.nn, reduction)(args[0], target if lib is torch else to_ours(target))

    check_same(loss, [input])


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weighted_losses(name: str, reduction: str) -> None:
    def loss(lib: Any, args: list[Any]) -> Any:
        return getattr(lib.nn.functional, name)(*args[:2], reduction=reduction, weight=args[2])

    check_same(loss, [LOGITS, TARGETS, WEIGHTS])
    if name != "huber_loss":
        check_same(lambda lib, args: getattr(lib.nn.functional, name)(*args), [LOGITS, TARGETS[0]])
